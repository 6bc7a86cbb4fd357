package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/patch"
)

type patchArgs struct {
	Patch string `json:"patch"`
}

var applyPatch = act[patchArgs]{
	spec: tool.Spec{
		Name:        "apply_patch",
		Description: "Apply a unified diff to files of the workspace: change, create (--- /dev/null) and delete (+++ /dev/null). All files change or none.",
		Schema:      `{"type":"object","additionalProperties":false,"required":["patch"],"properties":{"patch":{"type":"string","minLength":1}}}`,
		Tier:        reeve.TierWrite, Class: tool.ClassWrite,
	},
	effects: func(a patchArgs, at tool.Place) ([]reeve.Effect, error) {
		p, err := patch.Parse(a.Patch)
		if err != nil {
			return nil, err
		}
		effects := make([]reeve.Effect, len(p))
		named := map[string]string{}
		for i, f := range p {
			where, err := locate(f.Path, at)
			if err != nil {
				return nil, fmt.Errorf("patch line %d: %w", f.Line, err)
			}
			if other, twice := named[where.rel]; twice {
				return nil, fmt.Errorf("patch line %d: %s and %s are one file", f.Line, f.Path, other)
			}
			named[where.rel] = f.Path
			effects[i] = reeve.Effect{Kind: reeve.EffectWrite, Path: where.abs, Exists: !f.Create}
			if f.Remove {
				effects[i].Kind = reeve.EffectDelete
			}
		}
		return effects, nil
	},
	texts: func(a patchArgs, at tool.Place) (all []tool.Text) {
		p, err := patch.Parse(a.Patch)
		if err != nil {
			return nil
		}
		for _, f := range p {
			was, is := f.Sides()
			all = append(all, textFor(f.Path, at, tool.Text{New: is, Old: was})...)
		}
		return all
	},
	run: func(_ context.Context, w *workspace, a patchArgs) (reeve.Result, error) {
		p, err := patch.Parse(a.Patch)
		if err != nil {
			return reeve.Result{}, err
		}
		return w.patch(p, func() {})
	},
}

// change is one file of a patch, ready to be put in place.
type change struct {
	patch.File
	place  place
	in     beneath.Dir
	name   string
	before []byte          // what stood there, to undo with
	info   fs.FileInfo     // of what stood there
	staged *beneath.Staged // nil for a deletion
}

// patch changes all files or none: first every hunk is tried, then every new
// text is written beside its file, then all are put in place. A failure on the
// last way puts back what was replaced. staged is called before that way.
func (w *workspace) patch(p patch.Patch, staged func()) (reeve.Result, error) {
	changes := make([]*change, 0, len(p))
	defer func() {
		for _, c := range changes {
			c.in.Close()
		}
	}()
	texts := make([][]byte, len(p))
	for i, f := range p {
		c, text, err := w.prepare(f)
		if err != nil {
			return reeve.Result{}, err
		}
		changes, texts[i] = append(changes, c), text
	}
	for i, c := range changes {
		if err := c.stage(texts[i]); err != nil {
			discard(changes)
			return reeve.Result{}, err
		}
	}
	staged()
	var r reeve.Result
	var b strings.Builder
	for i, c := range changes {
		if err := c.commit(); err != nil {
			discard(changes[i+1:])
			return reeve.Result{}, errors.Join(err, undo(changes[:i]))
		}
		r.Changed = append(r.Changed, c.place.rel)
		fmt.Fprintf(&b, "%s %s\n", c.verb(), c.place.rel)
	}
	r.Output = b.String()
	return r, nil
}

// prepare reads the file and works out its new text.
func (w *workspace) prepare(f patch.File) (*change, []byte, error) {
	p, err := w.locate(f.Path)
	if err != nil {
		return nil, nil, err
	}
	c := &change{File: f, place: p}
	if c.in, c.name, err = w.target(p, f.Create); err != nil {
		return nil, nil, err
	}
	text, err := c.work(w)
	if err != nil {
		c.in.Close()
		return nil, nil, err
	}
	return c, text, nil
}

func (c *change) work(w *workspace) (text []byte, err error) {
	if c.Create {
		if _, err := c.in.Lstat(c.name); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists already; the patch creates it", c.place.rel)
		}
		return c.Apply(nil)
	}
	if c.before, c.info, err = w.readIn(c.in, c.name, maxWrite); err != nil {
		return nil, err
	}
	if beneath.Links(c.info) > 1 {
		return nil, fmt.Errorf("%s has %d hard links; a change would have to reach the others too, so that it is refused", c.place.rel, beneath.Links(c.info))
	}
	return c.Apply(c.before)
}

func (c *change) stage(text []byte) (err error) {
	if c.Remove {
		return nil
	}
	if c.staged, err = c.in.Stage(c.name, text, nil); err != nil {
		return err
	}
	if c.Create {
		return nil
	}
	return c.staged.Same(c.info)
}

// commit puts one change in place.
func (c *change) commit() error {
	switch {
	case c.Remove:
		if err := c.in.Remove(c.name); err != nil {
			return beneath.Error(c.place.rel, err)
		}
		return c.in.Flush()
	case c.Create:
		return c.staged.CommitNew()
	}
	return c.staged.Commit()
}

// undo puts back what the first changes replaced.
func undo(done []*change) error {
	var errs []error
	for _, c := range done {
		if c.Create {
			errs = append(errs, c.in.Remove(c.name))
			continue
		}
		s, err := c.in.Stage(c.name, c.before, c.info)
		if err == nil {
			err = s.Commit()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("put back %s: %w", c.place.rel, err))
		}
	}
	return errors.Join(errs...)
}

func discard(changes []*change) {
	for _, c := range changes {
		if c.staged != nil {
			c.staged.Discard()
		}
	}
}

func (c *change) verb() string {
	switch {
	case c.Create:
		return "created"
	case c.Remove:
		return "deleted"
	}
	return "changed"
}
