package safepath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
)

// Options place a Resolver.
type Options struct {
	Workspace string           // the session's root; must be a directory that exists
	Home      string           // the person's home; empty = unknown
	State     []string         // Reeve's own configuration, state and data directories, and the managed policy
	Gate      []string         // further files or folders that configure the gate
	Scratch   string           // the session's private temporary directory; empty = none
	Now       func() time.Time // nil = time.Now
}

// gateFolders configure agents for every user of the machine.
var gateFolders = []string{"/etc/claude-code", "/etc/codex", "/etc/gemini-cli", "/Library/Application Support/ClaudeCode"}

// Resolver looks up the facts of paths for one workspace. It is safe for
// concurrent use and keeps no descriptor open.
type Resolver struct {
	root    string   // the workspace with every link resolved
	given   string   // the workspace as it was given
	secret  bool     // the workspace itself lies in a credential store
	home    string   // with every link resolved
	state   []string // folded, both spellings
	gate    []string // folded, both spellings
	scratch []string // both spellings

	aliases aliasSet
	folds   func() bool // asked once
}

// NewResolver resolves the places in o. A workspace that is missing or is no
// directory is an error (contract Y52).
func NewResolver(o Options) (*Resolver, error) {
	if !filepath.IsAbs(o.Workspace) {
		return nil, fmt.Errorf("workspace %q is not an absolute path", o.Workspace)
	}
	given := filepath.Clean(o.Workspace)
	root, exists, err := resolve(given)
	if err != nil {
		return nil, fmt.Errorf("resolve workspace %s: %w", given, err)
	}
	if !exists {
		return nil, fmt.Errorf("workspace %s does not exist; make it or name another", given)
	}
	if info, err := os.Lstat(root); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("workspace %s is not a directory", given)
	}
	r := &Resolver{root: root, given: given, secret: Credential(root) || Credential(given)}
	if o.Home != "" {
		if r.home, _, err = resolve(filepath.Clean(o.Home)); err != nil {
			return nil, fmt.Errorf("resolve home %s: %w", o.Home, err)
		}
	}
	for _, p := range o.State {
		r.state = append(r.state, foldedSpellings(p)...)
	}
	for _, p := range append(gateFolders, o.Gate...) {
		r.gate = append(r.gate, foldedSpellings(p)...)
	}
	if o.Scratch != "" {
		r.scratch = spellings(o.Scratch)
	}
	r.folds = sync.OnceValue(func() bool { return foldsCase(root) })
	now := o.Now
	if now == nil {
		now = time.Now
	}
	r.aliases = aliasSet{home: r.home, root: root, state: o.State, now: now}
	return r, nil
}

// Workspace is the root with every link resolved.
func (r *Resolver) Workspace() string { return r.root }

// Facts looks path up: an absolute path, as the caller meant it. A path that
// cannot be resolved for certain (relative, a loop, no permission to look,
// one that means something else in another process such as /proc/PID/root or
// /dev/fd/N, the shell's /dev/tcp) comes back with Known false; its marks by
// name hold all the same.
//
// A path is marked if it is special as given or with its links resolved. A
// new file takes the target of its nearest existing ancestor.
func (r *Resolver) Facts(path string) reeve.PathFacts {
	if !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return reeve.PathFacts{Marks: reeve.PathOutside | nameMark(scanNames(fold(path)))}
	}
	path = filepath.Clean(path)
	if strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") {
		if f, special := r.specialFacts(path); special {
			return f
		}
	}
	f, ok := r.lookFast(path)
	if !ok {
		f = r.lookSlow(path)
	}
	f.Marks |= r.mark(path)
	if f.Known && f.Target != path {
		f.Marks |= r.mark(f.Target)
	}
	return f
}

// devices are harmless to read and to write.
var devices = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true, "/dev/tty": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true,
}

// specialFacts judges paths below /dev and /proc that do not mean the same
// file to every process.
func (r *Resolver) specialFacts(path string) (f reeve.PathFacts, special bool) {
	if devices[path] {
		return reeve.PathFacts{Known: true, Target: path, Exists: true, Marks: reeve.PathOutside | reeve.PathDevice}, true
	}
	for _, dir := range []string{"/dev/tcp", "/dev/udp", "/dev/fd"} {
		if below(path, dir) {
			return reeve.PathFacts{Marks: reeve.PathOutside}, true
		}
	}
	pid, rest, ok := strings.Cut(strings.TrimPrefix(path, "/proc/"), "/")
	if !ok || !strings.HasPrefix(path, "/proc/") || !isProcess(pid) {
		return f, false
	}
	rest = strings.TrimPrefix(rest, "task/")
	if tid, after, ok := strings.Cut(rest, "/"); ok && isProcess(tid) {
		rest = after
	}
	entry, through, _ := strings.Cut(rest, "/")
	switch entry {
	case "root", "cwd":
		// Whatever the rest names, it is as special there as it is here.
		return reeve.PathFacts{Marks: reeve.PathOutside | r.mark("/"+through)}, true
	case "fd", "exe", "map_files", "ns":
		return reeve.PathFacts{Marks: reeve.PathOutside}, true
	case "environ", "mem", "auxv":
		// What a process was started with holds its keys.
		return reeve.PathFacts{Known: true, Target: path, Exists: true, Marks: reeve.PathOutside | reeve.PathCredential}, true
	}
	return f, false
}

