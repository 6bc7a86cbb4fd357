package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/ingress/api"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
	"github.com/reeve-gate/reeve/internal/wire"
)

// vector is one file of testdata/decide: a call, and what must be decided
// about it through every door.
type vector struct {
	name  string
	rules string
	conf  string       // further settings
	files []txtar.File // of the workspace
	call  struct {
		Tool    string            `json:"tool"`
		Args    jsontext.Value    `json:"args"`
		Mode    string            `json:"mode"`
		Sandbox string            `json:"sandbox"`
		Origin  string            `json:"origin,omitzero"`
		Askable *bool             `json:"askable,omitzero"`
		Answer  string            `json:"answer,omitzero"` // yes, no, timeout; empty: nobody
		Hook    map[string]string `json:"hook,omitzero"`
		Catalog map[string]string `json:"catalog,omitzero"`
		Taint   []string          `json:"taint,omitzero"`
		Doors   []string          `json:"doors,omitzero"`
	}
	want struct {
		Decision  string `json:"decision"`
		Step      string `json:"step"`
		Rule      string `json:"rule"` // * = any
		Questions int    `json:"questions"`
	}
}

func readVector(t *testing.T, file string) *vector {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v := &vector{name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
	for _, f := range a.Files {
		switch f.Name {
		case "policy.toml":
			v.rules = string(f.Data)
		case "call.json":
			err = json.Unmarshal(f.Data, &v.call, json.RejectUnknownMembers(true))
		case "want.json":
			err = json.Unmarshal(f.Data, &v.want, json.RejectUnknownMembers(true))
		default:
			name, ok := strings.CutPrefix(f.Name, "w/")
			if !ok {
				err = errors.New("unknown part " + f.Name)
			}
			v.files = append(v.files, txtar.File{Name: name, Data: f.Data})
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", file, f.Name, err)
		}
	}
	if len(strings.TrimSpace(string(a.Comment))) == 0 || v.want.Decision == "" {
		t.Fatalf("%s: a vector states its claim and what it wants", file)
	}
	return v
}

func (v *vector) through(door string) bool {
	if door == "codex" { // one more hook; its events never say that a call asks to leave the client's own sandbox
		return v.through("hook") && !strings.Contains(string(v.call.Args), `"host"`)
	}
	if v.call.Doors != nil {
		return slices.Contains(v.call.Doors, door)
	}
	return door == "kernel" || v.call.Origin == "agent"
}

// paper is a wall of a given state that runs nothing and counts what it was
// asked to run.
type paper struct {
	state reeve.Sandbox
	ran   atomic.Int32
}

func (p *paper) Name() string { return "paper" }
func (p *paper) Ready(context.Context) jail.Readiness {
	return jail.Readiness{State: p.state, Engine: "paper"}
}
func (p *paper) Start(_ context.Context, key permit.Permit, digest [32]byte, _ jail.Plan, _ jail.Cmd) (jail.Process, error) {
	if err := key.Spend(digest); err != nil {
		return nil, err
	}
	p.ran.Add(1)
	return gone{}, nil
}

type gone struct{}

func (gone) Wait() (jail.Exit, error) { return jail.Exit{}, nil }
func (gone) Stop(time.Duration)       {}
func (gone) Signal(os.Signal) error   { return nil }
func (gone) PID() int                 { return os.Getpid() }
func (gone) Contains(int) bool        { return true }

// bench is one daemon for one vector at one door.
type bench struct {
	t         testing.TB
	v         *vector
	d         *Daemon
	wall      *paper
	c         *client.Client
	ws        string
	questions atomic.Int32
}

func newBench(t testing.TB, v *vector) *bench {
	t.Helper()
	root := t.TempDir()
	b := &bench{t: t, v: v, ws: filepath.Join(root, "w"), wall: &paper{}}
	home, reeveHome := filepath.Join(root, "h"), filepath.Join(root, "r")
	must(t, os.MkdirAll(filepath.Join(b.ws, ".git"), 0o755))
	must(t, os.MkdirAll(filepath.Join(b.ws, "dist"), 0o755))
	must(t, os.MkdirAll(home, 0o755))
	must(t, os.MkdirAll(filepath.Join(reeveHome, "config"), 0o700))
	must(t, os.WriteFile(filepath.Join(b.ws, "README"), []byte("hello\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(b.ws, ".git", "config"), nil, 0o644))
	for _, f := range v.files {
		must(t, os.WriteFile(filepath.Join(b.ws, f.Name), f.Data, 0o644))
	}
	must(t, os.WriteFile(filepath.Join(reeveHome, "config", "policy.toml"), []byte(v.rules), 0o600))
	mode := v.call.Mode
	if mode == "dangerous" {
		mode = "default"
	}
	conf := "gate.mode = \"" + mode + "\"\n"
	if v.call.Answer == "timeout" {
		conf += "approval.deadline = \"1s\"\n"
	}
	conf += v.conf
	must(t, os.WriteFile(filepath.Join(reeveHome, "config", "config.toml"), []byte(conf), 0o600))
	var err error
	b.wall.state, err = reeve.ParseSandbox(v.call.Sandbox)
	must(t, err)
	env := map[string]string{"HOME": home, "REEVE_HOME": reeveHome, "XDG_RUNTIME_DIR": root}
	getenv := func(name string) string { return env[name] }
	paths, err := config.Dirs(getenv)
	must(t, err)
	b.c = &client.Client{Paths: paths, Build: "test", Getenv: getenv}
	ready, tell := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	got := make(chan *Daemon, 1)
	go func() {
		ended <- run(ctx, Options{Paths: paths, Build: "test", Getenv: getenv, Ready: tell, Log: io.Discard, Wall: b.wall}, func(d *Daemon) { got <- d })
	}()
	word, err := io.ReadAll(ready)
	if err != nil || string(word) != "ok" {
		t.Fatalf("the daemon says %q, %v", word, err)
	}
	b.d = <-got
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	})
	for name, state := range v.call.Catalog {
		must(t, b.d.SetTool(wire.SetTool{Name: name, State: state}))
	}
	b.answer()
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer stands in for the person: every question gets the vector's answer.
func (b *bench) answer() {
	events, _, stop := b.d.broker.Watch(false)
	b.t.Cleanup(stop)
	go func() {
		for e := range events {
			if e.State != approval.Pending {
				continue
			}
			b.questions.Add(1)
			switch b.v.call.Answer {
			case "yes":
				b.d.broker.Settle(e.Question.ID, approval.Answer{State: approval.Allowed, Scope: approval.Once})
			case "no":
				b.d.broker.Settle(e.Question.ID, approval.Answer{State: approval.Denied})
			}
		}
	}()
}

func (b *bench) args() jsontext.Value {
	return jsontext.Value(strings.ReplaceAll(string(b.v.call.Args), "@STATE@", b.c.Paths.State))
}

func (b *bench) askable() bool { return b.v.call.Askable == nil || *b.v.call.Askable }

// kernel sends the vector straight to the kernel.
func (b *bench) kernel() (wire.Decision, bool) {
	mode, err := reeve.ParseMode(b.v.call.Mode)
	must(b.t, err)
	one, err := b.d.store.Create(session.Session{Client: "test", Workspace: b.ws, Mode: mode, Profile: "agent"}, b.c.Paths.Home)
	must(b.t, err)
	origin, err := reeve.ParseOrigin(b.v.call.Origin)
	if b.v.call.Origin == "" {
		origin, err = reeve.OriginAgent, nil
	}
	must(b.t, err)
	inv := &reeve.Invocation{ID: newID(), Session: one.ID, Actor: "agent:test", Channel: reeve.ChannelCLI, Origin: origin,
		Tool: b.v.call.Tool, Args: b.args(), Askable: b.askable()}
	switch origin {
	case reeve.OriginHost:
		inv.Actor = reeve.ActorUser
	case reeve.OriginNested:
		// A call of the same session that is still running is the parent.
		parent := &reeve.Invocation{ID: newID(), Session: one.ID, Actor: "agent:test", Channel: reeve.ChannelHook,
			Tool: foreign.Canonical("claude", "Read"), Args: []byte(`{"file_path":"` + b.ws + `/README"}`)}
		if d := b.d.kernel.Decide(b.t.Context(), parent); d.Verdict != reeve.Allow && mode != reeve.ModePlan {
			b.t.Fatalf("the parent was not allowed: %+v", d)
		}
		inv.Parent = parent.ID
	}
	if h := b.v.call.Hook; h != nil {
		v, err := reeve.ParseVerdict(h["verdict"])
		must(b.t, err)
		inv.Hook = reeve.Answer{Verdict: v, Reason: h["reason"]}
	}
	for _, taint := range b.v.call.Taint {
		b.d.store.AddTaint(one.ID, flow.Taint{Untrusted: taint == "untrusted", Private: taint == "private"})
	}
	if tool, ok := b.d.tools.Find(inv.Tool); ok && strings.HasPrefix(tool.Spec().Source, "foreign:") {
		inv.Contained = b.wall.state == reeve.SandboxReady
		d := b.d.kernel.Decide(b.t.Context(), inv)
		return api.Decision(d), d.Verdict == reeve.Allow
	}
	d, r := b.d.kernel.Do(b.t.Context(), inv)
	return api.Decision(d), r.Status != reeve.StatusDenied
}

// exec sends it through the local socket as reeve exec does.
func (b *bench) exec() (wire.Decision, bool) {
	e := wire.Exec{Tool: b.v.call.Tool, Args: b.args(), As: "agent:test", Mode: b.v.call.Mode, Workspace: b.ws, Dir: b.ws}
	if b.v.call.Origin == "host" {
		e.As = ""
	}
	if b.askable() {
		e.WaitMS = 30_000
	}
	x, err := b.c.Exec(b.t.Context(), e, nil)
	if err != nil {
		b.t.Errorf("exec: %v", err)
	}
	return x.Decision, x.Result.Status != string(reeve.StatusDenied)
}

// hook sends it as the hook of Claude Code, with that client's names.
func (b *bench) hook() (wire.Decision, bool) {
	tool, args := b.v.call.Tool, b.arguments()
	if path, ok := args["path"].(string); ok {
		delete(args, "path")
		args["file_path"] = path
	}
	if host, ok := args["host"]; ok {
		delete(args, "host")
		args["dangerouslyDisableSandbox"] = host
	}
	if name, ok := map[string]string{"bash": "Bash", "read_file": "Read", "write_file": "Write", "claude:read": "Read"}[tool]; ok {
		tool = name
	}
	d, a := b.event("claude", strings.TrimPrefix(tool, "claude:"), args)
	return d, a.Exit == 0 && strings.Contains(string(a.Stdout), `"permissionDecision":"allow"`)
}

// codex sends it as the hook of Codex: what that client has no tool for, it
// does by a patch or by looking at an image.
func (b *bench) codex() (wire.Decision, bool) {
	tool, args := b.v.call.Tool, b.arguments()
	switch tool {
	case "bash":
		tool = "Bash"
		delete(args, "timeout")
	case "read_file", "claude:read", "claude:Read":
		tool = "view_image"
		if path, ok := args["file_path"]; ok {
			args = map[string]any{"path": path}
		}
	case "write_file":
		tool = "apply_patch"
		args = map[string]any{"command": fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n", args["path"], strings.ReplaceAll(strings.TrimSuffix(args["content"].(string), "\n"), "\n", "\n+"))}
	}
	d, a := b.event("codex", strings.TrimPrefix(tool, "claude:"), args)
	return d, a.Exit == 0 && len(a.Stdout) == 0
}

// arguments are the vector's, with a path made absolute.
func (b *bench) arguments() map[string]any {
	args := map[string]any{}
	must(b.t, json.Unmarshal(b.args(), &args))
	if path, ok := args["path"].(string); ok && !filepath.IsAbs(path) {
		args["path"] = filepath.Join(b.ws, path)
	}
	return args
}

// event sends one call through a client's hook.
func (b *bench) event(client, tool string, args map[string]any) (wire.Decision, wire.Hooked) {
	input, err := json.Marshal(args)
	must(b.t, err)
	event, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "session_id": "f1", "cwd": b.ws, "permission_mode": "default",
		"tool_name": tool, "tool_input": jsontext.Value(input), "tool_use_id": "toolu_1"})
	must(b.t, err)
	inSession := ""
	if b.wall.state == reeve.SandboxReady {
		mode, err := reeve.ParseMode(b.v.call.Mode)
		must(b.t, err)
		one, err := b.d.store.Create(session.Session{Client: "run", Workspace: b.ws, Mode: mode, Profile: "agent"}, b.c.Paths.Home)
		must(b.t, err)
		inSession = one.ID
	}
	seen := make(chan reeve.Decision, 1)
	b.d.hooked = func(d reeve.Decision) { seen <- d }
	a := b.d.api.Hook.Hook(b.t.Context(), wire.Hook{Client: client, Event: event, Dir: b.ws}, inSession)
	return api.Decision(<-seen), a
}

// TestEveryDoorDecidesAlike runs testdata/decide through the kernel and every
// door that exists (contract A35, G8; DESIGN section 9).
func TestEveryDoorDecidesAlike(t *testing.T) {
	files, err := filepath.Glob("../../testdata/decide/*.txtar")
	must(t, err)
	if len(files) < 100 {
		t.Fatalf("%d vectors found, want at least 100", len(files))
	}
	doors := []struct {
		name string
		do   func(*bench) (wire.Decision, bool)
	}{{"kernel", (*bench).kernel}, {"exec", (*bench).exec}, {"hook", (*bench).hook}, {"codex", (*bench).codex}}
	for _, file := range files {
		v := readVector(t, file)
		for _, door := range doors {
			if !v.through(door.name) {
				continue
			}
			t.Run(v.name+"/"+door.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, v)
				d, moved := door.do(b)
				w := v.want
				if d.Decision != w.Decision || w.Step != "*" && d.Step != w.Step || w.Rule != "*" && d.Rule != w.Rule {
					t.Errorf("decided %s in step %s by %q (%s: %s)\nwant %s in step %s by %q", d.Decision, d.Step, d.Rule, d.Source, d.Reason, w.Decision, w.Step, w.Rule)
				}
				if n := int(b.questions.Load()); n != w.Questions {
					t.Errorf("%d questions, want %d", n, w.Questions)
				}
				if moved != (w.Decision == "allow") {
					t.Errorf("the hand moved: %v, decision wanted: %s", moved, w.Decision)
				}
			})
		}
	}
}
