package edge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
)

// FuzzRequests: whatever head and body come in, nothing panics, nobody is
// served without the token, under another name or from another origin, a
// request has its one answer under its own id, a session that stood before
// stands after it, and no goroutine is left once the handler is closed (G6).
//
// TOKEN in a head stands for the token, SESSION for a session that is open. It
// goes on in a bubble, where a client that waits has gone a minute later at
// once.
func FuzzRequests(f *testing.F) {
	const door = "Host: 127.0.0.1:8765\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	head := func(method string, more ...string) string {
		return method + " /mcp HTTP/1.1\r\n" + door + strings.Join(more, "\r\n")
	}
	body := func(method, params string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"a","method":%q,"params":{%s}}`, method, params)
	}
	modern := func(method, name string) string {
		return head("POST", "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method, "Mcp-Name: "+name)
	}
	const legacy = "Mcp-Session-Id: SESSION\r\nMCP-Protocol-Version: 2025-11-25"
	f.Add(modern("tools/call", "progress"), body("tools/call", `"name":"progress",`+modernMeta))
	f.Add(modern("tools/call", "=?base64?aGFuZw==?="), body("tools/call", `"name":"hang",`+modernMeta))
	f.Add(modern("tools/call", "x")+"\r\nMcp-Param-Region: Bern", body("tools/call", `"name":"x",`+modernMeta))
	f.Add(modern("subscriptions/listen", ""), body("subscriptions/listen", `"notifications":{"toolsListChanged":true},`+modernMeta))
	f.Add(modern("server/discover", ""), body("server/discover", ""))
	f.Add(modern("ping", ""), []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`))
	f.Add(head("POST", legacy), body("tools/call", `"name":"hang"`))
	f.Add(head("POST", legacy), body("tools/call", `"name":"progress"`))
	f.Add(head("POST", legacy), []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add(head("POST", legacy), body("initialize", `"protocolVersion":"2025-11-25","capabilities":{}`))
	f.Add(head("POST"), body("initialize", `"protocolVersion":"2025-11-25","capabilities":{}`))
	f.Add(head("POST", legacy), []byte("{"))
	f.Add(head("POST", "Mcp-Session-Id: other"), body("ping", ""))
	f.Add(head("GET", legacy), []byte(nil))
	f.Add(head("DELETE", legacy), []byte(nil))
	f.Add(head("PUT", legacy), []byte(nil))
	for _, more := range []string{"Origin: http://127.0.0.1:8765", "Origin: https://127.0.0.1:8765", "Origin: null", "Origin: http://127.0.0.1:8765\r\nOrigin: http://evil.example", "Authorization: Bearer x"} {
		f.Add(head("POST", legacy, more), body("ping", ""))
	}
	f.Add(strings.Replace(head("POST", legacy), "Host: 127.0.0.1", "Host: evil.example", 1), body("ping", ""))
	f.Add(strings.Replace(head("POST", legacy), "Bearer TOKEN", "Basic TOKEN", 1), body("ping", ""))
	f.Add(strings.Replace(head("POST", legacy), " /mcp", " http://evil.example/mcp", 1), body("ping", ""))
	f.Fuzz(func(t *testing.T, head string, body []byte) {
		synctest.Test(t, func(t *testing.T) { request(t, head, body) })
	})
}

