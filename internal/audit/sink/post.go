package sink

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/netguard"
)

// Address reads the address of a collector, to which /v1/logs and /v1/traces are
// added: https, or http to this machine alone; a host, and neither a user, a
// query nor a fragment.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is no address")
	case u.Host == "" || u.Opaque != "" || strings.ContainsAny(text, "\\ \t\r\n"):
		return nil, fmt.Errorf("%q is no address such as https://collector.example.com:4318", text)
	case u.User != nil:
		return nil, errors.New("an address holds no user and no password; put a token into telemetry.headers, as a reference to the vault")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%q has more than a path; /v1/logs and /v1/traces are added to it", text)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is neither https nor http", u.Scheme)
	}
	t, err := target(u.Host, u.Scheme)
	if err != nil {
		return nil, err
	}
	if a, err := netip.ParseAddr(t.Host); u.Scheme == "http" && (err != nil || !a.Unmap().IsLoopback()) {
		return nil, fmt.Errorf("http is spoken to this machine alone; use https for %s", u.Hostname())
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// target is what is dialled for a host of an address. A person who writes an
// address, or localhost, means exactly that.
func target(host, scheme string) (netguard.Target, error) {
	u := url.URL{Host: host}
	name, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[scheme]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || name == "" {
		return netguard.Target{}, fmt.Errorf("%q has no usable host and port", host)
	}
	if strings.EqualFold(name, "localhost") {
		name = "127.0.0.1"
	}
	return netguard.Target{Host: name, Port: uint16(n), Spelled: true}, nil
}

func newClient(o Options) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				t, err := target(addr, o.Endpoint.Scheme)
				if err != nil {
					return nil, err
				}
				c, err := o.Guard.Dial(ctx, t)
				if err != nil {
					return nil, err // never a nil connection in an interface
				}
				return c, nil
			},
			TLSClientConfig:        o.TLS,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxConnsPerHost:        1,
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true,
		},
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// laterError: not now. After is what the collector asked for, 0 = it did not.
type laterError struct {
	err   error
	after time.Duration
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// unacceptableError: never, whatever is tried.
type unacceptableError struct{ err error }

func (e *unacceptableError) Error() string { return e.err.Error() }
func (e *unacceptableError) Unwrap() error { return e.err }

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// post sends one request; refused is how many parts of it the collector says
// that it did not take.
func (s *Sender) post(ctx context.Context, path string, body []byte) (refused int64, err error) {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	z.Write(body)
	z.Close()
	to := s.opt.Endpoint.JoinPath(path)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), &packed)
	if err != nil {
		return 0, err
	}
	if s.opt.Headers != nil {
		headers, err := s.opt.Headers()
		if err != nil {
			return 0, fmt.Errorf("headers for %s: %w", s.opt.Endpoint.Host, err)
		}
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "reeve/"+s.opt.Encoder.Build)
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send to %s: %w", s.opt.Endpoint.Host, cause(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode/100 == 2:
		return partly(answer), nil // the answer may be cut off: it was taken
	case err != nil:
		return 0, fmt.Errorf("read the answer of %s: %w", s.opt.Endpoint.Host, err)
	}
	fault := fmt.Errorf("%s answered %s to %s", s.opt.Endpoint.Host, resp.Status, path)
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return 0, &unacceptableError{fault}
	}
	return 0, &laterError{fault, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
}

// cause is what went wrong, without the address, which is named already.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// retryAfter reads the header: seconds, or a moment (RFC 9110, 10.2.3). 0 where
// it says nothing usable.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// partly reads how much of a request was refused. Numbers of 64 bits are strings
// in the JSON of Protocol Buffers, and numbers from some collectors.
func partly(answer []byte) int64 {
	var a struct {
		Partial struct {
			Spans json.RawMessage `json:"rejectedSpans"`
			Logs  json.RawMessage `json:"rejectedLogRecords"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return 0
	}
	sum := int64(0)
	for _, raw := range []json.RawMessage{a.Partial.Spans, a.Partial.Logs} {
		n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
		if err == nil && n > 0 && n <= maxRows {
			sum += n
		}
	}
	return sum
}
