//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/jail/pty"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// needsSandbox skips where no program can be contained.
func (in *rig) needsSandbox(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command(in.bin, "doctor")
	cmd.Dir, cmd.Env = in.ws, in.env
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Skipf("no working sandbox: %v\n%s", err, out)
	}
}

// window is a terminal with reeve in it.
type window struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	seen string
}

func (in *rig) window(t *testing.T, args ...string) *window {
	t.Helper()
	return in.windowOf(t, in.bin, args...)
}

// windowOf is a window in which name leads the terminal.
func (in *rig) windowOf(t *testing.T, name string, args ...string) *window {
	t.Helper()
	w := &window{t: t, cmd: exec.Command(name, args...)}
	w.cmd.Dir, w.cmd.Env = in.ws, append(slices.Clone(in.env), "TERM=xterm")
	pair, err := pty.Open(pty.Size{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	w.pty = pair.Master
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = pair.TTY, pair.TTY, pair.TTY
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = w.cmd.Start()
	pair.TTY.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.pty.Close(); w.cmd.Process.Kill(); w.cmd.Wait() })
	return w
}

// until reads on until text is on the screen.
func (w *window) until(text string) {
	w.t.Helper()
	w.pty.SetReadDeadline(time.Now().Add(30 * time.Second))
	buf := make([]byte, 4096)
	for !strings.Contains(w.seen, text) {
		n, err := w.pty.Read(buf)
		w.seen += string(buf[:n])
		if err != nil && !strings.Contains(w.seen, text) {
			w.t.Fatalf("%v: waiting for %q: %v; the screen shows %q", w.cmd.Args[1:], text, err, w.seen)
		}
	}
}

func (w *window) types(keys string) {
	w.t.Helper()
	if _, err := w.pty.WriteString(keys); err != nil {
		w.t.Fatal(err)
	}
}

// code waits for the command's end.
func (w *window) code() int {
	w.t.Helper()
	w.pty.SetReadDeadline(time.Now().Add(30 * time.Second))
	buf := make([]byte, 4096)
	for {
		n, err := w.pty.Read(buf)
		w.seen += string(buf[:n])
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				w.t.Fatalf("%v does not end; the screen shows %q", w.cmd.Args[1:], w.seen)
			}
			break
		}
	}
	w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

