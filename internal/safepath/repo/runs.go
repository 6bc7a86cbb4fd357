package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds on reading a repository's configuration.
const (
	maxGitConfig   = 1 << 20 // bytes of one file
	maxGitFiles    = 200     // files of one repository, includes and submodules together
	maxGitIncludes = 10      // depth of includes, as git has it
	maxIndex       = 256 << 20
	maxRepos       = 256 // repositories a cache remembers
)

// Cache remembers what a repository's configuration starts for as long as none
// of the files it was read from changes. The zero Cache is ready; it is safe
// for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[string]answer // by git directory
}

type answer struct {
	seen []stamp
	runs string
}

// stamp is what stat says of a file, or that it is missing.
type stamp struct {
	path         string
	exists       bool
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
	mode         uint32
}

func stampOf(path string) stamp {
	var st syscall.Stat_t
	if err := ignoringEINTR(func() error { return syscall.Stat(path, &st) }); err != nil {
		return stamp{path: path}
	}
	mtime, ctime := times(&st)
	return stamp{path, true, uint64(st.Dev), st.Ino, st.Size, mtime, ctime, uint32(st.Mode)}
}

// settled is how old a change must be before its time stamps tell it from a
// later one: the kernel's clock for files ticks every 4 to 10 ms.
const settled = 50 * time.Millisecond

// Runs says which setting of the repository around dir makes git start a
// program, with the file and line it stands in; "" where there is none, or no
// repository. dir is absolute and free of symbolic links, since git looks for
// a repository from the real directory up. It reads what git would read of the
// repository itself: config, config.worktree, the common directory of a
// worktree, the configuration of submodules and of repositories that the
// index holds as such, every included file whatever its condition. A hook that
// read-only commands run (post-index-change, which git status starts when it
// refreshes the index) counts too. What cannot be read counts as a setting.
//
// The person's own configuration (~/.gitconfig, /etc/gitconfig) does not
// count: it runs what the person chose. home is what ~ stands for.
func (c *Cache) Runs(dir, home string, now time.Time) string {
	gitDir, top, why := find(dir)
	if gitDir == "" {
		return why
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.known[gitDir]; ok && a.fresh() {
		return a.runs
	}
	r := reader{home: home, visit: startsProgramAt, entered: map[string]bool{}}
	a := answer{runs: r.gitDir(gitDir, top), seen: r.seen}
	if c.known == nil || len(c.known) >= maxRepos {
		c.known = map[string]answer{}
	}
	delete(c.known, gitDir)
	if a.settledBy(now) {
		c.known[gitDir] = a
	}
	return a.runs
}

// settledBy reports whether every file was last changed well before now.
func (a answer) settledBy(now time.Time) bool {
	for _, s := range a.seen {
		if s.exists && now.Sub(time.Unix(s.ctime.Unix())) < settled {
			return false
		}
	}
	return true
}

func (a answer) fresh() bool {
	for _, s := range a.seen {
		if stampOf(s.path) != s {
			return false
		}
	}
	return true
}

// find looks for the repository of a directory as git does: upwards, .git as
// a directory or as a file that names one, or a bare repository, which has no
// top. why is set where something is there that cannot be followed.
func find(dir string) (gitDir, top, why string) {
	if !filepath.IsAbs(dir) {
		return "", "", "a directory that is not known"
	}
	for dir = filepath.Clean(dir); ; {
		gitDir, why, found := gitDirIn(dir)
		if found {
			return gitDir, dir, why
		}
		if isBare(dir) {
			return dir, "", ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", "", ""
		}
		dir = up
	}
}

// gitDirIn looks at .git in a directory.
func gitDirIn(dir string) (gitDir, why string, found bool) {
	dotGit := filepath.Join(dir, ".git")
	var st syscall.Stat_t
	err := ignoringEINTR(func() error { return syscall.Stat(dotGit, &st) })
	switch {
	case err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR:
		return dotGit, "", true
	case err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG:
		gitDir, why = followGitFile(dotGit)
		return gitDir, why, true
	case err == syscall.ENOENT || err == syscall.ENOTDIR:
		return "", "", false
	}
	return "", dotGit + " cannot be read", true
}

// followGitFile reads the .git file of a worktree or a submodule.
func followGitFile(path string) (gitDir, why string) {
	text, err := readBounded(path, 4096)
	to, ok := strings.CutPrefix(text, "gitdir:")
	if err != nil || !ok {
		return "", path + " cannot be read"
	}
	to = strings.TrimRight(strings.TrimLeft(to, " "), "\r\n")
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	return to, ""
}

func isBare(dir string) bool {
	var st syscall.Stat_t
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if ignoringEINTR(func() error { return syscall.Lstat(filepath.Join(dir, name), &st) }) != nil {
			return false
		}
	}
	return true
}

// reader reads one repository and notes what it looked at. A setting for
// which visit has a reason to stop ends the reading with that reason.
type reader struct {
	home    string
	visit   func(s setting, file string) (stop string)
	seen    []stamp
	sha256  bool            // the repository says that its object names are SHA-256
	entered map[string]bool // git directories of nested repositories
}

