package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// sdk is a server of the official SDK.
func sdk(quit <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Instructions: "Use echo."})
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "progress"}, func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: res.Action}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		select { // the SDK does not end a call when its stream closes
		case <-ctx.Done():
		case <-quit:
		}
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "more"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "extra"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "more"}}}, nil, nil
	})
	return s
}

// serve is the SDK's server behind HTTP, in one era.
func serve(t *testing.T, modern bool) *httptest.Server {
	t.Helper()
	quit := make(chan struct{})
	s := sdk(quit)
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: modern}))
	t.Cleanup(func() { close(quit); h.Close() })
	return h
}

func dialer(t *testing.T, address string, o Options) upstream.Dialer {
	t.Helper()
	var err error
	if o.URL, err = Address(address); err != nil {
		t.Fatal(err)
	}
	if o.Guard == nil {
		o.Guard = &netguard.Guard{}
	}
	return Dialer(o)
}

func connect(t *testing.T, address string, web Options, o upstream.Options) (*upstream.Conn, error) {
	t.Helper()
	o.Name, o.Dial = "t", dialer(t, address, web)
	if o.Capabilities == nil {
		o.Capabilities = []byte(`{"elicitation":{}}`)
	}
	o.Client = []byte(`{"name":"reeve","version":"0"}`)
	c, err := upstream.Open(t.Context(), o)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

func tool(name, args string) upstream.Request {
	return upstream.Request{Method: "tools/call", Params: message.Object{message.OwnText("name", name), message.Own("arguments", []byte(args))}, Name: name, Timeout: 10 * time.Second}
}

func said(result []byte, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		return fmt.Sprintf("result %s: %v", result, err)
	}
	return r.Content[0].Text
}

func TestTheSDKsServersAreSpokenToInEitherEra(t *testing.T) {
	for _, modern := range []bool{true, false} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			h := serve(t, modern)
			changed := make(chan string, 100)
			o := upstream.Options{Events: upstream.Events{Changed: func(l string) { changed <- l }}}
			if !modern {
				o.Only = upstream.EraLegacy
			}
			c, err := connect(t, h.URL, Options{}, o)
			if err != nil {
				t.Fatal(err)
			}
			if (c.Era() == upstream.EraModern) != modern || c.Info().Instructions != "Use echo." {
				t.Errorf("era %s, %+v", c.Era(), c.Info())
			}
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					if got := said(c.Call(t.Context(), tool("echo", fmt.Sprintf(`{"text":"h€ %d"}`, i)))); got != fmt.Sprintf("h€ %d", i) {
						t.Errorf("echo: %q", got)
					}
				})
			}
			all.Wait()
			reports := 0
			r := tool("progress", `{}`)
			r.Progress = func([]byte) { reports++ }
			if got := said(c.Call(t.Context(), r)); got != "done" || reports != 3 {
				t.Errorf("progress: %q after %d reports", got, reports)
			}
			if err := c.Watch(t.Context(), nil); err != nil {
				t.Errorf("watch: %v", err)
			}
			if got := said(c.Call(t.Context(), tool("more", `{}`))); got != "more" {
				t.Errorf("more: %q", got)
			}
			select {
			case l := <-changed:
				if l != "tools" {
					t.Errorf("told of %s", l)
				}
			case <-time.After(10 * time.Second):
				t.Error("the change of the tools was not told")
			}
			r = tool("ask", `{}`)
			r.Input = func(_ context.Context, asks []upstream.Ask) ([]upstream.Answer, error) {
				return []upstream.Answer{{Key: asks[0].Key, Result: []byte(`{"action":"decline"}`)}}, nil
			}
			if got := said(c.Call(t.Context(), r)); !modern && got != "decline" {
				t.Errorf("ask: %q", got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := c.Call(ctx, tool("hang", `{}`)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("hang: %v", err)
			}
		})
	}
}

