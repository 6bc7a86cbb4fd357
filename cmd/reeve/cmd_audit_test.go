package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/ingress/api"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// auditRecord is call n of the tests, five minutes after the one before.
func auditRecord(n int) reeve.Record {
	return reeve.Record{
		CallID: fmt.Sprintf("01989c00-0000-7000-8000-%012d", n), Phase: reeve.PhaseOutcome, Session: "s1", Tool: "read_file", Source: "native",
		Time: time.Date(2026, 8, 5, 10, 5*n, 0, 0, time.UTC), Tier: reeve.TierRead, Args: fmt.Sprintf(`{"path":"f%d"}`, n), Status: reeve.StatusSuccess,
		Channel: reeve.ChannelCLI, Actor: "agent:a", Decision: reeve.Allow, Step: reeve.StepPolicy,
	}
}

// auditEnv is an environment whose record holds the calls.
func auditEnv(t *testing.T, calls ...reeve.Record) (env *cmdEnv, out, errs *bytes.Buffer, dir string) {
	t.Helper()
	home := t.TempDir()
	dir = filepath.Join(home, "state")
	l, err := audit.Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range calls {
		if err := l.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	vars := map[string]string{"HOME": home, "REEVE_HOME": home}
	return &cmdEnv{strings.NewReader(""), out, errs, home, func(k string) string { return vars[k] }}, out, errs, dir
}

// TestAuditListsTheNewestFifty: the default of ls, and of tail its ten.
func TestAuditListsTheNewestFifty(t *testing.T) {
	var all []reeve.Record
	for n := range 60 {
		r := auditRecord(n)
		r.Time = time.Date(2026, 8, 5, 10, n, 0, 0, time.UTC)
		all = append(all, r)
	}
	env, out, errs, _ := auditEnv(t, all...)
	for args, want := range map[string]int{"": 50, "ls": 50, "ls --limit 0": 60, "ls --limit 3": 3, "export": 60} {
		out.Reset()
		if code := cmdAudit(env, strings.Fields(args)); code != 0 {
			t.Fatalf("audit %s: exit %d: %s", args, code, errs)
		}
		if n := strings.Count(out.String(), `path`); n != want || !strings.Contains(out.String(), "f59") {
			t.Errorf("audit %s shows %d calls, want the newest %d", args, n, want)
		}
	}
}

func mixedRecords() []reeve.Record {
	var all []reeve.Record
	for n := range 6 {
		r := auditRecord(n)
		switch n {
		case 1:
			r.Tool, r.Tier = "bash", reeve.TierDestructive
		case 2:
			r.Status, r.Decision, r.Summary = reeve.StatusDenied, reeve.Deny, "no rule allows it"
		case 3:
			r.Phase, r.Status = reeve.PhaseIntent, ""
		case 4:
			r.Session = "s2"
		}
		all = append(all, r)
	}
	return all
}

func TestAuditListsWhatTheFiltersChoose(t *testing.T) {
	env, out, errs, _ := auditEnv(t, mixedRecords()...)
	for _, c := range []struct {
		args string
		want []int
	}{
		{"", []int{0, 1, 2, 3, 4, 5}},
		{"ls", []int{0, 1, 2, 3, 4, 5}},
		{"list --limit 2", []int{4, 5}},
		{"ls --tool bash", []int{1}},
		{"ls --risk destructive", []int{1}},
		{"ls --tier read --limit 0", []int{0, 2, 3, 4, 5}},
		{"ls --session s2", []int{4}},
		{"ls --status denied", []int{2}},
		{"ls --status unknown", []int{3}},
		{"ls --since 2026-08-05T10:19:00Z", []int{4, 5}},
		{"ls --until 2026-08-05T10:05:00Z", []int{0}},
		{"ls --since 1m", nil},
	} {
		for _, form := range []string{"", " --json"} {
			if c.args == "" && form != "" {
				continue
			}
			out.Reset()
			if code := cmdAudit(env, strings.Fields(c.args+form)); code != 0 {
				t.Fatalf("audit %s%s: exit %d: %s", c.args, form, code, errs)
			}
			var got []int
			for n := range 6 {
				if strings.Contains(out.String(), fmt.Sprintf(`"path":"f%d"`, n)) || n == 2 && strings.Contains(out.String(), "no rule allows it") {
					got = append(got, n)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("audit %s%s shows calls %v, want %v:\n%s", c.args, form, got, c.want, out)
			}
			if form != "" && !json.Valid(out.Bytes()) {
				t.Errorf("audit %s%s is no JSON: %s", c.args, form, out)
			}
		}
	}
}

func TestAuditRefusesWhatItCannotMean(t *testing.T) {
	env, _, errs, _ := auditEnv(t)
	for args, want := range map[string]string{
		"sideways": "sideways", "ls --tier low": "low", "ls --status fine": "fine", "ls --since yesterday": "yesterday", "ls --limit -1": "-1",
		"ls extra": "extra", "show": "one row", "show 1 2": "one row", "export --format xml": "xml", "reseal": "--keep-broken", "ls --nonsense": "nonsense",
	} {
		errs.Reset()
		if code := cmdAudit(env, strings.Fields(args)); code != reeve.ExitUsage {
			t.Errorf("audit %s: exit %d, want 2", args, code)
		}
		if !strings.Contains(errs.String(), want) {
			t.Errorf("audit %s says %q, want it to name %s", args, errs, want)
		}
	}
}

func TestAuditShowsNothingThatMovesTheCursor(t *testing.T) {
	r := auditRecord(1)
	r.Status, r.Summary = reeve.StatusError, "red \x1b[31m, back\x08, turned \u202e, nothing\u200b, two\nlines, password=hunter2secret"
	r.Tool, r.Rule = "tool\x1b]0;title\x07", "rule\nforged line"
	env, out, _, _ := auditEnv(t, r)
	for _, args := range []string{"ls", "show 1", "show " + r.CallID} {
		out.Reset()
		if code := cmdAudit(env, strings.Fields(args)); code != 0 {
			t.Fatalf("audit %s: exit %d", args, code)
		}
		if strings.ContainsAny(out.String(), "\x1b\x07\x08\u202e\u200b") {
			t.Errorf("audit %s: %q", args, out)
		}
		if strings.Contains(out.String(), "\nforged") || strings.Contains(out.String(), "\nlines") {
			t.Errorf("audit %s: a value made a line of its own: %q", args, out)
		}
		if strings.Contains(out.String(), "hunter2") {
			t.Errorf("audit %s shows a secret that is on record: %q", args, out)
		}
	}
}

func TestAuditShowFindsACall(t *testing.T) {
	env, out, errs, _ := auditEnv(t, mixedRecords()...)
	for _, args := range []string{"show 2", "show 01989c00-0000-7000-8000-000000000001", "show --json 2", "show 2 --json"} {
		out.Reset()
		if code := cmdAudit(env, strings.Fields(args)); code != 0 || !strings.Contains(out.String(), "bash") || !strings.Contains(out.String(), "hash") {
			t.Errorf("audit %s: exit %d: %s", args, code, out)
		}
	}
	if code := cmdAudit(env, []string{"show", "99"}); code != reeve.ExitFailed || !strings.Contains(errs.String(), "99") {
		t.Errorf("audit show 99: exit %d: %s", code, errs)
	}
}

func TestAuditExportsEveryForm(t *testing.T) {
	env, out, _, _ := auditEnv(t, mixedRecords()...)
	if code := cmdAudit(env, []string{"export", "--format", "json"}); code != 0 {
		t.Fatal(code)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil || len(rows) != 6 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	out.Reset()
	if code := cmdAudit(env, []string{"export", "--format", "csv", "--tool", "bash"}); code != 0 {
		t.Fatal(code)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 || !strings.HasPrefix(out.String(), "id,call_id,phase,timestamp,session_id,tool_name") {
		t.Errorf("%d lines: %s", lines, out)
	}
	for format, want := range map[string]string{"jsonl": `"tool_name":"bash"`, "ocsf": `"class_uid":6003`, "otlp": `"resourceSpans"`} {
		out.Reset()
		if code := cmdAudit(env, []string{"export", "--format", format, "--tool", "bash"}); code != 0 || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "read_file") {
			t.Errorf("%s: exit %d: %s", format, code, out)
		}
	}
}

func TestAuditVerifyNamesTheRowAndResealGoesOn(t *testing.T) {
	env, out, errs, dir := auditEnv(t, mixedRecords()...)
	if code := cmdAudit(env, []string{"verify"}); code != 0 || !strings.Contains(out.String(), "good: 6 rows") || !strings.Contains(out.String(), "calls whose outcome is unknown: 1") {
		t.Fatalf("verify: exit %d: %s", code, out)
	}
	sqlite3, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("the sqlite3 command is not installed")
	}
	if b, err := exec.Command(sqlite3, filepath.Join(dir, "audit.db"), "UPDATE tool_executions SET actor = 'user' WHERE id = 3").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	out.Reset()
	if code := cmdAudit(env, []string{"verify"}); code != 1 || !strings.Contains(out.String(), "broken at row 3: altered") || !strings.Contains(out.String(), "reseal --keep-broken") {
		t.Errorf("verify: exit %d: %s", code, out)
	}
	out.Reset()
	if code := cmdAudit(env, []string{"verify", "--json"}); code != 1 || !strings.Contains(out.String(), `"broken":{"row":3,"kind":"altered"`) {
		t.Errorf("verify --json: exit %d: %s", code, out)
	}
	out.Reset()
	if code := cmdAudit(env, []string{"ls"}); code != 0 || strings.Count(out.String(), "\n") != 6 {
		t.Errorf("ls of a broken record: exit %d: %s", code, out)
	}
	if err := new(api.Governed).Person(localsock.Peer{UID: os.Getuid(), PID: os.Getpid()}, api.Clients()); err != nil {
		t.Skipf("no person runs this test: %v", err)
	}
	home := env.Dir
	reseal := func(argv0, typed string) (string, int) {
		bin, err := built()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", `"$1" audit reseal --keep-broken; exit $?`, "sh", bin)
		cmd.Args[0] = argv0
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "REEVE_HOME=" + home, "PATH=" + os.Getenv("PATH")}
		return typing(t, cmd, "Type reseal to go on: ", typed)
	}
	if code := cmdAudit(env, []string{"reseal", "--keep-broken"}); code != reeve.ExitDenied || !strings.Contains(errs.String(), "terminal") {
		t.Errorf("reseal without a terminal: exit %d: %s", code, errs)
	}
	for what, c := range map[string]struct{ argv0, typed, why string }{
		"below an agent": {"claude", "reseal\n", "started by an agent"},
		"another word":   {"sh", "yes\n", "was not typed"},
		"nothing":        {"sh", "\x04", "was not typed"},
		"typed ahead":    {"sh", "ahead:reseal\n", "was not typed"},
	} {
		if shown, code := reseal(c.argv0, c.typed); code != reeve.ExitDenied || !strings.Contains(shown, c.why) {
			t.Errorf("reseal, %s: exit %d: %s", what, code, shown)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "*.broken-*")); len(kept) != 0 {
		t.Fatalf("a refusal put the record aside: %v", kept)
	}
	if shown, code := reseal("sh", "reseal\n"); code != 0 || !strings.Contains(shown, "audit.db.broken-") {
		t.Fatalf("reseal: exit %d: %s", code, shown)
	}
	out.Reset()
	if code := cmdAudit(env, []string{"verify"}); code != 0 || !strings.Contains(out.String(), "good: 1 rows") {
		t.Errorf("verify after reseal: exit %d: %s", code, out)
	}
}

// TestAuditSignsPrunesAndVerifies: the commands, as a person types them, over a
// vault whose key stands in a file.
func TestAuditSignsPrunesAndVerifies(t *testing.T) {
	var calls []reeve.Record
	for n := range 20 { // one a day, the last of them yesterday
		r := auditRecord(n)
		r.Time = time.Now().Add(time.Duration(n-21)*24*time.Hour + time.Hour)
		calls = append(calls, r)
	}
	env, _, _, _ := auditEnv(t, calls...)
	home := env.Dir
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	command := func(argv0, line string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", `bin=$1; shift; "$bin" `+line+`; exit $?`, "sh", bin)
		cmd.Args[0] = argv0
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "REEVE_HOME=" + home, "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	run := func(line string, want int, says ...string) string {
		t.Helper()
		cmd := command("sh", line)
		b, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("reeve %s: exit %d, want %d: %s", line, code, want, b)
		}
		for _, s := range says {
			if !strings.Contains(string(b), s) {
				t.Errorf("reeve %s says %q, want %q", line, b, s)
			}
		}
		return string(b)
	}
	t.Cleanup(func() { command("sh", "down").Run() })
	run("audit verify", 0, "good: 20 rows", "not signed: there is no vault", "reeve vault init")
	run("audit checkpoint", 1, "reeve vault init")
	if err := new(api.Governed).Person(localsock.Peer{UID: os.Getuid(), PID: os.Getpid()}, api.Clients()); err != nil {
		t.Skipf("no person runs this test: %v", err)
	}
	if err := os.Mkdir(filepath.Join(home, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	run("vault init --key-file "+filepath.Join(home, "kept", "key"), 0)
	signed := run("audit checkpoint 2>/dev/null", 0, "\n\n— reeve/")
	key := strings.TrimSpace(run("audit checkpoint --key", 0, "reeve/"))
	run("status", 0, "signed     up to row ", "by reeve/")
	run("audit verify", 0, "good: ", "the vault confirms the key")
	run("audit verify --json", 0, `"confirmed_by":"vault"`, `"good":true`)
	run("audit verify --key "+key, 0, "the key is the one that was given")
	run("audit verify --key reeve/x+00000000+AAAA", 2, "no verifier key")
	first := filepath.Join(home, "kept", "checkpoint")
	if err := os.WriteFile(first, []byte(signed), 0o600); err != nil {
		t.Fatal(err)
	}
	run("audit verify --against "+first, 0, "the vault confirms")
	run("audit prune", 2, "--keep 90d")
	run("audit prune --keep 1h", 2, "at least 1d")
	run("audit prune --keep 90d", 0, "would go: no row")
	run("audit prune --keep 10d --dry-run", 0, "would go: rows 1 to 11 (11 rows)")
	run("audit prune --keep 10d", 3, "terminal")
	run("audit verify", 0, "good: ")
	for what, c := range map[string]struct{ argv0, typed, why string }{
		"below an agent": {"claude", "prune\n", "started by an agent"},
		"another word":   {"sh", "yes\n", "was not typed"},
	} {
		if shown, code := typing(t, command(c.argv0, "audit prune --keep 10d"), "Type prune to go on: ", c.typed); code != reeve.ExitDenied || !strings.Contains(shown, c.why) {
			t.Errorf("prune, %s: exit %d: %s", what, code, shown)
		}
	}
	if shown, code := typing(t, command("sh", "audit prune --keep 10d"), "Type prune to go on: ", "prune\n"); code != 0 || !strings.Contains(shown, "gone: rows 1 to 11 (11 rows)") {
		t.Fatalf("prune: exit %d: %s", code, shown)
	}
	run("audit verify --against "+first, 0, "pruned: rows 1 to 11; a signed row tells of it", "the vault confirms")
	run("audit ls --limit 0", 0, "reeve.audit.prune", `{"do":"prune","keep":"240h0m0s"}`)
	run("down", 0)
	run("audit verify", 0, "the vault confirms the key")
	run("doctor || true", 0, "the record signed with a key of the vault")
}

func TestAuditOfNothingSaysSo(t *testing.T) {
	home := t.TempDir()
	var out, errs bytes.Buffer
	env := &cmdEnv{strings.NewReader(""), &out, &errs, home, func(k string) string { return map[string]string{"HOME": home, "REEVE_HOME": home}[k] }}
	for args, want := range map[string]int{"ls": 0, "ls --json": 0, "export": 0, "verify": 1, "show 1": 1} {
		if code := cmdAudit(env, strings.Fields(args)); code != want {
			t.Errorf("audit %s: exit %d, want %d", args, code, want)
		}
	}
	if strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("stdout has %q, want the empty list alone", out.String())
	}
	if entries, _ := os.ReadDir(home); len(entries) != 0 {
		t.Errorf("looking made %v", entries)
	}
}

// interrupter sends an interrupt after the first line.
type interrupter struct {
	bytes.Buffer
	t *testing.T
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		i.t.Error(err)
	}
	return n, err
}

func TestAuditTailEndsWhenInterrupted(t *testing.T) {
	env, _, errs, _ := auditEnv(t, auditRecord(1))
	out := &interrupter{t: t}
	env.Stdout = out
	if code := cmdAudit(env, []string{"tail"}); code != 0 || !strings.Contains(out.String(), "read_file") {
		t.Errorf("tail: exit %d: %s%s", code, out, errs)
	}
}

// typing runs a command on a terminal of its own and types once prompt stands
// there: typed, or, where that begins with "ahead:", the rest of it before and
// a no after.
func typing(t *testing.T, cmd *exec.Cmd, prompt, typed string) (shown string, code int) {
	t.Helper()
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	master.SetReadDeadline(time.Now().Add(60 * time.Second))
	if ahead, ok := strings.CutPrefix(typed, "ahead:"); ok {
		io.WriteString(master, ahead)
		typed = "no\n"
	}
	var all bytes.Buffer
	asked, buf := false, make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		all.Write(buf[:n])
		if !asked && strings.Contains(all.String(), prompt) {
			asked = true
			io.WriteString(master, typed)
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	return all.String(), cmd.ProcessState.ExitCode()
}
