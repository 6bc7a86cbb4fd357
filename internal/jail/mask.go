package jail

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/places"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// socketVars name a socket of the host that the person's session speaks to.
var socketVars = []string{"SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "GPG_AGENT_INFO", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "PULSE_SERVER", "TMUX"}

// elsewhere lists the stores that the environment puts in other places. One
// that holds a directory the process needs is left out: it cannot be a store.
func elsewhere(env, keep []string) []string {
	var out []string
	for name, below := range places.MovedStores {
		for _, place := range filepath.SplitList(environ.Lookup(env, name)) {
			for _, b := range below {
				if !filepath.IsAbs(place) {
					continue
				}
				for _, real := range present(place, b) {
					if !slices.ContainsFunc(keep, func(k string) bool { return tree.Within(real, k) }) {
						out = append(out, real)
					}
				}
			}
		}
	}
	return out
}

// maxSockets bounds how many single sockets are covered; above it unix
// sockets are denied as a whole.
const maxSockets = 64

// mask fills in everything that is hidden; Reeve's own state stands last and
// wins over all else (Y66, Y68, A18).
func (p Profile) mask(plan *Plan, at Place, opts Options, r roots) error {
	var found []string
	for _, home := range r.homes {
		for _, name := range slices.Concat(places.Stores, systemStores) {
			found = append(found, present(home, name)...)
		}
		if !p.AgentState {
			for _, cli := range agentCLIs {
				for _, name := range cli.secrets {
					found = append(found, present(filepath.Join(home, cli.folder), name)...)
				}
				for _, file := range cli.files { // its servers' keys stand there too
					found = append(found, present(home, file)...)
				}
			}
		}
	}
	found = append(found, elsewhere(at.Env, slices.Concat(r.homes, []string{plan.Workspace}, plan.Write))...)
	for _, pattern := range slices.Concat(places.Secrets, systemSecrets) {
		for _, path := range present("/", pattern) {
			if unix.Access(path, unix.R_OK) == nil || unix.Access(path, unix.X_OK) == nil {
				found = append(found, path)
			}
		}
	}
	for _, path := range opts.Mask {
		if _, err := tree.Canonical(path); err != nil {
			return fmt.Errorf("path to hide: %w", err)
		}
		found = append(found, present(path, "")...)
	}
	found = append(found, aliases(found, append([]string{plan.Workspace}, plan.Write...))...)
	if err := clash(found, append([]string{plan.Workspace}, plan.Write...)); err != nil {
		return err
	}
	found = append(found, sessionSockets(at.Env, slices.Concat(r.homes, []string{plan.Workspace}, plan.Write))...)
	found = append(found, plan.Mask...)
	reach := tree.NewReach()
	if !plan.NoUnix {
		// Those in Reeve's state are hidden with it. Hidden one by one, the
		// socket of a session that ends meanwhile is gone when the wall mounts.
		others := slices.DeleteFunc(listening(), func(path string) bool {
			return slices.ContainsFunc(r.state, func(s string) bool { return tree.Within(s, path) })
		})
		sockets := visible(others, plan, reach)
		if len(sockets) > maxSockets {
			plan.NoUnix = true
			plan.Notes = append(plan.Notes, fmt.Sprintf("%d unix sockets listen on this machine: all are denied inside", len(sockets)))
		} else {
			found = append(found, sockets...)
		}
	}
	plan.Mask = tree.Outermost(visible(found, plan, reach))
	for _, s := range r.state {
		if _, err := os.Lstat(s); err == nil {
			plan.Mask = append(plan.Mask, s)
		}
	}
	return nil
}

// present resolves what stands below dir under a name to the real files.
func present(dir, name string) []string {
	var out []string
	for _, m := range tree.Named(dir, name) {
		real, err := tree.Real(m)
		if err == nil && real != "/" {
			out = append(out, real)
		}
	}
	return out
}

// clash refuses a writable root inside a hidden place: hiding it would hide
// the work, not hiding it would show the secret.
func clash(masks, roots []string) error {
	for _, m := range masks {
		for _, root := range roots {
			if tree.Within(m, root) {
				return fmt.Errorf("%s lies in %s, which holds credentials and is hidden: choose another directory", root, m)
			}
		}
	}
	return nil
}

// aliases finds further names of credential files inside the writable roots:
// a hard link made before the run reads the same bytes (A22). The tree is
// searched only where a credential has more than one name.
func aliases(masks, roots []string) []string {
	wanted := map[[2]uint64]bool{}
	note := func(info fs.FileInfo) {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && st.Nlink > 1 {
			wanted[[2]uint64{uint64(st.Dev), st.Ino}] = true
		}
	}
	for _, m := range masks {
		info, err := os.Lstat(m)
		switch {
		case err != nil:
		case !info.IsDir():
			note(info)
		case filepath.Base(filepath.Dir(m)) != ".var":
			for _, e := range tree.Entries(m) {
				if info, err := e.Info(); err == nil {
					note(info)
				}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var out []string
	var cut bool
	for _, root := range roots {
		tree.Walk(root, &cut, func(path string, e fs.DirEntry) bool {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 && wanted[[2]uint64{uint64(st.Dev), st.Ino}] {
					out = append(out, path)
				}
			}
			return true
		})
	}
	return out
}

// sessionSockets are the sockets that the person's environment names, and
// the directory where the session keeps its own.
func sessionSockets(env []string, keep []string) []string {
	var out []string
	for _, name := range socketVars {
		for _, field := range strings.FieldsFunc(environ.Lookup(env, name), func(r rune) bool { return r == ',' || r == ';' }) {
			_, path, _ := strings.Cut(field, "/")
			if name == "GPG_AGENT_INFO" {
				path, _, _ = strings.Cut(path, ":")
			}
			real, err := filepath.EvalSymlinks("/" + strings.TrimLeft(path, "/"))
			if err != nil {
				continue
			}
			info, err := os.Lstat(real)
			switch {
			case err != nil:
			case info.Mode()&fs.ModeSocket != 0:
				out = append(out, real)
			case name == "XDG_RUNTIME_DIR" && info.IsDir() && !slices.ContainsFunc(keep, func(k string) bool { return tree.Within(real, k) }):
				out = append(out, real)
			}
		}
	}
	return out
}

// listening lists the unix sockets with a name in the file system that
// programs on this machine hold open. Abstract ones have no file and belong
// to the network namespace.
func listening() []string {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	var out []string
	seen := map[string]bool{} // each connection that was accepted has its listener's name
	for line := range strings.Lines(string(text)) {
		i := strings.IndexByte(line, '/')
		if i < 0 || strings.Contains(line[:i], "@") || seen[line[i:]] {
			continue
		}
		seen[line[i:]] = true
		path, err := tree.Real(strings.TrimSuffix(line[i:], "\n"))
		if err != nil {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// visible drops masks over what a private directory hides already, unless a
// root that is shown through it holds them, and over what stands in a
// directory that the process cannot enter: without capabilities nothing can be
// mounted there, and nothing need be.
func visible(masks []string, plan *Plan, reach *tree.Reach) []string {
	shown := slices.Concat([]string{plan.Workspace}, plan.Write, plan.Read)
	return slices.DeleteFunc(masks, func(m string) bool {
		hidden := private(m) && !slices.ContainsFunc(shown, func(s string) bool { return tree.Within(s, m) })
		return hidden || !reach.Reachable(m)
	})
}

// showThroughPrivate shows what the process needs of a private directory:
// the home directory where it lies in one, the resolver's file, the programs
// of a system that keeps them below /run, and what was asked for.
func showThroughPrivate(plan *Plan, r roots, asked []string) {
	for _, path := range append([]string{r.home, "/run/current-system"}, asked...) {
		if real, err := filepath.EvalSymlinks(path); err == nil && private(real) {
			plan.Read = append(plan.Read, real)
		}
	}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && private(real) && plan.Net == UnrestrictedNetwork {
		plan.Read = append(plan.Read, real)
	}
}