func TestWhatCannotBeReachedIsNotTakenForLegacy(t *testing.T) {
	var posts []string
	var mu sync.Mutex
	answer := func(f func(w http.ResponseWriter, method string)) string {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			m, _ := message.Decode(b)
			mu.Lock()
			posts = append(posts, m.Method)
			mu.Unlock()
			f(w, m.Method)
		}))
		t.Cleanup(h.Close)
		return h.URL
	}
	for _, c := range []struct {
		name  string
		f     func(w http.ResponseWriter, method string)
		want  string
		posts string
	}{
		{"redirection", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "https://evil.example/")
			w.WriteHeader(307)
		}, "points to another address", "server/discover"},
		{"no token", func(w http.ResponseWriter, _ string) { w.WriteHeader(401) }, "give it a token", "server/discover"},
		{"not found", func(w http.ResponseWriter, _ string) { w.WriteHeader(404) }, "404", "server/discover initialize"},
		{"a page", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		}, "neither JSON nor", "server/discover initialize"},
		{"JSON of another kind", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"hello":1}`)
		}, "no message of the protocol", "server/discover initialize"},
		{"an answer to another question", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":777,"result":{}}`)
		}, "answered another question", "server/discover initialize"},
		{"an error without an id", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`)
		}, "Server not initialized", "server/discover initialize"},
		{"too long", func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, strings.Repeat(" ", 2000))
		}, "too long", "server/discover"},
	} {
		t.Run(c.name, func(t *testing.T) {
			posts = nil
			_, err := connect(t, answer(c.f), Options{Max: 1000}, upstream.Options{})
			mu.Lock()
			got := strings.Join(posts, " ")
			mu.Unlock()
			if err == nil || !strings.Contains(err.Error(), c.want) || got != c.posts {
				t.Errorf("%v after %q, want %q after %q", err, got, c.want, c.posts)
			}
		})
	}
	if _, err := connect(t, "http://127.0.0.1:1", Options{}, upstream.Options{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestTheHeadersOfAModernRequest(t *testing.T) {
	var got http.Header
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		m, _ := message.Decode(b)
		w.Header().Set("Content-Type", "application/json")
		if got = r.Header.Clone(); m.Method == "server/discover" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, m.ID)
	}))
	defer h.Close()
	c, err := connect(t, h.URL, Options{Headers: map[string]string{"Authorization": "Bearer x"}}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := tool("größe", `{}`)
	r.Headers = []upstream.Header{{Name: "Region", Value: "us-west1"}, {Name: "Text", Value: " padded "}, {Name: "Val", Value: "=?base64?literal?="}}
	if got := said(c.Call(t.Context(), r)); got != "ok" {
		t.Fatal(got)
	}
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=", "Authorization": "Bearer x",
		"Mcp-Param-Region": "us-west1", "Mcp-Param-Text": "=?base64?IHBhZGRlZCA=?=", "Mcp-Param-Val": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Mcp-Session-Id": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
}

// TestABrokenStreamIsTakenUpAgain: of a legacy server, where it left off; of a
// modern one never, since the request would be made twice.
func TestABrokenStreamIsTakenUpAgain(t *testing.T) {
	var resumed []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			last := r.Header.Get("Last-Event-ID")
			if last == "" {
				w.WriteHeader(405)
				return
			}
			resumed = append(resumed, last)
			w.Header().Set("Content-Type", "text/event-stream")
			if len(resumed) == 1 {
				io.WriteString(w, "id: e2\ndata:\n\n") // nothing yet
				return
			}
			io.WriteString(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\n"+"data: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n")
			return
		}
		b, _ := io.ReadAll(r.Body)
		m, err := message.Decode(b)
		switch {
		case err != nil:
			w.WriteHeader(202)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "s1")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
		case m.Kind == message.Request:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "retry: 10\r\nid: e1\r\ndata:\r\n\r\n")
		default:
			w.WriteHeader(202)
		}
	}))
	defer h.Close()
	c, err := connect(t, h.URL, Options{}, upstream.Options{Only: upstream.EraLegacy})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(c.Call(t.Context(), tool("x", `{}`))); got != "late" || strings.Join(resumed, " ") != "e1 e2" {
		t.Errorf("%q after resuming at %q", got, resumed)
	}
}

func TestASessionIsRepeatedAndEnded(t *testing.T) {
	var seen []string
	var mu sync.Mutex
	forget := false
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		m, _ := message.Decode(b)
		mu.Lock()
		seen = append(seen, fmt.Sprintf("%s %s %s %s", r.Method, m.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version")))
		gone := forget
		mu.Unlock()
		switch {
		case gone:
			w.WriteHeader(404)
		case r.Method == http.MethodGet:
			w.WriteHeader(405)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "s1")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`, m.ID)
		case m.Kind == message.Request:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, m.ID)
		default:
			w.WriteHeader(202)
		}
	}))
	defer h.Close()
	c, err := connect(t, h.URL, Options{}, upstream.Options{Only: upstream.EraLegacy})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(c.Call(t.Context(), tool("x", `{}`))); got != "ok" {
		t.Errorf("%q", got)
	}
	c.Close()
	mu.Lock()
	text := strings.Join(seen, "\n")
	mu.Unlock()
	for _, want := range []string{"POST initialize  \n", "POST notifications/initialized s1 2025-06-18", "POST tools/call s1 2025-06-18", "DELETE  s1 2025-06-18"} {
		if !strings.Contains(text, want) {
			t.Errorf("the server did not see %q:\n%s", want, text)
		}
	}
	c, err = connect(t, h.URL, Options{}, upstream.Options{Only: upstream.EraLegacy})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	forget = true
	mu.Unlock()
	if got := said(c.Call(t.Context(), tool("x", `{}`))); !strings.Contains(got, "404") && !strings.Contains(got, "forgotten") {
		t.Errorf("%q", got)
	}
	<-c.Done()
	if err := c.Ended(); err == nil || !strings.Contains(err.Error(), "forgotten its session") {
		t.Errorf("ended with %v", err)
	}
}

