package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
)

// Bounds on a workspace that is copied, and on what is compared with it.
const (
	MaxEntries = 200_000 // files, directories and links of a workspace
	MaxBytes   = 4 << 30 // that had to be copied, since they could not be shared
	MaxDepth   = 100     // directories one in the other
	MaxFile    = 1 << 30 // bytes of one file that is taken over
	MaxGrown   = 400_000 // entries of a view that are looked at
	MaxRead    = 4 << 30 // bytes of changed files that are compared
	MaxChanges = 20_000  // that a person looks at, unless they ask for [AllChanges]
	AllChanges = MaxEntries + MaxGrown
)

// ErrMany: a view has more changes than were asked for. None is lost by that.
var ErrMany = errors.New("more changes than are looked at unasked")

// View is one view, by its folder and what it is a view of.
type View struct {
	Root   string // the workspace
	Folder string // below Reeve's state; nobody but Reeve gets there
}

// Tree is what a session sees in the workspace's place.
func (v View) Tree() string { return filepath.Join(v.Folder, "tree") }

func (v View) baseFile() string { return filepath.Join(v.Folder, "base") }

// stamp is the identity of a file's content. The time of change cannot be set
// by who writes the file.
type stamp struct {
	Dev, Ino     uint64
	Size         int64
	Mod, Changed int64
}

// entry is one name of the workspace as it was copied.
type entry struct {
	Path string // from the root
	Mode fs.FileMode
	Orig stamp  // in the workspace
	Copy stamp  // in the tree, of a file
	Link string // where a symbolic link leads
	Left string // why it is not in the tree; "" = it is
}

// base is everything that was copied.
type base struct {
	Top     stamp    // of the workspace's own directory
	Racy    int64    // what was copied since this moment may have been written to in the same tick of the clock
	Held    []string // patterns of paths from the root that are never taken over, each with what lies below
	Entries []entry
	by      map[string]*entry
}

// record is an entry on the disk: a name may be any bytes.
type record struct {
	Path, Link []byte
	Mode       fs.FileMode
	Orig, Copy stamp
	Left       string
}

// kept is a base on the disk.
type kept struct {
	Top     stamp
	Racy    int64
	Held    [][]byte
	Entries []record
}

// save writes the base whole.
func (v View) save(b *base) error {
	k := kept{Top: b.Top, Racy: b.Racy, Entries: make([]record, len(b.Entries))}
	for _, h := range b.Held {
		k.Held = append(k.Held, []byte(h))
	}
	for i, e := range b.Entries {
		k.Entries[i] = record{[]byte(e.Path), []byte(e.Link), e.Mode, e.Orig, e.Copy, e.Left}
	}
	text, err := json.Marshal(&k)
	if err == nil {
		err = durable.WriteFile(v.baseFile(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep what the view began from: %w", err)
	}
	return nil
}

// load reads the base back.
func (v View) load() (*base, error) {
	text, err := os.ReadFile(v.baseFile())
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the view began from: %w", err)
	}
	b := &base{Top: k.Top, Racy: k.Racy, Entries: make([]entry, len(k.Entries))}
	for _, h := range k.Held {
		b.Held = append(b.Held, string(h))
	}
	for i, r := range k.Entries {
		b.Entries[i] = entry{string(r.Path), r.Mode, r.Orig, r.Copy, string(r.Link), r.Left}
	}
	b.index()
	return b, nil
}

func (b *base) index() {
	b.by = make(map[string]*entry, len(b.Entries))
	for i := range b.Entries {
		b.by[b.Entries[i].Path] = &b.Entries[i]
	}
}

// Drop forgets a view and everything in it, whatever modes and depths it was
// given.
func (v View) Drop() error {
	if !filepath.IsAbs(v.Folder) || strings.Count(v.Folder, "/") < 2 {
		return fmt.Errorf("%w: %q is no view", reeve.ErrUsage, v.Folder)
	}
	if err := os.RemoveAll(v.Folder); err == nil {
		return nil
	}
	top, err := os.OpenRoot(v.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop the view: %w", err)
	}
	defer top.Close()
	l := loosener{top: top}
	for l.rest = []string{"."}; len(l.rest) > 0; {
		next := l.rest[0]
		l.rest = l.rest[1:]
		l.loosen(next, 0)
	}
	if err := os.RemoveAll(v.Folder); err != nil {
		return fmt.Errorf("drop the view %s: %w", v.Folder, err)
	}
	return nil
}

// loosener makes every directory of a view one that can be entered and
// emptied. What lies deep is moved up first, so that no path grows too long.
type loosener struct {
	top  *os.Root
	rest []string
	up   int
}

func (l *loosener) loosen(dir string, depth int) {
	if err := l.top.Chmod(dir, 0o700); err != nil {
		return // removing says what is wrong
	}
	f, err := l.top.Open(dir)
	if err != nil {
		return
	}
	list, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range list {
		switch at := filepath.Join(dir, e.Name()); {
		case !e.IsDir():
		case depth < looseDepth:
			l.loosen(at, depth+1)
		default:
			l.up++
			up := fmt.Sprintf("deep-%d", l.up)
			if l.top.Chmod(at, 0o700) == nil && l.top.Rename(at, up) == nil {
				l.rest = append(l.rest, up)
			}
		}
	}
}

// looseDepth times the longest name is a path that every system takes.
const looseDepth = 12
