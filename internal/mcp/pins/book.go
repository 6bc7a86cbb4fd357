package pins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/durable"
)

// maxPin bounds the file of one pin: an offer has at most 8 MiB.
const maxPin = 24 << 20

// Book keeps the pins of all servers in one directory. It is safe for
// concurrent use.
type Book struct {
	Told func(note string) // hears, for a person, where a backup had to be taken; nil = nobody

	dir string

	mu    sync.Mutex // guards what follows, and the files
	read  map[string]kept
	files map[string]*durable.File
}

type kept struct {
	info os.FileInfo
	pin  *Pin
}

// NewBook keeps pins in a directory of Reeve's own, which is made when it is
// needed.
func NewBook(dir string) *Book {
	return &Book{dir: dir, read: map[string]kept{}, files: map[string]*durable.File{}}
}

// Pin is what is kept of a server; nil where nothing is. It is not to be
// changed. After an error nobody knows what was trusted.
func (b *Book) Pin(server string) (*Pin, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.load(server)
}

func (b *Book) load(server string) (*Pin, error) {
	k, err := b.look(server)
	if err == nil && k.pin != nil && k.info == nil {
		k, err = b.look(server) // it was put back, or written in this moment
	}
	if err != nil {
		delete(b.read, server)
		return nil, fmt.Errorf("read what was trusted of server %s: %w", server, err)
	}
	if b.read[server] = k; k.info == nil {
		delete(b.read, server)
	}
	return k.pin, nil
}

// look is load for one moment: without info where the file changed in it.
func (b *Book) look(server string) (kept, error) {
	path := b.path(server)
	before, err := os.Lstat(path)
	switch {
	case err == nil:
		if k, ok := b.read[server]; ok && unchanged(before, k.info) {
			return k, nil
		}
		if err := private(before); err != nil {
			return kept{}, fmt.Errorf("%s: %w", path, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return kept{}, err
	}
	src, err := b.file(server).Read()
	if err != nil {
		return kept{}, fmt.Errorf("%w; then run reeve mcp trust %s", err, server)
	}
	if src == nil {
		return kept{}, nil
	}
	p, err := Parse(server, src)
	if err != nil {
		return kept{}, err
	}
	if after, err := os.Lstat(path); err == nil && before != nil && unchanged(after, before) {
		return kept{after, p}, nil
	}
	return kept{nil, p}, nil
}

func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

func (b *Book) file(server string) *durable.File {
	f := b.files[server]
	if f == nil {
		f = &durable.File{Path: b.path(server), Max: maxPin, Told: b.Told, Check: func(src []byte) error { _, err := Parse(server, src); return err }}
		b.files[server] = f
	}
	return f
}

// private reports why a file is not Reeve's own word.
func private(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case ok && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may read or write it (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// Parse reads the text of a pin.
func Parse(server string, src []byte) (*Pin, error) {
	if len(src) > maxPin {
		return nil, fmt.Errorf("more than %d bytes", maxPin)
	}
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(src, &v); err != nil {
		return nil, err
	}
	if v.Version != Version {
		return nil, fmt.Errorf("its form is version %d, and this program reads version %d", v.Version, Version)
	}
	p := &Pin{}
	if err := json.Unmarshal(src, p, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if p.Server != server {
		return nil, fmt.Errorf("it is of server %q", p.Server)
	}
	for i, it := range p.Items {
		switch {
		case it.Digest != Digest(it.Raw):
			return nil, fmt.Errorf("the %s %q has not the digest that stands beside it", it.Kind, it.Name)
		case !it.Kind.pinned() || i > 0 && compare(p.Items[i-1], it) >= 0:
			return nil, fmt.Errorf("the %s %q stands where it cannot", it.Kind, it.Name)
		}
	}
	return p, nil
}

// Put keeps a pin in place of the one before.
func (b *Book) Put(p *Pin) error {
	src, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("keep what is trusted of server %s: %w", p.Server, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.load(p.Server); err != nil { // what cannot be read is not replaced
		return err
	}
	delete(b.read, p.Server)
	if err := durable.Private(b.dir); err != nil {
		return fmt.Errorf("keep what is trusted of server %s: %w", p.Server, err)
	}
	if err := b.file(p.Server).Write(src); err != nil {
		return fmt.Errorf("keep what is trusted of server %s: %w", p.Server, err)
	}
	return nil
}

// Change replaces a pin by what change makes of it, with nothing between; nil
// in is no pin, nil out leaves it as it is.
func (b *Book) Change(server string, change func(*Pin) (*Pin, error)) error {
	b.mu.Lock()
	p, err := b.load(server)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	out, err := change(p)
	if err != nil || out == nil {
		return err
	}
	b.mu.Lock()
	now, err := b.load(server)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	if now != p {
		return fmt.Errorf("what is trusted of server %s was changed meanwhile; try again", server)
	}
	return b.Put(out)
}

// Forget drops what is known of a server.
func (b *Book) Forget(server string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.read, server)
	if err := b.file(server).Remove(); err != nil {
		return fmt.Errorf("forget server %s: %w", server, err)
	}
	return nil
}

// Servers are those of which something is kept, sorted.
func (b *Book) Servers() []string {
	entries, _ := os.ReadDir(b.dir)
	var all []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (b *Book) path(server string) string { return filepath.Join(b.dir, filepath.Base(server)+".json") }