func TestAnEventAboveTheBoundFailsItsOwnCall(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		m, _ := message.Decode(b)
		if m.Method == "server/discover" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: ")
		for range 100 << 20 / 65536 {
			if _, err := io.WriteString(w, strings.Repeat("x", 65536)); err != nil {
				return
			}
		}
	}))
	defer h.Close()
	c, err := connect(t, h.URL, Options{}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = c.Call(t.Context(), tool("x", `{}`))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, upstream.ErrLong) {
		t.Errorf("%v", err)
	}
	if grown := int64(after.Sys) - int64(before.Sys); grown > 128<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/mcp":       "",
		"http://127.0.0.1:3000/mcp":     "",
		"http://localhost:3000":         "",
		"http://[::1]:3000/mcp":         "",
		"http://example.com/mcp":        "to this machine alone",
		"http://127.0.0.1.evil.test/":   "to this machine alone",
		"https://u:p@example.com/":      "no user and no password",
		"ftp://example.com/":            "neither https nor http",
		"file:///etc/passwd":            "is no address",
		"javascript:alert(1)":           "is no address",
		"https://example.com:99999/":    "no usable port",
		"https://exa mple.com/":         "is no address",
		"https:\\\\example.com":         "is no address",
		"":                              "is no address",
		"https://example.com\n.evil.io": "is no address",
	} {
		_, err := Address(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestOnlyWhatWasCheckedIsDialled: a name that leads to this machine is not,
// though a server listens there; an address that was written is.
func TestOnlyWhatWasCheckedIsDialled(t *testing.T) {
	s := sdk(nil)
	h := httptest.NewTLSServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer h.Close()
	port := h.URL[strings.LastIndexByte(h.URL, ':'):]
	guard := &netguard.Guard{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	tlsConfig := &tls.Config{RootCAs: h.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for _, address := range []string{"https://example.com" + port, "https://10.0.0.1.example.com" + port} {
		_, err := connect(t, address, Options{Guard: guard, TLS: tlsConfig}, upstream.Options{})
		var refused *netguard.Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want it refused", address, err)
		}
	}
	c, err := connect(t, "https://127.0.0.1"+port, Options{Guard: guard, TLS: tlsConfig}, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(c.Call(t.Context(), tool("echo", `{"text":"x"}`))); got != "x" {
		t.Errorf("%q", got)
	}
}
