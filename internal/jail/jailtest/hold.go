//go:build linux

package jailtest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Bench is a place to lay plans over: a workspace, a home directory and a
// state directory of one test.
type Bench struct {
	Wall                   jail.Wall
	Workspace, Home, State string
	issuer                 *permit.Issuer
}

var digest = [32]byte{42}

// NewBench makes the directories of a test.
func NewBench(t testing.TB, wall jail.Wall) *Bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Wall: wall, Workspace: filepath.Join(base, "ws"), Home: filepath.Join(base, "home"), State: filepath.Join(base, "state"), issuer: permit.NewIssuer(time.Now)}
	for _, dir := range []string{b.Workspace, b.Home, b.State} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Put writes a file below the base of the bench, with its directories.
func (b *Bench) Put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Permit is good for one start.
func (b *Bench) Permit() permit.Permit { return b.issuer.Mint(digest, time.Minute) }

// Plan lays a profile over the bench, without a network where nothing else is
// asked for: no proxy stands behind a bench.
func (b *Bench) Plan(t testing.TB, profile string, opts jail.Options) jail.Plan {
	t.Helper()
	p, err := jail.ProfileNamed(profile)
	if err != nil {
		t.Fatal(err)
	}
	if opts.Net == nil {
		opts.Net = new(jail.NetMode)
	}
	plan, err := p.Plan(jail.Place{Workspace: b.Workspace, Home: b.Home, State: []string{b.State}, Env: os.Environ()}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Shell runs a script inside to its end.
func (b *Bench) Shell(t testing.TB, plan jail.Plan, limits jail.Limits, script string) jail.Captured {
	t.Helper()
	if limits.Wall == 0 {
		limits.Wall = time.Minute
	}
	c, err := jail.Output(t.Context(), b.Wall, b.Permit(), digest, plan, []string{"/bin/sh", "-c", script}, limits)
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, c.Stdout.Text, c.Stderr.Text)
	}
	return c
}

// Hold tries the promises of Process and Limits.
func Hold(t *testing.T, wall jail.Wall) {
	none := jail.NetNone
	t.Run("the program's own code and signal come back", func(t *testing.T) {
		b := NewBench(t, wall)
		plan := b.Plan(t, "agent", jail.Options{Net: &none})
		for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
			if got := b.Shell(t, plan, jail.Limits{}, script).Exit.Code; got != want {
				t.Errorf("%s: code %d, want %d", script, got, want)
			}
		}
	})
	t.Run("a permit opens once", func(t *testing.T) { oncePerPermit(t, wall) })
	t.Run("what cannot be built starts nothing", func(t *testing.T) { nothingUnprotected(t, wall) })
	t.Run("a link planted after the plan leads nowhere", func(t *testing.T) { plantedParent(t, wall, "agent") })
	t.Run("an exposed socket is reached and nothing beside it", func(t *testing.T) { exposed(t, wall) })
	t.Run("nothing takes the place of what is exposed", func(t *testing.T) { ownPlace(t, wall) })
	t.Run("no abstract name is reached over an open network", func(t *testing.T) { abstractName(t, wall) })
	t.Run("a stream is no way out", func(t *testing.T) { streams(t, wall) })
	t.Run("a program has the umask it is given", func(t *testing.T) { umask(t, wall) })
	t.Run("no descendant survives", func(t *testing.T) { noSurvivors(t, wall) })
	t.Run("stop is gentle, then not", func(t *testing.T) { stops(t, wall) })
	t.Run("limits hold", func(t *testing.T) { limits(t, wall) })
	t.Run("the tail of long output is kept", func(t *testing.T) {
		b := NewBench(t, wall)
		c := b.Shell(t, b.Plan(t, "strict", jail.Options{}), jail.Limits{}, "yes x | head -c 300000; echo end; echo problem >&2")
		if !strings.HasSuffix(c.Stdout.Text, "end\n") || len(c.Stdout.Text) != jail.MaxOutput || c.Stdout.Total != 300004 || c.Stderr.Text != "problem\n" {
			t.Errorf("kept %d of %d bytes, and %q", len(c.Stdout.Text), c.Stdout.Total, c.Stderr.Text)
		}
	})
	t.Run("nothing of ours is inherited", func(t *testing.T) {
		b := NewBench(t, wall)
		leak, err := os.Open(b.State)
		if err != nil {
			t.Fatal(err)
		}
		defer leak.Close()
		syscall.Syscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_SETFD, 0)
		plan := b.Plan(t, "agent", jail.Options{Net: &none})
		c, err := jail.Output(t.Context(), wall, b.Permit(), digest, plan, []string{"ls", "/proc/self/fd"}, jail.Limits{})
		if err != nil || c.Stdout.Text != "0\n1\n2\n3\n" { // the last one is the directory that is listed
			t.Errorf("descriptors inside: %q %v", c.Stdout.Text, err)
		}
		c = b.Shell(t, plan, jail.Limits{}, "env | grep -c REEVE_; cat | wc -c")
		if got := strings.Fields(c.Stdout.Text); !slices.Equal(got, []string{"1", "0"}) {
			t.Errorf("variables of ours and bytes of input: %v, want 1 0", got)
		}
	})
	t.Run("a listener inside is not reached from outside", func(t *testing.T) { listenerInside(t, wall) })
	t.Run("a network by rules has one way out", func(t *testing.T) { wayOut(t, wall) })
}

