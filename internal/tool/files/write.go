package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

var writeFile = act[writeArgs]{
	spec: tool.Spec{
		Name:        "write_file",
		Description: "Write a file of the workspace whole, making the directories above it where they are missing.",
		Schema: `{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{"path":{"type":"string","minLength":1},` +
			`"content":{"type":"string"}}}`,
		Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a writeArgs, at tool.Place) ([]reeve.Effect, error) {
		return onPath(reeve.EffectWrite, false)(pathArg{a.Path}, at)
	},
	run: func(_ context.Context, w *workspace, a writeArgs) (reeve.Result, error) {
		p, err := w.locate(a.Path)
		if err != nil {
			return reeve.Result{}, err
		}
		d, name, err := w.target(p, true)
		if err != nil {
			return reeve.Result{}, err
		}
		defer d.Close()
		s, err := d.stage(name, []byte(a.Content), nil)
		if err != nil {
			return reeve.Result{}, err
		}
		if err := s.commit(); err != nil {
			return reeve.Result{}, err
		}
		return reeve.Result{Output: fmt.Sprintf("wrote %d bytes to %s", len(a.Content), p.rel), Changed: []string{p.rel}}, nil
	},
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

var editFile = act[editArgs]{
	spec: tool.Spec{
		Name:        "edit_file",
		Description: "Replace text in a file of the workspace. The old text must occur exactly once, unless all is true.",
		Schema: `{"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{"path":{"type":"string","minLength":1},` +
			`"old":{"type":"string","minLength":1},"new":{"type":"string"},"all":{"type":"boolean"}}}`,
		Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a editArgs, at tool.Place) ([]reeve.Effect, error) {
		effects, err := onPath(reeve.EffectWrite, false)(pathArg{a.Path}, at)
		if err == nil {
			effects[0].Exists = true
		}
		return effects, err
	},
	run: runEdit,
}

func runEdit(_ context.Context, w *workspace, a editArgs) (reeve.Result, error) {
	p, err := w.locate(a.Path)
	if err != nil {
		return reeve.Result{}, err
	}
	d, name, err := w.target(p, false)
	if err != nil {
		return reeve.Result{}, err
	}
	defer d.Close()
	text, info, err := w.readIn(d, name, maxWrite)
	if err != nil {
		return reeve.Result{}, err
	}
	n := strings.Count(string(text), a.Old)
	switch {
	case a.Old == "":
		return reeve.Result{}, errors.New("the old text is empty; write_file writes a whole file")
	case n == 0:
		return reeve.Result{}, fmt.Errorf("%s does not hold the old text; read the file and copy the text exactly", p.rel)
	case n > 1 && !a.All:
		return reeve.Result{}, fmt.Errorf("%s holds the old text %d times; give more of the text around it, or set all", p.rel, n)
	}
	s, err := d.stage(name, []byte(strings.ReplaceAll(string(text), a.Old, a.New)), nil)
	if err != nil {
		return reeve.Result{}, err
	}
	if err := s.same(info); err != nil {
		s.discard()
		return reeve.Result{}, err
	}
	if err := s.commit(); err != nil {
		return reeve.Result{}, err
	}
	return reeve.Result{Output: fmt.Sprintf("changed %s in %d %s", p.rel, n, plural(n, "place")), Changed: []string{p.rel}}, nil
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// target opens the directory of a path that will be changed. A credential is
// refused, and so is a link on the way.
func (w *workspace) target(p place, make bool) (dir, string, error) {
	if err := secret(p); err != nil {
		return dir{}, "", err
	}
	return w.parentOf(p, make)
}

// staged is a file that is written and flushed beside the one it will
// replace, under a name that nobody can guess.
type staged struct {
	in   dir
	name string
	temp string
	old  fs.FileInfo // what stands at name; nil where nothing does
	like fs.FileInfo // whose mode and owner the file takes
}

// stage writes text beside name; like lends its mode and owner where nothing
// stands at name. What stands there keeps its permission bits
// and its owner; a symbolic link there is replaced and lends neither. A
// directory, a read-only file and a file with further hard links (which may
// be another name of a credential) are refused.
func (d dir) stage(name string, text []byte, like fs.FileInfo) (*staged, error) {
	rel := filepath.Join(d.rel, name)
	if len(text) > maxWrite {
		return nil, fmt.Errorf("%s would have %d bytes; at most 10 MB are written", rel, len(text))
	}
	s := &staged{in: d, name: name, like: like}
	old, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return nil, pathError(rel, err)
	case old.IsDir():
		return nil, fmt.Errorf("%s is a directory", rel)
	case old.Mode()&fs.ModeSymlink != 0:
	case !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%s)", rel, old.Mode().Type())
	case old.Mode()&0o200 == 0:
		return nil, fmt.Errorf("%s is read-only (mode %04o)", rel, old.Mode().Perm())
	case links(old) > 1:
		return nil, fmt.Errorf("%s has %d hard links; a change would have to reach the others too, so that it is refused: remove it and write it anew", rel, links(old))
	}
	if s.old = old; old != nil {
		s.like = old
	}
	f, err := s.create()
	if err != nil {
		return nil, pathError(rel, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, s.keep(f), f.Sync(), f.Close())
	if err != nil {
		s.discard()
		return nil, pathError(rel, err)
	}
	return s, nil
}

// create makes the temporary file: exclusively, readable by others only where
// the file it becomes will be.
func (s *staged) create() (*os.File, error) {
	var random [12]byte
	rand.Read(random[:])
	s.temp = ".reeve-" + hex.EncodeToString(random[:]) + ".tmp"
	perm := fs.FileMode(0o644)
	if s.keeps() {
		perm = 0o600
	}
	return s.in.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// keeps reports whether there is a file whose mode and owner are taken.
func (s *staged) keeps() bool { return s.like != nil && s.like.Mode().IsRegular() }

// keep gives the new file the mode and the owner of the other.
func (s *staged) keep(f *os.File) error {
	if !s.keeps() {
		return nil
	}
	was, ok := s.like.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if is, fine := now.Sys().(*syscall.Stat_t); ok && fine && (was.Uid != is.Uid || was.Gid != is.Gid) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("it belongs to another user or group, which cannot be kept: %w", err)
		}
	}
	return f.Chmod(s.like.Mode().Perm())
}

// same refuses when the file is no longer the one that was read.
func (s *staged) same(read fs.FileInfo) error {
	if s.old == nil || !os.SameFile(s.old, read) || !s.old.ModTime().Equal(read.ModTime()) || s.old.Size() != read.Size() {
		return fmt.Errorf("%s changed while it was edited; read it again", filepath.Join(s.in.rel, s.name))
	}
	return nil
}

// commit puts the file in its place; commitNew only where nothing stands.
func (s *staged) commit() error { return s.settle(s.in.Rename(s.temp, s.name)) }

func (s *staged) commitNew() error { return s.settle(renameNew(s.in, s.temp, s.in, s.name)) }

func (s *staged) settle(err error) error {
	if err != nil {
		s.discard()
		return pathError(filepath.Join(s.in.rel, s.name), err)
	}
	return s.in.flush()
}

func (s *staged) discard() { s.in.Remove(s.temp) }

// flush makes the names of a directory durable.
func (d dir) flush() error {
	f, err := d.Open(".")
	if err != nil {
		return pathError(d.rel, err)
	}
	defer f.Close()
	// A file system that cannot flush a directory says EINVAL.
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return pathError(d.rel, err)
	}
	return nil
}
