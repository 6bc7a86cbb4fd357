package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
)

const (
	pathSchema   = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string","minLength":1}}}`
	fromToSchema = `{"type":"object","additionalProperties":false,"required":["from","to"],"properties":{"from":{"type":"string","minLength":1},"to":{"type":"string","minLength":1}}}`
)

var createDir = act[pathArg]{
	spec: tool.Spec{
		Name:        "create_dir",
		Description: "Make a directory of the workspace, and those above it where they are missing.",
		Schema:      pathSchema, Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: onPath(reeve.EffectWrite, false),
	run: func(_ context.Context, w *workspace, a pathArg) (reeve.Result, error) {
		p, err := w.locate(a.Path)
		if err != nil {
			return reeve.Result{}, err
		}
		if err := secret(p); err != nil {
			return reeve.Result{}, err
		}
		d, err := w.dirAt(p.rel, true)
		if err != nil {
			return reeve.Result{}, err
		}
		defer d.Close()
		if len(w.made) == 0 {
			return reeve.Result{Output: p.rel + " exists already"}, nil
		}
		return reeve.Result{Output: "made " + p.rel, Changed: w.made}, nil
	},
}

type fromTo struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// both are the places of a move or a copy.
func (a fromTo) both(at tool.Place) (from, to place, err error) {
	if from, err = locate(a.From, at); err == nil {
		to, err = locate(a.To, at)
	}
	switch {
	case err != nil:
	case from.rel == ".":
		err = errors.New("the workspace itself is neither moved nor copied")
	case to.rel == "." || to.rel == from.rel:
		err = fmt.Errorf("%s exists already", to.rel)
	case strings.HasPrefix(to.rel, from.rel+string(filepath.Separator)):
		err = fmt.Errorf("%s lies inside %s", to.rel, from.rel)
	}
	return from, to, err
}

var movePath = act[fromTo]{
	spec: tool.Spec{
		Name:        "move_path",
		Description: "Move or rename a file or directory of the workspace. Nothing that exists is replaced.",
		Schema:      fromToSchema, Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a fromTo, at tool.Place) ([]reeve.Effect, error) {
		from, to, err := a.both(at)
		if err != nil {
			return nil, err
		}
		return []reeve.Effect{
			{Kind: reeve.EffectDelete, Path: from.abs, Exists: true, Deep: true},
			{Kind: reeve.EffectWrite, Path: to.abs, Deep: true},
		}, nil
	},
	run: func(_ context.Context, w *workspace, a fromTo) (reeve.Result, error) {
		from, to, err := a.both(w.at)
		if err != nil {
			return reeve.Result{}, err
		}
		src, old, err := w.target(from, false)
		if err != nil {
			return reeve.Result{}, err
		}
		defer src.Close()
		if _, err := src.Lstat(old); err != nil {
			return reeve.Result{}, beneath.Error(from.rel, err)
		}
		if err := w.survey(src, old, "move"); err != nil {
			return reeve.Result{}, err
		}
		dst, name, err := w.target(to, true)
		if err != nil {
			return reeve.Result{}, err
		}
		defer dst.Close()
		if err := moveNew(src, old, dst, name); err != nil {
			return reeve.Result{}, err
		}
		return reeve.Result{Output: fmt.Sprintf("moved %s to %s", from.rel, to.rel), Changed: []string{from.rel, to.rel}}, nil
	},
}

// moveNew renames between two directories and flushes both.
func moveNew(src beneath.Dir, old string, dst beneath.Dir, name string) error {
	switch err := beneath.RenameNew(src, old, dst, name); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists already", filepath.Join(dst.Rel(), name))
	case errors.Is(err, syscall.EXDEV):
		return fmt.Errorf("%s is on another file system; copy it and delete the original", filepath.Join(dst.Rel(), name))
	case err != nil:
		return beneath.Error(filepath.Join(dst.Rel(), name), err)
	}
	return errors.Join(dst.Flush(), src.Flush())
}

var copyPath = act[fromTo]{
	spec: tool.Spec{
		Name:        "copy_path",
		Description: "Copy a file or a whole directory of the workspace. Nothing that exists is replaced; symbolic links are refused.",
		Schema:      fromToSchema, Tier: reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a fromTo, at tool.Place) ([]reeve.Effect, error) {
		from, to, err := a.both(at)
		if err != nil {
			return nil, err
		}
		return []reeve.Effect{
			{Kind: reeve.EffectRead, Path: from.abs, Deep: true},
			{Kind: reeve.EffectWrite, Path: to.abs, Deep: true},
		}, nil
	},
	run: runCopy,
}

// runCopy copies under a name that nobody can guess and then renames, so that
// a copy is whole or not there.
func runCopy(ctx context.Context, w *workspace, a fromTo) (reeve.Result, error) {
	from, to, err := a.both(w.at)
	if err != nil {
		return reeve.Result{}, err
	}
	src, old, err := w.target(from, false)
	if err != nil {
		return reeve.Result{}, err
	}
	defer src.Close()
	if err := w.survey(src, old, "copy"); err != nil {
		return reeve.Result{}, err
	}
	dst, name, err := w.target(to, true)
	if err != nil {
		return reeve.Result{}, err
	}
	defer dst.Close()
	var random [12]byte
	rand.Read(random[:])
	temp := ".reeve-" + hex.EncodeToString(random[:]) + ".tmp"
	c := copier{w: w, ctx: ctx}
	err = c.copy(src, old, dst, temp)
	if err == nil {
		err = moveNew(dst, temp, dst, name)
	}
	if err != nil {
		dst.RemoveAll(temp)
		return reeve.Result{}, err
	}
	return reeve.Result{Output: fmt.Sprintf("copied %d %s, %d bytes, to %s", c.files, plural(c.files, "file"), c.bytes, to.rel), Changed: []string{to.rel}}, nil
}

