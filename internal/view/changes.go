package view

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
)

// Kind is what a change does to the workspace.
type Kind uint8

const (
	Added    Kind = iota + 1 // nothing stood there
	Modified                 // another content, or another type
	Mode                     // other permissions alone
	Deleted
)

var kinds = [...]string{"", "added", "modified", "mode", "deleted"}

func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// Change is one difference between the view and the workspace.
type Change struct {
	Path string // from the root
	Kind Kind
	Was  fs.FileMode       // zero of one that was added
	Is   fs.FileMode       // zero of one that was deleted
	Size int64             // of the file in the view
	Sum  [sha256.Size]byte // of its content
	Link string            // where the symbolic link in the view leads
	Held string            // why it is never taken over; "" = it can be
}

// Found are all changes of a view.
type Found struct {
	Changes []Change // by path, a directory before what lies in it
	Git     []string // git directories whose branches or HEAD are others now
	Stamp   string   // of exactly these changes
}

// errLater stops a comparison whose answer is known.
var errLater = errors.New("known")

// Changes compares the view with what it began from. Nothing may run in it.
// More than most changes are [ErrMany].
func (v View) Changes(ctx context.Context, most int) (Found, error) {
	f, _, err := v.changes(ctx, most)
	if err != nil {
		err = fmt.Errorf("compare the view of %s: %w", v.Root, err)
	}
	return f, err
}

func (v View) changes(ctx context.Context, most int) (Found, *base, error) {
	b, err := v.load()
	if err != nil {
		return Found{}, nil, err
	}
	top, err := beneath.Open(v.Tree())
	if err != nil {
		return Found{}, nil, err
	}
	defer top.Close()
	root, err := beneath.Open(v.Root)
	if err != nil {
		return Found{}, nil, err
	}
	defer root.Close()
	c := &comparison{ctx: ctx, base: b, root: root, most: most, seen: map[string]bool{}}
	if err := c.dir(top, 1); err != nil {
		return Found{}, nil, err
	}
	kept := c.kept()
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Left == "" && !c.seen[e.Path] && !c.inGit(e.Path) {
			if _, err := c.look(e.Path); errors.Is(err, fs.ErrNotExist) {
				continue // it is gone there already
			}
			if err := c.add(Change{Path: e.Path, Kind: Deleted, Was: e.Mode, Link: e.Link, Held: kept.above(e.Path)}); err != nil {
				return Found{}, nil, err
			}
		}
	}
	slices.SortFunc(c.found.Changes, func(a, b Change) int { return comparePaths(a.Path, b.Path) })
	slices.Sort(c.found.Git)
	c.found.Stamp = stampAll(c.found.Changes)
	return c.found, b, nil
}

// comparePaths sorts a directory right before what lies below it.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// stampAll is one word for exactly these changes.
func stampAll(all []Change) string {
	h := sha256.New()
	for _, c := range all {
		write(h, c.Path)
		write(h, c.Link)
		write(h, c.Held)
		h.Write([]byte{byte(c.Kind)})
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(c.Was)<<32|uint64(c.Is)))
		h.Write(c.Sum[:])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

func write(h hash.Hash, s string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	io.WriteString(h, s)
}

// comparison is one walk through a view.
type comparison struct {
	ctx   context.Context
	base  *base
	bare  string      // the directory with the shape of git's that is walked through, or ""
	root  beneath.Dir // the workspace
	most  int         // changes
	seen  map[string]bool
	found Found
	looks int
	read  int64
}

func (c *comparison) add(ch Change) error {
	if len(c.found.Changes) == c.most {
		return fmt.Errorf("%w: %w: there are more than %d", reeve.ErrUsage, ErrMany, c.most)
	}
	if ch.Held == "" && c.bare != "" {
		ch.Held = "lies in what git would take for a repository, and obey: make this change yourself"
	}
	if ch.Held == "" {
		ch.Held = c.base.held(ch.Path)
	}
	c.found.Changes = append(c.found.Changes, ch)
	return nil
}

// maxPath bounds a path that is taken over, in bytes.
const maxPath = 4096

