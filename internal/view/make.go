package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
)

// Made says how a view was made, for a receipt.
type Made struct {
	Entries int
	Copied  int64 // bytes
	Shared  int64 // bytes whose blocks are shared with the workspace
	Left    []string
}

// Make copies the workspace at v.Root into v.Folder, which must not exist.
// held are patterns of paths from the root, beside the protected names, of
// which nothing is ever taken over; hidden are paths that the run does not see. A workspace beyond the bounds is refused
// and leaves nothing behind.
//
// What cannot be copied is left out of the view, and never touched by what is
// taken over: sockets, pipes and devices, what may not be read, and what another file
// system is mounted on.
func Make(ctx context.Context, v View, held, hidden []string) (Made, error) {
	m, err := copyTree(ctx, v, held, hidden)
	if err != nil {
		err = errors.Join(fmt.Errorf("make a view of %s: %w", v.Root, err), v.Drop())
	}
	return m, err
}

func copyTree(ctx context.Context, v View, held, hidden []string) (Made, error) {
	if _, err := os.Lstat(v.Folder); !errors.Is(err, fs.ErrNotExist) {
		return Made{}, fmt.Errorf("%w: %s is there already", reeve.ErrUsage, v.Folder)
	}
	if err := durable.MkdirAll(v.Folder); err != nil {
		return Made{}, err
	}
	from, err := beneath.Open(v.Root)
	if err != nil {
		return Made{}, err
	}
	defer from.Close()
	info, err := from.Stat(".")
	if err != nil {
		return Made{}, err
	}
	if err := os.Mkdir(v.Tree(), 0o700); err != nil {
		return Made{}, err
	}
	to, err := beneath.Open(v.Tree())
	if err != nil {
		return Made{}, err
	}
	defer to.Close()
	c := &copier{ctx: ctx, base: &base{Top: stampOf(info), Held: slices.Clone(held)}, hidden: hidden, shares: true}
	if err := c.dir(from, to, 1); err != nil {
		return Made{}, err
	}
	if err := to.Chmod(".", info.Mode().Perm()|0o700); err != nil {
		return Made{}, err
	}
	c.base.Racy = time.Now().Add(-tick).UnixNano()
	c.made.Entries = len(c.base.Entries)
	return c.made, v.save(c.base)
}

// tick is longer than the clock of any file system stands still.
const tick = 20 * time.Millisecond

// copier copies one tree.
type copier struct {
	ctx    context.Context
	base   *base
	made   Made
	hidden []string
	shares bool // the file system has not said yet that it cannot
}

func (c *copier) leave(path string, info fs.FileInfo, why string) {
	if why != "" && len(c.made.Left) < maxLeft {
		c.made.Left = append(c.made.Left, path+" "+why)
	}
	c.base.Entries = append(c.base.Entries, entry{Path: path, Mode: info.Mode(), Orig: stampOf(info), Left: cmp.Or(why, "was not copied")})
}

// maxLeft bounds what is told of what was left out.
const maxLeft = 20

// dir copies what stands in from.
func (c *copier) dir(from, to beneath.Dir, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: %s lies deeper than %d directories", reeve.ErrUsage, from.Rel(), MaxDepth)
	}
	list, more, err := from.Entries(MaxEntries - len(c.base.Entries))
	if err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%w: it holds more than %d files and directories; work in a part of it, or without --review", reeve.ErrUsage, MaxEntries)
	}
	for _, e := range list {
		if err := c.ctx.Err(); err != nil {
			return context.Cause(c.ctx)
		}
		info, err := from.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went meanwhile
		}
		if err != nil {
			return beneath.Error(from.Path(e.Name()), err)
		}
		if err := c.one(from, to, e.Name(), info, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) one(from, to beneath.Dir, name string, info fs.FileInfo, depth int) error {
	path := from.Path(name)
	switch mode := info.Mode(); {
	case slices.Contains(c.hidden, path):
		c.leave(path, info, "is hidden from the run, and is not in the view")
		return nil
	case mode.IsDir():
		return c.sub(from, to, name, info, depth)
	case mode&fs.ModeSymlink != 0:
		link, err := from.Readlink(name)
		if err == nil {
			err = to.Symlink(link, name)
		}
		if err != nil {
			return beneath.Error(path, err)
		}
		c.base.Entries = append(c.base.Entries, entry{Path: path, Mode: mode, Orig: stampOf(info), Link: link})
		return nil
	case mode.IsRegular():
		return c.file(from, to, name)
	}
	c.leave(path, info, "")
	return nil
}

