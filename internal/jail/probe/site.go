package probe

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// site is the folder of one trial and the listeners beside it.
type site struct {
	stage   Stage
	closers []func() error
	arrived atomic.Int32 // connections and datagrams that came in since the reset
}

// layout is the tree of a site: a name that ends in a slash is a directory.
var layout = []string{
	"ws/.git/hooks/", "ws/.git/objects/", "ws/.git/config", "ws/.git/HEAD", "ws/mnt/", "ws/tool", "ws/package.json",
	"home/.ssh/id", "home/.netrc", "home/.claude/settings.json", "home/outside/victim", "state/secret",
}

func newSite(base string) (*site, error) {
	s := &site{}
	token := make([]byte, 8)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	s.stage = Stage{
		Workspace: filepath.Join(base, "ws"), Home: filepath.Join(base, "home"), Outside: filepath.Join(base, "home/outside"),
		State: filepath.Join(base, "state"), Stream: filepath.Join(base, "home/outside/stream"), Datagram: filepath.Join(base, "home/outside/datagram"),
		Abstract: "@reeve-probe-" + hex.EncodeToString(token), Canary: "REEVE_PROBE_TOKEN", PID: os.Getpid(),
	}
	if err := s.build(base); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *site) build(base string) error {
	for _, name := range layout {
		path := filepath.Join(base, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		text := "secret"
		switch filepath.Base(name) {
		case "HEAD":
			text = "ref: refs/heads/main\n"
		case "config":
			text = "[core]\n\tbare = false\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	err := os.Symlink(filepath.Join(s.stage.Outside, "victim"), filepath.Join(s.stage.Workspace, "link"))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// reset undoes what the acts did outside.
func (s *site) reset() error {
	base := filepath.Dir(s.stage.Workspace)
	if _, err := os.Lstat(filepath.Join(base, "ws/moved")); err == nil {
		if err := os.Rename(filepath.Join(base, "ws/moved"), filepath.Join(base, "ws/.git")); err != nil {
			return err
		}
	}
	for _, made := range []string{"home/outside/new", "state/new", "ws/alias", "ws/.git/hooks/pre-commit"} {
		os.Remove(filepath.Join(base, made))
	}
	s.arrived.Store(0)
	return s.build(base)
}

// listen opens the sockets that must not be reached and counts what comes.
func (s *site) listen() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, tcp.Close)
	s.stage.TCP = tcp.Addr().String()
	for _, name := range []string{s.stage.Stream, s.stage.Abstract} {
		l, err := net.Listen("unix", name)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, l.Close)
		go s.accept(l)
	}
	go s.accept(tcp)
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.stage.Datagram, Net: "unixgram"})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, d.Close)
	go func() {
		for buf := make([]byte, 16); ; s.arrived.Add(1) {
			if _, err := d.Read(buf); err != nil {
				return
			}
		}
	}()
	return nil
}

func (s *site) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.arrived.Add(1)
		c.SetDeadline(time.Now())
		c.Close()
	}
}

func (s *site) close() {
	for _, c := range s.closers {
		c()
	}
}

// traces says what the contained run left outside, or nothing.
func (s *site) traces() string {
	base := filepath.Dir(s.stage.Workspace)
	for _, made := range []string{"home/outside/new", "state/new", "ws/alias", "ws/.git/hooks/pre-commit", "ws/moved"} {
		if _, err := os.Lstat(filepath.Join(base, made)); err == nil {
			return made + " appeared"
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.stage.Outside, "victim")); err != nil || string(text) != "secret" {
		return "a file outside was changed"
	}
	if n := s.arrived.Load(); n > 0 {
		return fmt.Sprintf("%d connections arrived", n)
	}
	return ""
}
