//go:build linux

package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/held"
	"github.com/reeve-gate/reeve/internal/jail/native"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/scroll"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// stranger is the command of a process that is not the daemon.
const stranger = "stranger"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Command:
			os.Exit(Main(func(name string) (jail.Wall, error) {
				switch name {
				case "listening":
					return listening{&bwrap.Wall{}}, nil
				case "native":
					return &native.Wall{}, nil
				}
				return &bwrap.Wall{}, nil
			}))
		case stranger:
			os.Exit(speak(os.Args[2], os.Args[3]))
		}
	}
	os.Exit(m.Run())
}

// ready is a wall that was tried, as far as a Starter is concerned.
type ready struct{ jail.Wall }

func (ready) Ready(context.Context) jail.Readiness {
	return jail.Readiness{State: reeve.SandboxReady, Engine: "test"}
}

// listening is a wall whose boundary has a listener for the proxy, as a wall
// with jail.ProxiedNetwork makes one.
type listening struct{ jail.Wall }

func (listening) Name() string { return "listening" }

func (w listening) Start(ctx context.Context, p permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	if err := cmd.Listener(f); err != nil {
		return nil, err
	}
	plan.Net = jail.NetNone // or the wall would hand out another one
	return w.Wall.Start(ctx, p, digest, plan, cmd)
}

// site is one session's place, with this process as its daemon.
type site struct {
	t      *testing.T
	root   string
	folder string
	start  Starter
	issuer *permit.Issuer
	digest [32]byte
}

