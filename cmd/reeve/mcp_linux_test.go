package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcptest"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// gateway is a desk with MCP servers, each of which is this test program.
func gateway(t *testing.T, policy string, modes ...string) *desk {
	t.Helper()
	d := bareDesk(t, ".none", policy, "")
	var all []string
	for _, mode := range modes {
		name, _, _ := strings.Cut(mode, ",")
		all = append(all, fmt.Sprintf(`%q:{"command":%q,"args":["-test.run=^$"],"env":{%q:%q}}`, name, os.Args[0], mcptest.Env, mode))
	}
	d.servers(`{"mcpServers":{` + strings.Join(all, ",") + `}}`)
	return d
}

func (d *desk) servers(text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.root, "rh", "config", "mcp.json"), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// mcpClient is a client of reeve mcp serve.
type mcpClient struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	done  chan error
	mu    sync.Mutex
	next  int
	got   map[string]chan message.Message
	notes []string
}

// client starts reeve mcp serve; argv may start it elsewhere.
func (d *desk) client(args ...string) *mcpClient {
	d.t.Helper()
	return d.clientBy(append([]string{d.bin, "mcp", "serve"}, args...)...)
}

func (d *desk) clientBy(argv ...string) *mcpClient {
	d.t.Helper()
	// What starts the gateway is an agent's, and this test is the person's too.
	return d.clientAs(append([]string{"timeout", "1h"}, argv...)...)
}

// clientAs is clientBy where this test itself is the client.
func (d *desk) clientAs(argv ...string) *mcpClient {
	d.t.Helper()
	c := &mcpClient{t: d.t, got: map[string]chan message.Message{}, done: make(chan error, 1), cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = d.work, d.env, os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	c.in = in
	go func() {
		lines := message.NewLines(out, 0)
		for {
			line, err := lines.Next()
			if err != nil {
				c.done <- c.cmd.Wait()
				return
			}
			m, err := message.Decode(line)
			if err != nil {
				d.t.Errorf("the gateway wrote %q", line)
				continue
			}
			c.mu.Lock()
			if ch := c.got[m.ID.Key()]; ch != nil && m.Kind == message.Response {
				ch <- m
			} else {
				c.notes = append(c.notes, m.Method)
			}
			c.mu.Unlock()
		}
	}()
	d.t.Cleanup(c.end)
	if m := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a test","version":"1"}}`); m.Error != nil {
		d.t.Fatal(m.Error)
	}
	return c
}

// end closes the client's side and waits for the program.
func (c *mcpClient) end() {
	c.in.Close()
	select {
	case err := <-c.done:
		if err != nil {
			c.t.Errorf("reeve mcp serve: %v", err)
		}
		c.done <- nil
	case <-time.After(patience):
		c.kill()
		c.t.Error("reeve mcp serve does not end")
	}
}

func (c *mcpClient) kill() { syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

func (c *mcpClient) start(method, params string) <-chan message.Message {
	c.mu.Lock()
	c.next++
	id := message.Number(int64(c.next))
	ch := make(chan message.Message, 1)
	c.got[id.Key()] = ch
	c.mu.Unlock()
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	return ch
}

func (c *mcpClient) wait(ch <-chan message.Message) message.Message {
	c.t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(patience):
		c.t.Fatal("no answer")
		return message.Message{}
	}
}

func (c *mcpClient) call(method, params string) message.Message {
	c.t.Helper()
	return c.wait(c.start(method, params))
}

// use calls a tool and gives everything that the model would be shown.
func (c *mcpClient) use(name, args string) string {
	c.t.Helper()
	return shownText(c.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)))
}

func shownText(m message.Message) string {
	if m.Error != nil {
		return m.Error.Error()
	}
	o, _ := message.Members(m.Result)
	blocks, _ := message.Elements(o.Get("content"))
	var all []string
	for _, b := range blocks {
		one, _ := message.Members(b)
		all = append(all, one.Text("text"))
	}
	return strings.Join(all, "\n")
}

func has(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q stands not in %s", what, w, text)
		}
	}
}

