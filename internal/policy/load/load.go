// Package load brings the layers of a policy from where they are installed:
// the built-in one from the program itself, the managed and the person's own
// from their files, a project's from its .reeve/policy.toml.
//
// A [Loader] looks at each file anew for every decision, by one stat, and
// reads it again when its device, inode, size or times have changed, so that
// an edit holds from the next call on. A file that is there and cannot be
// read, does not parse, belongs to somebody else or may be written by others
// becomes a broken layer, which makes every call a question. A project's file
// only tightens until a person has trusted its exact content.
package load

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/tree"
)

//go:embed builtin.toml
var builtIn []byte

// BuiltInText is the built-in layer as it is written.
func BuiltInText() []byte { return append([]byte{}, builtIn...) }

// BuiltIn is the built-in layer (contract A5, A56, amendment: built-in rules
// stand in a file that a person can read).
func BuiltIn() *policy.Layer {
	l, err := policy.Parse(policy.LayerBuiltIn, "builtin.toml", builtIn)
	if err != nil {
		panic("the built-in policy does not parse: " + err.Error())
	}
	return l
}

// Managed is where the policy of whoever runs the machine stands.
const Managed = "/etc/reeve/policy.toml"

// ProjectFile is where a workspace keeps its policy.
func ProjectFile(workspace string) string { return filepath.Join(workspace, ".reeve", "policy.toml") }

// Source names the files that do not depend on a workspace; an empty name is
// no file.
type Source struct{ Managed, User string }

// Loader reads layers and remembers them. It is safe for concurrent use.
type Loader struct {
	source  Source
	builtIn *policy.Layer

	mu    sync.Mutex // guards files
	files map[string]*file
}

// maxFiles bounds how many files are remembered.
const maxFiles = 256

// file is one policy file as it was last read.
type file struct {
	id        identity
	layer     *policy.Layer // nil: there is no file
	digest    [sha256.Size]byte
	untrusted *policy.Layer
}

// identity changes when a file may have changed.
type identity struct {
	dev, ino, mode, uid uint64
	size                int64
	mtime, ctime        int64 // ns
	problem             string
}

// New returns a loader.
func New(s Source) *Loader {
	return &Loader{source: s, builtIn: BuiltIn(), files: map[string]*file{}}
}

// Layers are the layers that hold in a workspace, as the files are now, in the
// order in which equal rules are named. trusted tells whether a person trusted
// a project's policy of this digest; nil trusts nothing. The same layers are
// the same pointers.
func (l *Loader) Layers(workspace string, trusted func(digest [32]byte) bool) []*policy.Layer {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*policy.Layer
	add := func(layer *policy.Layer) {
		if layer != nil {
			all = append(all, layer)
		}
	}
	if l.source.Managed != "" {
		add(l.file(policy.LayerManaged, l.source.Managed).layer)
	}
	if l.source.User != "" {
		add(l.file(policy.LayerUser, l.source.User).layer)
	}
	if workspace != "" {
		f := l.file(policy.LayerProject, ProjectFile(workspace))
		switch {
		case f.layer == nil:
		case trusted != nil && trusted(f.digest):
			add(f.layer)
		default:
			if f.untrusted == nil {
				f.untrusted = f.layer.Untrusted()
			}
			add(f.untrusted)
		}
	}
	return append(all, l.builtIn)
}

// file returns what is remembered of a file, or reads it.
func (l *Loader) file(name, path string) *file {
	id := identify(os.Stat(path))
	if id == (identity{}) {
		if _, err := os.Lstat(path); err == nil {
			id.problem = "it is a symbolic link to nothing"
		}
	}
	if f := l.files[path]; f != nil && f.id == id {
		return f
	}
	if len(l.files) >= maxFiles {
		clear(l.files)
	}
	f := read(name, path, id)
	if time.Since(time.Unix(0, id.ctime)) < settled {
		delete(l.files, path)
	} else {
		l.files[path] = f
	}
	return f
}

// settled is how old a change must be before its times tell it apart from the
// next one: the kernel stamps files by its clock tick, 10 ms at the slowest.
const settled = 20 * time.Millisecond

// identify is the identity of a file; the zero identity is no file.
func identify(info fs.FileInfo, err error) identity {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return identity{}
	case err != nil:
		return identity{problem: err.Error()}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{problem: "its owner cannot be told"}
	}
	m, c := times(st)
	return identity{dev: uint64(st.Dev), ino: st.Ino, mode: uint64(info.Mode()), uid: uint64(st.Uid), size: info.Size(), mtime: m, ctime: c}
}

// read makes a layer of the file that id was taken from.
func read(name, path string, id identity) *file {
	f := &file{id: id}
	if id == (identity{}) {
		return f
	}
	src, err := contents(path, id)
	if err == nil {
		f.digest = sha256.Sum256(src)
		f.layer, err = policy.Parse(name, path, src)
	} else {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		f.layer = policy.Broken(name, path, err)
	}
	return f
}

// contents reads a file that only its owner, this user or root, can write.
func contents(path string, id identity) ([]byte, error) {
	if id.problem != "" {
		return nil, errors.New(id.problem)
	}
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo in a project must not hold us
	if err != nil {
		return nil, err
	}
	defer in.Close()
	now := identify(in.Stat())
	switch mode := fs.FileMode(now.mode); {
	case now.problem != "":
		return nil, errors.New(now.problem)
	case now != id:
		return nil, errors.New("it changed while it was read; the next call reads it again")
	case !mode.IsRegular():
		return nil, errors.New("it is not a regular file")
	case mode.Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write it (mode %04o); chmod go-w it", mode.Perm())
	case now.uid != 0 && now.uid != uint64(os.Geteuid()):
		return nil, fmt.Errorf("it belongs to user %d, who is neither you nor root", now.uid)
	case now.size > tree.MaxBytes:
		return nil, fmt.Errorf("it is longer than %d bytes", tree.MaxBytes)
	}
	src, err := io.ReadAll(io.LimitReader(in, tree.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if identify(in.Stat()) != id {
		return nil, errors.New("it changed while it was read; the next call reads it again")
	}
	return src, nil
}
