package probe

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// site is the folder of one trial and the listeners beside it.
type site struct {
	base    string
	layout  []string
	stage   Stage
	before  map[string]string // what must not change
	closers []func() error
	arrived atomic.Int32 // connections and datagrams that came in since the reset
}

// layout is the tree of a site: a name that ends in a slash is a directory.
var layout = []string{
	"ws/.git/hooks/", "ws/.git/objects/", "ws/.git/config", "ws/.git/HEAD", "ws/mnt/", "ws/tool", "ws/package.json",
	"home/.ssh/id", "home/.netrc", "home/.claude/settings.json", "home/outside/victim", "state/secret",
}

func newSite(base string, more []string) (*site, error) {
	s := &site{base: base, layout: append(layout[:len(layout):len(layout)], more...)}
	token := make([]byte, 8)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	s.stage = Stage{
		Workspace: filepath.Join(base, "ws"), Home: filepath.Join(base, "home"), Outside: filepath.Join(base, "home/outside"),
		State: filepath.Join(base, "state"), Stream: filepath.Join(base, "home/sock/stream"), Datagram: filepath.Join(base, "home/sock/datagram"),
		Abstract: "@reeve-probe-" + hex.EncodeToString(token), Canary: "REEVE_PROBE_TOKEN", PID: os.Getpid(),
	}
	if err := os.MkdirAll(filepath.Dir(s.stage.Stream), 0o755); err != nil {
		return nil, err
	}
	if err := s.reset(); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// reset makes the tree as it was, whatever the acts did to it outside. The
// sockets stay where they are.
func (s *site) reset() error {
	for _, name := range []string{"ws", "state"} {
		if err := os.RemoveAll(filepath.Join(s.base, name)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(s.stage.Home)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "sock" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.stage.Home, e.Name())); err != nil {
			return err
		}
	}
	if err := s.build(); err != nil {
		return err
	}
	s.arrived.Store(0)
	s.before, err = s.manifest()
	return err
}

func (s *site) build() error {
	for _, name := range s.layout {
		path := filepath.Join(s.base, name)
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
	return errors.Join(
		os.Symlink(filepath.Join(s.stage.Outside, "victim"), filepath.Join(s.stage.Workspace, "link")),
		os.Symlink(filepath.Join(s.stage.Outside, "made"), filepath.Join(s.stage.Workspace, "dangling")),
		os.Link(filepath.Join(s.stage.Home, ".netrc"), filepath.Join(s.stage.Workspace, "alias-of-netrc")),
	)
}

// listen opens the sockets that must not be reached and counts what comes.
func (s *site) listen() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, tcp.Close)
	s.stage.TCP = tcp.Addr().String()
	names := []string{s.stage.Stream}
	if runtime.GOOS == "linux" {
		names = append(names, s.stage.Abstract)
	} else {
		s.stage.Abstract = "" // an invention of Linux
	}
	for _, name := range names {
		l, err := net.Listen("unix", name)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, l.Close)
		go s.accept(l)
	}
	go s.accept(tcp)
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, u.Close)
	s.stage.UDP = u.LocalAddr().String()
	go s.count(u)
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.stage.Datagram, Net: "unixgram"})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, d.Close)
	go s.count(d)
	if six, err := net.Listen("tcp", "[::1]:0"); err == nil {
		s.closers = append(s.closers, six.Close)
		s.stage.TCP6 = six.Addr().String()
		go s.accept(six)
	}
	return nil
}

func (s *site) count(c net.PacketConn) {
	for buf := make([]byte, 16); ; s.arrived.Add(1) {
		if _, _, err := c.ReadFrom(buf); err != nil {
			return
		}
	}
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
	after, err := s.manifest()
	if err != nil {
		return err.Error()
	}
	for path, was := range s.before {
		if is, ok := after[path]; !ok {
			return path + " is gone"
		} else if is != was {
			return path + " was changed"
		}
	}
	for path := range after {
		if _, was := s.before[path]; !was {
			return path + " appeared"
		}
	}
	if n := s.arrived.Load(); n > 0 {
		return fmt.Sprintf("%d connections arrived", n)
	}
	return ""
}

// manifest describes everything that no contained program may change: the
// home directory, Reeve's state, and in the workspace what has a protected
// name.
func (s *site) manifest() (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(s.base, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.base, path)
		if strings.HasPrefix(rel, "ws") && !guarded(rel) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += info.ModTime().String() + string(text)
		}
		all[rel] = what
		return nil
	})
	return all, err
}

// guarded tells the names of the layout that are protected in the workspace.
func guarded(rel string) bool {
	for _, name := range []string{".git/config", ".git/hooks", ".vscode", ".mcp.json", ".envrc"} {
		if strings.Contains(rel+"/", "/"+name+"/") {
			return true
		}
	}
	return false
}
