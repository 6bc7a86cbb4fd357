package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reeve-gate/reeve/internal/anthropictest"
	"github.com/reeve-gate/reeve/internal/openaitest"
)

const keptPolicy = `
deny = [{ rule = "web(domain:blocked.example)", reason = "nothing goes there" },
	"web(domain:github.com)", "web(domain:api.github.com)", "web(domain:chatgpt.com)", "web(domain:api.openai.com)"] # what Codex asks of its own accord
ask = ["bash(touch asked*)"]
allow = ["bash(touch again*)", "bash(sh ./reach.sh)"]
`

// reach asks for a host that a rule denies, and says what came back.
const reach = "curl -sS -m 20 -o answer.txt -w 'status %{http_code}\\n' http://blocked.example/; head -c 300 answer.txt\n"

// keptAgent is a real agent in a session that is kept, behind a scripted model.
type keptAgent struct {
	*desk
	*rig
	url    string
	argv   []string
	second *atomic.Bool // the model plays its second part
	told   func(id string) (string, bool)
}

// TestARealAgentIsLeftShownStoppedAndResumed: Claude Code and Codex run
// detached with the network by rule, are shown on a terminal and left again, ask,
// are stopped while they ask, and begin again behind the same boundary.
func TestARealAgentIsLeftShownStoppedAndResumed(t *testing.T) {
	t.Run("claude", func(t *testing.T) {
		d := newDesk(t, keptPolicy, "")
		second := new(atomic.Bool)
		first, then := anthropictest.Turns(bash("toolu_reach", "sh ./reach.sh"), bash("toolu_asked", "touch asked.out"), bash("toolu_never", "touch asked.never")),
			anthropictest.Turns(bash("toolu_reach2", "sh ./reach.sh"), bash("toolu_again", "touch again.out"))
		model := anthropictest.New(t, func(r *anthropictest.Request) []anthropictest.Block {
			if second.Load() {
				return then(r)
			}
			return first(r)
		})
		d.env = append(d.env, "ANTHROPIC_BASE_URL="+model.URL)
		d.reeve("install", "claude")
		keptAgent{d, d.rig(), model.URL, []string{d.claude, "-p", "go on", "--permission-mode", "default"}, second,
			func(id string) (string, bool) { r, ok := model.ToolResult("toolu_" + id); return r.Text, ok }}.liveThrough()
	})
	t.Run("codex", func(t *testing.T) {
		d := newCodexDesk(t, keptPolicy, "")
		second := new(atomic.Bool)
		first, then := openaitest.Turns(shellCall("call_reach", "sh ./reach.sh"), shellCall("call_asked", "touch asked.out"), shellCall("call_never", "touch asked.never")),
			openaitest.Turns(shellCall("call_reach2", "sh ./reach.sh"), shellCall("call_again", "touch again.out"))
		model := openaitest.New(t, func(r *openaitest.Request) []openaitest.Item {
			if second.Load() {
				return then(r)
			}
			return first(r)
		})
		d.reeve("install", "codex")
		keptAgent{d.desk, d.desk.rig(), model.URL, d.argv(model.URL), second,
			func(id string) (string, bool) { return model.Told("call_" + id) }}.liveThrough()
	})
}

// rig is the desk's installation as the tests of sessions know it.
func (d *desk) rig() *rig { return &rig{bin: d.bin, ws: d.work, env: d.env} }

func (a keptAgent) liveThrough() {
	t, in := a.desk.t, a.rig
	in.needsSandbox(t)
	t.Cleanup(func() { _, _ = a.person(a.desk.bin, "down", "--stop-sessions") })
	if err := os.WriteFile(filepath.Join(a.work, "reach.sh"), []byte(reach), 0o600); err != nil {
		t.Fatal(err)
	}
	args := reaching([]string{in.bin, "run", "--detach", "--"}, a.url)[1:]
	in.run(t, nil, slices.Concat(args, a.argv)...)
	s := in.only(t)

	q := a.question()
	if !strings.Contains(q.Preview, "touch asked.out") {
		t.Fatalf("the first question is %+v", q)
	}
	a.refusedHost("reach")
	w := in.window(t, "sessions", "attach", s.ID)
	in.attached(t, 1)
	w.types("\x1dd")
	if code := w.code(); code != 0 {
		t.Errorf("left with %d: %q", code, w.seen)
	}
	in.attached(t, 0)
	a.says("approvals", "allow", q.ID)

	for q.Preview = ""; !strings.Contains(q.Preview, "touch asked.never"); { // the first one may still stand for a moment
		q = a.question()
	}
	if !a.exists("asked.out") {
		t.Error("what was allowed was not done")
	}
	w = in.window(t, "sessions", "attach", s.ID)
	in.attached(t, 1)
	in.run(t, nil, "sessions", "stop", s.ID)
	if code := w.code(); code == 0 {
		t.Errorf("the terminal saw a stopped agent end well: %q", w.seen)
	}
	if s = in.ended(t); s.State == "running" || a.exists("asked.never") {
		t.Errorf("after the stop it is %s, and what was asked about was done: %v", s.State, a.exists("asked.never"))
	}
	if left := in.run(t, nil, "approvals", "ls"); strings.Contains(string(left), "asked.never") {
		t.Errorf("its question outlives it: %s", left)
	}

	a.second.Store(true)
	in.run(t, nil, "sessions", "resume", "--detach", s.ID)
	s = in.ended(t)
	if !a.exists("again.out") || a.exists("asked.never") {
		t.Errorf("resumed, again.out %v, asked.never %v; it showed\n%s", a.exists("again.out"), a.exists("asked.never"), in.run(t, nil, "sessions", "logs", s.ID))
	}
	a.refusedHost("reach2")
	receipt := strings.Join(s.Receipt, "\n")
	for _, want := range []string{"exit 0", "network by rule", "blocked.example"} {
		if !strings.Contains(receipt, want) {
			t.Errorf("the receipt says nothing of %q:\n%s", want, receipt)
		}
	}

	a.reeve("audit", "verify")
	for _, row := range a.audit() {
		if row.Actor == a.actor && !row.Contained {
			t.Errorf("a call inside the run is not recorded as contained: %+v", row)
		}
	}
	hosts := 0
	for _, row := range a.audit() {
		if row.Tool == "connect" && row.Rule == "web(domain:blocked.example)" {
			hosts++
		}
	}
	if hosts != 2 {
		t.Errorf("%d refusals of the host are on record, want 2: %+v", hosts, a.audit())
	}
}

// refusedHost wants the model to have been told that the host was refused, and
// by which rule.
func (a keptAgent) refusedHost(id string) {
	t := a.desk.t
	t.Helper()
	text, ok := a.told(id)
	if !ok || !strings.Contains(text, "status 403") || !strings.Contains(text, "blocked.example") || !strings.Contains(text, "nothing goes there") {
		t.Errorf("of %s the model was told %q (%v), want the refusal of the host with its reason", id, text, ok)
	}
}
