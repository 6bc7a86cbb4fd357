package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/tool"
)

// secret is planted wherever a caller can put text.
const secret = "hunter2-planted-secret"

// act is a tool whose arguments say what it would do: {"do":["read /w/a",
// "run git push", "connect host", "self", "unknown"]}.
type act struct {
	spec     tool.Spec
	escalate string
	fault    error
	panics   string
	moved    *[]string
	output   string
	open     bool // the act goes on
	run      func(ctx context.Context, c tool.Call)
}

func (a *act) Spec() tool.Spec { return a.spec }

type actArgs struct {
	Do   []string `json:"do"`
	Text string   `json:"text,omitzero"`
}

func (a *act) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	if a.panics == "effects" {
		panic("planned")
	}
	if a.fault != nil {
		return nil, a.fault
	}
	var args actArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	var out []reeve.Effect
	for _, do := range args.Do {
		verb, rest, _ := strings.Cut(do, " ")
		switch verb {
		case "read":
			out = append(out, reeve.Effect{Kind: reeve.EffectRead, Path: rest})
		case "write":
			out = append(out, reeve.Effect{Kind: reeve.EffectWrite, Path: rest})
		case "connect":
			out = append(out, reeve.Effect{Kind: reeve.EffectConnect, Host: rest})
		case "external":
			out = append(out, reeve.Effect{Kind: reeve.EffectExternal, Why: rest})
		case "self":
			out = append(out, reeve.Effect{Kind: reeve.EffectChangeSelf, Why: rest})
		case "run":
			c := &reeve.Command{Dir: at.Dir, Text: rest}
			for _, w := range strings.Fields(rest) {
				c.Words = append(c.Words, reeve.Word{Text: w, Known: true})
			}
			if c.Words[0].Text == "reeve" {
				c.Marks |= reeve.CommandSelf
			}
			out = append(out, reeve.Effect{Kind: reeve.EffectRun, Command: c})
		default:
			out = append(out, reeve.Effect{Kind: reeve.EffectUnknown, Why: do})
		}
	}
	return out, nil
}

// Texts puts the text into each file that is written.
func (a *act) Texts(raw []byte, _ tool.Place) (all []tool.Text) {
	var args actArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil
	}
	for _, do := range args.Do {
		if path, ok := strings.CutPrefix(do, "write "); ok {
			all = append(all, tool.Text{Path: path, New: args.Text, Whole: true})
		}
	}
	return all
}

func (a *act) Escalate([]byte, tool.Place) string {
	if a.panics == "escalate" {
		panic("planned")
	}
	return a.escalate
}

func (a *act) Run(ctx context.Context, c tool.Call) reeve.Result {
	if err := c.Permit.Spend(c.Digest); err != nil {
		return tool.Denied(err.Error())
	}
	if a.panics == "run" {
		panic("planned")
	}
	*a.moved = append(*a.moved, c.ID)
	if a.run != nil {
		a.run(ctx, c)
	}
	return reeve.Result{Status: reeve.StatusSuccess, Output: a.output, Open: a.open}
}

// noHand is a tool that another program carries out.
type noHand struct{ a *act }

func (n noHand) Spec() tool.Spec { return n.a.spec }
func (n noHand) Effects(raw []byte, at tool.Place) ([]reeve.Effect, error) {
	return n.a.Effects(raw, at)
}

// kit is a kernel with everything round it in memory.
type kit struct {
	t     *testing.T
	k     *Kernel
	moved []string
	tools map[string]tool.Tool

	mu        sync.Mutex
	rows      []reeve.Record
	auditErr  error
	failPhase reeve.Phase
	questions []approval.Question
	answer    func(approval.Question) approval.Answer // nil: nobody answers in time
	granted   string
	ticket    [32]byte // the call that a yes waits for
	watched   bool
	sessions  map[string]Session
	catalog   map[string]reeve.Catalog
	taints    map[string]flow.Taint
	spendErr  error
	facts     func(path string) reeve.PathFacts
	checkErr  error
	panics    string
	ids       int
	files     map[string]string
}

func newKit(t *testing.T, rules string, change ...func(*Config)) *kit {
	t.Helper()
	w := &kit{t: t, sessions: map[string]Session{}, catalog: map[string]reeve.Catalog{}, taints: map[string]flow.Taint{}}
	w.tools = map[string]tool.Tool{
		"act":     &act{spec: tool.Spec{Name: "act", Source: "native", Tier: reeve.TierWrite, Class: tool.ClassWrite}, moved: &w.moved},
		"look":    &act{spec: tool.Spec{Name: "look", Source: "native", Tier: reeve.TierRead, Class: tool.ClassRead}, moved: &w.moved, output: "seen"},
		"bash":    &act{spec: tool.Spec{Name: "bash", Source: "native", Tier: reeve.TierWrite, Class: tool.ClassBash}, moved: &w.moved},
		"never":   &act{spec: tool.Spec{Name: "never", Source: "native", Tier: reeve.TierDenied}, moved: &w.moved},
		"batch":   &act{spec: tool.Spec{Name: "batch", Source: "native", Tier: reeve.TierRead, Class: tool.ClassRead, Orchestrates: true}, moved: &w.moved},
		"theirs":  noHand{&act{spec: tool.Spec{Name: "theirs", Source: "foreign:claude", Tier: reeve.TierWrite, Class: tool.ClassBash}, moved: &w.moved}},
		"outside": &act{spec: tool.Spec{Name: "outside", Source: "mcp:web", Tier: reeve.TierRead, Class: tool.ClassMCP}, moved: &w.moved},
	}
	w.session("s", reeve.ModeDefault, reeve.SandboxReady, "", rules)
	c := Config{Tools: kitTools{w}, Check: w, Sessions: w, Disk: w, Broker: w, Audit: w, Clean: w, Now: time.Now, NewID: w.id,
		Limits: Limits{Question: time.Minute, Hook: time.Second, Intent: time.Second, Run: time.Minute, Depth: 3}}
	for _, f := range change {
		f(&c)
	}
	w.k = New(c)
	return w
}

