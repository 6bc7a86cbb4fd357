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

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/mcp/edge"
	"github.com/reeve-gate/reeve/internal/wire"
)

// MCPOverHTTP is MCP for clients that come by HTTP to an address of this
// machine. told gets where they find it, and the file with the token that they
// must carry.
func (c *Client) MCPOverHTTP(ctx context.Context, m wire.MCP, addr string, told func(url, tokenFile string)) error {
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
	told("http://"+at+"/mcp", file)
	m.HTTP, m.Token = true, token
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
