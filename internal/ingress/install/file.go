package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/jsonc"
)

// File is a settings file as it was when it was opened.
type File struct {
	Path   string // the real file, with every symbolic link resolved
	Text   []byte
	Exists bool
	perm   fs.FileMode
}

// maxLinks bounds a chain of symbolic links, as the kernel does.
const maxLinks = 40

// Open reads the settings file at path. Symbolic links are followed to the
// file they mean, which need not exist yet. A file that is not regular, that
// belongs to someone else, or that others may write is refused: what it says
// would not be this person's word.
func Open(path string) (*File, error) {
	real, err := follow(path)
	if err != nil {
		return nil, fmt.Errorf("open settings %s: %w", path, err)
	}
	f := &File{Path: real, perm: 0o600}
	file, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open settings: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("open settings: %w", err)
	}
	if err := trusted(info); err != nil {
		return nil, fmt.Errorf("open settings %s: %w", real, err)
	}
	f.Exists, f.perm = true, info.Mode().Perm()
	if f.Text, err = io.ReadAll(io.LimitReader(file, jsonc.MaxText+1)); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return f, nil
}

// follow resolves path; the last component may be missing, also behind links.
func follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil // the folder is made when the file is written
		}
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or not there
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}

// trusted reports why a file's content is not the person's own word.
func trusted(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file (%v)", info.Mode().Type())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d and you are user %d; run this as its owner", st.Uid, os.Geteuid())
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write it (mode %v); take that away first: chmod go-w", info.Mode().Perm())
	}
	return nil
}

// Save makes after the file's content, or removes the file where exists is
// false. It refuses when the file is no longer what Open read, and returns
// nil only when the change is on disk. A new file is 0600 in a folder made
// with 0700; an old one keeps its mode.
func (f *File) Save(after []byte, exists bool) error {
	now, err := Open(f.Path)
	if err != nil {
		return err
	}
	if now.Path != f.Path || now.Exists != f.Exists || !bytes.Equal(now.Text, f.Text) {
		return fmt.Errorf("save settings %s: another program changed it meanwhile; try again", f.Path)
	}
	switch {
	case exists && !f.Exists:
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return fmt.Errorf("save settings: %w", err)
		}
	case !exists && f.Exists:
		if err := os.Remove(f.Path); err != nil {
			return fmt.Errorf("save settings: %w", err)
		}
		return durable.SyncDir(filepath.Dir(f.Path))
	case !exists:
		return nil
	}
	return durable.WriteFile(f.Path, after, f.perm)
}