// held says why nothing is ever taken over at a path, or "".
func (b *base) held(path string) string {
	switch {
	case !utf8.ValidString(path) || len(path) > maxPath:
		return "has a name that is no text, or too long: make this change yourself"
	case safepath.Protected(path):
		return "steers programs: make this change yourself"
	case safepath.Credential("/" + path):
		return "is a credential by its name: make this change yourself"
	}
	for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
		if e := b.by[up]; e != nil && e.Left != "" {
			return "lies in what was not in the view"
		}
	}
	for _, pattern := range b.Held {
		if covers(pattern, path) {
			return "is protected by the boundary: make this change yourself"
		}
	}
	return ""
}

// covers reports whether a pattern names a path or a directory above it, in
// whatever case: a file system may not tell cases apart.
func covers(pattern, p string) bool {
	pattern, p = strings.ToLower(pattern), strings.ToLower(p)
	for {
		if pattern == p {
			return true
		}
		if ok, _ := path.Match(pattern, p); ok {
			return true
		}
		up := path.Dir(p)
		if up == "." || up == p {
			return false
		}
		p = up
	}
}

func (c *comparison) dir(d beneath.Dir, depth int) error {
	list, more, err := d.Entries(MaxGrown - c.looks)
	if err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%w: more than %d files and directories", reeve.ErrUsage, MaxGrown)
	}
	c.looks += len(list)
	if c.bare == "" && gitShape(list) {
		c.bare = d.Rel()
		defer func() { c.bare = "" }()
	}
	for _, e := range list {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		info, err := d.Lstat(e.Name())
		if err != nil {
			return beneath.Error(d.Path(e.Name()), err)
		}
		if err := c.one(d, e.Name(), info, depth); err != nil {
			return err
		}
	}
	return nil
}

// gitShape reports whether git would take a directory for one of its own, under
// whatever name: it then runs what the configuration in it says
// (setup.c, is_git_directory; "embedded bare repositories").
func gitShape(list []fs.DirEntry) bool {
	has := map[string]bool{}
	for _, e := range list {
		has[strings.ToLower(e.Name())] = true
	}
	return has["head"] && (has["objects"] && has["refs"] || has["commondir"])
}

// one looks at one name of the view.
func (c *comparison) one(d beneath.Dir, name string, info fs.FileInfo, depth int) error {
	path := d.Path(name)
	c.seen[path] = true
	if strings.EqualFold(name, ".git") {
		return c.git(d, path, info)
	}
	was := c.base.by[path]
	ch := Change{Path: path, Is: info.Mode()}
	switch {
	case was == nil:
		ch.Kind = Added
	case was.Left != "":
		ch.Kind, ch.Was, ch.Held = Modified, was.Mode, "stands in the workspace and was not in the view ("+was.Left+")"
	default:
		ch.Was = was.Mode
		if was.Mode.Type() != info.Mode().Type() {
			ch.Kind = Modified
		} else if perm(was.Mode) != perm(info.Mode()) && was.Mode&fs.ModeSymlink == 0 {
			ch.Kind = Mode
		}
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return c.sub(d, name, ch, depth)
	case mode&fs.ModeSymlink != 0:
		return c.link(d, name, ch, was)
	case mode.IsRegular():
		return c.file(d, name, info, ch, was)
	}
	ch.Kind, ch.Held = cmp.Or(ch.Kind, Modified), "is neither a file, a directory nor a link"
	return c.add(ch)
}

// perm are the permissions that count. A set-id or sticky bit, and that
// everybody may write, is never taken over, and never a difference.
func perm(m fs.FileMode) fs.FileMode { return m.Perm() &^ 0o002 }

