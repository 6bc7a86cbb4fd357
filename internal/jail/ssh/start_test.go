//go:build linux

package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// repository makes the machine's workspace one, with a repository below it.
func (m machine) repository(t *testing.T) {
	t.Helper()
	for _, dir := range []string{m.Workspace, filepath.Join(m.Workspace, "sub")} {
		for _, args := range [][]string{{"init", "-q", "-b", "main", dir}, {"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
			if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v %s", args, err, out)
			}
		}
	}
}

func TestTheSameBoundaryHoldsOnTheOtherMachine(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		m := newMachine(t)
		m.repository(t)
		m.Put(t, filepath.Join(m.Workspace, ".vscode/tasks.json"), "{}")
		tries := []struct{ name, script, want string }{
			{"stand in the directory", "pwd", m.Workspace},
			{"write in the workspace", "echo new > made && cat made", "new"},
			{"commit", "git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m second && git log --oneline | wc -l", "2"},
			{"write the agent's state", "echo x > $HOME/.claude/todo && cat $HOME/.claude/todo", "x"},
			{"an own copy of settings", "cat $HOME/.claude.json; echo changed > $HOME/.claude.json && cat $HOME/.claude.json", "{\"a\":1}changed"},
			{"temporary files", "echo x > $TMPDIR/x && cat /tmp/x", "x"},
			{"nothing inherited", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "},
			{"write outside", "echo x > $HOME/outside; echo refused", "refused"},
			{"write the configuration", "echo x >> .git/config; git config core.hooksPath x; echo refused", "refused"},
			{"plant a hook", "echo x > .git/hooks/pre-commit; echo x > sub/.git/hooks/pre-commit; echo refused", "refused"},
			{"move .git away", "mv .git g; mv sub s; mv .vscode v; echo refused", "refused"},
			{"change an editor's tasks", "echo x > .vscode/tasks.json; echo refused", "refused"},
			{"change the agent's gate", "echo x > $HOME/.claude/settings.json; echo x > $HOME/.claude/hooks/x; echo refused", "refused"},
			{"read a credential", "cat $HOME/.netrc; ls -A $HOME/.ssh; echo refused", "refused"},
			{"see a process", "test -d /proc/" + strconv.Itoa(os.Getpid()) + "/fd || echo refused", "refused"},
			{"find a secret", "echo \"$GITHUB_TOKEN$SSH_AUTH_SOCK.\"", "."},
			{"push input", "test -z \"$(ls /tmp)\" || ls /tmp; echo refused", "x\nrefused"},
		}
		var script strings.Builder
		for _, try := range tries {
			fmt.Fprintf(&script, "printf '== '; (%s) 2>/dev/null; printf ' ==\\n'\n", try.script)
		}
		c := m.run(t, m.starter(t, "agent"), script.String())
		got := strings.Split(c.Stdout.Text, " ==\n")
		for i, try := range tries {
			if i >= len(got) || strings.Join(strings.Fields(strings.TrimPrefix(got[i], "== ")), "") != strings.Join(strings.Fields(try.want), "") {
				t.Errorf("%s: got %q, want %q", try.name, got[min(i, len(got)-1)], try.want)
			}
		}
		for name, want := range map[string]string{"home/outside": "", "home/.claude.json": `{"a":1}`, "home/.claude/settings.json": "{}", "home/.claude/todo": "x\n"} {
			if text, _ := os.ReadFile(filepath.Join(m.Base, name)); string(text) != want {
				t.Errorf("%s holds %q, want %q", name, text, want)
			}
		}
		for _, name := range []string{".git/hooks/pre-commit", "sub/.git/hooks/pre-commit", "g", "s", "v"} {
			if _, err := os.Lstat(filepath.Join(m.Workspace, name)); err == nil {
				t.Errorf("%s was made", name)
			}
		}
		if left := m.leftovers(t); len(left) > 0 {
			t.Errorf("left there: %v", left)
		}
	})
}

