package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/mcp/edge"
	"github.com/reeve-gate/reeve/internal/wire"
)

// MCP has the daemon serve a client of the Model Context Protocol over this
// process's standard streams, or with m.HTTP whoever comes to listen, an address
// of this machine, with the token in the file that words names. It returns when
// ctx ends or the client has; inside a session it goes through the session's own
// socket.
func (c *Client) MCP(ctx context.Context, m wire.MCP, listen string, words io.Writer) error {
	if m.HTTP {
		return c.overHTTP(ctx, m, listen, words)
	}
	in, ends, err := pipeIn(os.Stdin)
	if err != nil {
		return err
	}
	defer ends()
	out, written, err := pipeOut(os.Stdout)
	if err != nil {
		return err
	}
	defer written()
	if sock := c.sessionSocket(); sock != "" {
		conn, err := localsock.Dial(sock, 2*time.Second)
		if err != nil {
			return fmt.Errorf("%w: %v", reeve.ErrUnavailable, err)
		}
		return c.exchange(ctx, conn, wire.MethodMCP, m, nil, nil, []*os.File{in, out})
	}
	return c.call(ctx, true, wire.MethodMCP, m, nil, nil, in, out)
}

func (c *Client) overHTTP(ctx context.Context, m wire.MCP, addr string, words io.Writer) error {
	file := filepath.Join(c.Paths.State, "mcp-token")
	token, err := bearer(file)
	if err != nil {
		return err
	}
	l, at, err := edge.Listen(addr)
	if err != nil {
		return fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	defer l.Close()
	fmt.Fprintf(words, "reeve: serving MCP at http://%s/mcp; the bearer token stands in %s\n", at, file)
	m.Token = token
	return c.call(ctx, true, wire.MethodMCP, m, nil, nil, l)
}

// bearer is the token of this installation, made when it is first needed.
func bearer(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err == nil && len(b) >= edge.MinToken {
		return string(b), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := rand.Text() + rand.Text()
	if err := durable.MkdirAll(filepath.Dir(file)); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	if err := durable.WriteFile(file, []byte(token), 0o600); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	return token, nil
}

// pipeIn is a stream as a pipe: itself, or one that a copy of it is written to.
func pipeIn(f *os.File) (in *os.File, ends func(), err error) {
	if piped(f) {
		return f, func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	go func() {
		io.Copy(w, f)
		w.Close()
	}()
	return r, func() { r.Close() }, nil
}

// pipeOut is the same for a stream that is written to; written waits until all
// of it is.
func pipeOut(f *os.File) (out *os.File, written func(), err error) {
	if piped(f) {
		return f, func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	done := make(chan struct{})
	go func() {
		io.Copy(f, r)
		close(done)
	}()
	return w, func() { w.Close(); <-done }, nil
}

func piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
