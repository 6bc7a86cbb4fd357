package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// MinToken is the least length of a token, in bytes.
const MinToken = 32

// Listen binds an address of this machine's own loopback and gives the listener
// as a file, and the address that it has.
func Listen(addr string) (*os.File, string, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() {
		return nil, "", fmt.Errorf("%q is no address of this machine alone, such as 127.0.0.1:8765", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	return f, l.Addr().String(), err
}

// Serve serves on a listener until ctx ends.
func Serve(ctx context.Context, file *os.File, token string, open func(send func(message.Message)) Conversation) error {
	if len(token) < MinToken {
		return fmt.Errorf("a token has at least %d bytes", MinToken)
	}
	l, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("take over the listener: %w", err)
	}
	defer l.Close()
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return errors.New("only a listener of this machine alone is served")
	}
	port := ":" + strconv.Itoa(at.Port)
	h := New(Options{Open: open, Token: token, Hosts: []string{"127.0.0.1" + port, "localhost" + port, "[::1]" + port}})
	defer h.Close()
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	stop := context.AfterFunc(ctx, func() {
		h.Close()
		s.Close()
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