func TestStrictIsStrictOnTheOtherMachine(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		m := newMachine(t)
		m.repository(t)
		c := m.run(t, m.starter(t, "strict"), "grep -c : /proc/net/dev; echo x > .git/objects/x; echo x > made; cat made; cat $HOME/.claude.json; ls $HOME/.claude/hooks; touch $HOME/.claude/x; "+
			"python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>&1 | tail -1")
		if got := strings.Fields(c.Stdout.Text); len(got) < 3 || got[0] != "1" || got[1] != "x" || !strings.Contains(c.Stdout.Text, "Operation not permitted") && !strings.Contains(c.Stderr.Text, "python3") {
			t.Errorf("got %q %q", c.Stdout.Text, c.Stderr.Text)
		}
		if _, err := os.Lstat(filepath.Join(m.Workspace, ".git/objects/x")); err == nil {
			t.Error(".git was written")
		}
		readOnly := m.starter(t, "read-only")
		c = m.run(t, readOnly, "echo x > more; echo $?")
		if strings.TrimSpace(c.Stdout.Text) == "0" {
			t.Error("a read-only workspace was written")
		}
	})
}

func TestCodesAndSignalsComeBack(t *testing.T) {
	m := newMachine(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 97": 97, "exit 255": 255, "kill -TERM $$": 143} {
		c := m.run(t, m.starter(t, "agent"), script)
		if c.Exit.Code != want || slices.ContainsFunc(c.Exit.Unheld, func(s string) bool { return strings.Contains(s, "lost") }) {
			t.Errorf("%s: %+v, want code %d", script, c.Exit, want)
		}
	}
	s := m.starter(t, "agent")
	s.Opts.Limits = jail.Limits{Files: 40, FileSize: 1 << 20, CPU: 3 * time.Second}
	c := m.run(t, s, "ulimit -n; ulimit -c; ulimit -t; head -c 2000000 /dev/zero > big; wc -c < big; umask")
	if got := strings.Fields(c.Stdout.Text); !slices.Equal(got[:4], []string{"40", "0", "3", "1048576"}) {
		t.Errorf("limits: %v %s", got, c.Stderr.Text)
	}
	s.Opts.Limits = jail.Limits{Wall: 3 * time.Second} // getting there is in it
	begin := time.Now()
	if c := m.run(t, s, "sleep 1000"); c.Exit.Code == 0 || time.Since(begin) > 20*time.Second {
		t.Errorf("the wall time did not hold: %+v", c)
	}
}

// start starts a program whose life is seen by a pipe with a name in the
// workspace: reading it ends when nobody holds it any more.
func (m machine) start(t *testing.T, script string) (jail.Process, *os.File) {
	t.Helper()
	alive := filepath.Join(m.Workspace, "alive")
	os.Remove(alive)
	if err := syscall.Mkfifo(alive, 0o666); err != nil {
		t.Fatal(err)
	}
	life, err := os.OpenFile(alive, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { life.Close() })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := m.starter(t, "agent").Start(t.Context(), issuer.Mint(digest, time.Minute), digest, jail.Plan{}, jail.Cmd{Argv: []string{"/bin/sh", "-c", "exec 5>alive; " + script}, Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("it did not come up: %q %v", line, err)
	}
	return p, life
}

// gone waits until nobody holds the pipe.
func gone(t *testing.T, life *os.File) {
	t.Helper()
	life.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, err := life.Read(make([]byte, 8)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the tree is still there: %d %v", n, err)
	}
}

func TestStopIsGentleThenNot(t *testing.T) {
	m := newMachine(t)
	p, life := m.start(t, "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done")
	p.Stop(15 * time.Second)
	if exit, err := p.Wait(); err != nil || exit.Code != 9 {
		t.Errorf("asked to end: %+v %v, want its own code 9", exit, err)
	}
	gone(t, life)
	p, life = m.start(t, "trap '' TERM HUP; echo up; while :; do sleep 0.05; done")
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	p.Stop(200 * time.Millisecond)
	if exit, err := p.Wait(); err != nil || exit.Code == 0 {
		t.Errorf("deaf to SIGTERM: %+v %v", exit, err)
	}
	gone(t, life)
	if p.Contains(p.PID()) || p.Contains(os.Getpid()) {
		t.Error("a process of this machine counts as inside")
	}
	if left := m.leftovers(t); len(left) > 0 {
		t.Errorf("left there: %v", left)
	}
}

// servers are the processes of sshd below the one of the test.
func (m machine) servers() []int {
	var out []int
	queue := []int{m.PID}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		for _, f := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(f)
			if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); strings.HasPrefix(string(comm), "sshd") {
				out, queue = append(out, child), append(queue, child)
			}
		}
	}
	return out
}

