package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-gate/reeve/internal/mcptest"
)

// remote is a server of the official SDK behind an address of this machine,
// which serves nobody without the header's value.
func remote(t *testing.T, modern bool, authorization string) (server *httptest.Server, turnedAway *atomic.Int64) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, r *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		text := a.Text
		if a.Text == "headers" { // what came with the call
			text = fmt.Sprint(r.Extra.Header)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: modern})
	turnedAway = new(atomic.Int64)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization {
			turnedAway.Add(1)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server, turnedAway
}

// TestAServerBehindAnAddressIsUsedThroughTheGate, in either era: with headers
// whose values come from the environment, decided, marked and on record as any
// other. One that cannot be reached, or turns us away, says so; the others go on.
func TestAServerBehindAnAddressIsUsedThroughTheGate(t *testing.T) {
	const token = "a-word-that-only-the-server-knows-71"
	modern, strangers := remote(t, true, "Bearer "+token)
	legacy, others := remote(t, false, "Bearer "+token)
	fades, _ := remote(t, true, "Bearer "+token)
	shut, asks := remote(t, true, "Bearer another one")
	gone := httptest.NewServer(nil)
	gone.Close()

	d := bareDesk(t, ".none", `allow = ["mcp__*"]
deny = ["mcp__denied"]`, "")
	d.env = append(d.env, "REMOTE_TOKEN="+token)
	var all []string
	for name, at := range map[string]string{"modern": modern.URL, "legacy": legacy.URL, "fades": fades.URL, "shut": shut.URL, "gone": gone.URL, "denied": modern.URL} {
		all = append(all, fmt.Sprintf(`%q:{"type":"http","url":%q,"headers":{"Authorization":"Bearer ${REMOTE_TOKEN}"}}`, name, at))
	}
	all = append(all, fmt.Sprintf(`"unset":{"type":"http","url":%q,"headers":{"Authorization":"Bearer ${NOT_SET_ANYWHERE}"}}`, modern.URL),
		fmt.Sprintf(`"pipes":{"command":%q,"args":["-test.run=^$"],"env":{%q:"legacy"}}`, os.Args[0], mcptest.Env))
	d.servers(`{"mcpServers":{` + strings.Join(all, ",") + `}}`)

	c := d.client("--client", "tester")
	list := string(c.call("tools/list", `{}`).Result)
	has(t, "the list", list, `"modern__echo"`, `"legacy__echo"`, `"fades__echo"`, `"pipes__echo"`)
	for _, name := range []string{"shut", "gone", "unset"} {
		if strings.Contains(list, `"`+name+`__`) {
			t.Errorf("%s offers something", name)
		}
	}
	for _, name := range []string{"modern", "legacy", "fades", "pipes"} {
		has(t, name, c.use(name+"__echo", `{"text":"from afar"}`), "from afar", "[untrusted ", "the MCP server "+name)
	}
	has(t, "a denied one", c.use("denied__echo", `{"text":"x"}`), "Reeve did not let this call through")
	headers := c.use("modern__echo", `{"text":"headers"}`)
	has(t, "the headers that came", headers, "Authorization")
	if strings.Contains(headers, token) {
		t.Errorf("the server gives the token back to the agent: %s", headers)
	}
	if strangers.Load() > 0 || others.Load() > 0 || asks.Load() == 0 {
		t.Errorf("turned away: %d, %d; and by one with another token %d", strangers.Load(), others.Load(), asks.Load())
	}

	fades.CloseClientConnections()
	fades.Close()
	has(t, "one that has gone since", c.use("fades__echo", `{"text":"x"}`), "server fades", "connection refused")
	for name, want := range map[string]string{"gone": "connection refused", "shut": "401", "unset": "NOT_SET_ANYWHERE"} {
		has(t, name, c.use(name+"__echo", `{"text":"x"}`), "server "+name, want)
	}
	has(t, "the others meanwhile", c.use("legacy__echo", `{"text":"still here"}`)+c.use("pipes__echo", `{"text":"and here"}`), "still here", "and here")

	c.end()
	rows := d.reeve("audit", "--json")
	has(t, "the record", rows, `"mcp__modern__echo"`, `"mcp__legacy__echo"`, `"mcp_server"`, modern.URL)
	for what, text := range map[string]string{"the record": rows, "the list": list, "mcp.json": d.read("rh/config/mcp.json")} {
		if strings.Contains(text, token) {
			t.Errorf("%s holds the token", what)
		}
	}
}
