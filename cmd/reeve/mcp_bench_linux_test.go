package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/mcptest"
	"github.com/reeve-gate/reeve/internal/mcptest/naive"
)

// stdioPeer is an MCP server's streams, with a client on them that takes
// answers by their id.
type stdioPeer struct {
	tb  testing.TB
	in  io.WriteCloser
	mu  sync.Mutex
	ids map[int]chan []byte
	n   int
}

func startPeer(tb testing.TB, dir string, env []string, argv ...string) *stdioPeer {
	tb.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { in.Close(); cmd.Wait() })
	p := &stdioPeer{tb: tb, in: in, ids: map[int]chan []byte{}}
	go p.read(out)
	if r := p.call(`"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); bytes.Contains(r, []byte(`"error"`)) {
		tb.Fatalf("initialize: %s", r)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *stdioPeer) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		_, rest, ok := bytes.Cut(line, []byte(`"id":`))
		if !ok {
			continue
		}
		id, err := strconv.Atoi(string(rest[:bytes.IndexAny(rest, ",}")]))
		if err != nil {
			continue
		}
		p.mu.Lock()
		ch := p.ids[id]
		delete(p.ids, id)
		p.mu.Unlock()
		if ch != nil {
			ch <- line
		}
	}
}

// call sends one request and waits for its answer; what is all of it but its id.
func (p *stdioPeer) call(what string) []byte {
	ch := make(chan []byte, 1)
	p.mu.Lock()
	p.n++
	p.ids[p.n] = ch
	_, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", p.n, what)
	p.mu.Unlock()
	if err != nil {
		p.tb.Fatal(err)
	}
	select {
	case line := <-ch:
		return line
	case <-time.After(patience):
		p.tb.Fatalf("no answer to %s", what)
		return nil
	}
}

func (p *stdioPeer) echo(name string) {
	if r := p.call(`"method":"tools/call","params":{"name":"` + name + `","arguments":{"text":"a few words of text"}}`); !bytes.Contains(r, []byte("a few words of text")) {
		p.tb.Fatalf("%s answered %s", name, r)
	}
}

// gatewayRig is an installation with n servers, of which the first is this
// program as a legacy server.
func gatewayRig(b *testing.B, n int) (in *rig, self []string) {
	in = newRig(b, `allow = ["mcp__peer0__echo"]`)
	in.needsSandbox(b)
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"peer%d":{"command":%q,"args":["-test.run=^$"],"env":{%q:"legacy"}}`, i, os.Args[0], mcptest.Env))
	}
	file := filepath.Join(in.home(), "config", "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{`+strings.Join(all, ",")+`}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	return in, []string{"PATH=" + os.Getenv("PATH"), mcptest.Env + "=legacy"}
}

// BenchmarkGatewayCall times one call of a tool over standard streams, decided,
// recorded and masked, beside a direct one and one through a gateway that is
// written on the official SDK and does none of that. Budget: half of what that
// one adds, and 1 ms.
func BenchmarkGatewayCall(b *testing.B) {
	in, self := gatewayRig(b, 1)
	direct := startPeer(b, in.ws, self, os.Args[0], "-test.run=^$")
	plain := startPeer(b, in.ws, append(slices.Clone(self), naive.Env+"="+os.Args[0]), os.Args[0], "-test.run=^$")
	gate := startPeer(b, in.ws, in.env, in.bin, "mcp", "serve")
	peers := []struct {
		p    *stdioPeer
		name string
		took []time.Duration
	}{{direct, "echo", nil}, {plain, "echo", nil}, {gate, "peer0__echo", nil}}
	for _, p := range peers {
		p.p.call(`"method":"tools/list","params":{}`)
		p.p.echo(p.name)
	}
	for b.Loop() {
		for i := range peers {
			start := time.Now()
			peers[i].p.echo(peers[i].name)
			peers[i].took = append(peers[i].took, time.Since(start))
		}
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	d, n, g := median(peers[0].took), median(peers[1].took), median(peers[2].took)
	b.ReportMetric(us(d), "direct-µs")
	b.ReportMetric(us(n-d), "naive-more-µs")
	b.ReportMetric(us(g-d), "gate-more-µs")
	b.ReportMetric(float64(g-d)/float64(n-d), "of-naive")
}

// BenchmarkGatewayCallers counts the calls that 16 callers of one client make
// in a second. Budget: 5,000 on two cores.
func BenchmarkGatewayCallers(b *testing.B) {
	in, _ := gatewayRig(b, 1)
	gate := startPeer(b, in.ws, in.env, in.bin, "mcp", "serve")
	gate.call(`"method":"tools/list","params":{}`)
	gate.echo("peer0__echo")
	const callers = 16
	work := make(chan struct{})
	var done sync.WaitGroup
	for range callers {
		done.Go(func() {
			for range work {
				gate.echo("peer0__echo")
			}
		})
	}
	start := time.Now()
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	done.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "calls/s")
}

// BenchmarkGatewayStart times reeve mcp serve, with 100 servers configured, to
// its first answer. Budget: 50 ms.
func BenchmarkGatewayStart(b *testing.B) {
	in, _ := gatewayRig(b, 100)
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		cmd := exec.Command(in.bin, "mcp", "serve")
		cmd.Dir, cmd.Env = in.ws, in.env
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n")
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			b.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		took = append(took, time.Since(start))
		if err != nil || !strings.Contains(line, `"result"`) {
			b.Fatalf("it answered %q, %v", line, err)
		}
		io.Copy(io.Discard, out)
		cmd.Wait()
	}
	b.ReportMetric(float64(median(took).Microseconds())/1000, "start-ms")
}
