package edge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
)

const token = "0123456789abcdef0123456789abcdef"

// conv answers tools/call: by what it is told to, with progress before it, or
// never.
type conv struct {
	*talk.Talk
	ended chan string
}

func (c conv) Mirrored(_ context.Context, m message.Message, header func(string) (string, bool)) error {
	if v, given := header("Region"); given && v != "Zürich" {
		return errors.New("Mcp-Param-Region is not what the arguments say")
	}
	return nil
}

type place struct {
	url   string
	ended chan string
	talks chan *talk.Talk
}

func serve(t *testing.T) place {
	t.Helper()
	p := place{ended: make(chan string, 10), talks: make(chan *talk.Talk, 10)}
	open := func(send func(message.Message)) Conversation {
		c := talk.Open(talk.Options{Version: "1", Named: func(string) {}, Level: func(string) {}, Watch: func([]string) error { return nil },
			Handlers: map[string]func(*talk.Request){"tools/call": func(r *talk.Request) {
				switch r.Params.Text("name") {
				case "hang":
					<-r.Ctx.Done()
					p.ended <- "hang"
					r.Result([]byte("{}"))
				case "flood":
					for r.Ctx.Err() == nil && len(p.ended) == 0 {
						r.Out(message.Message{Kind: message.Notification, Method: "notifications/progress", Params: []byte(`{"progress":1,"message":"` + strings.Repeat("x", 64<<10) + `"}`)})
					}
					p.ended <- "flood"
					r.Result([]byte("{}"))
				case "progress":
					r.Out(message.Message{Kind: message.Notification, Method: "notifications/progress", Params: []byte(`{"progress":1}`)})
					r.Result([]byte(`{"ok":true}`))
				default:
					r.Result([]byte(`{"ok":true}`))
				}
			}}}, send)
		p.talks <- c
		return conv{c, p.ended}
	}
	l := httptest.NewUnstartedServer(nil)
	host := l.Listener.Addr().String()
	h := New(Options{Open: open, Token: token, Hosts: []string{host, "localhost" + host[strings.LastIndexByte(host, ':'):]}})
	h.unread = 200 * time.Millisecond
	l.Config.Handler = h
	l.Start()
	t.Cleanup(func() { h.Close(); l.Close() })
	<-p.talks // the one of the modern era
	p.url = l.URL
	return p
}