func TestADyingConnectionEndsTheTree(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		m := newMachine(t)
		for name, cut := range map[string]func(p jail.Process){
			"the run's own":   func(p jail.Process) { syscall.Kill(p.PID(), syscall.SIGKILL) },
			"the control one": func(p jail.Process) { p.(*process).b.control.cmd.Process.Kill() },
			"both, from there": func(jail.Process) {
				for _, pid := range m.servers() {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			},
		} {
			p, life := m.start(t, "trap '' TERM HUP; echo up; sleep 1000 & while :; do sleep 0.05; done")
			cut(p)
			gone(t, life)
			exit, err := p.Wait()
			if err == nil && exit.Code == 0 {
				t.Errorf("%s: it counts as done", name)
			}
			if name == "both, from there" && !slices.ContainsFunc(exit.Unheld, func(s string) bool { return strings.Contains(s, "was lost") }) {
				t.Errorf("%s: %+v %v", name, exit, err)
			}
		}
	})
}

func TestAProgramHasTheCallersTerminal(t *testing.T) {
	m := newMachine(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -KILL $$": 137, "kill -STOP $$; exit 5": 5, `test "$(ls -l /proc/self/fd | grep -c pipe)" = 1`: 0, "exit 147": 147} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.starter(t, "agent").Start(t.Context(), issuer.Mint(digest, time.Minute), digest, jail.Plan{}, jail.Cmd{Argv: []string{"/bin/sh", "-c", script}, TTY: slave})
		slave.Close()
		if err != nil {
			t.Fatal(err)
		}
		shown, _ := io.ReadAll(master) // ends with EIO when nobody has the other end
		master.Close()
		if exit, err := p.Wait(); err != nil || exit.Code != want || strings.Contains(string(shown), "process group") {
			t.Errorf("%s: %+v %v %q, want %d", script, exit, err, shown, want)
		}
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 31, Cols: 97}); err != nil {
		t.Fatal(err)
	}
	argv := []string{"/bin/sh", "-c", "tty -s && stty size; echo ready; sleep 1000; echo over"}
	p, err := m.starter(t, "agent").Start(t.Context(), issuer.Mint(digest, time.Minute), digest, jail.Plan{}, jail.Cmd{Argv: argv, TTY: slave})
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	read := bufio.NewReader(master)
	var seen strings.Builder
	for !strings.Contains(seen.String(), "ready") {
		line, err := read.ReadString('\n')
		seen.WriteString(line)
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
	}
	if !strings.Contains(seen.String(), "31 97") {
		t.Errorf("the terminal's size is not passed on: %q", seen.String())
	}
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := read.ReadByte(); err != nil {
				return
			}
		}
	}()
	if exit, err := p.Wait(); err != nil || exit.Code != 130 {
		t.Errorf("^C: %+v %v, want 130", exit, err)
	}
}

