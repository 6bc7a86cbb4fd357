package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-gate/reeve/internal/mcptest"
)

// naiveEnv makes this test program a gateway such as one writes with the SDK
// alone: its types, one server, one tool.
const naiveEnv = "REEVE_NAIVE_GATEWAY"

func naiveGateway() {
	if os.Getenv(naiveEnv) == "" {
		return
	}
	ctx := context.Background()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), naiveEnv+"=", mcptest.Env+"=legacy")
	up, err := mcp.NewClient(&mcp.Implementation{Name: "naive", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "naive", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "legacy__echo", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return up.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: r.Params.Arguments})
	})
	err = s.Run(ctx, &mcp.StdioTransport{})
	up.Close()
	if err != nil && err != io.EOF {
		os.Exit(1)
	}
	os.Exit(0)
}

// caller speaks to one program over pipes, one call after another.
type caller struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
	id  int
}

func startCaller(b *testing.B, dir string, env []string, argv ...string) *caller {
	b.Helper()
	c := &caller{cmd: exec.Command(argv[0], argv[1:]...)}
	c.cmd.Dir, c.cmd.Env = dir, env
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.out = bufio.NewReaderSize(out, 1<<20)
	if err := c.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.in.Close(); c.cmd.Wait() })
	c.call(b, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *caller) call(b *testing.B, method, params string) string {
	c.id++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			b.Fatalf("%s: %v", method, err)
		}
		if strings.Contains(line, fmt.Sprintf(`"id":%d,`, c.id)) {
			return line
		}
	}
}

// benchGateway is a desk for benchmarks.
func benchGateway(b *testing.B, servers int) (dir string, env []string, bin string) {
	b.Helper()
	bin, err := built()
	if err != nil {
		b.Fatal(err)
	}
	root, err := os.MkdirTemp("", "rb-")
	if err != nil {
		b.Fatal(err)
	}
	conf := filepath.Join(root, "rh", "config")
	work := filepath.Join(root, "work")
	var all []string
	for i := range servers {
		name := "legacy"
		if i > 0 {
			name = fmt.Sprintf("legacy%d", i)
		}
		all = append(all, fmt.Sprintf(`%q:{"command":%q,"args":["-test.run=^$"],"env":{%q:"legacy"}}`, name, os.Args[0], mcptest.Env))
	}
	for _, dir := range []string{conf, work, filepath.Join(root, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
	}
	for name, text := range map[string]string{"mcp.json": `{"mcpServers":{` + strings.Join(all, ",") + `}}`, "policy.toml": `allow = ["mcp__legacy"]`, "config.toml": "gate.max_calls = 1000000000\n"} {
		if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "REEVE_HOME=" + filepath.Join(root, "rh"), "XDG_RUNTIME_DIR=" + root}
	b.Cleanup(func() {
		down := exec.Command(bin, "down")
		down.Env = env
		_ = down.Run()
		os.RemoveAll(root)
	})
	return work, env, bin
}

const echoParams = `{"name":"legacy__echo","arguments":{"text":"0123456789abcdef0123456789abcdef"}}`

// BenchmarkMCPCall is one call of 32 bytes: to the server directly, through the
// gateway with its kernel, record and boundary, and through a gateway that does
// nothing, built on the SDK.
func BenchmarkMCPCall(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		c := startCaller(b, ".", append(os.Environ(), mcptest.Env+"=legacy"), os.Args[0])
		for b.Loop() {
			c.call(b, "tools/call", strings.Replace(echoParams, "legacy__", "", 1))
		}
	})
	b.Run("reeve", func(b *testing.B) {
		dir, env, bin := benchGateway(b, 1)
		c := startCaller(b, dir, env, bin, "mcp", "serve")
		c.call(b, "tools/call", echoParams)
		for b.Loop() {
			if got := c.call(b, "tools/call", echoParams); !strings.Contains(got, "0123456789abcdef") {
				b.Fatal(got)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		c := startCaller(b, ".", append(os.Environ(), naiveEnv+"=1"), os.Args[0])
		c.call(b, "tools/call", echoParams)
		for b.Loop() {
			if got := c.call(b, "tools/call", echoParams); !strings.Contains(got, "0123456789abcdef") {
				b.Fatal(got)
			}
		}
	})
}

// BenchmarkMCPCallsOf16 is calls per second of 16 callers on one connection.
func BenchmarkMCPCallsOf16(b *testing.B) {
	dir, env, bin := benchGateway(b, 1)
	c := startCaller(b, dir, env, bin, "mcp", "serve")
	c.call(b, "tools/call", echoParams)
	var write sync.Mutex
	tokens := make(chan struct{}, 16)
	go func() {
		for i := range b.N {
			tokens <- struct{}{}
			write.Lock()
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", 1000+i, echoParams)
			write.Unlock()
		}
	}()
	b.ResetTimer()
	for range b.N {
		if _, err := c.out.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		<-tokens
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkMCPServeStart is from the start of reeve mcp serve, with a hundred
// servers configured, to its answer to initialize.
func BenchmarkMCPServeStart(b *testing.B) {
	dir, env, bin := benchGateway(b, 100)
	up := exec.Command(bin, "up")
	up.Env = env
	if out, err := up.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		c := startCaller(b, dir, env, bin, "mcp", "serve")
		b.StopTimer()
		c.in.Close()
		c.cmd.Wait()
		b.StartTimer()
	}
}