func (w *kit) session(id string, m reeve.Mode, s reeve.Sandbox, parent, rules string) {
	w.t.Helper()
	l, err := policy.Parse(policy.LayerUser, "policy.toml", []byte(rules))
	if err != nil {
		w.t.Fatal(err)
	}
	w.sessions[id] = Session{ID: id, Workspace: "/w", Home: "/home/p", Mode: m, Sandbox: s, Parent: parent, Policy: policy.Join(l)}
}

func (w *kit) id() string { w.ids++; return fmt.Sprintf("id-%d", w.ids) }

func (w *kit) call(name string, do ...string) *reeve.Invocation {
	args, err := json.Marshal(actArgs{Do: do})
	if err != nil {
		w.t.Fatal(err)
	}
	return &reeve.Invocation{ID: w.id(), Session: "s", Actor: "agent:a", Channel: reeve.ChannelCLI, Origin: reeve.OriginAgent, Tool: name, Args: args, Askable: true}
}

func (w *kit) maybePanic(at string) {
	if w.panics == at {
		panic("planned")
	}
}

type kitTools struct{ w *kit }

func (k kitTools) Find(name string) (tool.Tool, bool) {
	t, ok := k.w.tools[strings.ToLower(name)]
	return t, ok
}

func (w *kit) Find(id string) (Session, error) {
	w.maybePanic("sessions")
	s, ok := w.sessions[id]
	if !ok {
		return s, fmt.Errorf("no session %s", id)
	}
	return s, nil
}

func (w *kit) Check(t tool.Tool, raw []byte) error {
	w.maybePanic("check")
	return w.checkErr
}

func (w *kit) Facts(ws, path string) reeve.PathFacts {
	w.maybePanic("disk")
	if w.facts != nil {
		return w.facts(path)
	}
	f := reeve.PathFacts{Known: true, Target: path, Exists: true, Links: 1}
	if !strings.HasPrefix(path, ws+"/") {
		f.Marks |= reeve.PathOutside
	}
	return f
}

func (w *kit) RepoRuns(string) string { return "" }
func (w *kit) Holds(string) string    { return "" }
func (w *kit) FoldsCase(string) bool  { return false }

func (w *kit) Contents(path string) (string, bool) {
	w.maybePanic("contents")
	text, ok := w.files[path]
	return text, ok
}

func (w *kit) Ask(ctx context.Context, q approval.Question) approval.Answer {
	w.maybePanic("broker")
	w.mu.Lock()
	w.questions = append(w.questions, q)
	w.mu.Unlock()
	if w.answer == nil {
		return approval.Answer{ID: q.ID, State: approval.Expired, Word: "nobody answered in time"}
	}
	return w.answer(q)
}

func (w *kit) Granted(string, [32]byte) string { return w.granted }
func (w *kit) Watched() bool                   { return w.watched }
func (w *kit) Take(_ string, content [32]byte, risk string) string {
	if w.ticket != content || w.ticket == ([32]byte{}) {
		return ""
	}
	w.ticket = [32]byte{}
	return "ticket for " + risk
}

func (w *kit) Append(ctx context.Context, r reeve.Record) error {
	w.maybePanic("audit")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.auditErr != nil && (w.failPhase == "" || w.failPhase == r.Phase) {
		return w.auditErr
	}
	w.rows = append(w.rows, r)
	return nil
}

func (w *kit) Text(s string) string { return strings.ReplaceAll(s, secret, "[REDACTED]") }
func (w *kit) JSON(b []byte) []byte { return []byte(w.Text(string(b))) }
func (w *kit) Show(s string) string { return w.Text(s) }

func (w *kit) Catalog(session, tool string) reeve.Catalog { return w.catalog[session+"/"+tool] }
func (w *kit) Taint(s string) flow.Taint                  { w.maybePanic("taint"); return w.taints[s] }
func (w *kit) AddTaint(s string, t flow.Taint)            { w.taints[s] = w.taints[s].Join(t) }
func (w *kit) Spend(string) error                         { w.maybePanic("spend"); return w.spendErr }

func yes(q approval.Question) approval.Answer {
	return approval.Answer{ID: q.ID, State: approval.Allowed, Scope: approval.Once}
}

func no(q approval.Question) approval.Answer {
	return approval.Answer{ID: q.ID, State: approval.Denied, Word: "use the test folder"}
}

// check compares the parts of an outcome that every case states.
func (w *kit) check(name string, d reeve.Decision, v reeve.Verdict, step reeve.Step, questions, moved int) {
	w.t.Helper()
	if d.Verdict != v || d.Step != step || len(w.questions) != questions || len(w.moved) != moved {
		w.t.Errorf("%s: %s in step %s (%s: %s), %d questions, %d moves; want %s in step %s, %d questions, %d moves",
			name, d.Verdict, d.Step, d.Rule, d.Reason, len(w.questions), len(w.moved), v, step, questions, moved)
	}
}

var errPlanned = errors.New("planned fault")