func newSite(t *testing.T) *site {
	t.Helper()
	if r := (&bwrap.Wall{}).Ready(t.Context()); r.State == reeve.SandboxMissing {
		t.Skip(r.Fix)
	}
	root, err := os.MkdirTemp("/tmp", "keep") // short: sockets stand below it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	s := &site{t: t, root: root, folder: filepath.Join(root, "state", "s1"), issuer: permit.NewIssuer(time.Now), digest: [32]byte{7}}
	for _, dir := range []string{s.folder, filepath.Join(root, "ws"), filepath.Join(root, "home")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	control, err := localsock.Listen(filepath.Join(root, "state", "sock"))
	must(t, err)
	t.Cleanup(func() { control.Close() })
	go func() {
		for {
			c, err := control.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	s.start = Starter{Wall: ready{&bwrap.Wall{}}, Session: "s1", Folder: s.folder, Socket: filepath.Join(s.folder, SocketName),
		Control: control.Path(), Size: attach.Size{Rows: 24, Cols: 80}}
	return s
}

// onEachWall runs f with a site behind each wall that there is here, as root and
// as an ordinary user.
func onEachWall(t *testing.T, f func(t *testing.T, s *site)) {
	testuser.Both(t, func(t *testing.T) {
		for _, w := range []jail.Wall{&bwrap.Wall{}, &native.Wall{}} {
			t.Run(w.Name(), func(t *testing.T) {
				if r := w.Ready(t.Context()); r.State == reeve.SandboxMissing {
					t.Skip(r.Fix)
				}
				s := newSite(t)
				s.start.Wall = ready{w}
				f(t, s)
			})
		}
	})
}

// run starts sh -c script.
func (s *site) run(script string) *Link { return s.runs("sh", "-c", script) }

// runs starts a program.
func (s *site) runs(argv ...string) *Link {
	s.t.Helper()
	p, err := jail.ProfileNamed("agent")
	must(s.t, err)
	plan, err := p.Plan(jail.Place{Workspace: filepath.Join(s.root, "ws"), Home: filepath.Join(s.root, "home"), State: []string{filepath.Join(s.root, "state")},
		Env: []string{"PATH=/usr/bin:/bin", "TERM=dumb"}}, jail.Options{})
	must(s.t, err)
	proc, err := s.start.Start(s.t.Context(), s.issuer.Mint(s.digest, time.Minute), s.digest, plan, jail.Cmd{Argv: argv})
	must(s.t, err)
	l := proc.(*Link)
	s.t.Cleanup(func() { l.kill(); l.Wait() })
	return l
}

// place is where the session's keeper says that it is.
func (s *site) place() Place {
	s.t.Helper()
	p, err := Find(s.folder)
	must(s.t, err)
	return p
}

// screen is one terminal at a session.
type screen struct {
	t    *testing.T
	conn *attach.Conn
	seen string
}

func (s *site) screen(f *os.File, err error) *screen {
	s.t.Helper()
	must(s.t, err)
	conn, err := attach.FromFile(f)
	must(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	return &screen{t: s.t, conn: conn}
}

// until reads on until text was seen.
func (s *screen) until(text string) {
	s.t.Helper()
	for !strings.Contains(s.seen, text) {
		kind, data, err := s.conn.Receive()
		if err != nil || kind != attach.Output {
			s.t.Fatalf("waiting for %q came %q %q, %v; seen so far %q", text, kind, data, err, s.seen)
		}
		s.seen += string(data)
	}
}

// end reads on until the program has ended.
func (s *screen) end() attach.End {
	s.t.Helper()
	for {
		kind, data, err := s.conn.Receive()
		if err != nil {
			s.t.Fatalf("the session ended without a word: %v; seen so far %q", err, s.seen)
		}
		if kind == attach.Output {
			s.seen += string(data)
			continue
		}
		var end attach.End
		must(s.t, attach.Read(data, &end))
		return end
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASessionOutlivesItsDaemonAndIsLinkedAgain(t *testing.T) {
	onEachWall(t, func(t *testing.T, s *site) {
		s.start.Kept, s.start.Hook = true, filepath.Join(s.folder, "hook.sock")
		l := s.run(`echo one; read x; echo two $x; read y; exit 7`)
		if sid, err := unix.Getsid(l.Keeper().PID); err != nil || sid != l.Keeper().PID {
			t.Errorf("the keeper's process session is %d, %v; want its own, %d", sid, err, l.Keeper().PID)
		}
		first := s.screen(l.Attach(attach.Size{}))
		first.until("one")
		l.Release()
		if _, err := l.Wait(); !errors.Is(err, ErrUnlinked) {
			t.Errorf("a released link ended with %v, want %v", err, ErrUnlinked)
		}
		must(t, first.conn.Send(attach.Input, []byte("here\n"))) // with no daemon linked
		first.until("two here")

		again, err := Connect(s.place(), nil)
		must(t, err)
		hook, err := localsock.ListenerFrom(again.Hook())
		must(t, err)
		defer hook.Close()
		go localsock.Dial(s.start.Hook, time.Second)
		if _, err := hook.Accept(); err != nil {
			t.Errorf("the session's socket is not served after a new link: %v", err)
		}
		late := s.screen(again.Attach(attach.Size{}))
		late.until("two here") // from the log
		if !strings.Contains(late.seen, "one") {
			t.Errorf("a late terminal begins with %q, want what was shown before too", late.seen)
		}
		keeper, err := held.Take(l.Keeper().PID)
		must(t, err)
		defer keeper.Close()
		must(t, late.conn.Send(attach.Input, []byte("go\n")))
		if a, b := first.end(), late.end(); a.Code != 7 || b.Code != 7 {
			t.Errorf("the terminals were told %d and %d, want 7", a.Code, b.Code)
		}
		if exit, err := again.Wait(); err != nil || exit.Code != 7 {
			t.Errorf("the link ended with %+v, %v; want 7", exit, err)
		}
		if end, err := ReadEnd(s.folder); err != nil || end.Code != 7 {
			t.Errorf("kept %+v, %v; want 7", end, err)
		}
		if !keeper.Ended(10 * time.Second) {
			t.Error("the keeper lives on after its program")
		}
		if _, err := Connect(s.place(), nil); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("linked with a keeper that is gone: %v", err)
		}
	})
}

func TestAKilledKeeperLeavesNothingBehind(t *testing.T) {
	onEachWall(t, func(t *testing.T, s *site) {
		s.start.Kept = true
		mark := fmt.Sprintf("86399.%d", os.Getpid()) // nobody else sleeps as long
		l := s.run(`setsid sleep ` + mark + ` & echo started; (trap '' TERM HUP; sleep ` + mark + `) & echo both; wait`)
		sc := s.screen(l.Attach(attach.Size{}))
		sc.until("both")
		inside := processes(t, "sleep\x00"+mark, 2)
		must(t, syscall.Kill(l.Keeper().PID, syscall.SIGKILL))
		if _, err := l.Wait(); !errors.Is(err, ErrLost) {
			t.Errorf("the link ended with %v, want %v", err, ErrLost)
		}
		for _, h := range inside {
			if !h.Ended(10 * time.Second) {
				t.Error("a process of the session lives on without its keeper")
			}
			h.Close()
		}
		if _, err := ReadEnd(s.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("an end is told of a session that was cut off: %v", err)
		}
	})
}

// processes holds the n whose command line begins with what, once they run.
func processes(t *testing.T, what string, n int) (all []held.Process) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if all = look(t, what); len(all) >= n {
			return all
		}
		for _, h := range all {
			h.Close()
		}
	}
	t.Fatalf("no %d processes %q run", n, what)
	return nil
}

func look(t *testing.T, what string) (all []held.Process) {
	names, err := os.ReadDir("/proc")
	must(t, err)
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + n.Name() + "/cmdline")
		if strings.HasPrefix(string(line), what) {
			if h, err := held.Take(pid); err == nil {
				all = append(all, h)
			}
		}
	}
	return all
}

func TestStoppingEndsTheWholeTree(t *testing.T) {
	onEachWall(t, func(t *testing.T, s *site) {
		s.start.Kept = true
		l := s.run(`trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.05; done`)
		sc := s.screen(l.Attach(attach.Size{}))
		sc.until("up")
		l.Stop(jail.StopGrace)
		if end := sc.end(); end.Code != 3 || !strings.Contains(sc.seen, "asked") {
			t.Errorf("a program that obeys ended with %d after %q, want 3", end.Code, sc.seen)
		}

		mark := fmt.Sprintf("86398.%d", os.Getpid())
		l = s.run(`trap '' TERM; (trap '' TERM; sleep ` + mark + `) & echo deaf; wait; wait; wait`)
		sc = s.screen(l.Attach(attach.Size{}))
		sc.until("deaf")
		left := processes(t, "sleep\x00"+mark, 1)
		from := time.Now()
		l.Stop(jail.StopGrace)
		if took := time.Since(from); took < jail.StopGrace {
			t.Errorf("a program that does not obey was killed after %s, want %s at least", took, jail.StopGrace)
		}
		for _, h := range left {
			if !h.Ended(0) {
				t.Error("a process that does not obey lives on")
			}
			h.Close()
		}
	})
}

func TestAProgramIsStartedAsItIsNamedAndByNoShell(t *testing.T) {
	s := newSite(t)
	s.start.Attach = true
	l := s.runs("printf", "<%s>", "$HOME; echo x", "a  b", "", "*")
	a := s.screen(l.Screen(), nil)
	if end := a.end(); end.Code != 0 || a.seen != "<$HOME; echo x><a  b><><*>" {
		t.Errorf("ended with %d and showed %q", end.Code, a.seen)
	}
}

func TestTheProgramsSignalsAreAsTheyStart(t *testing.T) {
	s := newSite(t)
	s.start.Attach = true
	l := s.run(`grep -E 'Sig(Blk|Ign)' /proc/self/status; read x`)
	a := s.screen(l.Screen(), nil)
	a.until("SigIgn:\t")
	a.until("\r\nSigIgn:\t0000000000000000\r\n")
	a.until("SigBlk:\t0000000000000000\r\n")
	must(t, a.conn.Send(attach.Input, []byte{3})) // ^C
	if end := a.end(); end.Code != 128+int(syscall.SIGINT) {
		t.Errorf("^C ended it with %d", end.Code)
	}
}

func TestEveryTerminalTypesAndTheSmallestGivesTheSize(t *testing.T) {
	s := newSite(t)
	s.start.Attach = true
	l := s.run(`stty -echo; trap 'stty size' WINCH; echo go; while :; do read x && echo got $x; done`)
	a := s.screen(l.Screen(), nil)
	a.until("go")
	b := s.screen(l.Attach(attach.Size{Rows: 50, Cols: 70}))
	b.until("24 70")
	a.until("24 70")
	must(t, a.conn.Send(attach.Input, []byte("first\n")))
	b.until("got first")
	must(t, b.conn.Send(attach.Input, []byte("second\n")))
	a.until("got second")
	must(t, a.conn.Tell(attach.Window, attach.Size{Rows: 60, Cols: 90}))
	b.until("50 70")
	must(t, b.conn.Send(attach.Leave, nil))
	a.until("60 90")
	if n, kept := l.Attached(); n != 1 || !kept {
		for n != 1 { // the news is on its way
			n, kept = l.Attached()
		}
		if !kept {
			t.Error("a session that somebody left does not live on")
		}
	}
}

// TestASessionEndsWithItsLastWindowUnlessSomebodyLeftIt: closing the window of
// an attached run ends it, also one of several windows, and the detach key in
// any of them does not.
func TestASessionEndsWithItsLastWindowUnlessSomebodyLeftIt(t *testing.T) {
	for _, c := range []struct {
		name         string
		kept, leaves bool
		lives        bool
	}{
		{"closed", false, false, false},
		{"left", false, true, true},
		{"detached from the start", true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.start.Attach, s.start.Kept = true, c.kept
			l := s.run(`trap 'exit 9' TERM HUP; echo up; while :; do sleep 0.05; done`)
			a := s.screen(l.Screen(), nil)
			a.until("up")
			b := s.screen(l.Attach(attach.Size{}))
			b.until("up")
			a.conn.Close()
			if c.leaves {
				must(t, b.conn.Send(attach.Leave, nil))
			} else {
				b.conn.Close()
			}
			if !c.lives {
				if exit, err := l.Wait(); err != nil || exit.Code != 9 {
					t.Errorf("ended with %+v, %v; want 9", exit, err)
				}
				return
			}
			again := s.screen(l.Attach(attach.Size{}))
			must(t, again.conn.Send(attach.Input, []byte("echoed")))
			again.until("echoed")
		})
	}
}