func (c *copier) sub(from, to beneath.Dir, name string, info fs.FileInfo, depth int) error {
	path := from.Path(name)
	if stampOf(info).Dev != c.base.Top.Dev {
		c.leave(path, info, "is another file system, and is not in the view")
		return nil
	}
	in, err := from.Dir(name)
	if err == nil {
		_, _, err = in.Entries(0) // it can be entered and cannot be read
		if err != nil {
			in.Close()
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		c.leave(path, info, "may not be read, and is not in the view")
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if err := to.Mkdir(name, 0o700); err != nil {
		return beneath.Error(path, err)
	}
	out, err := to.Dir(name)
	if err != nil {
		return err
	}
	defer out.Close()
	c.base.Entries = append(c.base.Entries, entry{Path: path, Mode: info.Mode(), Orig: stampOf(info)})
	if err := c.dir(in, out, depth+1); err != nil {
		return err
	}
	return chmod(out, info.Mode())
}

func chmod(d beneath.Dir, mode fs.FileMode) error {
	f, err := d.Open(".")
	if err != nil {
		return beneath.Error(d.Rel(), err)
	}
	defer f.Close()
	return f.Chmod(mode.Perm())
}

// file copies one file as it stands at one moment: one that is written to
// meanwhile is read again.
func (c *copier) file(from, to beneath.Dir, name string) error {
	path := from.Path(name)
	for try := 0; ; try++ {
		in, info, err := from.File(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission):
			if info, err = from.Lstat(name); err == nil {
				c.leave(path, info, "may not be read, and is not in the view")
			}
			return nil
		case err != nil:
			return err
		}
		copied, err := c.content(in, to, name, info)
		after, serr := in.Stat()
		in.Close()
		if err != nil {
			return beneath.Error(path, err)
		}
		if serr == nil && stampOf(after) == stampOf(info) {
			c.base.Entries = append(c.base.Entries, entry{Path: path, Mode: info.Mode(), Orig: stampOf(info), Copy: copied})
			return nil
		}
		if try == 2 {
			return fmt.Errorf("%w: %s is being written to all the time: begin when that has ended", reeve.ErrUsage, path)
		}
		if err := to.Remove(name); err != nil {
			return beneath.Error(path, err)
		}
	}
}

func (c *copier) content(in *os.File, to beneath.Dir, name string, info fs.FileInfo) (stamp, error) {
	out, err := to.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return stamp{}, err
	}
	defer out.Close()
	if c.shares = c.shares && (info.Size() == 0 || clone(out, in)); c.shares {
		c.made.Shared += info.Size()
	} else {
		n, err := io.Copy(out, io.LimitReader(in, MaxBytes-c.made.Copied+1))
		if c.made.Copied += n; err != nil {
			return stamp{}, err
		}
		if c.made.Copied > MaxBytes {
			return stamp{}, fmt.Errorf("%w: more than %d GiB would have to be copied, since this file system cannot share their blocks; work in a part of it, or without --review", reeve.ErrUsage, MaxBytes>>30)
		}
	}
	if err := out.Chmod(info.Mode().Perm()); err != nil {
		return stamp{}, err
	}
	// The same time of change, or every build in the view would begin anew.
	if err := to.Chtimes(name, time.Time{}, info.ModTime()); err != nil {
		return stamp{}, err
	}
	is, err := out.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stampOf(is), nil
}
