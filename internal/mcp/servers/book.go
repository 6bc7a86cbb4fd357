package servers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/reeve-gate/reeve/internal/config"
)

// Book is the file, read again when it has changed. It is safe for concurrent
// use.
type Book struct {
	file string

	mu   sync.Mutex // guards what follows
	info os.FileInfo
	read bool
	set  *Set
	err  error
}

// NewBook keeps the file of a configuration directory.
func NewBook(dir string) *Book { return &Book{file: filepath.Join(dir, File)} }

// Servers is what the file says now. A file that is not there names no server;
// one that cannot be read, or that others may write, is an error, and then no
// server of it may be used.
func (b *Book) Servers() (*Set, error) {
	info, err := os.Stat(b.file)
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		b.info, b.read = nil, false
		return &Set{}, nil
	}
	if err == nil && b.read && same(info, b.info) {
		return b.set, b.err
	}
	b.info, b.read = info, err == nil
	src, err := config.ReadOwned(b.file)
	if err != nil {
		b.set, b.err = nil, err
		return nil, err
	}
	b.set, b.err = Parse(b.file, src)
	return b.set, b.err
}

func same(a, b os.FileInfo) bool {
	return b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
