package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// TestABrowserDoesItsJobThroughTheGate: Playwright's server with a real Chromium
// opens a page, clicks and reads back what that did; script in the page is asked
// about; and the browser, which leaves its server's process group, is gone with
// the session.
func TestABrowserDoesItsJobThroughTheGate(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v; ./script/test installs it", err)
	}
	var clicks atomic.Int32
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>A desk</title><button onclick="fetch('/clicked').then(r => r.text()).then(s => said.textContent = s)">Ring</button><p id=said>silence</p>`)
		case "/clicked":
			fmt.Fprintf(w, "the bell rang %d times", clicks.Add(1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer page.Close()

	bin := filepath.Join(peers(t), "node_modules", ".bin")
	d := bareDesk(t, ".none", `allow = [{ rule = "mcp__web__browser_navigate", destructive = true }, "mcp__web__browser_snapshot", { rule = "mcp__web__browser_click", destructive = true }, "mcp__web__browser_wait_for"]`, "")
	args := []string{"--executable-path", chromium, "--headless", "--isolated"}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	d.servers(fmt.Sprintf(`{"mcpServers":{"web":{"command":"%s/playwright-mcp","args":["%s"],"x-guard":{"sandbox":{"net":"open","sockets":true},"limits":{"call":"60s"}}}}}`, bin, strings.Join(args, `","`)))
	c := d.client()
	has(t, "the page", c.use("web__browser_navigate", `{"url":"`+page.URL+`/"}`), "A desk")
	seen := c.use("web__browser_snapshot", `{}`)
	has(t, "the snapshot", seen, "silence", "the MCP server web")
	ref := regexp.MustCompile(`button "Ring".*\[ref=(\w+)\]`).FindStringSubmatch(seen)
	if ref == nil {
		t.Fatalf("no button in %s\n%s", seen, d.read("rh/state/mcp-log/web.log"))
	}
	c.use("web__browser_click", `{"element":"the button","target":"`+ref[1]+`"}`)
	has(t, "after the click", c.use("web__browser_wait_for", `{"text":"the bell rang 1 times"}`)+c.use("web__browser_snapshot", `{}`), "the bell rang 1 times")
	if n := clicks.Load(); n != 1 {
		t.Errorf("the page was clicked %d times", n)
	}

	ch := c.start("tools/call", `{"name":"web__browser_evaluate","arguments":{"function":"() => document.title"}}`)
	q := d.question()
	if q.Tool != "mcp__web__browser_evaluate" || !strings.Contains(q.Preview, "document.title") {
		t.Errorf("the question is %+v", q)
	}
	d.says("approvals", "allow", q.ID)
	has(t, "script in the page", shownText(c.wait(ch)), "A desk")

	if len(d.browsers()) == 0 {
		t.Fatal("no browser runs")
	}
	c.end()
	for deadline := time.Now().Add(20 * time.Second); len(d.browsers()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the client has gone and these go on: %v", d.browsers())
		}
	}
}

// browsers are the processes that see the own folder of the server web as theirs.
func (d *desk) browsers() []string {
	d.t.Helper()
	all, err := localsock.Processes()
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for _, pid := range all {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		if strings.Contains(string(cmdline), "chromium") && strings.Contains(string(mounts), d.root) {
			out = append(out, fmt.Sprintf("%d %.80q", pid, cmdline))
		}
	}
	return out
}