// TestATerminalThatTakesNothingHoldsUpNobodyForLong: it is left behind, and
// begins again with the end of the log.
func TestATerminalThatTakesNothingHoldsUpNobodyForLong(t *testing.T) {
	s := newSite(t)
	s.start.Attach, s.start.Kept = true, true
	l := s.run(`echo go; read x; i=0; while [ $i -lt 60000 ]; do echo "line $i ................................"; i=$((i+1)); done; echo all of it; read x`)
	a := s.screen(l.Screen(), nil)
	a.until("go")
	stuck := s.screen(l.Attach(attach.Size{}))
	stuck.until("go")
	must(t, a.conn.Send(attach.Input, []byte("\n")))
	a.until("all of it")
	if strings.Count(a.seen, "\n") < 60000 {
		t.Errorf("the terminal that takes everything saw %d lines", strings.Count(a.seen, "\n"))
	}
	stuck.until("all of it")
	if n := strings.Count(stuck.seen, "\n"); n >= 60000 {
		t.Errorf("the other one was held %d lines for", n)
	}
}

func TestTheLogIsMaskedAndWhatWasFollowedIsThere(t *testing.T) {
	s := newSite(t)
	s.start.Kept, s.start.Secrets = true, &Masks{Values: func() []string { return []string{"planted-Tr0ub4dor-word"} }}
	l := s.run(`stty -echo; echo ready; while read x; do echo "$x"; done`)
	sc := s.screen(l.Attach(attach.Size{}))
	sc.until("ready")
	follow := s.screen(l.Follow())
	must(t, sc.conn.Send(attach.Input, []byte("it is planted-Tr0ub4dor-word here\nAKIAIOSFODNN7EXAMPLE\nlast\n")))
	follow.until("last")
	l.kill()
	l.Wait()
	var b strings.Builder
	_, err := scroll.Copy(&b, s.folder, 0)
	must(t, err)
	if got := b.String(); !strings.HasPrefix(got, follow.seen) || !strings.Contains(follow.seen, "it is [REDACTED] here") {
		t.Errorf("the log holds %q, followed was %q", got, follow.seen)
	}
	for _, secret := range []string{"Tr0ub4dor", "AKIAIOSFODNN7EXAMPLE"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
}

// TestWhoFollowsTheLogSeesAPromptAtOnce: also one whose last letters may begin
// a secret, while a secret that is shown byte by byte stays masked.
func TestWhoFollowsTheLogSeesAPromptAtOnce(t *testing.T) {
	s := newSite(t)
	s.start.Kept, s.start.Secrets = true, &Masks{Values: func() []string { return []string{"planted-Tr0ub4dor-word"} }}
	l := s.run(`stty -echo; for c in p l a n t e d - T r 0 u b 4 d o r - w o r d; do printf %s $c; sleep 0.06; done; echo; printf 'Push'; read x; printf 'Password: '; read x`)
	follow := s.screen(l.Follow())
	follow.until("Push")
	if strings.Contains(follow.seen, "nted-") || !strings.Contains(follow.seen, "[REDACTED]") {
		t.Errorf("followed %q", follow.seen)
	}
	sc := s.screen(l.Attach(attach.Size{}))
	must(t, sc.conn.Send(attach.Input, []byte("\n")))
	follow.until("Password: ")
}

// TestWhatIsLearntLaterIsMaskedInARunningSession: also what is no text.
func TestWhatIsLearntLaterIsMaskedInARunningSession(t *testing.T) {
	s := newSite(t)
	all := []string{"known-from-the-start"}
	s.start.Kept, s.start.Secrets = true, &Masks{Values: func() []string { return all }}
	l := s.run(`stty -echo; echo ready; while read x; do echo "<$x>"; done`)
	sc := s.screen(l.Attach(attach.Size{}))
	sc.until("ready")
	follow := s.screen(l.Follow())
	all = append(all, "learnt-Tr0ub4dor-word", "bytes \xff\xfe of a key", strings.Repeat("long", 16<<10), strings.Repeat("more", 9<<10))
	must(t, s.start.Secrets.Tell())
	must(t, s.start.Secrets.Tell()) // nothing is told twice
	l.Contains(l.PID())             // it answers when it has done what it was told before
	must(t, sc.conn.Send(attach.Input, []byte("known-from-the-start learnt-Tr0ub4dor-word bytes \xff\xfe of a key\nlast\n")))
	follow.until("<last>")
	if !strings.Contains(follow.seen, "<[REDACTED] [REDACTED] [REDACTED]>") {
		t.Errorf("followed %q", follow.seen)
	}
}

// TestOnlyTheProcessThatServesTheDaemonsSocketMaySpeak: another process of the
// same user is refused without a word.
func TestOnlyTheProcessThatServesTheDaemonsSocketMaySpeak(t *testing.T) {
	s := newSite(t)
	s.start.Kept = true
	l := s.run(`read x; echo typed $x; read y`)
	exe, err := os.Executable()
	must(t, err)
	for _, do := range []string{"link", "attach", "follow"} {
		out, err := exec.Command(exe, stranger, s.start.Socket, do).CombinedOutput()
		if err != nil || string(out) != "refused" {
			t.Errorf("%s by a stranger: %s, %v", do, out, err)
		}
	}
	mine := s.screen(l.Attach(attach.Size{}))
	must(t, mine.conn.Send(attach.Input, []byte("mine\n")))
	mine.until("typed mine")
}

// speak is the stranger: it asks, types, and says what came of it.
func speak(socket, do string) int {
	conn, err := localsock.Dial(socket, time.Second)
	if err != nil {
		fmt.Print(err)
		return 1
	}
	if err := send(conn, request{Proto: proto, Do: do}); err != nil {
		fmt.Print(err)
		return 1
	}
	conn.Write([]byte("istranger\n"))
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if frame, _, err := conn.Read(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		fmt.Printf("answered %q %v", frame, err)
		return 0
	}
	fmt.Print("refused")
	return 0
}

func TestTheListenerOfTheProxyComesWithEveryLink(t *testing.T) {
	s := newSite(t)
	s.start.Kept, s.start.Wall = true, ready{listening{&bwrap.Wall{}}}
	l := s.run(`read x`)
	for _, turn := range []string{"started", "linked again"} {
		f := l.Proxy()
		if f == nil {
			t.Fatalf("%s: no listener", turn)
		}
		ln, err := net.FileListener(f)
		f.Close()
		must(t, err)
		done := make(chan error, 1)
		go func() {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err == nil {
				c.Close()
			}
			done <- err
		}()
		if c, err := ln.Accept(); err != nil {
			t.Errorf("%s: %v", turn, err)
		} else {
			c.Close()
		}
		must(t, <-done)
		ln.Close()
		l.Release()
		l, err = Connect(s.place(), nil)
		must(t, err)
	}
	l.kill()
}

// TestAKeeperWhoseDaemonIsGoneBeforeTheWordStartsNothing: a daemon that is
// killed while it starts a session leaves none.
func TestAKeeperWhoseDaemonIsGoneBeforeTheWordStartsNothing(t *testing.T) {
	s := newSite(t)
	near, far, err := localsock.Pair()
	must(t, err)
	cmd, err := s.start.process(far)
	must(t, err)
	h, err := held.Take(cmd.Process.Pid)
	must(t, err)
	defer h.Close()
	p, err := jail.ProfileNamed("agent")
	must(t, err)
	plan, err := p.Plan(jail.Place{Workspace: filepath.Join(s.root, "ws"), Home: filepath.Join(s.root, "home"), State: []string{filepath.Join(s.root, "state")},
		Env: []string{"PATH=/usr/bin:/bin"}}, jail.Options{})
	must(t, err)
	must(t, send(near, spec{Proto: proto, Digest: s.digest, Session: "s1", Folder: s.folder, Socket: s.start.Socket, Control: s.start.Control, Wall: "bwrap",
		Plan: plan, Argv: []string{"touch", "ran"}, Kept: true}))
	var ready word
	_, err = receive(near, &ready)
	must(t, err)
	if where, err := Find(s.folder); err != nil || where.Keeper.PID != cmd.Process.Pid || ready.Do != doReady {
		t.Errorf("ready with %+v, noted %+v, %v", ready, where, err)
	}
	near.Close()
	if !h.Ended(10 * time.Second) {
		t.Error("it waits on")
		h.Kill()
	}
	if _, err := os.Stat(filepath.Join(s.root, "ws", "ran")); err == nil {
		t.Error("the program was started all the same")
	}
	if _, err := Find(s.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a keeper is noted that never kept anything: %v", err)
	}
}

// TestAStartThatFailsSaysWhyAndLeavesNothing: a program that is not there, a
// permit that does not fit, a wall that is not ready.
func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	s := newSite(t)
	p, err := jail.ProfileNamed("agent")
	must(t, err)
	plan, err := p.Plan(jail.Place{Workspace: filepath.Join(s.root, "ws"), Home: filepath.Join(s.root, "home"), State: []string{filepath.Join(s.root, "state")}}, jail.Options{})
	must(t, err)
	missing := jail.Cmd{Argv: []string{"/no/such/program"}}
	if _, err := s.start.Start(t.Context(), s.issuer.Mint(s.digest, time.Minute), s.digest, plan, missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := s.start.Start(t.Context(), permit.Permit{}, s.digest, plan, jail.Cmd{Argv: []string{"true"}}); !errors.Is(err, permit.ErrZero) {
		t.Errorf("without a permit: %v", err)
	}
	s.start.Wall = &bwrap.Wall{} // never tried
	if _, err := s.start.Start(t.Context(), s.issuer.Mint(s.digest, time.Minute), s.digest, plan, jail.Cmd{Argv: []string{"true"}}); !errors.Is(err, reeve.ErrBoundary) {
		t.Errorf("behind a wall that was not tried: %v", err)
	}
	if _, err := os.Stat(s.start.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a socket is left: %v", err)
	}
}