// ask makes one request; headers are name, value pairs, an empty value takes
// one away.
func (p place) ask(t *testing.T, method, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernCall(name string) (string, []string) {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{},` + modernMeta + `}}`,
		[]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name}
}

// TestNobodyIsServedWithoutTheTokenFromAnotherOriginOrUnderAnotherName: what a
// page in a browser can do is not enough (G6).
func TestNobodyIsServedWithoutTheTokenFromAnotherOriginOrUnderAnotherName(t *testing.T) {
	p := serve(t)
	body, headers := modernCall("x")
	host := strings.TrimPrefix(p.url, "http://")
	for _, c := range []struct {
		name string
		more []string
		want int
	}{
		{"as it should be", nil, 200},
		{"from its own origin", []string{"Origin", p.url}, 200},
		{"by the name localhost", []string{"Host", strings.Replace(host, "127.0.0.1", "localhost", 1)}, 200},
		{"no token", []string{"Authorization", ""}, 401},
		{"another token", []string{"Authorization", "Bearer " + strings.Repeat("x", 32)}, 401},
		{"the token by another scheme", []string{"Authorization", "Basic " + token}, 401},
		{"another origin", []string{"Origin", "https://evil.example"}, 403},
		{"another port's origin", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"no origin at all", []string{"Origin", "null"}, 403},
		{"another name for this machine", []string{"Host", "evil.example"}, 403},
		{"the right name with another port", []string{"Host", "127.0.0.1:1"}, 403},
		{"no message", []string{"Content-Type", "text/plain"}, 415},
		{"takes no stream", []string{"Accept", "application/json"}, 406},
	} {
		r := p.ask(t, "POST", body, append(append([]string{}, headers...), c.more...)...)
		if r.StatusCode != c.want {
			t.Errorf("%s: %d %s", c.name, r.StatusCode, text(t, r))
		}
	}
}

func TestWhatHeadersRepeatMustBeWhatTheMessageSays(t *testing.T) {
	p := serve(t)
	body, headers := modernCall("x")
	with := func(more ...string) []string { return append(append([]string{}, headers...), more...) }
	for _, c := range []struct {
		name    string
		body    string
		headers []string
		status  int
		want    string
	}{
		{"the same", body, headers, 200, `"ok":true`},
		{"another version", body, with("MCP-Protocol-Version", "2025-11-25"), 400, "-32020"},
		{"another method", body, with("Mcp-Method", "tools/list"), 400, "-32020"},
		{"no method", body, with("Mcp-Method", ""), 400, "-32020"},
		{"another name", body, with("Mcp-Name", "y"), 400, "-32020"},
		{"a name in base64", body, with("Mcp-Name", "=?base64?eA==?="), 200, `"ok":true`},
		{"an argument in base64", body, with("Mcp-Param-Region", "=?base64?WsO8cmljaA==?="), 200, `"ok":true`},
		{"another argument", body, with("Mcp-Param-Region", "Bern"), 400, "-32020"},
		{"a version that is not spoken", strings.Replace(body, "2026-07-28", "2030-01-01", 1), with("MCP-Protocol-Version", "2030-01-01"), 400, "-32022"},
		{"a method that is none", strings.Replace(body, "tools/call", "no/such", 1), with("Mcp-Method", "no/such"), 404, "-32601"},
		{"no capabilities", strings.Replace(body, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), headers, 400, "-32602"},
		{"no message", "{", headers, 400, "-32700"},
	} {
		r := p.ask(t, "POST", c.body, c.headers...)
		if got := text(t, r); r.StatusCode != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, r.StatusCode, got, c.status, c.want)
		}
	}
}

func TestAnAnswerThatIsNotAloneIsAStreamAndItsEndCancels(t *testing.T) {
	p := serve(t)
	body, headers := modernCall("progress")
	r := p.ask(t, "POST", body, headers...)
	got := text(t, r)
	if r.Header.Get("Content-Type") != "text/event-stream" || strings.Count(got, "data: ") != 2 || !strings.HasSuffix(got, "\n\n") || !strings.Contains(got, `"id":1,"result":{"ok":true}`) {
		t.Errorf("%s: %q", r.Header.Get("Content-Type"), got)
	}
	body, headers = modernCall("hang")
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", p.url+"/mcp", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	time.AfterFunc(100*time.Millisecond, cancel)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		t.Error("the call goes on although nobody waits")
	}
}

func TestALegacyClientHasASessionAndAStreamOfItsOwn(t *testing.T) {
	p := serve(t)
	if r := p.ask(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`); r.StatusCode != 400 {
		t.Errorf("without a session: %d %s", r.StatusCode, text(t, r))
	}
	r := p.ask(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	id := r.Header.Get("Mcp-Session-Id")
	if r.StatusCode != 200 || len(id) < 20 || !strings.Contains(text(t, r), `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("initialize: %d, session %q", r.StatusCode, id)
	}
	own := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}
	if r := p.ask(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, own...); r.StatusCode != 202 {
		t.Errorf("a notification: %d", r.StatusCode)
	}
	if r := p.ask(t, "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`, own...); r.StatusCode != 200 || !strings.Contains(text(t, r), `"ok":true`) {
		t.Errorf("a call: %d", r.StatusCode)
	}
	stream := p.ask(t, "GET", "", own...)
	if second := p.ask(t, "GET", "", own...); second.StatusCode != 409 {
		t.Errorf("a second stream: %d", second.StatusCode)
	}
	(<-p.talks).Changed("tools")
	line, err := bufio.NewReader(stream.Body).ReadString('\n')
	if err != nil || !strings.Contains(line, "notifications/tools/list_changed") {
		t.Errorf("the stream says %q %v", line, err)
	}
	if r := p.ask(t, "POST", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Mcp-Session-Id", id+"x"); r.StatusCode != 404 {
		t.Errorf("another session: %d", r.StatusCode)
	}
	if r := p.ask(t, "POST", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Mcp-Session-Id", id, "MCP-Protocol-Version", "1999-01-01"); r.StatusCode != 400 {
		t.Errorf("a version that is not spoken: %d", r.StatusCode)
	}
	if r := p.ask(t, "DELETE", "", own...); r.StatusCode != 204 {
		t.Errorf("its end: %d", r.StatusCode)
	}
	if r := p.ask(t, "POST", `{"jsonrpc":"2.0","id":4,"method":"ping"}`, own...); r.StatusCode != 404 {
		t.Errorf("after its end: %d", r.StatusCode)
	}
}

func TestOnlyThisMachinesOwnAddressIsBound(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:80", "localhost:0"} {
		if f, _, err := Listen(addr); err == nil {
			f.Close()
			t.Errorf("%s was bound", addr)
		}
	}
	f, at, err := Listen("127.0.0.1:0")
	if err != nil || !strings.HasPrefix(at, "127.0.0.1:") {
		t.Fatalf("%s %v", at, err)
	}
	f.Close()
	if err := Serve(t.Context(), f, "short", nil); err == nil {
		t.Error("a short token was taken")
	}
}

// TestAClientThatReadsNothingIsNotWaitedFor: who tells it something is let go,
// since others wait for the same server.
func TestAClientThatReadsNothingIsNotWaitedFor(t *testing.T) {
	p := serve(t)
	body, headers := modernCall("flood")
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", c.RemoteAddr(), token)
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(c, "%s: %s\r\n", headers[i], headers[i+1])
	}
	fmt.Fprintf(c, "Content-Length: %d\r\n\r\n%s", len(body), body)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		t.Error("it is waited for")
	}
}