// sessions is what reeve sessions ls --json says.
func (in *rig) sessions(tb testing.TB) []wire.Session {
	tb.Helper()
	var all []wire.Session
	if err := wire.Decode(bytes.TrimSpace(in.run(tb, nil, "sessions", "--json")), &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// only is the one session there is.
func (in *rig) only(tb testing.TB) wire.Session {
	tb.Helper()
	all := in.sessions(tb)
	if len(all) != 1 {
		tb.Fatalf("%d sessions, want one: %+v", len(all), all)
	}
	return all[0]
}

// attached waits until n terminals are attached to the one session, which runs.
func (in *rig) attached(tb testing.TB, n int) {
	tb.Helper()
	var s wire.Session
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if s = in.only(tb); s.State == "running" && s.Attached == n {
			return
		}
	}
	tb.Fatalf("the session is %s with %d terminals, want it running with %d", s.State, s.Attached, n)
}

// ended waits for the end of the one session.
func (in *rig) ended(tb testing.TB) wire.Session {
	tb.Helper()
	in.run(tb, nil, "sessions", "logs", "-f", in.only(tb).ID)
	return in.only(tb)
}

// killDaemon kills the daemon without a word.
func (in *rig) killDaemon(tb testing.TB) {
	tb.Helper()
	var s wire.Status
	if err := wire.Decode(bytes.TrimSpace(in.run(tb, nil, "status", "--json")), &s); err != nil {
		tb.Fatal(err)
	}
	if err := killed(s.PID); err != nil {
		tb.Fatal(err)
	}
}

// keeper is the process that keeps a session.
func (in *rig) keeper(tb testing.TB, id string) localsock.Process {
	tb.Helper()
	p, err := keeper.Find(filepath.Join(in.home(), "state", "sessions", id))
	if err != nil {
		tb.Fatal(err)
	}
	return p.Keeper
}

func TestARunOnATerminalIsLeftAndShownAgain(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	a := in.window(t, "run", "--name", "shell", "--", "sh", "-c", `echo begun; while read x; do case $x in end) exit 5;; *) echo "got $x";; esac; done`)
	a.until("begun")
	a.types("one\r")
	a.until("got one")
	a.types("\x1dd")
	if code := a.code(); code != 0 || !regexp.MustCompile(`(?m)^\r*reeve: session \S+ goes on; reeve sessions attach`).MatchString(a.seen) {
		t.Errorf("left with %d and %q", code, a.seen)
	}
	in.attached(t, 0)
	in.run(t, nil, "down") // another daemon gives the terminals
	b := in.window(t, "sessions", "attach", "shell")
	b.until("got one")
	c := in.window(t, "sessions", "attach", in.only(t).ID[28:])
	c.until("begun")
	b.types("two\r")
	c.until("got two")
	c.types("three\r")
	b.until("got three")
	in.attached(t, 2)
	c.types("end\r")
	if b, c := b.code(), c.code(); b != 5 || c != 5 {
		t.Errorf("the terminals ended with %d and %d, want 5", b, c)
	}
	if !strings.Contains(b.seen, attach.Plain+"reeve: ") || !strings.Contains(b.seen, "in profile agent, exit 5") || !strings.Contains(b.seen, "files changed: 0") {
		t.Errorf("at the end the screen shows %q, want a plain terminal and the receipt", b.seen)
	}
}

// TestThePersonAtTheTerminalIsToldThatSomethingWaits: on a plain screen in a
// line with the command that answers, on one that the program draws by the bell
// and the title; a terminal that is attached later is told too.
func TestThePersonAtTheTerminalIsToldThatSomethingWaits(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	ask := `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n' >&3; read -r x <&3; exec 3>&-; echo "said $x"`
	plain := in.window(t, "run", "--name", "plain", "--net", "ask", "--", "bash", "-c", "echo begun; "+ask)
	plain.until("waits for your word")
	plain.until("(or deny)")
	again := in.window(t, "sessions", "attach", "plain")
	again.until("(or deny)")
	id := regexp.MustCompile(`reeve approvals allow (\S+) \(or deny\)`).FindStringSubmatch(plain.seen)
	if id == nil || !strings.Contains(plain.seen, ": connect to a.example:443\r\n") || strings.Contains(plain.seen, "\x1b]2;") {
		t.Fatalf("the terminal shows %q", plain.seen)
	}
	in.run(t, nil, "approvals", "deny", id[1])
	plain.until("said HTTP/1.1 403")
	if code := plain.code(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	drawn := in.window(t, "run", "--net", "ask", "--", "bash", "-c", `printf '\033[?1049hdrawn'; `+ask+`; printf '\033[?1049l'; echo over`)
	drawn.until("\a\x1b[22;2t\x1b]2;reeve approvals: connect to a.example:443 waits\x1b\\")
	var list wire.Approvals
	if err := json.Unmarshal(in.run(t, nil, "approvals", "ls", "--json"), &list); err != nil || len(list.Questions) != 1 {
		t.Fatalf("questions %+v, %v", list.Questions, err)
	}
	in.run(t, nil, "approvals", "deny", list.Questions[0].ID)
	drawn.until("over")
	if code := drawn.code(); code != 0 || strings.Contains(drawn.seen, "waits for your word") || !strings.Contains(drawn.seen, "\x1b[23;2t") {
		t.Errorf("ended with %d and %q", code, drawn.seen)
	}
}

func TestTheProgramsTerminalFollowsTheWindow(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	w := in.window(t, "run", "--", "sh", "-c", `trap 'stty size' WINCH; stty size; while :; do read x; done`)
	w.until("24 80")
	if err := pty.Resize(w.pty, pty.Size{Rows: 31, Cols: 97}); err != nil {
		t.Fatal(err)
	}
	w.until("31 97")
	w.types("\x03") // reaches the program's terminal, not reeve
	if code := w.code(); code != 130 {
		t.Errorf("^C ended it with %d, want 130", code)
	}
}

func TestClosingTheWindowEndsARunThatNobodyLeft(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	for _, how := range []string{"the window is closed", "the command is killed", "the command is told to end"} {
		w := in.window(t, "run", "--", "sh", "-c", `trap 'exit 9' TERM HUP; echo up; while :; do sleep 0.05; done`)
		w.until("up")
		switch how {
		case "the window is closed":
			w.pty.Close()
		case "the command is killed":
			w.cmd.Process.Kill()
		default:
			w.cmd.Process.Signal(syscall.SIGTERM)
			if code := w.code(); code != 9 {
				t.Errorf("%s: %d, want the program's 9", how, code)
			}
		}
		if s := in.ended(t); s.Code == nil || *s.Code != 9 {
			t.Errorf("%s: %+v, want an end with 9", how, s)
		}
		in.run(t, nil, "sessions", "rm", "--all")
	}
	w := in.window(t, "run", "--", "sh", "-c", `echo up; read x; echo "said $x"`)
	w.until("up")
	w.types("\x1dd")
	w.code()
	again := in.window(t, "sessions", "attach", in.only(t).ID)
	again.until("up")
	again.pty.Close() // somebody had left it running before
	again.cmd.Wait()
	in.attached(t, 0)
	once := in.window(t, "sessions", "attach", in.only(t).ID)
	once.types("still here\r")
	once.until("said still here")
}

// TestAKilledDaemonTakesNoSessionAlong: the terminal goes on, a call of the
// hook inside is answered by the next daemon, and the outcome is recorded once.
func TestAKilledDaemonTakesNoSessionAlong(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	event := fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s1","cwd":%q,"permission_mode":"default","tool_name":"Bash","tool_input":{"command":"make all"},"tool_use_id":"t1"}`, in.ws)
	if err := os.WriteFile(filepath.Join(in.ws, "event.json"), []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	w := in.window(t, "run", "--", "sh", "-c", `echo begun; while read x; do case $x in hook) $0 hook claude <event.json; echo answered $?;; end) exit 6;; *) echo "got $x";; esac; done`, in.bin)
	w.until("begun")
	in.killDaemon(t)
	w.types("without\r")
	w.until("got without")
	w.types("hook\r") // asks while nobody answers
	in.run(t, nil, "up")
	w.until("answered 0")
	if !strings.Contains(w.seen, `"permissionDecision":"allow"`) {
		t.Errorf("the next daemon's answer is %q", w.seen)
	}
	in.killDaemon(t)
	w.types("end\r")
	if code := w.code(); code != 6 {
		t.Errorf("with no daemon the terminal ended with %d, want the program's 6", code)
	}
	s := in.ended(t)
	if s.State != "ended" || s.Code == nil || *s.Code != 6 || len(s.Receipt) == 0 {
		t.Errorf("the next daemon says %+v", s)
	}
	in.killDaemon(t)
	in.run(t, nil, "up")
	rows := in.run(t, nil, "audit", "ls", "--session", s.ID, "--json")
	if n := bytes.Count(rows, []byte(`"tool_name":"run"`)); n != 1 || !bytes.Contains(rows, []byte(`exit 6: sh ended with 6`)) {
		t.Errorf("the record has the run %d times: %s", n, rows)
	}
	in.run(t, nil, "audit", "verify")
}

// TestAKilledKeeperEndsAsUnknown, whether a daemon watches or not, and what its
// run planted is moved away all the same.
func TestAKilledKeeperEndsAsUnknown(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	if out, err := exec.Command("git", "init", "-q", in.ws).CombinedOutput(); err != nil {
		t.Skipf("git: %v %s", err, out)
	}
	for _, watched := range []bool{true, false} {
		in.run(t, nil, "run", "--detach", "--", "sh", "-c", `mkdir -p .vscode; echo '{}' >.vscode/tasks.json; echo planted; exec sleep 1000`)
		s := in.only(t)
		w := in.window(t, "sessions", "attach", s.ID)
		w.until("planted")
		if !watched {
			in.killDaemon(t)
		}
		if err := syscall.Kill(in.keeper(t, s.ID).PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if code := w.code(); code == 0 {
			t.Errorf("watched %v: the terminal ended with 0", watched)
		}
		s = in.ended(t)
		if s.State != "lost" || s.Code != nil || !strings.Contains(strings.Join(s.Receipt, "\n"), "moved out") {
			t.Errorf("watched %v: %+v, want a lost session whose plants were moved", watched, s)
		}
		if _, err := os.Stat(filepath.Join(in.ws, ".vscode", "tasks.json")); err == nil {
			t.Errorf("watched %v: what the run planted stands", watched)
		}
		rows := in.run(t, nil, "audit", "ls", "--session", s.ID, "--json")
		if bytes.Count(rows, []byte(`"result_status":"unknown"`)) != 1 {
			t.Errorf("watched %v: the record says %s", watched, rows)
		}
		in.run(t, nil, "sessions", "rm", s.ID)
	}
}

// TestAResumedSessionGetsTheBoundaryThatWasKeptWithIt, and not the one that the
// settings would give it by then.
func TestAResumedSessionGetsTheBoundaryThatWasKeptWithIt(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	extra, later := filepath.Join(filepath.Dir(in.ws), "extra"), filepath.Join(filepath.Dir(in.ws), "later")
	for _, dir := range []string{extra, later} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(in.home(), "config", "config.toml"), []byte("[sandbox]\npass_env = [\"FIRST\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.run(t, nil, "down")
	in.env = append(in.env, "FIRST=one", "SECOND=two")
	script := fmt.Sprintf(`cd %s && echo kept >>x; echo to-extra $?; (echo x >%s/x) 2>/dev/null; echo to-later $?; echo ways $(grep -c : /proc/net/dev); echo "vars $FIRST $SECOND."`, extra, later)
	in.run(t, nil, "run", "--detach", "--net", "none", "--write", extra, "--", "sh", "-c", script)
	want := "to-extra 0\nto-later 2\nways 1\nvars one .\n"
	s := in.ended(t)
	if out := in.run(t, nil, "sessions", "logs", s.ID); string(out) != want {
		t.Fatalf("the first run showed %q, want %q", out, want)
	}
	settings := fmt.Sprintf("[sandbox]\nprofile = \"strict\"\nwrite = [%q]\npass_env = [\"SECOND\"]\n", later)
	if err := os.WriteFile(filepath.Join(in.home(), "config", "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	in.run(t, nil, "down")
	in.env = slices.DeleteFunc(in.env, func(kv string) bool { return strings.HasPrefix(kv, "FIRST=") })
	in.env = append(in.env, "FIRST=again") // the caller's now: no value was kept
	in.run(t, nil, "sessions", "resume", "--detach", s.ID)
	s = in.ended(t)
	if out := in.run(t, nil, "sessions", "logs", s.ID); string(out) != want+strings.Replace(want, "one", "again", 1) {
		t.Errorf("resumed it showed %q", strings.TrimPrefix(string(out), want))
	}
	folder := filepath.Join(in.home(), "state", "sessions", s.ID)
	names, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if text, err := os.ReadFile(filepath.Join(folder, n.Name())); err != nil || bytes.Contains(text, []byte("SECOND=")) || !strings.HasPrefix(n.Name(), "log-") && bytes.Contains(text, []byte("again")) {
			t.Errorf("%s keeps a value of the environment: %s (%v)", n.Name(), text, err)
		}
	}
	// What is gone or unreadable starts nothing, also where a backup would.
	record := filepath.Join(folder, "kept.json")
	kept, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, why string
		spoil     func() error
	}{
		{"a record of a later build", "not of a form that this version reads", func() error {
			return os.WriteFile(record, bytes.Replace(kept, []byte(`{"Layout":{`), []byte(`{"Layout":{"Narrower":true,`), 1), 0o600)
		}},
		{"a directory to write that is gone", extra, func() error { return os.RemoveAll(extra) }},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(in.bin, "sessions", "resume", "--detach", s.ID)
		cmd.Dir, cmd.Env = in.ws, in.env
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.why) {
			t.Errorf("%s: %v, and said %s; want it refused for %q", c.what, err, out, c.why)
		}
		if err := os.WriteFile(record, kept, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := in.run(t, nil, "sessions", "logs", s.ID); strings.Count(string(out), "ways") != 2 {
		t.Errorf("something was started all the same: %q", out)
	}
}

// TestTheKeepersSocketIsNotSeenInside: it stands in Reeve's own state, which is
// hidden although everything around it can be read.
func TestTheKeepersSocketIsNotSeenInside(t *testing.T) {
	root, err := os.MkdirTemp("/var/tmp", "rk") // not below /tmp, which is private inside
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	in := newRigIn(t, root, "", "")
	in.needsSandbox(t)
	if err := os.WriteFile(filepath.Join(root, "beside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in.run(t, nil, "run", "--detach", "--", "sh", "-c", fmt.Sprintf(`read x; find %s -type s -o -name beside -o -name kept.json; echo looked`, root))
	s := in.only(t)
	if p, err := keeper.Find(filepath.Join(in.home(), "state", "sessions", s.ID)); err != nil || filepath.Dir(p.Socket) != p.Folder {
		t.Fatalf("the keeper's socket stands at %s, %v; want it in its session's folder", p.Socket, err)
	}
	w := in.window(t, "sessions", "attach", s.ID)
	w.types("go\r")
	w.code()
	out := in.run(t, nil, "sessions", "logs", s.ID)
	if want := filepath.Join(root, "beside") + "\nlooked"; !strings.HasSuffix(strings.TrimSpace(string(out)), want) || strings.Contains(string(out), ".sock") || strings.Contains(string(out), "kept.json") {
		t.Errorf("inside is seen %q, want no more than %q", out, want)
	}
}

// pss is what a process costs beside others of its kind, in KiB.
func pss(tb testing.TB, pid int) int {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		tb.Skipf("no account of memory: %v", err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Skip("no account of memory")
	return 0
}

// idleSessions starts n sessions that wait and returns what each costs: its
// keeper and its boundary's processes.
func (in *rig) idleSessions(tb testing.TB, n int) (kib []int) {
	tb.Helper()
	for range n {
		in.run(tb, nil, "run", "--detach", "--", "sh", "-c", "echo idle; read x")
	}
	for _, s := range in.sessions(tb) {
		k := in.keeper(tb, s.ID)
		sum := pss(tb, k.PID)
		for _, pid := range append([]int{s.PID}, children(s.PID)...) {
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(b) == "bwrap\n" {
				sum += pss(tb, pid)
			}
		}
		kib = append(kib, sum)
	}
	return kib
}

func (in *rig) ids(tb testing.TB) (all []string) {
	for _, s := range in.sessions(tb) {
		all = append(all, s.ID)
	}
	return all
}

func children(pid int) (all []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func TestAnIdleSessionCostsAtMostTenMiB(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	cost := in.idleSessions(t, 5)
	if most := slices.Max(cost); len(cost) != 5 || most > 10<<10 {
		t.Errorf("sessions cost %d KiB, want 10240 at most", cost)
	}
}

// BenchmarkIdleSessions tells what fifty idle sessions cost. Budget: 10 MiB
// each.
func BenchmarkIdleSessions(b *testing.B) {
	in := newRig(b, "")
	in.needsSandbox(b)
	for b.Loop() {
		cost := in.idleSessions(b, 50)
		sum := 0
		for _, c := range cost {
			sum += c
		}
		b.ReportMetric(float64(sum)/float64(len(cost))/1024, "MiB/session")
		b.ReportMetric(float64(slices.Max(cost))/1024, "MiB-most")
		in.run(b, nil, append([]string{"sessions", "stop"}, in.ids(b)...)...)
		in.run(b, nil, "sessions", "rm", "--all")
	}
}

// BenchmarkDetach times reeve run --detach as a person types it.
func BenchmarkDetach(b *testing.B) {
	in := newRig(b, "")
	in.needsSandbox(b)
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		in.run(b, nil, "run", "--detach", "--", "true")
		took = append(took, time.Since(start))
	}
	b.ReportMetric(float64(median(took).Microseconds())/1000, "detach-ms")
}

// TestTheNextDaemonServesASessionsNetwork: the one way out of a boundary is a
// listener that its keeper holds for the daemons to come.
func TestTheNextDaemonServesASessionsNetwork(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "answer to "+r.URL.Path) })}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	ask := fmt.Sprintf(`ask() { exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://%s/%%s HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n' "$1" >&3; cat <&3 | tail -n 1; exec 3>&-; }; echo begun; while read x; do ask $x; done`, l.Addr())
	w := in.window(t, "run", "--net", "ask", "--allow-host", l.Addr().String(), "--", "bash", "-c", ask)
	w.until("begun")
	w.types("first\r")
	w.until("answer to /first")
	in.killDaemon(t)
	w.types("second\r") // waits in the listener
	in.run(t, nil, "up")
	w.until("answer to /second")
	in.run(t, nil, "down")
	in.run(t, nil, "up")
	w.types("third\r")
	w.until("answer to /third")
	w.types("\x04")
	if code := w.code(); code != 0 {
		t.Errorf("ended with %d: %q", code, w.seen)
	}
	if s := in.ended(t); !strings.Contains(strings.Join(s.Receipt, "\n"), "network by rule: 1 host") {
		t.Errorf("the receipt says %q, and nothing of the network", s.Receipt)
	}
}
