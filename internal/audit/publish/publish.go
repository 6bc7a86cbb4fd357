// Package publish keeps signed checkpoints of the record where Reeve cannot
// change them any more: in a file on another medium, with a server that takes
// them, or with a witness that signs them too.
//
// [Parse] reads one line of the settings. Whatever is dialled goes through
// package netguard. A checkpoint tells how many rows there are and a hash, and
// nothing of what stands in them.
package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// Publisher keeps checkpoints elsewhere; see package notary.
type Publisher interface {
	Name() string
	Publish(ctx context.Context, signed string, prove func(older int64) (tlog.TreeProof, error)) error
}

// Parse reads where checkpoints go: the absolute path of a directory or a file,
// an address of a server, or witness KEY ADDRESS. witnessed is the file that
// keeps what a witness has signed.
func Parse(text, witnessed string, guard *netguard.Guard) (Publisher, error) {
	if filepath.IsAbs(text) {
		return &File{Path: filepath.Clean(text)}, nil
	}
	if rest, ok := strings.CutPrefix(text, "witness "); ok {
		key, at, _ := strings.Cut(strings.TrimSpace(rest), " ")
		v, err := ParseWitness(key)
		if err != nil {
			return nil, err
		}
		to, err := address(strings.TrimSpace(at))
		if err != nil {
			return nil, err
		}
		return &Witness{At: to, Key: v, File: witnessed, client: client(guard)}, nil
	}
	to, err := address(text)
	if err != nil {
		return nil, err
	}
	return &Web{At: to, client: client(guard)}, nil
}

// ParseAll reads every line of the settings.
func ParseAll(lines []string, witnessed string, guard *netguard.Guard) (all []Publisher, err error) {
	witnesses := 0
	for _, text := range lines {
		p, err := Parse(text, witnessed, guard)
		if err != nil {
			return nil, err
		}
		if _, ok := p.(*Witness); ok {
			witnesses++
		}
		all = append(all, p)
	}
	if witnesses > 1 {
		return nil, errors.New("more than one witness is named; one is asked")
	}
	return all, nil
}

// address reads a URL: https anywhere, http at an address that is spelled out.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && u.User == nil && u.Fragment == "" {
		if u.Scheme == "https" {
			return u, nil
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil && u.Scheme == "http" && u.Port() != "" {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%q is no place for checkpoints; write the absolute path of a directory or file, https://HOST/PATH, http://ADDRESS:PORT/PATH, or witness KEY https://HOST/PATH", text)
}

// client dials only what the guard has checked, and follows nothing.
func client(guard *netguard.Guard) *http.Client {
	dial := func(ctx context.Context, _, addr string) (net.Conn, error) {
		host, port, err := netguard.HostPort(addr, 443)
		if err != nil {
			return nil, err
		}
		_, literal := netip.ParseAddr(host)
		return guard.Dial(ctx, netguard.Target{Host: host, Port: port, Spelled: literal == nil})
	}
	return &http.Client{
		Transport:     &http.Transport{DialContext: dial, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// File appends checkpoints to a file, as audit.checkpoints has them.
type File struct{ Path string } // of the file, or of a directory that it stands in

var _ Publisher = (*File)(nil)

// Name is the path.
func (f *File) Name() string { return f.Path }

// Publish appends a checkpoint that is not there yet. A directory that is
// missing is not made: the medium is not there. Others may write to the same
// file; what is no file of checkpoints is left alone.
func (f *File) Publish(ctx context.Context, signed string, _ func(int64) (tlog.TreeProof, error)) error {
	origin, _, _ := strings.Cut(signed, "\n")
	path := f.Path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, strings.ReplaceAll(origin, "/", "-")+".checkpoints")
	}
	held, err := hold(ctx, path)
	if err != nil {
		return err
	}
	defer held.Close()
	book, err := seal.ReadBook(path)
	if err != nil {
		return err
	}
	had := ""
	if own := book.Of(origin); len(own) > 0 {
		had = own[len(own)-1]
	}
	switch was, now := seal.SizeOf(had), seal.SizeOf(signed); {
	case had == signed:
		return nil
	case was >= now:
		return fmt.Errorf("%s has a checkpoint of %d rows, and this is another one of %d: the record was put back to what it was before, or two machines sign as one; hold it against the file with reeve audit verify --against", path, was, now)
	}
	return book.Append(path, signed)
}

// hold keeps others from the file while it is read and written, where the
// system can.
func hold(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600) // of a pipe nobody may hear
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, cmp.Or(err, fmt.Errorf("%s is neither a file nor a directory", path))
	}
	for {
		if err := durable.Hold(f); !errors.Is(err, durable.ErrLocked) {
			return f, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, durable.ErrLocked)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Web posts checkpoints to a server.
type Web struct {
	At     *url.URL
	client *http.Client
}

var _ Publisher = (*Web)(nil)

// Name is the server's.
func (w *Web) Name() string { return w.At.Host }

// Publish posts a checkpoint; any status of the kind 2xx says that it was taken.
func (w *Web) Publish(ctx context.Context, signed string, _ func(int64) (tlog.TreeProof, error)) error {
	resp, err := post(ctx, w.client, w.At, signed)
	if err != nil {
		return err
	}
	resp.Body.Close() // what it says does not count, however long it is
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the server answers %d", resp.StatusCode)
	}
	return nil
}

func post(ctx context.Context, c *http.Client, to *url.URL, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := c.Do(req)
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // it names the whole address, in which a token may stand
	}
	return resp, err
}

// size reads the answer of a witness that is at another size than we thought.
func size(kind string, answer []byte) (int64, error) {
	n, err := strconv.ParseInt(string(answer), 10, 64)
	if kind != "text/x.tlog.size" || err != nil || n < 0 {
		return 0, errors.New("the witness refuses the checkpoint, and does not say from which size it wants to go on")
	}
	return n, nil
}
