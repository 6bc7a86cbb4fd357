package daemon

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/policy/trust"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

func plainVector() *vector {
	v := &vector{}
	v.call.Mode, v.call.Sandbox = "default", "missing"
	return v
}

// TestAnAgentsProcessCannotActForAPerson: the peer is this test, which is
// marked as an agent's process; everything that needs a person is refused,
// while what an agent may do still works.
func TestAnAgentsProcessCannotActForAPerson(t *testing.T) {
	b := newBench(t, plainVector())
	b.d.api.Governed.Add(os.Getpid(), false)
	ctx := t.Context()
	exec := wire.Exec{Tool: "read_file", Args: jsontext.Value(`{"path":"README"}`), Workspace: b.ws, Dir: b.ws}
	for what, err := range map[string]error{
		"settle":  b.c.Settle(ctx, wire.Settle{ID: "x", Allow: true}),
		"revoke":  b.c.Revoke(ctx, "x"),
		"set":     b.c.SetTool(ctx, wire.SetTool{Name: "bash", State: "auto"}),
		"trust":   b.c.Trust(ctx, wire.Trust{Workspace: b.ws, Digest: make([]byte, 32)}),
		"servers": second(b.c.Servers(ctx, wire.Servers{Do: "add", Server: "x", Entry: jsontext.Value(`{"command":"x"}`)})),
		"inspect": second(b.c.Inspect(ctx, wire.Inspect{Server: "x", Ask: true})),
		"watch":   b.c.Watch(ctx, func(approval.Event) {}),
		"down":    second(b.c.Down(ctx, wire.Down{})),
		"attach":  second(b.c.Attach(ctx, wire.Attach{ID: "x"}, nil)),
		"resume":  second(b.c.Resume(ctx, wire.Resume{ID: "x"}, nil)),
		"stop":    second(b.c.Stop(ctx, "x")),
		"remove":  b.c.Remove(ctx, "x"),
		"diff":    b.c.Diff(ctx, "x", os.Stdout),
		"merge":   second(b.c.Merge(ctx, "x")),
		"drop":    b.c.Drop(ctx, wire.Drop{ID: "x"}),
		"logs":    second(b.c.Logs(ctx, wire.Logs{ID: "x"}, nil)),
		"exec":    second(b.c.Exec(ctx, exec, nil)),
		"as user": second(b.c.Exec(ctx, wire.Exec{Tool: exec.Tool, Args: exec.Args, Workspace: b.ws, Dir: b.ws, As: "user"}, nil)),
		"run":     second(b.c.Run(ctx, wire.Run{Argv: []string{"true"}, Dir: b.ws}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, nil)),
	} {
		if !errors.Is(err, reeve.ErrPresence) {
			t.Errorf("%s: %v, want a refusal for want of a person", what, err)
		}
	}
	exec.As = "agent:a"
	if x, err := b.c.Exec(ctx, exec, nil); err != nil || x.Decision.Decision != "allow" {
		t.Errorf("as an agent: %+v, %v", x.Decision, err)
	}
	if _, err := b.c.Status(ctx); err != nil {
		t.Errorf("status: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestALesserActorNeverCarriesThePersonsAuthority(t *testing.T) {
	v := plainVector()
	v.rules = `ask = ["read_file"]`
	b := newBench(t, v)
	for as, want := range map[string]string{"": "allow", "user": "allow", "agent:a": "deny", "child:p/c": "deny", "monitor": "deny", "watcher:t": "deny"} {
		x, err := b.c.Exec(t.Context(), wire.Exec{Tool: "read_file", Args: jsontext.Value(`{"path":"README"}`), Workspace: b.ws, Dir: b.ws, As: as}, nil)
		if err != nil || x.Decision.Decision != want {
			t.Errorf("as %q: %s, %v; want %s", as, x.Decision.Decision, err, want)
		}
	}
}

// TestASessionsSocketTakesHookCallsFromInsideOnly: the socket is reached here
// from outside the boundary, and with other methods.
func TestASessionsSocketTakesHookCallsFromInsideOnly(t *testing.T) {
	b := newBench(t, plainVector())
	one, err := b.d.store.Create(session.Session{Client: "run", Workspace: b.ws, Mode: reeve.ModeDefault, Profile: "agent"}, b.c.Paths.Home)
	must(t, err)
	path, err := b.d.OpenHook(t.Context(), one.ID)
	must(t, err)
	defer b.d.Ended(one.ID)
	for _, method := range []string{wire.MethodHook, wire.MethodMCP, wire.MethodSettle, wire.MethodExec, wire.MethodStatus, wire.MethodDown} {
		conn, err := localsock.Dial(path, time.Second)
		must(t, err)
		frame, err := wire.Encode(wire.Request{Hello: wire.Hello{Proto: wire.Proto, Build: "test"}, Method: method, Params: jsontext.Value(`{}`)})
		must(t, err)
		must(t, conn.Write(frame))
		got, _, err := conn.Read()
		must(t, err)
		var m wire.Message
		must(t, wire.Decode(got, &m))
		if m.Error == nil || !errors.Is(m.Error.Err(), reeve.ErrPresence) {
			t.Errorf("%s: %+v, want a refusal", method, m.Error)
		}
		conn.Close()
	}
}

func TestAnotherProtocolIsToldWhatToDo(t *testing.T) {
	b := newBench(t, plainVector())
	conn, err := localsock.Dial(b.d.socket, time.Second)
	must(t, err)
	defer conn.Close()
	frame, err := wire.Encode(wire.Request{Hello: wire.Hello{Proto: 99, Build: "test"}, Method: wire.MethodStatus, Params: jsontext.Value(`{}`)})
	must(t, err)
	must(t, conn.Write(frame))
	got, _, err := conn.Read()
	must(t, err)
	var m wire.Message
	must(t, wire.Decode(got, &m))
	if m.Error == nil || !errors.Is(m.Error.Err(), reeve.ErrUnavailable) {
		t.Errorf("answered %+v", m)
	}
}

// TestAQuestionDiesWithItsCaller: the caller goes away, the question is
// withdrawn and nothing runs.
func TestAQuestionDiesWithItsCaller(t *testing.T) {
	v := plainVector()
	v.rules = `ask = ["write_file"]`
	b := newBench(t, v)
	events, _, stop := b.d.broker.Watch(false)
	defer stop()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- second(b.c.Exec(ctx, wire.Exec{Tool: "write_file", Args: jsontext.Value(`{"path":"a","content":"x"}`), Workspace: b.ws, Dir: b.ws, As: "agent:a", WaitMS: 60_000}, nil))
	}()
	q := <-events
	cancel()
	end := <-events
	if end.Question.ID != q.Question.ID || end.State != approval.Withdrawn {
		t.Errorf("the question ended %s, want withdrawn", end.State)
	}
	<-done
	if _, err := os.Stat(b.ws + "/a"); err == nil {
		t.Error("the call ran without an answer")
	}
}

// TestTrustIsForTheExactContentInItsWorkspace covers amendment 3 of DESIGN 5.
func TestTrustIsForTheExactContentInItsWorkspace(t *testing.T) {
	b := newBench(t, plainVector())
	a, other := [32]byte{1}, [32]byte{2}
	must(t, b.c.Trust(t.Context(), wire.Trust{Workspace: b.ws, Digest: a[:]}))
	for _, c := range []struct {
		ws     string
		digest [32]byte
		want   bool
	}{{b.ws, a, true}, {b.ws, other, false}, {b.ws + "2", a, false}} {
		if got := b.d.trust.Has(c.ws, c.digest); got != c.want {
			t.Errorf("has(%s, %d) = %v, want %v", c.ws, c.digest[0], got, c.want)
		}
	}
	again, err := trust.Open(b.c.Paths.State, nil)
	must(t, err)
	if !again.Has(b.ws, a) {
		t.Error("trust did not outlive the daemon")
	}
	must(t, b.c.Trust(t.Context(), wire.Trust{Workspace: b.ws, Digest: a[:], Forget: true}))
	if b.d.trust.Has(b.ws, a) {
		t.Error("forgotten, yet trusted")
	}
}
