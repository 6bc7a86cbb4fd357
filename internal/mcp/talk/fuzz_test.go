package talk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// FuzzConversation: whatever a client says, nothing panics, every request has
// exactly one answer under its own id, and no goroutine is left when the
// conversation is over. One that the client has cancelled, or that only its own
// end ends, may have none.
//
// It goes on in a bubble, which fails where a goroutine stays. A handler that
// waits for the client is ended by [drainTime], which passes at once there.
func FuzzConversation(f *testing.F) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	call := func(id, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`+"\n", id, method, params)
	}
	cancel := func(id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`+"\n", id)
	}
	listen := call("3", "subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]},`+meta)
	for _, s := range []string{
		hello + call("1", "tools/list", "") + call(`"1"`, "ping", "") + `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		hello + hello + call("1", "logging/setLevel", `"level":"error"`) + call("2", "tools/call", `"name":"x"`) + call("2", "tools/call", ""),
		hello + call("1", "prompts/get", "") + `{"jsonrpc":"2.0","id":"reeve-1","result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"reeve-1","error":{"code":1,"message":"no"}}`,
		hello + call("1", "resources/read", "") + call("1", "resources/read", "") + cancel("1") + cancel(`"\u0031"`),
		hello + call("1", "resources/subscribe", `"uri":"a://b"`) + call("2", "resources/unsubscribe", `"uri":"a://b"`) + call("3", "resources/subscribe", ""),
		listen + cancel("3") + listen + call("4", "tools/call", meta),
		call("1", "server/discover", meta) + call("2", "server/discover", "") + call("3", "tasks/get", meta) + call("4", "no/such", `"_meta":[]`),
		call("1", "tools/call", `"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}`) + call("1", "initialize", `"capabilities":1`) + "{\n[]\n\n" + `{"jsonrpc":"2.0","id":7}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}` + "\n\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		synctest.Test(t, func(t *testing.T) { converse(t, in) })
	})
}

// converse says in to a conversation and holds what comes back against it.
func converse(t *testing.T, in []byte) {
	var mu sync.Mutex
	waits := false
	handlers := map[string]func(*Request){
		"tools/call": func(r *Request) { r.Log("debug", []byte(`{"level":"info","data":1}`)); r.Own(nil) },
		"tools/list": func(r *Request) { r.Fail(message.CodeInternal, "none") },
		"prompts/get": func(r *Request) { // asks its client, and waits as long as that takes
			if _, err := r.t.Ask(r.Ctx, r, "elicitation/create", []byte(`{}`)); err != nil {
				r.Fail(message.CodeInternal, err.Error())
				return
			}
			r.Own(nil)
			r.Own(nil) // a second answer is none
		},
		"resources/read": func(r *Request) {
			mu.Lock()
			waits = true
			mu.Unlock()
			<-r.Ctx.Done()
			r.Own(nil)
		},
	}
	var t0 *Talk
	var out bytes.Buffer
	began := time.Now()
	err := Stdio(t.Context(), io.MultiReader(bytes.NewReader(in), eof(func() { t0.Changed("tools"); t0.Updated("a://b") })), &out, func(send func(message.Message)) Conversation {
		t0 = Open(Options{Version: "1", Handlers: handlers, Named: func(string) {}, Level: func(string) {}, Watch: func(uris []string) error {
			if len(uris) > 3 {
				return errors.New("too many")
			}
			return nil
		}}, send)
		return t0
	})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 0 && !waits {
		t.Errorf("it took %s to end, and nothing waits for the client", took)
	}
	least, most := answersTo(in)
	for line := range bytes.Lines(out.Bytes()) {
		m, err := message.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatalf("it wrote %q: %v", line, err)
		}
		if m.Kind == message.Response {
			least[m.ID.Key()]--
			most[m.ID.Key()]--
		}
	}
	for key, n := range most {
		if n < 0 || least[key] > 0 {
			t.Errorf("%q has %d answers too many, or %d too few, in %q", key, -n, least[key], out.Bytes())
		}
	}
}

// answersTo is how many answers each id must and may have.
func answersTo(in []byte) (least, most map[string]int) {
	least, most = map[string]int{}, map[string]int{}
	cancelled := map[string]bool{}
	type one struct{ key, method string }
	var all []one
	for line := range bytes.SplitSeq(in, []byte("\n")) {
		if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
			continue
		}
		m, err := message.Decode(line)
		var fault *message.Fault
		switch {
		case errors.As(err, &fault):
			all = append(all, one{fault.ID.Key(), ""})
		case err != nil:
			all = append(all, one{"", ""})
		case m.Kind == message.Request:
			all = append(all, one{m.ID.Key(), m.Method})
		case m.Kind == message.Notification && strings.HasSuffix(m.Method, "/cancelled"):
			if o, err := message.Members(m.Params); err == nil {
				cancelled[message.ID(o.Get("requestId")).Key()] = true
			}
		}
	}
	for _, r := range all {
		most[r.key]++
		if r.method == "" || r.method == "initialize" || r.method != "subscriptions/listen" && !cancelled[r.key] {
			least[r.key]++
		}
	}
	return least, most
}

// eof calls what it is at the end of what a client says.
type eof func()

func (f eof) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}
