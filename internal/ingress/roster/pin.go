package roster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/mcp/packages"
	"github.com/reeve-gate/reeve/internal/wire"
)

// mcpPin has npm install a server's package inside the boundary, shows what it
// locked, and leaves the tree to the daemon.
func mcpPin(d *Desk, args []string) int {
	f := flags(d, "mcp pin")
	forget := f.Bool("forget", false, "start the server by its runner again")
	yes := f.Bool("yes", false, "do not ask")
	operands, code, ok := mixed(f, args)
	if !ok {
		return code
	}
	if len(operands) != 1 {
		return usage(d, "mcp pin takes one server; reeve mcp ls lists them")
	}
	server := operands[0]
	if *forget {
		return changeServers(d, wire.Servers{Do: "unpin", Server: server})
	}
	set, _, err := ownServers(d)
	if err != nil {
		return fail(d, err)
	}
	s, there := set.Of(server)
	if !there {
		return fail(d, fmt.Errorf("%w: there is no server %s; reeve mcp ls lists them", reeve.ErrNotFound, server))
	}
	l := packages.Of(s.Command, s.Args)
	if why := l.Lockable(); why != "" {
		return usage(d, "server %s cannot be pinned: %s", server, why)
	}
	dir, err := workDir(d)
	if err != nil {
		return fail(d, err)
	}
	defer os.RemoveAll(dir)
	if code := npmInstall(d, dir, &l); code != 0 {
		return fail(d, fmt.Errorf("npm could not install %s (exit code %d): where the registry cannot be reached, nothing is verified", l.String(), code))
	}
	if err := tellLocked(d, dir, &l); err != nil {
		return fail(d, err)
	}
	if !*yes {
		if code := confirm(d, "Start server "+server+" from this package from now on?"); code != reeve.ExitOK {
			return code
		}
	}
	return changeServers(d, wire.Servers{Do: "pin", Server: server, Dir: dir})
}

// workDir is a directory that a run may write: beside Reeve's own.
func workDir(d *Desk) (string, error) {
	paths, err := config.Dirs(d.Getenv)
	if err != nil {
		return "", err
	}
	if err := durable.MkdirAll(paths.Work); err != nil {
		return "", fmt.Errorf("make a directory for the package: %w", err)
	}
	dir, err := os.MkdirTemp(paths.Work, "pin-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the package: %w", err)
	}
	return dir, nil
}

func npmInstall(d *Desk, dir string, l *packages.Launch) int {
	return d.Contained(dir, []string{"--profile", "build", "--workspace", dir, "--no-receipt", "--",
		"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--lockfile-version=3", "--cache", filepath.Join(dir, ".cache"), "--prefix", dir, l.String()})
}

// tellLocked shows what npm locked.
func tellLocked(d *Desk, dir string, l *packages.Launch) error {
	src, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("read what npm locked: %w", err)
	}
	tree, err := packages.ReadLock(src, l.Name)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Stderr, "%s %s\n  integrity %s\n  %d packages, each held to its digest\n", l.Name, tree.Version, tree.Integrity, tree.Packages)
	if len(tree.Scripts) > 0 {
		fmt.Fprintf(d.Stderr, "  not run: scripts of %s\n", barred(strings.Join(tree.Scripts, ", ")))
	}
	return nil
}