func isProcess(name string) bool {
	if name == "self" || name == "thread-self" {
		return true
	}
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// lookSlow resolves link by link.
func (r *Resolver) lookSlow(path string) reeve.PathFacts {
	target, exists, err := resolve(path)
	if err != nil {
		return reeve.PathFacts{}
	}
	f := reeve.PathFacts{Known: true, Target: target}
	if !exists {
		return f
	}
	var st syscall.Stat_t
	if err := ignoringEINTR(func() error { return syscall.Lstat(target, &st) }); err != nil {
		return reeve.PathFacts{}
	}
	r.fill(&f, &st)
	return f
}

// fill takes what stat says into the facts.
func (r *Resolver) fill(f *reeve.PathFacts, st *syscall.Stat_t) {
	f.Exists = true
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return
	}
	f.Links = uint64(st.Nlink)
	if f.Links > 1 {
		f.Marks |= reeve.PathHardLinked
		if r.aliases.has(inode{uint64(st.Dev), st.Ino}) {
			f.Marks |= reeve.PathCredential
		}
	}
}

// mark judges one spelling of a path.
func (r *Resolver) mark(path string) reeve.PathMark {
	var m reeve.PathMark
	folded := fold(path)
	// The workspace's own place may well lie inside an agent's folder: no name
	// in it makes a path protected, but a credential store stays one.
	names := nameMarks{credential: r.secret}
	switch {
	case below(path, r.root):
		names = names.and(scanNames(folded[len(fold(r.root)):]))
	case below(path, r.given):
		names = names.and(scanNames(folded[len(fold(r.given)):]))
	default:
		m |= reeve.PathOutside
		names = scanNames(folded)
	}
	m |= nameMark(names)
	for _, dir := range r.scratch {
		if below(path, dir) {
			m |= reeve.PathScratch
		}
	}
	for _, dir := range r.state {
		if below(folded, dir) {
			m |= reeve.PathOwnState
		}
	}
	for _, dir := range r.gate {
		if below(folded, dir) {
			m |= reeve.PathGateConfig
		}
	}
	return m
}

func nameMark(n nameMarks) (m reeve.PathMark) {
	if n.protected {
		m |= reeve.PathProtected
	}
	if n.credential {
		m |= reeve.PathCredential
	}
	if n.gate {
		m |= reeve.PathGateConfig
	}
	return m
}

// foldsCase looks at an entry of dir that has letters, or at dir itself where
// there is none, under its name with the case of every letter swapped: the
// same file means that the file system folds.
func foldsCase(dir string) bool {
	path := dir
	if f, err := os.Open(dir); err == nil {
		names, _ := f.Readdirnames(100)
		f.Close()
		for _, name := range names {
			if swapCase(name) != name {
				path = filepath.Join(dir, name)
				break
			}
		}
	}
	here, err1 := os.Lstat(path)
	there, err2 := os.Lstat(filepath.Join(filepath.Dir(path), swapCase(filepath.Base(path))))
	return err1 == nil && err2 == nil && swapCase(filepath.Base(path)) != filepath.Base(path) && os.SameFile(here, there)
}

func swapCase(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z':
			return c - 'A' + 'a'
		}
		return c
	}, name)
}

// below reports whether path is dir or lies below it. Both are clean.
func below(path, dir string) bool {
	if !strings.HasPrefix(path, dir) {
		return false
	}
	return len(path) == len(dir) || path[len(dir)] == '/' || dir == "/"
}

// spellings are a path as given and with its links resolved.
func spellings(path string) []string {
	path = filepath.Clean(path)
	target, _, err := resolve(path)
	if err != nil || target == path {
		return []string{path}
	}
	return []string{path, target}
}

func foldedSpellings(path string) []string { return foldAll(spellings(path)) }

// maxLinks is how many symbolic links Linux follows in one path (path_resolution(7)).
const maxLinks = 40

var errMeaning = errors.New("the path means another file in another process")

// resolve follows every symbolic link of an absolute, clean path. Where a
// name does not exist, the rest is appended to what was reached: that is
// where a new file would come to be, also through a link whose end is
// missing. The links below /proc are not followed: "self" stands for the
// process that looks, and most others lead somewhere else in each process.
func resolve(path string) (target string, exists bool, err error) {
	if !filepath.IsAbs(path) {
		return "", false, fmt.Errorf("%q is not absolute", path)
	}
	todo := strings.Split(strings.Trim(path, "/"), "/")
	at := "/"
	var st syscall.Stat_t
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := at + "/" + name // at is clean, name is one name
		if at == "/" {
			next = "/" + name
		}
		err := ignoringEINTR(func() error { return syscall.Lstat(next, &st) })
		if err == syscall.ENOENT || err == syscall.ENOTDIR {
			return missing(next, todo)
		}
		if err != nil {
			return "", false, fmt.Errorf("look at %s: %w", next, err)
		}
		if st.Mode&syscall.S_IFMT != syscall.S_IFLNK || next == "/proc/self" || next == "/proc/thread-self" {
			at = next
			continue
		}
		if strings.HasPrefix(at, "/proc/") {
			return "", false, errMeaning
		}
		if links++; links > maxLinks {
			return "", false, fmt.Errorf("%s: %w", path, syscall.ELOOP)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", false, err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return at, true, nil
}

// missing is the target of a path that ends at a name which does not exist.
// No ".." can be followed out of what does not exist.
func missing(at string, rest []string) (string, bool, error) {
	for _, name := range rest {
		if name == ".." {
			return "", false, fmt.Errorf("%s: %w", at, os.ErrNotExist)
		}
		at = filepath.Join(at, name)
	}
	return at, false, nil
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}
