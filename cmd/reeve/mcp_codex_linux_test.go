package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/openaitest"
)

// TestCodexUsesServersBehindTheGate: a scripted model calls tools of the gateway,
// which stands in Codex's config.toml as a person writes it.
func TestCodexUsesServersBehindTheGate(t *testing.T) {
	d := newCodexDesk(t, `allow = ["mcp__legacy", "mcp__modern"]
deny = [{ rule = "mcp__legacy__count", reason = "nobody counts here" }]`, "")
	d.servers(fmt.Sprintf(`{"mcpServers":{"legacy":{"command":%q,"args":["-test.run=^$"],"env":{"REEVE_MCPTEST":"legacy"}},"modern":{"command":%[1]q,"args":["-test.run=^$"],"env":{"REEVE_MCPTEST":"modern"}},"asked":{"command":%[1]q,"args":["-test.run=^$"],"env":{"REEVE_MCPTEST":"modern"}}}}`, os.Args[0]))
	var env []string
	for _, kv := range d.env {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, fmt.Sprintf("%s = %q", name, value))
	}
	d.put("config.toml", d.get("config.toml")+fmt.Sprintf("\n[mcp_servers.reeve]\ncommand = %q\nargs = [\"mcp\", \"serve\", \"--client\", \"codex\"]\nenv = { %s }\n", d.bin, strings.Join(env, ", ")))
	use := func(id, tool, args string) []openaitest.Item {
		call := openaitest.Call(id, tool, args)
		call.Space = "mcp__reeve"
		return []openaitest.Item{openaitest.Say("I will use a tool."), call}
	}
	r := d.start(openaitest.Turns(
		use("call_legacy", "legacy__echo", `{"text":"hello"}`),
		use("call_modern", "modern__echo", `{"text":"hello too"}`),
		use("call_denied", "legacy__count", `{}`),
		use("call_asked", "asked__echo", `{"text":"may I"}`),
	), nil)
	q := d.question()
	if q.Tool != "mcp__asked__echo" || q.Actor != "mcp:codex" {
		t.Errorf("the question is %+v", q)
	}
	d.says("approvals", "allow", q.ID)
	d.wait(r)
	for id, want := range map[string][]string{
		"call_legacy": {"hello", "[untrusted ", "the MCP server legacy"}, "call_modern": {"hello too"},
		"call_denied": {"Reeve did not let this call through", "nobody counts here"}, "call_asked": {"may I"},
	} {
		has(t, id, r.told(t, id), want...)
	}
	rows := d.reeve("audit", "--json")
	has(t, "the record", rows, `"tool_name":"mcp__legacy__echo"`, `"tool_name":"mcp__legacy__count"`, `"tool_name":"mcp__asked__echo"`, `"actor":"mcp:codex"`, `"user_confirmed":true`)
}