func oncePerPermit(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	plan := b.Plan(t, "strict", jail.Options{})
	cmd := jail.Cmd{Argv: []string{"/bin/sh", "-c", "touch " + b.Workspace + "/ran"}}
	spent := b.Permit()
	if err := spent.Spend(digest); err != nil {
		t.Fatal(err)
	}
	expired := permit.NewIssuer(func() time.Time { return time.Unix(0, 0) }).Mint(digest, 0)
	for name, p := range map[string]permit.Permit{"zero": {}, "spent": spent, "other call": b.issuer.Mint([32]byte{9}, time.Minute), "expired": expired} {
		if _, err := wall.Start(t.Context(), p, digest, plan, cmd); err == nil {
			t.Errorf("%s permit started a program", name)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Workspace, "ran")); err == nil {
		t.Error("the program ran")
	}
}

func nothingUnprotected(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	marker := filepath.Join(b.Workspace, "ran")
	cmd := jail.Cmd{Argv: []string{"/bin/sh", "-c", "touch " + marker}}
	good := b.Plan(t, "strict", jail.Options{})
	gone := good
	gone.Protect = append(slices.Clone(good.Protect), filepath.Join(b.Workspace, "missing"))
	if err := os.Symlink(b.Home, filepath.Join(b.Workspace, "link")); err != nil {
		t.Fatal(err)
	}
	linked := good
	linked.Write = []string{filepath.Join(b.Workspace, "link")}
	badEnv := good
	badEnv.Env = append(slices.Clone(good.Env), "NO EQUALS SIGN")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, try := range map[string]struct {
		ctx  context.Context
		plan jail.Plan
		cmd  jail.Cmd
	}{
		"zero plan":         {t.Context(), jail.Plan{}, cmd},
		"vanished place":    {t.Context(), gone, cmd},
		"place is a link":   {t.Context(), linked, cmd},
		"broken variable":   {t.Context(), badEnv, cmd},
		"no program":        {t.Context(), good, jail.Cmd{}},
		"zero byte":         {t.Context(), good, jail.Cmd{Argv: []string{"/bin/sh", "-c", "a\x00b"}}},
		"unknown program":   {t.Context(), good, jail.Cmd{Argv: []string{"no-such-program-here"}}},
		"cancelled already": {cancelled, good, cmd},
	} {
		p := b.Permit()
		proc, err := wall.Start(try.ctx, p, digest, try.plan, try.cmd)
		if err == nil {
			proc.Wait()
			t.Errorf("%s: started", name)
		}
		if p.Spend(digest) == nil {
			t.Errorf("%s: the permit is still good", name)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the program ran")
	}
	if _, err := wall.Start(t.Context(), b.Permit(), digest, good, jail.Cmd{Argv: []string{"no-such-program-here"}}); !errors.Is(err, jail.ErrNoProgram) {
		t.Errorf("unknown program: %v", err)
	}
}

// plantedParent is CVE-2026-87766: a directory of the workspace becomes a link
// to outside, where a mount point would be made.
func plantedParent(t *testing.T, wall jail.Wall, profile string) {
	b := NewBench(t, wall)
	for _, name := range []string{"sub/.git/config", "sub/.git/hooks/x", "sub/.vscode/x"} {
		b.Put(t, filepath.Join(b.Workspace, name), "")
	}
	outside := filepath.Join(b.Home, "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	plan := b.Plan(t, profile, jail.Options{})
	if err := os.Rename(filepath.Join(b.Workspace, "sub"), filepath.Join(b.Workspace, "was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.Workspace, "sub")); err != nil {
		t.Fatal(err)
	}
	if proc, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"true"}}); err == nil {
		proc.Wait()
		t.Error("started")
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) > 0 {
		t.Errorf("made outside: %v %v", made, err)
	}
}

