package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/anthropictest"
)

// peersPlace is where the real MCP servers and clients stand: $REEVE_MCP,
// else the tested versions.
var peersPlace = sync.OnceValues(func() (string, error) {
	if at := os.Getenv("REEVE_MCP"); at != "" {
		return at, nil
	}
	cmd := exec.Command("../../script/mcp")
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case strings.Contains(says.String(), "mcp: npm is missing"):
		return "", errNoNPM
	case unreachable.Match(says.Bytes()):
		return "", fmt.Errorf("%w: %.200s", errNoRegistry, says.Bytes())
	}
	return "", fmt.Errorf("script/mcp: %w\n%s", err, says.Bytes())
})

// peers skips a test where npm gives none.
func peers(t *testing.T) string {
	t.Helper()
	at, err := peersPlace()
	if errors.Is(err, errNoRegistry) || errors.Is(err, errNoNPM) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// withPeers is a desk with the four servers of the protocol's own people.
func withPeers(t *testing.T, policy string) *desk {
	t.Helper()
	bin := filepath.Join(peers(t), "node_modules", ".bin")
	d := bareDesk(t, ".none", policy, "")
	d.servers(fmt.Sprintf(`{"mcpServers":{
		"everything":{"command":"%[1]s/mcp-server-everything"},
		"files":{"command":"%[1]s/mcp-server-filesystem","args":["."],"x-guard":{"sandbox":{"write":["."]}}},
		"memory":{"command":"%[1]s/mcp-server-memory","env":{"MEMORY_FILE_PATH":"/run/reeve/home/memory.jsonl"}},
		"thinking":{"command":"%[1]s/mcp-server-sequential-thinking"}}}`, bin))
	return d
}

const allPeers = `allow = ["mcp__everything", { rule = "mcp__files", destructive = true }, "mcp__memory", "mcp__thinking"]`

// TestRealServersDoTheirJobThroughTheGate.
func TestRealServersDoTheirJobThroughTheGate(t *testing.T) {
	d := withPeers(t, allPeers)
	d.env = append(d.env, "SECRET_OF_THE_PERSON=swordfish")
	c := d.client()
	list := string(c.call("tools/list", `{}`).Result)
	has(t, "the list", list, `"everything__echo"`, `"files__write_file"`, `"memory__create_entities"`, `"thinking__sequentialthinking"`)

	has(t, "everything", c.use("everything__echo", `{"message":"hello"}`), "Echo: hello")
	has(t, "everything", c.use("everything__get-sum", `{"a":2,"b":3}`), "5")
	if env := c.use("everything__get-env", `{}`); strings.Contains(env, "swordfish") || strings.Contains(env, d.root) {
		t.Errorf("a server sees the person's environment: %s", env)
	}
	if m := c.call("tools/call", `{"name":"everything__get-tiny-image","arguments":{}}`); !strings.Contains(string(m.Result), `"image/png"`) {
		t.Errorf("no image: %.300s", m.Result)
	}
	if m := c.call("tools/call", `{"name":"everything__get-structured-content","arguments":{"location":"Chicago"}}`); !strings.Contains(string(m.Result), `"structuredContent"`) {
		t.Errorf("no structured content: %.300s", m.Result)
	}
	has(t, "a long operation", c.use("everything__trigger-long-running-operation", `{"duration":1,"steps":4}`), "completed")
	has(t, "prompts", string(c.call("prompts/list", `{}`).Result), `"everything__simple-prompt"`)
	has(t, "a prompt", string(c.call("prompts/get", `{"name":"everything__simple-prompt"}`).Result), `"messages"`)
	uri := regexp.MustCompile(`"uri":"([^"]+)"`).FindStringSubmatch(string(c.call("resources/list", `{}`).Result))
	if uri == nil {
		t.Fatal("no resource is listed")
	}
	has(t, "a resource", string(c.call("resources/read", `{"uri":"`+uri[1]+`"}`).Result), `"contents"`)

	has(t, "files", c.use("files__list_allowed_directories", `{}`), d.work)
	note := filepath.Join(d.work, "note.txt")
	has(t, "files", c.use("files__write_file", `{"path":"`+note+`","content":"one\n"}`), "Successfully wrote")
	if got := d.read("work/note.txt"); got != "one\n" {
		t.Errorf("the file holds %q", got)
	}
	has(t, "files", c.use("files__edit_file", `{"path":"`+note+`","edits":[{"oldText":"one","newText":"two"}]}`), "two")
	has(t, "files", c.use("files__read_text_file", `{"path":"`+note+`"}`), "two")
	if got := c.use("files__read_text_file", `{"path":"`+filepath.Join(d.root, "rh", "config", "mcp.json")+`"}`); strings.Contains(got, "mcpServers") {
		t.Errorf("a server reads Reeve's settings: %s", got)
	}

	has(t, "memory", c.use("memory__create_entities", `{"entities":[{"name":"Reeve","entityType":"gate","observations":["stands"]}]}`), "Reeve")
	c.end()
	again := d.client()
	has(t, "memory of an earlier session", again.use("memory__read_graph", `{}`), "Reeve", "stands")
	has(t, "thinking", again.use("thinking__sequentialthinking", `{"thought":"first","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}`), `"thoughtNumber": 1`)
}

// TestTheInspectorIsAClientOfTheGate.
func TestTheInspectorIsAClientOfTheGate(t *testing.T) {
	d := withPeers(t, allPeers)
	inspect := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		bin := filepath.Join(peers(t), "node_modules", ".bin")
		argv := []string{filepath.Join(bin, "mcp-inspector"), "--cli"}
		for _, kv := range d.env {
			argv = append(argv, "-e", kv)
		}
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "node"), append(append(argv, d.bin, "mcp", "serve"), args...)...)
		cmd.Dir, cmd.Env = d.work, d.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("inspector %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	has(t, "tools/list", inspect("--method", "tools/list"), "everything__echo", "files__read_text_file")
	has(t, "tools/call", inspect("--method", "tools/call", "--tool-name", "everything__echo", "--tool-arg", "message=from the inspector"), "Echo: from the inspector")
	has(t, "resources/list", inspect("--method", "resources/list"), `"uri"`)
	has(t, "prompts/list", inspect("--method", "prompts/list"), "everything__simple-prompt")
}