// request puts one request to a handler with an open session, and holds the
// answer against it.
func request(t *testing.T, head string, body []byte) {
	const own = "127.0.0.1:8765"
	var calls atomic.Int64
	answer := func(r *talk.Request) {
		calls.Add(1)
		switch r.Params.Text("name") {
		case "hang":
			<-r.Ctx.Done()
		case "progress":
			r.Out(message.Message{Kind: message.Notification, Method: "notifications/progress", Params: []byte(`{"progress":1}`)})
		}
		r.Own(nil)
	}
	var opened atomic.Int64
	h := New(Options{Token: token, Hosts: []string{own}, Open: func(send func(message.Message)) Conversation {
		opened.Add(1)
		return conv{Talk: talk.Open(talk.Options{Version: "1", Named: func(string) {}, Level: func(string) {}, Watch: func([]string) error { return nil },
			Handlers: map[string]func(*talk.Request){"tools/call": answer, "tools/list": answer}}, send)}
	}})
	defer h.Close()
	id, _ := h.begin()
	head = strings.NewReplacer("TOKEN", token, "SESSION", id).Replace(strings.TrimRight(head, "\r\n"))
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(fmt.Sprintf("%s\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body))))
	if err != nil {
		return // net/http answers it
	}
	ctx, gone := context.WithTimeout(t.Context(), time.Minute)
	defer gone()
	stop := context.AfterFunc(ctx, h.Close) // which ends a call of the legacy era, whose stream does not
	before := opened.Load()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	ended := !stop()

	auth, origins := r.Header["Authorization"], r.Header["Origin"]
	welcome := strings.EqualFold(r.Host, own) && len(auth) == 1 && auth[0] == "Bearer "+token
	for _, o := range origins {
		welcome = welcome && (o == "" || strings.EqualFold(o, "http://"+own))
	}
	if !welcome {
		if w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized || calls.Load() > 0 || opened.Load() > before {
			t.Errorf("%d: it was served: host %q, authorization %q, origin %q: %s", w.Code, r.Host, auth, origins, w.Body)
		}
	}
	answered(t, r, w, body, welcome)
	if ended || r.Method == http.MethodDelete && w.Code == http.StatusNoContent {
		return
	}
	ping := httptest.NewRequest(http.MethodPost, "http://"+own+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":77,"method":"ping"}`))
	for name, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "*/*", "Mcp-Session-Id": id} {
		ping.Header.Set(name, v)
	}
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, ping); w.Code != http.StatusOK || w.Body.String() != `{"jsonrpc":"2.0","id":77,"result":{}}` {
		t.Errorf("after it, the session answers a ping with %d %s", w.Code, w.Body)
	}
}

// answered: what came back is what the protocol has for it.
func answered(t *testing.T, r *http.Request, w *httptest.ResponseRecorder, body []byte, welcome bool) {
	var all []message.Message
	var texts [][]byte
	switch w.Header().Get("Content-Type") {
	case "application/json":
		texts = append(texts, w.Body.Bytes())
	case "text/event-stream":
		for line := range bytes.SplitSeq(w.Body.Bytes(), []byte("\n\n")) {
			data, found := bytes.CutPrefix(line, []byte("data: "))
			if found {
				texts = append(texts, data)
			} else if s := string(line); s != "" && s != ":" {
				t.Fatalf("the stream holds %q", line)
			}
		}
	default:
		if w.Body.Len() > 0 {
			t.Fatalf("%d with %q", w.Code, w.Body)
		}
	}
	for _, text := range texts {
		m, err := message.Decode(text)
		if err != nil {
			t.Fatalf("it wrote %q: %v", text, err)
		}
		if m.Kind == message.Response {
			all = append(all, m)
		}
	}
	if len(all) > 1 || len(all) == 0 && w.Code >= 400 || w.Code >= 500 {
		t.Errorf("%d with %d answers: %s", w.Code, len(all), w.Body)
	}
	m, err := message.Decode(bytes.TrimSpace(body))
	var fault *message.Fault
	want := m.ID
	if errors.As(err, &fault) {
		want = fault.ID
	}
	if !welcome || r.Method != http.MethodPost {
		return
	}
	if err == nil && m.Kind == message.Request && len(all) == 0 {
		t.Errorf("%d: the request %s has no answer", w.Code, body)
	}
	for _, one := range all { // a refusal of the head alone knows no id
		if one.ID != want && !(one.ID == "" && slices.Contains([]int{400, 403, 404, 406, 413, 415}, w.Code)) {
			t.Errorf("%d: %s is answered under the id %s", w.Code, body, one.ID)
		}
	}
}