// exposed: the session's own socket is shown although its place, Reeve's
// state, is hidden.
func exposed(t *testing.T, wall jail.Wall) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	b := NewBench(t, wall)
	dir, err := os.MkdirTemp("/tmp", "reeve-sock-") // short: an address has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b.State = dir
	for _, name := range []string{"hook", "control"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go answer(l, name)
	}
	b.Put(t, filepath.Join(b.Workspace, "try.py"), `import socket, sys
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        print(s.recv(9).decode())
    except OSError:
        print("refused")
`)
	none := jail.NetNone
	plan := b.Plan(t, "agent", jail.Options{Net: &none, Expose: []jail.Expose{{From: filepath.Join(dir, "hook"), To: "/run/reeve/hook.sock"}}})
	c := b.Shell(t, plan, jail.Limits{}, "python3 try.py /run/reeve/hook.sock "+dir+"/hook "+dir+"/control; ls "+dir+" | wc -l")
	if got := strings.Fields(c.Stdout.Text); !slices.Equal(got, []string{"hook", "refused", "refused", "0"}) {
		t.Errorf("got %v %s, want only the exposed one", got, c.Stderr.Text)
	}
}

// answer says its name to every caller until its listener is closed.
func answer(l net.Listener, name string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Write([]byte(name))
		c.Close()
	}
}