// TestAClientUsesServersThroughTheGate: started at their first use, each in its
// own boundary, with what it says decided, masked, marked and on record; as
// root, whom permissions stop nowhere, and as an ordinary user.
func TestAClientUsesServersThroughTheGate(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(builtBefore, bin)
	testuser.Both(t, usesServers)
}

func usesServers(t *testing.T) {
	d := gateway(t, `allow = ["mcp__legacy", "mcp__modern"]
deny = ["mcp__legacy__count"]`, "legacy", "modern")
	c := d.client("--client", "tester")
	list := string(c.call("tools/list", `{}`).Result)
	has(t, "the list", list, `"legacy__echo"`, `"modern__echo"`, `"reeve__read_result"`)
	has(t, "a legacy server", c.use("legacy__echo", `{"text":"hello"}`), "hello", "[untrusted ", "the MCP server legacy")
	has(t, "a modern server", c.use("modern__echo", `{"text":"hello"}`), "hello")
	has(t, "a denied tool", c.use("legacy__count", `{}`), "Reeve did not let this call through")
	if got := c.use("modern__secret", `{}`); strings.Contains(got, "ghp_") {
		t.Errorf("a secret came through: %s", got)
	}
	env := c.use("legacy__environment", `{}`)
	has(t, "its environment", env, "HOME=/run/reeve/home", "PATH=/usr/local/bin:/usr/bin:/bin")
	if strings.Contains(env, "REEVE_HOME") || strings.Contains(env, d.root) {
		t.Errorf("a server is told of the person's: %s", env)
	}
	// What it prints is kept while it runs, in a moment: it may be a part of a secret.
	kept := filepath.Join(d.root, "rh/state/mcp-log/legacy.log")
	for begin := time.Now(); ; runtime.Gosched() {
		if text, err := os.ReadFile(kept); err == nil && strings.Contains(string(text), "mcptest: started as legacy\n") {
			break
		} else if time.Since(begin) > 10*time.Second {
			t.Fatalf("what it printed is not kept: %q, %v", text, err)
		}
	}
	c.end()
	rows := d.reeve("audit", "--json")
	has(t, "the record", rows, `"mcp__legacy__echo"`, `"mcp:tester"`, `"mcp_server"`, `"mcp:legacy"`, `"input_channel":"mcp"`)
	if strings.Contains(rows, "ghp_") {
		t.Error("a secret is on record")
	}
}

// TestACallThatIsAskedWaitsForAPerson, and what nobody has classed is asked.
func TestACallThatIsAskedWaitsForAPerson(t *testing.T) {
	d := gateway(t, ``, "legacy")
	c := d.client()
	ch := c.start("tools/call", `{"name":"legacy__touch","arguments":{"x":1}}`)
	q := d.question()
	if q.Tool != "mcp__legacy__touch" || !strings.Contains(q.Preview, `"x":1`) {
		t.Errorf("the question is %+v", q)
	}
	d.says("approvals", "allow", q.ID)
	has(t, "the call", shownText(c.wait(ch)), "touched")
	ch = c.start("tools/call", `{"name":"legacy__touch","arguments":{"x":1}}`)
	d.reeve("approvals", "deny", d.question().ID, "--word", "not today")
	has(t, "the denied call", shownText(c.wait(ch)), "not today", "Do not try it again")
}

// TestAClientOfTheGatewayAnswersNothingForItsPerson: here this test itself is the
// agent's program.
func TestAClientOfTheGatewayAnswersNothingForItsPerson(t *testing.T) {
	d := gateway(t, ``, "legacy")
	c := d.clientAs(d.bin, "mcp", "serve")
	c.start("tools/call", `{"name":"legacy__touch","arguments":{}}`)
	q := d.question()
	for _, args := range [][]string{{"approvals", "allow", q.ID}, {"mcp", "trust", "legacy", "--yes"}, {"mcp", "trust", "legacy", "touch", "--as", "read"},
		{"mcp", "add", "other", "--", "/bin/true"}, {"mcp", "disable", "legacy"}, {"mcp", "rm", "legacy"}, {"down"}} {
		if out, err := d.person(d.bin, args...); err == nil || !strings.Contains(err.Error(), "was started by an agent") {
			t.Errorf("reeve %q: %v, %s", args, err, out)
		}
	}
	if _, err := d.person("timeout", "1m", d.bin, "approvals", "allow", q.ID); err == nil {
		t.Error("a program that the client started says yes")
	}
	c.cmd.Process.Kill()
	<-c.done
	c.done <- nil
	syscall.Kill(d.daemon(), syscall.SIGTERM) // it takes nothing from this process any more
}

