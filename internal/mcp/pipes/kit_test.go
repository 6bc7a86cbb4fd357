package pipes

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

// child is a program started without a boundary, for tests of pipes.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
	exit jail.Exit
}

func (c *child) Wait() (jail.Exit, error) { <-c.done; return c.exit, nil }

func (c *child) Stop(grace time.Duration) {
	c.cmd.Process.Signal(os.Interrupt)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.cmd.Process.Kill()
		<-c.done
	}
}

// spawn starts this test program as a server.
func spawn(tb testing.TB, mode string) Program {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mcptest.Env+"="+mode)
	var ends [3][2]*os.File
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			tb.Fatal(err)
		}
		ends[i] = [2]*os.File{r, w}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0][0], ends[1][1], ends[2][1]
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ends[0][0].Close()
	ends[1][1].Close()
	ends[2][1].Close()
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait()
		c.exit.Code = cmd.ProcessState.ExitCode()
		close(c.done)
	}()
	return Program{Stdin: ends[0][1], Stdout: ends[1][0], Stderr: ends[2][0], Process: c}
}

// process connects to a server in a process of its own.
func process(tb testing.TB, mode string, o upstream.Options, so Options) *upstream.Conn {
	tb.Helper()
	o.Name = "t"
	o.Dial = func(_ context.Context, sink upstream.Sink) (upstream.Transport, error) {
		return New(spawn(tb, mode), sink, so), nil
	}
	c, err := upstream.Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("open %s: %v", mode, err)
	}
	tb.Cleanup(c.Close)
	return c
}

// tool is a call of one of the servers' tools.
func tool(name, args string) upstream.Request {
	return upstream.Request{Method: "tools/call", Params: message.Object{message.OwnText("name", name), message.Own("arguments", []byte(args))}, Name: name}
}

// echo calls the tool of that name.
func echo(t *testing.T, c *upstream.Conn, text string) string {
	t.Helper()
	result, err := c.Call(t.Context(), tool("echo", `{"text":`+string(message.Quote(text))+`}`))
	if err != nil {
		return "error: " + err.Error()
	}
	o, err := message.Members(result)
	if err != nil {
		t.Fatalf("result %s: %v", result, err)
	}
	content, err := message.Elements(o.Get("content"))
	if err != nil || len(content) == 0 {
		t.Fatalf("result %s has no content: %v", result, err)
	}
	one, err := message.Members(content[0])
	if err != nil {
		t.Fatalf("content %s: %v", content[0], err)
	}
	return one.Text("text")
}