// look notes a file; false at the bound.
func (r *reader) look(path string) bool {
	if len(r.seen) >= maxGitFiles {
		return false
	}
	r.seen = append(r.seen, stampOf(path))
	return true
}

// startsProgramAt stops at the first setting that starts a program.
func startsProgramAt(s setting, file string) string {
	if !startsProgram(s) {
		return ""
	}
	return fmt.Sprintf("%s (%s:%d)", printable(s.name()), file, s.line)
}

// gitDir reads a git directory whose working tree is top, and those of the
// repositories inside: git status enters them with their own configuration.
func (r *reader) gitDir(dir, top string) string {
	common, stop := r.own(dir)
	if stop != "" {
		return stop
	}
	if stop := r.nested(dir, top); stop != "" {
		return stop
	}
	hook := filepath.Join(common, "hooks", "post-index-change")
	r.look(hook)
	if info, err := os.Stat(hook); err == nil && info.Mode()&0o111 != 0 {
		return "the hook " + hook
	}
	return r.modules(filepath.Join(common, "modules"))
}

// own reads the configuration of a git directory and of the common one that
// it may share.
func (r *reader) own(dir string) (common, stop string) {
	common = dir
	r.look(filepath.Join(dir, "commondir"))
	if text, err := readBounded(filepath.Join(dir, "commondir"), 4096); err == nil {
		common = strings.TrimRight(text, "\r\n")
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return dir, filepath.Join(dir, "commondir") + " cannot be read"
	}
	for _, file := range []string{filepath.Join(common, "config"), filepath.Join(dir, "config.worktree"), filepath.Join(common, "config.worktree")} {
		if stop := r.config(file, 0); stop != "" {
			return common, stop
		}
	}
	return common, ""
}

// modules reads the git directories of submodules, whose names may hold
// slashes.
func (r *reader) modules(dir string) string {
	if !r.look(dir) {
		return tooMany
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return dir + " cannot be read"
	}
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		if info, err := os.Stat(sub); err != nil || !info.IsDir() {
			continue
		}
		read := r.modules
		if _, err := os.Lstat(filepath.Join(sub, "config")); err == nil {
			read = func(dir string) string { return r.gitDir(dir, "") }
		}
		if runs := read(sub); runs != "" {
			return runs
		}
	}
	return ""
}

// nested reads the repositories that the index holds as such.
func (r *reader) nested(dir, top string) string {
	if top == "" {
		return ""
	}
	index := filepath.Join(dir, "index")
	if !r.look(index) {
		return tooMany
	}
	text, err := readBounded(index, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var links []string
	if err == nil {
		links, err = gitlinks([]byte(text), r.hash())
	}
	if err != nil {
		return index + " cannot be read: " + err.Error()
	}
	for _, name := range links {
		at := filepath.Join(top, filepath.FromSlash(name))
		if !r.look(filepath.Join(at, ".git")) {
			return tooMany
		}
		gitDir, why, _ := gitDirIn(at)
		if why != "" {
			return why
		}
		if gitDir == "" || r.entered[gitDir] {
			continue
		}
		r.entered[gitDir] = true
		inside := reader{home: r.home, visit: r.visit, seen: r.seen, entered: r.entered}
		runs := inside.gitDir(gitDir, at)
		if r.seen = inside.seen; runs != "" {
			return runs
		}
	}
	return ""
}

// hash is the length of the repository's object names.
func (r *reader) hash() int {
	if r.sha256 {
		return 32
	}
	return 20
}

const tooMany = "more files of configuration than are looked at"

// config reads one file and what it includes; a missing one is empty.
func (r *reader) config(path string, depth int) string {
	switch {
	case depth > maxGitIncludes:
		return path + " is included too deep"
	case !r.look(path):
		return tooMany
	}
	text, err := readBounded(path, maxGitConfig)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	if err != nil {
		return path + " cannot be read"
	}
	found, err := parseGitConfig(text)
	if err != nil {
		return fmt.Sprintf("%s, %v", path, err)
	}
	for _, s := range found {
		if stop := r.visit(s, path); stop != "" {
			return stop
		}
		if s.name() == "extensions.objectformat" {
			r.sha256 = s.value == "sha256"
		}
		if (s.section == "include" || s.section == "includeif") && s.key == "path" {
			file, ok := r.included(s.value, path)
			if !ok {
				return fmt.Sprintf("%s (%s:%d) includes a file that is not known", printable(s.name()), path, s.line)
			}
			if runs := r.config(file, depth+1); runs != "" {
				return runs
			}
		}
	}
	return ""
}

// included is the place of an included file: ~ is the home, and a relative
// path starts from the file that names it. Another user's home and git's own
// prefix are not known.
func (r *reader) included(value, from string) (file string, ok bool) {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(r.home, rest), r.home != ""
	}
	if strings.HasPrefix(value, "~") || strings.HasPrefix(value, "%(") {
		return "", false
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value), true
	}
	return filepath.Join(filepath.Dir(from), value), true
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}

// readBounded reads a regular file of at most limit bytes without waiting on
// a pipe that was put in its place.
func readBounded(path string, limit int64) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return string(text), err
}

// printable keeps a sub-section of any bytes readable on one line.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x20 || c >= 0x7f {
			return '?'
		}
		return c
	}, s)
}