// TestAServerThatMisbehavesHarmsItsOwnCallsOnly.
func TestAServerThatMisbehavesHarmsItsOwnCallsOnly(t *testing.T) {
	d := gateway(t, `allow = ["mcp__*"]`, "legacy", "noise,legacy", "twice,legacy", "wrong,legacy", "pushy,legacy", "loud,legacy")
	d.servers(strings.Replace(d.read("rh/config/mcp.json"), `{"mcpServers":{`, `{"mcpServers":{"gone":{"command":"/nowhere/at/all"},"dies":{"command":"/bin/false"},"deaf":{"command":"/bin/sleep","args":["600"],"x-guard":{"limits":{"start":"3s"}}},`, 1))
	c := d.client()
	list := string(c.call("tools/list", `{}`).Result)
	for _, name := range []string{"legacy", "noise", "twice", "wrong", "pushy", "loud"} {
		has(t, "the list", list, `"`+name+`__echo"`)
		has(t, name, c.use(name+"__echo", `{"text":"hello"}`), "\nhello\n")
	}
	has(t, "a reply that is no message", c.use("legacy__broken", `{}`), "its answer cannot be taken: no valid message: a name stands twice")
	has(t, "a server that ends", c.use("legacy__crash", `{}`), "server legacy ended before it answered", "the disk is on fire")
	has(t, "and is started again", c.use("legacy__echo", `{"text":"again"}`), "again")
	has(t, "the others meanwhile", c.use("noise__echo", `{"text":"fine"}`), "fine")
	has(t, "a reply of 100 MiB", c.use("twice__big", `{"bytes":104857600}`), "too long")
	has(t, "and the next call of that server", c.use("twice__echo", `{"text":"small"}`), "small")
	for _, name := range []string{"gone", "dies", "deaf"} {
		if strings.Contains(list, `"`+name+`__`) {
			t.Errorf("%s offers something", name)
		}
	}
}

// TestWhatAServerAddsOrMeansForTheModelIsHeld: neither is listed nor called, and
// the rest goes on.
func TestWhatAServerAddsOrMeansForTheModelIsHeld(t *testing.T) {
	d := gateway(t, `allow = ["mcp__*"]`, "legacy", "shifty,modern")
	c := d.client()
	list := string(c.call("tools/list", `{}`).Result)
	if strings.Contains(list, `"shifty__echo"`) || !strings.Contains(list, `"shifty__add"`) {
		t.Errorf("a tool whose text asks for a key is listed, or another is not: %.2000s", list)
	}
	has(t, "its call", c.use("shifty__echo", `{"text":"x"}`), "is held back", "reeve mcp inspect shifty")
	has(t, "the server's other tools", c.use("shifty__add", `{"a":1,"b":2}`), "3")
	c.use("legacy__change", `{}`)
	for deadline := time.Now().Add(patience); !strings.Contains(c.use("legacy__extra_0", `{}`), "is held back"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a tool that was added: %s", c.use("legacy__extra_0", `{}`))
		}
	}
	if list := string(c.call("tools/list", `{}`).Result); strings.Contains(list, "extra_0") || !strings.Contains(list, `"legacy__echo"`) {
		t.Errorf("what was added is listed: %.2000s", list)
	}
}