// copier copies a tree.
type copier struct {
	w     *workspace
	ctx   context.Context
	files int
	names int
	bytes int64
}

// copy copies src/old, a file or a directory, to dst/name, which must not
// exist.
func (c *copier) copy(src beneath.Dir, old string, dst beneath.Dir, name string) error {
	rel := filepath.Join(src.Rel(), old)
	if err := c.ctx.Err(); err != nil {
		return fmt.Errorf("copy %s: %w", rel, err)
	}
	if c.names++; c.names > maxWalk {
		return fmt.Errorf("%s: more than %d names to copy", rel, maxWalk)
	}
	info, err := src.Lstat(old)
	switch {
	case err != nil:
		return beneath.Error(rel, err)
	case info.IsDir():
		return c.copyDir(src, old, dst, name, info)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; links are not copied", rel)
	}
	return c.copyFile(src, old, dst, name)
}

func (c *copier) copyDir(src beneath.Dir, old string, dst beneath.Dir, name string, info fs.FileInfo) error {
	from, err := src.Dir(old)
	if err != nil {
		return err
	}
	defer from.Close()
	// As the original, less what the umask takes, and always ours to fill.
	if err := dst.Mkdir(name, info.Mode().Perm()|0o700); err != nil {
		return beneath.Error(filepath.Join(dst.Rel(), name), err)
	}
	to, err := dst.Dir(name)
	if err != nil {
		return err
	}
	defer to.Close()
	entries, more, err := from.Entries(maxEntries)
	if err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%s has more than %d entries", from.Rel(), maxEntries)
	}
	for _, e := range entries {
		if err := c.copy(from, e.Name(), to, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) copyFile(src beneath.Dir, old string, dst beneath.Dir, name string) error {
	rel := filepath.Join(src.Rel(), old)
	in, info, err := src.File(old)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := c.w.alias(rel, info); err != nil {
		return err
	}
	// Set-id bits are not copied; the umask takes what it takes.
	out, err := dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return beneath.Error(filepath.Join(dst.Rel(), name), err)
	}
	n, err := io.Copy(out, io.LimitReader(in, maxCopySize-c.bytes+1))
	c.files, c.bytes = c.files+1, c.bytes+n
	if err == nil && c.bytes > maxCopySize {
		err = fmt.Errorf("more than %d bytes to copy", maxCopySize)
	}
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return beneath.Error(rel, err)
	}
	return nil
}

var deletePath = act[pathArg]{
	spec: tool.Spec{
		Name:        "delete_path",
		Description: "Delete a file, or a directory with everything in it, of the workspace.",
		Schema:      pathSchema, Tier: reeve.TierDestructive, Class: tool.ClassWrite,
	},
	effects: func(a pathArg, at tool.Place) ([]reeve.Effect, error) {
		p, err := locate(a.Path, at)
		if err == nil && p.rel == "." {
			err = errors.New("the workspace itself is not deleted")
		}
		if err != nil {
			return nil, err
		}
		return []reeve.Effect{{Kind: reeve.EffectDelete, Path: p.abs, Exists: true, Deep: true}}, nil
	},
	run: func(_ context.Context, w *workspace, a pathArg) (reeve.Result, error) {
		p, err := w.locate(a.Path)
		if err != nil {
			return reeve.Result{}, err
		}
		d, name, err := w.target(p, false)
		if err != nil {
			return reeve.Result{}, err
		}
		defer d.Close()
		if err := w.survey(d, name, "delete"); err != nil {
			return reeve.Result{}, err
		}
		// RemoveAll of a directory that was opened goes through no link.
		if err := d.RemoveAll(name); err != nil {
			return reeve.Result{}, beneath.Error(p.rel, err)
		}
		return reeve.Result{Output: "deleted " + p.rel, Changed: []string{p.rel}}, d.Flush()
	},
}

// survey looks through what a call names before it takes it whole: nothing
// protected and no credential may lie inside a directory that is moved,
// copied or deleted, since the call did not name it.
func (w *workspace) survey(d beneath.Dir, name, verb string) error {
	info, err := d.Lstat(name)
	if err != nil {
		return beneath.Error(filepath.Join(d.Rel(), name), err)
	}
	if !info.IsDir() {
		return nil
	}
	sub, err := d.Dir(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	looked := 0
	return w.surveyDir(sub, verb, safepath.Protected(sub.Rel()), &looked)
}

// surveyDir is survey for everything in d; named says that the call named
// protected metadata itself.
func (w *workspace) surveyDir(d beneath.Dir, verb string, named bool, looked *int) error {
	entries, more, err := d.Entries(maxEntries)
	if err != nil {
		return err
	}
	if *looked += len(entries); more || *looked > maxWalk {
		return fmt.Errorf("%s holds more than %d names; %s its parts", d.Rel(), maxWalk, verb)
	}
	for _, e := range entries {
		rel := filepath.Join(d.Rel(), e.Name())
		if safepath.Credential(filepath.Join(w.at.Workspace, rel)) || !named && safepath.Protected(rel) {
			return fmt.Errorf("%s lies inside what you %s and is protected; %s the rest without it", rel, verb, verb)
		}
		if !e.IsDir() {
			continue
		}
		sub, err := d.Dir(e.Name())
		if err != nil {
			return err
		}
		err = w.surveyDir(sub, verb, named, looked)
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
