package metrics

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Path is the one that is served.
const Path = "/metrics"

// contentType is that of the text form.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Address reads the address to serve on: an IP address of this machine's
// loopback, with a port.
func Address(text string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no address with a port, such as 127.0.0.1:9464", text)
	}
	if !a.Addr().IsLoopback() {
		return netip.AddrPort{}, fmt.Errorf("%s is no address of this machine alone; write 127.0.0.1:%d", text, a.Port())
	}
	return a, nil
}

// Server serves one page to Prometheus on this machine. Whoever asks must name
// this machine in Host, so that no page in a browser reads it by a name of its
// own that leads here, and carry the bearer token where there is one.
type Server struct {
	Write func(io.Writer) error
	Token func() (string, error) // asked for each time; nil = none is needed
}

// Serve serves on l until ctx ends, and then closes it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.handler(l.Addr().String()),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

func (s *Server) handler(own string) http.Handler {
	_, port, _ := net.SplitHostPort(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		switch {
		case !ours(r.Host, port):
			http.Error(w, "this address is not served under that name", http.StatusForbidden)
		case r.URL.Path != Path:
			http.Error(w, "the metrics are at "+Path, http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the metrics are read by GET", http.StatusMethodNotAllowed)
		case !s.knows(r.Header.Values("Authorization")):
			h.Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed: telemetry.metrics_token", http.StatusUnauthorized)
		default:
			h.Set("Content-Type", contentType)
			_ = s.Write(w) // who asked went away
		}
	})
}

// ours reports whether a Host names this machine and the port that is served.
func ours(host, port string) bool {
	name, p, err := net.SplitHostPort(host)
	if err != nil || p != port {
		return false
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}

// knows reports whether a request carries the token. What is compared has one
// length, whatever was sent.
func (s *Server) knows(said []string) bool {
	if s.Token == nil {
		return true
	}
	want, err := s.Token()
	if err != nil || want == "" || len(said) != 1 {
		return false
	}
	scheme, got, _ := strings.Cut(said[0], " ")
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return strings.EqualFold(scheme, "bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