// TestThousandsOfCallsLeaveNothingBehind: no process, file or goroutine more
// after them than before; ten thousand with REEVE_SOAK.
func TestThousandsOfCallsLeaveNothingBehind(t *testing.T) {
	calls := 600
	if os.Getenv("REEVE_SOAK") != "" {
		calls = 10_000
	}
	d := gateway(t, `allow = ["mcp__*"]`, "legacy", "modern")
	if err := os.WriteFile(filepath.Join(d.root, "rh", "config", "config.toml"), []byte("gate.max_calls = 1000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := d.client()
	work := func(n int) {
		t.Helper()
		var each sync.WaitGroup
		for w := range 8 {
			each.Go(func() {
				for i := range n / 8 {
					name := []string{"legacy", "modern"}[(w+i)%2]
					text := fmt.Sprintf("%d of %d", i, w)
					if got := c.use(name+"__echo", fmt.Sprintf(`{"text":%q}`, text)); !strings.Contains(got, text) {
						t.Errorf("echo says %.200s", got)
						return
					}
				}
			})
		}
		each.Wait()
	}
	work(80)
	before := d.burden()
	work(calls)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		after := d.burden()
		if after.files <= before.files+2 && after.threads <= before.threads+8 && after.servers <= before.servers && after.memory < before.memory+64<<20 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("before %+v, after %d calls %+v", before, calls, after)
		}
	}
}

// burden is what the daemon holds. A goroutine that waits for ever is seen by
// the memory that it holds, over enough of them.
type burden struct {
	files, threads, servers int
	memory                  int64
}

func (d *desk) burden() burden {
	d.t.Helper()
	pid := d.daemon()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		d.t.Fatal(err)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		d.t.Fatal(err)
	}
	var pages, resident int64
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		d.t.Fatal(err)
	}
	fmt.Sscan(string(statm), &pages, &resident)
	return burden{len(fds), len(tasks), len(d.running()), resident * int64(os.Getpagesize())}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.root, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// TestInsideARunTheGatewayIsReachedByTheSessionsOwnSocket and the calls are the
// session's.
func TestInsideARunTheGatewayIsReachedByTheSessionsOwnSocket(t *testing.T) {
	d := gateway(t, `allow = ["mcp__legacy"]`, "legacy")
	c := d.clientBy(d.bin, "run", "--no-receipt", "--", d.bin, "mcp", "serve")
	has(t, "a call from inside", c.use("legacy__echo", `{"text":"inside"}`), "inside")
	c.end()
	rows := d.reeve("audit", "--json")
	session := func(tool string) string {
		for line := range strings.Lines(rows) {
			if strings.Contains(line, `"tool_name":"`+tool+`"`) {
				_, rest, _ := strings.Cut(line, `"session_id":"`)
				id, _, _ := strings.Cut(rest, `"`)
				return id
			}
		}
		return ""
	}
	if run, call := session("run"), session("mcp__legacy__echo"); run == "" || run != call {
		t.Errorf("the run is session %s, its call %s\n%s", run, call, rows)
	}
}

// TestNothingIsLeftOfServersWhoseClientHasGone, however it went.
func TestNothingIsLeftOfServersWhoseClientHasGone(t *testing.T) {
	d := gateway(t, `allow = ["mcp__*"]`, "lingers,legacy", "legacy")
	for _, how := range []string{"closes", "is killed"} {
		c := d.client()
		c.use("lingers__echo", `{"text":"x"}`)
		c.use("legacy__echo", `{"text":"x"}`)
		if n := len(d.running()); n == 0 {
			t.Fatal("no server runs")
		}
		if how == "closes" {
			c.end()
		} else {
			c.kill()
			<-c.done
			c.done <- nil
		}
		for deadline := time.Now().Add(20 * time.Second); len(d.running()) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("a client %s and these go on: %v", how, d.running())
			}
		}
	}
}

// running are the processes of servers that this test program is.
func (d *desk) running() []int {
	all, err := localsock.Processes()
	if err != nil {
		d.t.Fatal(err)
	}
	var out []int
	for _, pid := range all {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.HasPrefix(string(cmdline), os.Args[0]) && strings.Contains(string(environ), mcptest.Env) {
			out = append(out, pid)
		}
	}
	return out
}