func (c *comparison) sub(d beneath.Dir, name string, ch Change, depth int) error {
	if depth >= MaxDepth {
		ch.Kind, ch.Held = cmp.Or(ch.Kind, Modified), fmt.Sprintf("lies deeper than %d directories", MaxDepth)
		return c.add(ch)
	}
	sub, err := d.Dir(name)
	if err == nil {
		_, _, err = sub.Entries(0)
		if err == nil && ch.Is&0o100 == 0 && os.Getuid() != 0 {
			err = fs.ErrPermission // it can be read and not entered
		}
		if err != nil {
			sub.Close()
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		ch.Kind, ch.Held = cmp.Or(ch.Kind, Modified), "may not be read"
		if err := c.add(ch); err != nil {
			return err
		}
		return c.hidden(ch.Path)
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if ch.Kind != 0 && !c.madeAlready(ch) {
		if err := c.add(ch); err != nil {
			return err
		}
	}
	return c.dir(sub, depth+1)
}

// madeAlready reports whether a directory of the workspace is as the view wants
// it.
func (c *comparison) madeAlready(ch Change) bool {
	now, err := c.look(ch.Path)
	return err == nil && now.IsDir() && (ch.Kind != Mode || perm(now.Mode()) == perm(ch.Is))
}

// hidden takes what stood below a directory that cannot be read for seen: that
// it is not found does not say that it was deleted.
func (c *comparison) hidden(dir string) error {
	for i := range c.base.Entries {
		if e := &c.base.Entries[i]; strings.HasPrefix(e.Path, dir+"/") {
			c.seen[e.Path] = true
		}
	}
	return nil
}

func (c *comparison) link(d beneath.Dir, name string, ch Change, was *entry) error {
	to, err := d.Readlink(name)
	if err != nil {
		return beneath.Error(ch.Path, err)
	}
	ch.Link = to
	if ch.Kind == 0 && was.Link == to {
		return nil
	}
	if ch.Kind == 0 {
		ch.Kind = Modified
	}
	if now, err := c.look(ch.Path); err == nil && now.Mode()&fs.ModeSymlink != 0 && c.linkTo(ch.Path) == to {
		return nil // as it is there already
	}
	if ch.Held == "" {
		ch.Held = c.base.outside(ch.Path, to)
	}
	return c.add(ch)
}

// look is what stands at a path of the workspace now.
func (c *comparison) look(path string) (fs.FileInfo, error) {
	up, err := c.root.At(filepath.Dir(path), nil)
	if err != nil {
		return nil, err
	}
	defer up.Close()
	return up.Lstat(filepath.Base(path))
}

func (c *comparison) linkTo(path string) string {
	up, err := c.root.At(filepath.Dir(path), nil)
	if err != nil {
		return ""
	}
	defer up.Close()
	to, _ := up.Readlink(filepath.Base(path))
	return to
}

// outside says why a symbolic link at a path is not made, or "". The text of a
// link is followed by whoever opens it later, through links that may lie on its
// way, so that only one that goes up first and then down is known to end where
// it says.
func (b *base) outside(at, to string) string {
	switch {
	case filepath.IsAbs(to):
		return "is a symbolic link to an absolute path: make it yourself"
	case to == "" || strings.IndexByte(to, 0) >= 0:
		return "is a symbolic link to nowhere"
	}
	down := false
	for part := range strings.SplitSeq(to, "/") {
		switch {
		case part == "..":
			if down {
				return `is a symbolic link that goes down and up again: make it yourself`
			}
		case part != "" && part != ".":
			down = true
		}
	}
	ends := filepath.Join(filepath.Dir(at), to)
	if !filepath.IsLocal(ends) {
		return "is a symbolic link out of the workspace: make it yourself"
	}
	if b.held(ends) != "" {
		return "is a symbolic link to what is protected: make it yourself"
	}
	return ""
}

// file compares a file's content, where its stamp does not say that nobody has
// touched it.
func (c *comparison) file(d beneath.Dir, name string, info fs.FileInfo, ch Change, was *entry) error {
	ch.Size = info.Size()
	if was != nil && was.Left == "" && was.Mode.IsRegular() && was.Copy == stampOf(info) && was.Copy.Changed < c.base.Racy {
		return nil
	}
	if info.Size() > MaxFile {
		ch.Kind, ch.Held = cmp.Or(ch.Kind, Modified), fmt.Sprintf("is larger than %d MiB: take it yourself", MaxFile>>20)
		return c.add(ch)
	}
	if c.read+info.Size() > MaxRead {
		ch.Kind, ch.Held = cmp.Or(ch.Kind, Modified), fmt.Sprintf("is beyond the %d GiB of changed files that are compared: take it yourself", MaxRead>>30)
		return c.add(ch)
	}
	f, _, err := d.File(name)
	if errors.Is(err, fs.ErrPermission) {
		ch.Kind, ch.Held = cmp.Or(ch.Kind, Modified), "may not be read"
		return c.add(ch)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if ch.Sum, err = c.sum(f, MaxFile); err != nil {
		return beneath.Error(ch.Path, err)
	}
	now, ok, err := c.standing(ch.Path)
	switch {
	case err != nil:
		return err
	case ok && now.sum == ch.Sum && now.perm == perm(ch.Is):
		return nil // as it is there already
	case ok && now.sum == ch.Sum && ch.Kind != Added:
		ch.Kind = Mode
	case ch.Kind != Added:
		ch.Kind = Modified
	}
	return c.add(ch)
}

// standing is the content and the permissions of the file that stands in the
// workspace now; ok is false where none can be read there.
type standing struct {
	sum  [sha256.Size]byte
	perm fs.FileMode
}

func (c *comparison) standing(path string) (now standing, ok bool, err error) {
	up, err := c.root.At(filepath.Dir(path), nil)
	if err != nil {
		return now, false, nil
	}
	defer up.Close()
	f, info, err := up.File(filepath.Base(path))
	if err != nil || info.Size() > MaxFile {
		return now, false, nil
	}
	defer f.Close()
	now.perm = perm(info.Mode())
	now.sum, err = c.sum(f, MaxFile)
	return now, err == nil, err
}

func (c *comparison) sum(f *os.File, most int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, most+1))
	c.read += n
	return [sha256.Size]byte(h.Sum(nil)), err
}

// inGit reports whether a path is or lies below a git directory, whose state is
// one thing.
func (c *comparison) inGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// git looks whether the branches of a git directory are others now: HEAD, what
// is packed, and every file below refs. Index, logs and objects go with them.
func (c *comparison) git(d beneath.Dir, path string, info fs.FileInfo) error {
	err := c.refs(path, info, d)
	if errors.Is(err, errLater) {
		c.found.Git = append(c.found.Git, path)
		return nil
	}
	return err
}

func (c *comparison) refs(path string, info fs.FileInfo, d beneath.Dir) error {
	was := c.base.by[path]
	if was == nil || was.Mode.Type() != info.Mode().Type() {
		return errLater
	}
	if !info.IsDir() {
		if stampOf(info) != was.Copy && info.Mode().IsRegular() {
			return errLater
		}
		return nil
	}
	git, err := d.Dir(filepath.Base(path))
	if err != nil {
		return err
	}
	defer git.Close()
	seen := 0
	for _, name := range []string{"HEAD", "packed-refs"} {
		if err := c.ref(git, name, &seen); err != nil {
			return err
		}
	}
	if refs, err := git.Dir("refs"); err == nil {
		defer refs.Close()
		if err := c.refsIn(refs, 1, &seen); err != nil {
			return err
		}
	}
	for i := range c.base.Entries {
		e := &c.base.Entries[i]
		if !e.Mode.IsDir() && e.Left == "" && (e.Path == path+"/HEAD" || e.Path == path+"/packed-refs" || strings.HasPrefix(e.Path, path+"/refs/")) {
			seen--
		}
	}
	if seen != 0 {
		return errLater // one is gone
	}
	return nil
}

// ref is an error where a file of a git directory is not what was copied.
func (c *comparison) ref(d beneath.Dir, name string, seen *int) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return beneath.Error(d.Path(name), err)
	}
	*seen++
	if was := c.base.by[d.Path(name)]; was == nil || was.Copy != stampOf(info) {
		return errLater
	}
	return nil
}

func (c *comparison) refsIn(d beneath.Dir, depth int, seen *int) error {
	list, more, err := d.Entries(MaxGrown)
	if err != nil {
		return err
	}
	if more || depth > MaxDepth {
		return errLater
	}
	for _, e := range list {
		if e.IsDir() {
			sub, err := d.Dir(e.Name())
			if err != nil {
				return errLater
			}
			err = c.refsIn(sub, depth+1, seen)
			sub.Close()
			if err != nil {
				return err
			}
			continue
		}
		if err := c.ref(d, e.Name(), seen); err != nil {
			return err
		}
	}
	return nil
}