// noSurvivors starts a daemon in every way a program has to leave its parent.
func noSurvivors(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	plan := b.Plan(t, "agent", jail.Options{})
	mark := "reeve-jailtest-" + strconv.Itoa(os.Getpid())
	script := "(setsid sh -c 'exec -a X sleep 1000; :' & setsid setsid sleep 1000 & nohup sleep 1000 & (sleep 1000 &) ) >/dev/null 2>&1; : " + mark
	c := b.Shell(t, plan, jail.Limits{}, script)
	if c.Exit.Code != 0 || c.Duration > 30*time.Second {
		t.Fatalf("%+v", c)
	}
	proc, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/sh", "-c", "setsid sleep 1000 & sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	inside := insiders(proc)
	proc.Stop(2 * time.Second)
	if _, err := proc.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(inside) < 2 {
		t.Errorf("saw %d processes inside, want at least 2", len(inside))
	}
	for _, pid := range inside {
		if err := syscall.Kill(pid, 0); err == nil && proc.Contains(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if proc.Contains(os.Getpid()) || proc.Contains(1) || proc.Contains(0) {
		t.Error("a process outside counts as inside")
	}
}

// insiders waits until a tree has grown and lists it.
func insiders(p jail.Process) []int {
	var pids []int
	for range 500 {
		pids = pids[:0]
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && p.Contains(pid) {
				pids = append(pids, pid)
			}
		}
		if len(pids) >= 4 { // number one, the shell, two sleeps
			return pids
		}
		time.Sleep(10 * time.Millisecond)
	}
	return pids
}

func stops(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	plan := b.Plan(t, "agent", jail.Options{})
	start := func(script string) jail.Process {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p, err := wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"/bin/sh", "-c", script}, Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		r.Read(make([]byte, 1)) // it is up
		r.Close()
		return p
	}
	gentle := start("trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done")
	begin := time.Now()
	gentle.Stop(20 * time.Second)
	if exit, err := gentle.Wait(); err != nil || exit.Code != 9 || time.Since(begin) > 15*time.Second {
		t.Errorf("asked to end: %+v %v after %s, want its own code 9", exit, err, time.Since(begin))
	}
	deaf := start("trap '' TERM; echo up; while :; do sleep 0.05; done")
	deaf.Stop(200 * time.Millisecond)
	if exit, err := deaf.Wait(); err != nil || exit.Code != 137 {
		t.Errorf("deaf to SIGTERM: %+v %v, want 137", exit, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err := wall.Start(ctx, b.Permit(), digest, plan, jail.Cmd{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if exit, err := p.Wait(); err != nil || exit.Code == 0 {
		t.Errorf("its context ended: %+v %v", exit, err)
	}
}

func limits(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	plan := b.Plan(t, "agent", jail.Options{})
	for name, try := range map[string]struct {
		limits jail.Limits
		script string
		ok     func(jail.Captured) bool
		held   string
	}{
		"wall time":  {jail.Limits{Wall: 300 * time.Millisecond}, "sleep 1000", func(c jail.Captured) bool { return c.TimedOut }, "wall time"},
		"processor":  {jail.Limits{CPU: time.Second}, "while :; do :; done", func(c jail.Captured) bool { return c.Exit.Code >= 128 }, "cpu"},
		"file size":  {jail.Limits{FileSize: 1 << 20}, "head -c 2000000 /dev/zero > big", func(c jail.Captured) bool { return c.Exit.Code != 0 && size(b, "big") == 1<<20 }, "files up to"},
		"open files": {jail.Limits{Files: 32}, "ulimit -n", func(c jail.Captured) bool { return strings.TrimSpace(c.Stdout.Text) == "32" }, "open files"},
		"scratch":    {jail.Limits{Scratch: 1 << 20}, "head -c 4000000 /dev/zero > /tmp/big", func(c jail.Captured) bool { return strings.Contains(c.Stderr.Text, "No space") }, "scratch"},
		"core files": {jail.Limits{}, "ulimit -c", func(c jail.Captured) bool { return strings.TrimSpace(c.Stdout.Text) == "0" }, "core"},
		// tail keeps what it may have to print.
		"memory": {jail.Limits{Memory: 64 << 20}, "head -c 300000000 /dev/zero | tail -c 299999999 >/dev/null", func(c jail.Captured) bool { return c.Exit.Code != 0 }, "memory"},
		"processes": {jail.Limits{Processes: 24}, "i=0; while [ $i -lt 40 ]; do sleep 600 & i=$((i+1)); done; echo all", func(c jail.Captured) bool {
			return !strings.Contains(c.Stdout.Text, "all") && c.Exit.Code != 0
		}, "processes"},
		"little processor":   {jail.Limits{Processors: 500}, "true", func(c jail.Captured) bool { return c.Exit.Code == 0 }, "processors"},
		"no bound on memory": {jail.Limits{}, "ulimit -v; ulimit -d", func(c jail.Captured) bool { return c.Stdout.Text == "unlimited\nunlimited\n" }, ""},
		"cannot raise":       {jail.Limits{Files: 32}, "ulimit -n 64 2>/dev/null && echo raised", func(c jail.Captured) bool { return c.Stdout.Text == "" }, ""},
	} {
		c := b.Shell(t, plan, try.limits, try.script)
		if slices.Contains(c.Exit.Unheld, try.held) {
			t.Logf("%s: cannot be held here for this user, and the exit says so", name)
			continue
		}
		if !try.ok(c) {
			t.Errorf("%s did not hold: %+v", name, c)
		}
		if try.held != "" && !slices.ContainsFunc(c.Exit.Held, func(s string) bool { return strings.Contains(s, try.held) }) {
			t.Errorf("%s is not said to be held: %v", name, c.Exit.Held)
		}
	}
}

func size(b *Bench, name string) int64 {
	info, err := os.Stat(filepath.Join(b.Workspace, name))
	if err != nil {
		return -1
	}
	return info.Size()
}

// listenerInside: profile agent without the network may listen, in a network
// of its own.
func listenerInside(t *testing.T, wall jail.Wall) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	b := NewBench(t, wall)
	none := jail.NetNone
	script := `import socket,sys,threading
l=socket.socket(); l.bind(("127.0.0.1",0)); l.listen(); p=l.getsockname()[1]
c=socket.create_connection(("127.0.0.1",p)); sys.stdout.write("inside ok %d\n" % p); sys.stdout.flush(); sys.stdin.read()`
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := wall.Start(t.Context(), b.Permit(), digest, b.Plan(t, "agent", jail.Options{Net: &none}),
		jail.Cmd{Argv: []string{"python3", "-c", script}, Stdin: in, Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	w.Close()
	line, _ := bufio.NewReader(r).ReadString('\n')
	fields := strings.Fields(line)
	if len(fields) != 3 {
		t.Errorf("a listener inside does not work: %q", line)
	} else if err := dial("tcp4", "127.0.0.1:"+fields[2]); err == nil {
		t.Error("the listener inside is reached from outside")
	}
	hold.Close()
	r.Close()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("end: %+v %v", exit, err)
	}
}