// TestTheConformanceSuitePassesThroughTheGate: every scenario that a revision
// requires of a server, with a server of the protocol's own SDK behind the
// gateway, in its boundary, each call through the kernel.
func TestTheConformanceSuitePassesThroughTheGate(t *testing.T) {
	place := peers(t)
	node := filepath.Join(place, "node_modules", ".bin", "node")
	everything := filepath.Join(shortDir(t), "everything-server")
	if out, err := exec.Command("go", "build", "-o", everything, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	for revision, required := range map[string]int{"2025-11-25": 30, "2026-07-28": 37} {
		t.Run(revision, func(t *testing.T) {
			d := bareDesk(t, ".none", `allow = ["mcp__s"]`, "")
			d.servers(fmt.Sprintf(`{"mcpServers":{"s":{"command":%q,"x-guard":{"protocol":%q,"asks":{"sampling":"client","roots":"client"}}}}}`, everything, revision))
			address := d.overHTTP("--server", "s")
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			results := t.TempDir()
			cmd := exec.CommandContext(ctx, node, filepath.Join(place, "node_modules", ".bin", "conformance"), "server", "--url", address, "--requirements", revision, "-o", results)
			cmd.Dir = results
			out, _ := cmd.CombinedOutput() // it fails for what is not required too
			passed, failed := 0, 0
			_, summary, _ := strings.Cut(string(out), "=== SUMMARY ===")
			notScored := map[string]bool{}
			if _, rest, found := strings.Cut(summary, "Not scored"); found {
				for line := range strings.Lines(rest) {
					if words := strings.Fields(line); len(words) > 1 {
						notScored[words[1]] = true
					}
				}
				summary, _, _ = strings.Cut(summary, "Not scored")
			}
			for line := range strings.Lines(summary) {
				words := strings.Fields(line)
				if len(words) < 2 || notScored[strings.TrimSuffix(words[1], ":")] {
					continue
				}
				switch words[0] {
				case "✓":
					passed++
				case "✗":
					failed++
					t.Errorf("%s", strings.TrimSpace(line))
				}
			}
			if passed != required || failed != 0 {
				t.Errorf("%d scenarios passed and %d failed, of %d\n%.2000s", passed, failed, required, summary)
			}
		})
	}
}

// overHTTP starts reeve mcp serve --http and gives an address at which it is
// reached without its token, which the suite cannot send.
func (d *desk) overHTTP(args ...string) string {
	t := d.t
	t.Helper()
	cmd := exec.Command(d.bin, append([]string{"mcp", "serve", "--http", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = d.work, d.env
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	var word [2000]byte
	n, err := says.Read(word[:])
	at := regexp.MustCompile(`at (http://\S+);.* in (\S+)`).FindSubmatch(word[:n])
	if err != nil || at == nil {
		t.Fatalf("reeve mcp serve --http says %q %v", word[:n], err)
	}
	go io.Copy(io.Discard, says)
	token, err := os.ReadFile(string(at[2]))
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(string(at[1]))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, theirs, _ := net.SplitHostPort(to.Host)
	_, ours, _ := net.SplitHostPort(l.Addr().String())
	here := func(host string) string { // names of this machine stay what they are, but for the port
		return strings.Replace(host, ":"+ours, ":"+theirs, 1)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path, r.Out.Host = "/mcp", here(r.In.Host)
		if origin := r.Out.Header.Get("Origin"); origin != "" {
			r.Out.Header.Set("Origin", here(origin))
		}
		r.Out.Header.Set("Authorization", "Bearer "+string(token))
	}, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
	s := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String() + "/mcp"
}

// TestClaudeCodeUsesServersBehindTheGate: a scripted model calls tools of the
// gateway by the names that Claude Code gives them.
func TestClaudeCodeUsesServersBehindTheGate(t *testing.T) {
	d := newDesk(t, `allow = ["mcp__legacy", "mcp__modern"]
deny = ["mcp__legacy__count"]`, "")
	d.servers(fmt.Sprintf(`{"mcpServers":{"legacy":{"command":%q,"args":["-test.run=^$"],"env":{"REEVE_MCPTEST":"legacy"}},"modern":{"command":%[1]q,"args":["-test.run=^$"],"env":{"REEVE_MCPTEST":"modern"}},"asked":{"command":%[1]q,"args":["-test.run=^$"],"env":{"REEVE_MCPTEST":"modern"}}}}`, os.Args[0]))
	settings := filepath.Join(d.root, "servers.json")
	env := map[string]string{}
	for _, kv := range d.env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	b, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"reeve": map[string]any{"command": d.bin, "args": []string{"mcp", "serve", "--client", "claude"}, "env": env}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d.args = []string{"--mcp-config", settings, "--strict-mcp-config", "--allowedTools", "mcp__reeve"}
	use := func(id, tool, args string) []anthropictest.Block {
		return []anthropictest.Block{anthropictest.Say("I will use a tool."), anthropictest.Use(id, "mcp__reeve__"+tool, args)}
	}
	p := d.start(anthropictest.Turns(
		use("toolu_legacy", "legacy__echo", `{"text":"hello"}`),
		use("toolu_modern", "modern__echo", `{"text":"hello too"}`),
		use("toolu_denied", "legacy__count", `{}`),
		use("toolu_asked", "asked__echo", `{"text":"may I"}`),
	))
	q := d.question() // the client declares that it can ask, and answers at once that nobody is there
	if q.Tool != "mcp__asked__echo" || q.Actor != "mcp:claude" {
		t.Errorf("the question is %+v", q)
	}
	d.says("approvals", "allow", q.ID)
	d.wait(p)
	for id, want := range map[string][]string{
		"toolu_legacy": {"hello", "[untrusted ", "the MCP server legacy"}, "toolu_modern": {"hello too"},
		"toolu_denied": {"Reeve did not let this call through"}, "toolu_asked": {"may I"},
	} {
		has(t, id, p.told(t, id).Text, want...)
	}
	rows := d.reeve("audit", "--json")
	has(t, "the record", rows, `"tool_name":"mcp__legacy__echo"`, `"tool_name":"mcp__asked__echo"`, `"actor":"mcp:claude"`, `"user_confirmed":true`)
}
