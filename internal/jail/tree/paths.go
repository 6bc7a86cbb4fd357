package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// MaxPath bounds one path, in bytes.
const MaxPath = 4096

// CheckPath refuses a spelling that no honest path has.
func CheckPath(path string) error {
	switch {
	case path == "":
		return errors.New("path is empty")
	case len(path) > MaxPath:
		return fmt.Errorf("path of %d bytes; at most %d", len(path), MaxPath)
	case strings.IndexFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f }) >= 0:
		return fmt.Errorf("path %q holds a control character", path)
	case !filepath.IsAbs(path):
		return fmt.Errorf("path %q is not absolute", path)
	}
	return nil
}

// Canonical resolves every symbolic link of path; what does not exist yet
// stays as the rest below its nearest existing ancestor.
func Canonical(path string) (string, error) {
	if err := CheckPath(path); err != nil {
		return "", err
	}
	clean, rest := filepath.Clean(path), ""
	for {
		real, err := filepath.EvalSymlinks(clean)
		if err == nil {
			return filepath.Join(real, rest), CheckPath(filepath.Join(real, rest))
		}
		if !errors.Is(err, fs.ErrNotExist) || clean == "/" {
			return "", fmt.Errorf("resolve %s: %w", path, err)
		}
		if _, err := os.Lstat(clean); err == nil {
			return "", fmt.Errorf("resolve %s: %s is a symbolic link to nothing", path, clean)
		}
		rest = filepath.Join(filepath.Base(clean), rest)
		clean = filepath.Dir(clean)
	}
}

// Leads is where a path leads, in a directory that is free of links: what it is
// in truth, or would be, where it is a link to what is not there yet.
func Leads(path string) string {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path
	}
	target, err := os.Readlink(path)
	if err != nil {
		return path
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if real, err := Canonical(target); err == nil {
		return real
	}
	return filepath.Clean(target)
}

// CanonicalDir is Canonical for a directory that must exist.
func CanonicalDir(path string) (string, error) {
	if err := CheckPath(path); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", missing(path)
	case err != nil:
		return "", fmt.Errorf("resolve %s: %w", path, err)
	}
	if err := CheckPath(real); err != nil {
		return "", err
	}
	info, err := os.Lstat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory; name the one that it is in", real)
	}
	return real, nil
}

// missing is [fs.ErrNotExist] for a directory that a person named.
type missing string

func (m missing) Error() string {
	return "there is no directory " + string(m) + "; make it first, or name one that is there"
}

func (missing) Unwrap() error { return fs.ErrNotExist }

// Within reports whether path is root or lies below it.
func Within(root, path string) bool {
	if root == "/" {
		return strings.HasPrefix(path, "/")
	}
	return path == root || strings.HasPrefix(path, root) && path[len(root)] == '/'
}

// Less orders paths element by element: a directory stands right before
// what lies below it.
func Less(a, b string) bool {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return true // before whatever else a name may hold
		case b[i] == '/':
			return false
		default:
			return a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

// Outermost sorts paths and drops those that lie below another of them.
func Outermost(paths []string) []string {
	paths = Tidy(paths)
	var out []string
	for _, p := range paths {
		if n := len(out); n == 0 || !Within(out[n-1], p) {
			out = append(out, p)
		}
	}
	return out
}

// Tidy sorts by path elements, so that a directory comes right before what
// lies below it, and drops doubles.
func Tidy(paths []string) []string {
	sort.Slice(paths, func(i, j int) bool { return Less(paths[i], paths[j]) })
	return slices.Compact(paths)
}

// literal makes a pattern that matches a path and nothing else.
var literal = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// Named finds what stands below dir under a name in which * is any text within
// one element. In dir it is a character like any other, and so are ? and [ in
// both: people have directories of such names.
func Named(dir, name string) []string {
	if !strings.Contains(name, "*") {
		at := filepath.Join(dir, name)
		if _, err := os.Lstat(at); err != nil {
			return nil
		}
		return []string{at}
	}
	found, _ := filepath.Glob(literal.Replace(filepath.Clean(dir)) + "/" + strings.ReplaceAll(literal.Replace(name), `\*`, "*"))
	return found
}

// Subdirs lists the real directories inside dir; symbolic links and what
// cannot be read are no directories.
func Subdirs(dir string) []string {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// Reach answers whether this account could get to paths without any
// capability, which is how contained programs of root live: every directory
// above one must let its owner, group or everybody pass. One with an access
// list counts as passable. It looks at each directory once, so that it is good
// for the moment; it is for one goroutine.
type Reach struct {
	uid    int
	groups []int
	known  map[string]bool
}

// NewReach asks who this account is.
func NewReach() *Reach {
	groups, _ := os.Getgroups()
	return &Reach{os.Getuid(), append(groups, os.Getgid()), map[string]bool{"/": true}}
}

// Reachable reports whether the account could get to path.
func (r *Reach) Reachable(path string) bool { return r.into(filepath.Dir(path)) }

// into reports whether the account could get to what stands in dir.
func (r *Reach) into(dir string) bool {
	if pass, ok := r.known[dir]; ok {
		return pass
	}
	pass := r.passes(dir) && r.into(filepath.Dir(dir))
	r.known[dir] = pass
	return pass
}

func (r *Reach) passes(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	pass := st.Mode&0o001 != 0
	switch {
	case int(st.Uid) == r.uid:
		pass = st.Mode&0o100 != 0
	case slices.Contains(r.groups, int(st.Gid)):
		pass = st.Mode&0o010 != 0
	}
	if pass {
		return true
	}
	n, err := unix.Getxattr(dir, "system.posix_acl_access", nil)
	return err == nil && n > 0
}

// ID tells one state of a file or directory from another: a directory by
// which it is, anything else also by when it was last changed.
type ID struct {
	Dev, Ino uint64
	Changed  int64 // nanoseconds; 0 for a directory
}

// Identify looks at path without following a link; the zero ID = not there.
func Identify(path string) ID {
	info, err := os.Lstat(path)
	if err != nil {
		return ID{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}
	}
	id := ID{Dev: uint64(st.Dev), Ino: st.Ino}
	if !info.IsDir() {
		id.Changed = changed(st).UnixNano()
	}
	return id
}

// Moved is where a path stands when everything below one directory stands
// below another instead; an empty one moves nothing.
func Moved(path, from, to string) string {
	if to == "" || !Within(from, path) {
		return path
	}
	return to + strings.TrimPrefix(path, from)
}
