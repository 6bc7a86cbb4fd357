// Package programs starts the program of an MCP server inside a boundary of its
// own and makes the connection of its streams (contract G20 to G23, A33).
//
// A server has a folder of its own, which is its home; sees the system
// read-only and what a person has named for it; starts with an empty
// environment; and is ended with its whole tree. What it prints beside its
// messages goes into a log, masked and bounded.
package programs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/guest"
	"github.com/reeve-gate/reeve/internal/mcp/packages"
	"github.com/reeve-gate/reeve/internal/mcp/pipes"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Yard is where the servers of one installation are started; every field is
// required.
type Yard struct {
	Wall    jail.Wall
	Place   func() jail.Place // without a workspace
	State   string            // below it the servers' folders and logs
	Limits  jail.Limits
	Show    func(string) string            // masks a line, and makes it visible
	Mask    func(io.Writer) io.WriteCloser // masks a stream
	Running func(jail.Process)             // told of each that was started

	// Installed is where the package of a server is kept and its program below
	// that; "" where it is started as its settings say.
	Installed func(server string) (dir, program string, err error)

	// Way is the network by rule of one server: what serves its listener, and
	// what ends it.
	Way func(s *servers.Server) (listen func(*os.File) error, end func(), err error)
}

// Start starts a server for a workspace. key is spent for digest by the wall.
func (y *Yard) Start(ctx context.Context, s *servers.Server, workspace string, key permit.Permit, digest [32]byte, sink upstream.Sink) (upstream.Transport, error) {
	plan, argv, err := y.plan(s, workspace)
	if err != nil {
		return nil, err
	}
	cmd := jail.Cmd{Argv: argv, Umask: 0o077}
	ours, theirs, err := threePipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	way := func() {}
	if plan.Net == jail.ProxiedNetwork {
		cmd.Listener, way, err = y.Way(s)
	}
	var p jail.Process
	if err == nil {
		// The tree lives as long as its connection, not as long as this call.
		p, err = y.Wall.Start(context.WithoutCancel(ctx), key, digest, plan, cmd)
	}
	closeAll(theirs)
	if err != nil {
		if way != nil {
			way()
		}
		closeAll(ours)
		return nil, fmt.Errorf("start %s: %w", s.Command, err)
	}
	y.Running(p)
	t := pipes.New(pipes.Program{Stdin: ours[0], Stdout: ours[1], Stderr: ours[2], Process: p}, sink,
		pipes.Options{MaxLine: s.Guard.Output, Journal: pipes.NewJournal(y.journal(s.Name), y.Mask)})
	go func() { <-t.Done(); way() }()
	return t, nil
}

func threePipes() (ours, theirs [3]*os.File, err error) {
	for i := range ours {
		r, w, perr := os.Pipe()
		if perr != nil {
			closeAll(ours)
			closeAll(theirs)
			return ours, theirs, fmt.Errorf("make a server's streams: %w", perr)
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	return ours, theirs, nil
}

func closeAll(files [3]*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Folder is where a server keeps what it keeps (contract G22).
func (y *Yard) Folder(name string) string {
	return filepath.Join(y.State, "mcp", name)
}

// plan lays a server's boundary (contract G21, G22).
func (y *Yard) plan(s *servers.Server, workspace string) (jail.Plan, []string, error) {
	folder := y.Folder(s.Name)
	if err := durable.MkdirAll(folder); err != nil {
		return jail.Plan{}, nil, fmt.Errorf("make the folder of server %s: %w", s.Name, err)
	}
	env := make([]string, 0, len(s.Env))
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	path, show, pack, args, err := y.program(s, env)
	if err != nil {
		return jail.Plan{}, nil, err
	}
	at := y.Place()
	place := func(dirs []string) []string {
		var out []string
		for _, dir := range dirs {
			switch {
			case dir == "." || strings.HasPrefix(dir, "./"):
				dir = filepath.Join(workspace, dir)
			case strings.HasPrefix(dir, "~/"):
				dir = filepath.Join(at.Home, dir[2:])
			}
			out = append(out, dir)
		}
		return out
	}
	guard := &s.Guard
	limits := y.Limits
	for _, l := range []struct{ own, to *int64 }{{&guard.Memory, &limits.Memory}, {&guard.Processes, &limits.Processes}, {&guard.Processors, &limits.Processors}} {
		if *l.own > 0 {
			*l.to = *l.own
		}
	}
	of := guest.Guest{Own: folder, Pack: pack, Dir: s.Dir, Read: append(place(guard.Read), show...), Write: place(guard.Write), Env: env, Limits: limits,
		Net: map[servers.Net]jail.NetMode{servers.NetNone: jail.NetNone, servers.NetHosts: jail.ProxiedNetwork, servers.NetOpen: jail.UnrestrictedNetwork}[guard.Net], Unix: guard.Sockets}
	if of.Dir == "" && slices.Contains(slices.Concat(guard.Read, guard.Write), ".") {
		of.Dir = workspace
	}
	at.Workspace = workspace
	plan, err := of.Plan(at)
	return plan, append([]string{path}, args...), err
}

// program is what is started for a server: its package where that was locked,
// else what its settings name.
func (y *Yard) program(s *servers.Server, env []string) (path string, show []string, pack string, args []string, err error) {
	dir, program, err := y.Installed(s.Name)
	if err != nil {
		return "", nil, "", nil, err
	}
	if dir != "" {
		l := packages.Of(s.Command, s.Args)
		return filepath.Join(dir, program), nil, dir, l.Args, nil
	}
	path, show, err = guest.Program(s.Command, env)
	return path, show, "", s.Args, err
}

// Hint says what a person can do where a server does not start, or "": what fetches
// its package needs the network each time.
func (y *Yard) Hint(s *servers.Server) string {
	l := packages.Of(s.Command, s.Args)
	if dir, _, err := y.Installed(s.Name); s.Command == "" || err != nil || dir != "" || l.Lockable() != "" {
		return ""
	}
	return fmt.Sprintf("%s fetches the package with each start, and may not reach its registry: reeve mcp pin %s fetches it once", s.Command, s.Name)
}

// journal keeps what a server prints beside its messages, masked, in one file
// that begins anew when it is full (contract G23).
func (y *Yard) journal(name string) func(string) {
	file := filepath.Join(y.State, "mcp-log", name+".log")
	return func(line string) {
		if err := durable.MkdirAll(filepath.Dir(file)); err != nil {
			return
		}
		if info, err := os.Stat(file); err == nil && info.Size() > maxJournal {
			os.Rename(file, file+".1")
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		defer f.Close()
		fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), y.Show(line))
	}
}

// maxJournal bounds a server's log, in bytes; two such files are kept.
const maxJournal = 1 << 20
