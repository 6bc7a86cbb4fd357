// Package private looks whether what is Reeve's on the disk is its owner's
// alone (contract M27), and takes from others what they have on request.
//
// Whatever Reeve makes is 0600, a directory 0700, under any umask. Something
// else can loosen it afterwards: a backup that was restored, a chmod -R, a
// directory that was there before. [Look] names each such file with what it is
// and what it should be; [Mend] takes bits away and never gives any, follows no
// link, and leaves alone what belongs to another user or has further names.
//
// What is below a directory of ours and not of Reeve's making (copies of a
// workspace, what a run planted, what programs keep between runs) is left out:
// the directory above it keeps others out.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Place is one tree, or one file.
type Place struct {
	Path   string
	Skip   []string    // patterns of [filepath.Match], below Path: what they match is looked at, and nothing below it
	Loose  fs.FileMode // bits that others may have, since a person made some of what is here
	Strict []string    // names that others may have nothing of all the same
}

// Fault is something that is not as private as it should be.
type Fault struct {
	Path   string      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	Want   fs.FileMode `json:"want"`
	Owner  int         `json:"owner"`
	Reason string      `json:"reason,omitempty"` // why it is not mended here; empty = it can be

	root, name string // where it is, for Mend
}

// String is one line for a person.
func (f Fault) String() string {
	s := fmt.Sprintf("%s has mode %04o and should have %04o", f.Path, bits(f.Mode), bits(f.Want))
	if f.Reason != "" {
		s = f.Path + " " + f.Reason
	}
	return s
}

// bits are a mode as chmod writes it.
func bits(m fs.FileMode) uint32 {
	n := uint32(m.Perm())
	for i, special := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if m&special != 0 {
			n |= 0o1000 << i
		}
	}
	return n
}

// Look goes through the places. One that is not there has no fault.
func Look(places []Place) (faults []Fault) {
	for _, p := range places {
		if real, err := filepath.EvalSymlinks(p.Path); err == nil {
			p.Path = real // a person may keep their settings elsewhere
		}
		info, err := os.Lstat(p.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			faults = append(faults, Fault{Path: p.Path, Reason: "cannot be looked at: " + cause(err)})
		case info.IsDir():
			faults = append(faults, p.tree()...)
		default:
			if f, bad := p.judge(".", info); bad {
				f.root, f.name = filepath.Dir(p.Path), filepath.Base(p.Path)
				faults = append(faults, f)
			}
		}
	}
	return faults
}

// tree looks at a directory and what is below it.
func (p *Place) tree() (faults []Fault) {
	root, err := os.OpenRoot(p.Path)
	if err != nil {
		return []Fault{{Path: p.Path, Reason: "cannot be looked into: " + cause(err)}}
	}
	defer root.Close()
	fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		at := filepath.Join(p.Path, name)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // gone since its directory was read
				faults = append(faults, Fault{Path: at, Reason: "cannot be looked into: " + cause(err)})
			}
			return nil
		}
		info, err := root.Lstat(name)
		if err != nil {
			return nil
		}
		if f, bad := p.judge(name, info); bad {
			f.root, f.name = p.Path, name
			faults = append(faults, f)
		}
		if d.IsDir() && slices.ContainsFunc(p.Skip, func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok }) {
			return fs.SkipDir
		}
		return nil
	})
	return faults
}

// judge says what is wrong with one file. A link has no mode of its own, and
// what it leads to is not ours to judge.
func (p *Place) judge(name string, info fs.FileInfo) (Fault, bool) {
	if info.Mode()&fs.ModeSymlink != 0 {
		return Fault{}, false
	}
	loose := p.Loose
	if slices.Contains(p.Strict, filepath.Base(name)) {
		loose = 0
	}
	f := Fault{Path: filepath.Join(p.Path, name), Mode: info.Mode(), Owner: os.Geteuid()}
	f.Want = info.Mode() &^ (0o077 &^ loose) &^ (fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	links := uint64(1)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.Owner, links = int(st.Uid), uint64(st.Nlink)
	}
	switch {
	case f.Owner != os.Geteuid():
		f.Reason = fmt.Sprintf("belongs to user %d and should belong to you (mode %04o): move it away, or have its owner or root give it back", f.Owner, bits(f.Mode))
	case f.Want == f.Mode:
		return f, false
	case info.Mode().IsRegular() && links > 1:
		f.Reason = fmt.Sprintf("has mode %04o and should have %04o, and has %d names, of which others may be elsewhere: chmod it yourself", bits(f.Mode), bits(f.Want), links)
	}
	return f, true
}

// Check looks, and mends where that was asked for.
func Check(mend bool, places ...Place) (done []string, left []Fault) {
	faults := Look(places)
	if !mend {
		return nil, faults
	}
	return Mend(faults)
}

// Mend takes away what others have, and says of each fault what it did. What is
// left is what it could not do, with the reason.
func Mend(faults []Fault) (done []string, left []Fault) {
	for _, f := range faults {
		if f.Reason == "" {
			if err := f.mend(); err != nil {
				f.Reason = fmt.Sprintf("has mode %04o and should have %04o, and cannot be mended: %s", bits(f.Mode), bits(f.Want), cause(err))
			}
		}
		if f.Reason != "" {
			left = append(left, f)
			continue
		}
		done = append(done, fmt.Sprintf("%s had mode %04o and has %04o now", f.Path, bits(f.Mode), bits(f.Want)))
	}
	return done, left
}

// mend changes the very file that was looked at: no link that took its place,
// nothing outside of its tree.
func (f *Fault) mend() error {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(f.name)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode() != f.Mode || !ok || int(st.Uid) != os.Geteuid() {
		return errors.New("it was changed meanwhile; look again")
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // a socket cannot be opened
		return root.Chmod(f.name, f.Want)
	}
	file, err := root.OpenFile(f.name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	now, err := file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, now) {
		return errors.New("it was changed meanwhile; look again")
	}
	return file.Chmod(f.Want)
}

// cause is an error without the path, which is said already.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return strings.TrimSpace(err.Error())
}