// TestWithoutABoundaryThereNothingStarts is contract Y70 for another machine.
func TestWithoutABoundaryThereNothingStarts(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		m := newMachine(t)
		broken := filepath.Join(m.Base, "broken")
		m.Put(t, broken, "#!/bin/sh\n[ \"$1\" = --version ] && { echo bubblewrap 0.8.0; exit; }\necho cannot >&2\nexit 1\n")
		if err := os.Chmod(broken, 0o755); err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(m.Base, "old")
		m.Put(t, old, "#!/bin/sh\necho bubblewrap 0.3.1\n")
		if err := os.Chmod(old, 0o755); err != nil {
			t.Fatal(err)
		}
		marker := filepath.Join(m.Workspace, "ran")
		m.Put(t, filepath.Join(m.Home, ".config/git/hooks/post-commit"), "#!/bin/sh\n")
		for name, try := range map[string]struct {
			change func(*Starter)
			want   string
		}{
			"bubblewrap is missing":  {func(s *Starter) { s.bwrap = "/usr/bin/no-such-bwrap" }, "install the package bubblewrap"},
			"it does not hold":       {func(s *Starter) { s.bwrap = broken }, map[bool]string{true: "could not be built", false: "does not belong to root"}[os.Getuid() == 0]},
			"it is too old":          {func(s *Starter) { s.bwrap = old }, map[bool]string{true: "at least version 0.5", false: "does not belong to root"}[os.Getuid() == 0]},
			"no such directory":      {func(s *Starter) { s.Dir = "/no/such/dir" }, "there is no directory /no/such/dir"},
			"a flag as a directory":  {func(s *Starter) { s.Dir = "-rf" }, "there is no directory"},
			"the home directory":     {func(s *Starter) { s.Dir = "~" }, "holds the home directory"},
			"the root":               {func(s *Starter) { s.Dir = "/" }, "holds the home directory"},
			"the system's":           {func(s *Starter) { s.Dir = "/usr/lib" }, "belongs to the system"},
			"a root to write":        {func(s *Starter) { s.Opts.Write = []string{"/etc"} }, "belongs to the system"},
			"what git starts from":   {func(s *Starter) { s.Opts.Write = []string{filepath.Join(m.Home, ".config/git/hooks")} }, "git starts programs from what stands in"},
			"what the PATH has":      {func(s *Starter) { s.Opts.Write = []string{"/usr/local/bin"} }, "the PATH starts programs from what stands in"},
			"no such root to write":  {func(s *Starter) { s.Opts.Write = []string{"/no/such"} }, "there is no directory /no/such"},
			"a line break":           {func(s *Starter) { s.Dir = m.Workspace + "\n/etc" }, "there is no directory"},
			"no answer":              {func(s *Starter) { s.Options = append([]string{"Port=1"}, s.Options...) }, "Connection refused"},
			"another key":            {func(s *Starter) { s.Options = append([]string{"UserKnownHostsFile=/dev/null"}, s.Options...) }, "verification failed"},
			"a host that is a flag":  {func(s *Starter) { s.Host = "-oProxyCommand=touch " + marker }, "write user@machine"},
			"a host with a command":  {func(s *Starter) { s.Host = "a b" }, "write user@machine"},
			"an option of two lines": {func(s *Starter) { s.Options = append(s.Options, "User=x\nProxyCommand=touch "+marker) }, "is no option of ssh"},
			"rules for the network":  {func(s *Starter) { n := jail.ProxiedNetwork; s.Opts.Net = &n }, "--net none"},
		} {
			s := m.starter(t, "agent")
			try.change(s)
			p := issuer.Mint(digest, time.Minute)
			proc, err := s.Start(t.Context(), p, digest, jail.Plan{}, jail.Cmd{Argv: []string{"/usr/bin/touch", marker}})
			if err == nil {
				_, err = proc.Wait()
			}
			if err == nil || !strings.Contains(err.Error(), try.want) || !errors.Is(err, reeve.ErrBoundary) && !errors.Is(err, reeve.ErrUsage) {
				t.Errorf("%s: %v", name, err)
			}
			if p.Spend(digest) == nil {
				t.Errorf("%s: the permit is still good", name)
			}
		}
		spent := issuer.Mint(digest, time.Minute)
		if err := spent.Spend(digest); err != nil {
			t.Fatal(err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, ctx := range map[string]context.Context{"spent": t.Context(), "cancelled": cancelled} {
			p := spent
			if name == "cancelled" {
				p = issuer.Mint(digest, time.Minute)
			}
			if _, err := m.starter(t, "agent").Start(ctx, p, digest, jail.Plan{}, jail.Cmd{Argv: []string{"/usr/bin/touch", marker}}); err == nil {
				t.Errorf("%s: started", name)
			}
		}
		if _, err := (m.starter(t, "agent")).Start(t.Context(), permit.Permit{}, digest, jail.Plan{}, jail.Cmd{Argv: []string{"/usr/bin/touch", marker}}); err == nil {
			t.Error("the zero permit started a program")
		}
		if _, err := os.Lstat(marker); err == nil {
			t.Error("the program ran")
		}
		if left := m.leftovers(t); len(left) > 0 {
			t.Errorf("left there: %v", left)
		}
	})
}

func TestWhatARunPlantsThereIsNamed(t *testing.T) {
	m := newMachine(t)
	c := m.run(t, m.starter(t, "agent"), "mkdir .vscode && echo x > .vscode/tasks.json; echo x > .envrc")
	for _, name := range []string{".vscode", ".envrc"} {
		if !slices.ContainsFunc(c.Exit.Unheld, func(s string) bool { return strings.HasPrefix(s, filepath.Join(m.Workspace, name)+" appeared on ") }) {
			t.Errorf("%s is not named: %v", name, c.Exit.Unheld)
		}
	}
}
