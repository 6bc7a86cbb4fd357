package ssh

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/gitconf"
	"github.com/reeve-gate/reeve/internal/jail/places"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// neverWrite are directories that are never a write grant on the Linux at the
// other end: they hold the system, or every program's settings at once (Y60).
var neverWrite = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc", "/root", "/run", "/sbin",
	"/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/var", "/var/tmp",
}

// private are directories that a tree has for itself.
var private = []string{"/tmp", "/run", "/dev", "/proc"}

// Bounds of a boundary there.
const (
	maxSockets = 64
	maxPlaces  = 400 // bubblewrap reads the table of mounts once for each
)

// mount is one place and how it is shown.
type mount struct {
	path string
	kind kind
	from string // of copied: where the copy stands
}

type kind uint8

// In this order where two say something of the same path: the later wins.
const (
	show kind = iota
	write
	pin
	protect
	empty  // a directory of the tree's own
	copied // a file of the tree's own
	hideDir
	hideFile
)

// plan is the boundary on the other machine, as data.
type plan struct {
	mounts  []mount // in the order of the mounting, the hidden ones last
	absent  []string
	noUnix  bool
	notes   []string
	env     []string
	copies  []string // settings files to copy, in the order of their mounts
	checked checks
}

// checks are what the script tries through the boundary before it trusts it.
type checks struct {
	hidden  []string // cannot be read
	kept    []string // cannot be written
	outside string   // a directory in which nothing can be made
}

// lay lays a profile over the facts.
func lay(p jail.Profile, f facts, opts jail.Options, net jail.NetMode) (plan, error) {
	l := laying{facts: f, profile: p}
	l.noUnix = p.NoUnix
	if err := l.roots(opts.ReadOnly || p.ReadOnly); err != nil { // asked once more: it also adds them
		return plan{}, err
	}
	if slices.ContainsFunc(private, func(d string) bool { return tree.Within(d, f.home) }) {
		l.add(show, f.home)
	}
	if net == jail.UnrestrictedNetwork && clean(f.resolver) && slices.ContainsFunc(private, func(d string) bool { return tree.Within(d, f.resolver) }) {
		l.add(show, f.resolver)
	}
	l.names()
	l.git()
	if p.AgentState {
		l.agents()
	}
	l.hide()
	l.plan.env = l.environment(p, opts)
	l.order()
	if len(l.plan.mounts) > maxPlaces {
		return plan{}, fmt.Errorf("%d places to guard, at most %d: choose a smaller directory", len(l.plan.mounts), maxPlaces)
	}
	return l.plan, nil
}

// laying is a plan in the making.
type laying struct {
	plan
	facts   facts
	profile jail.Profile
	tops    []string // what may be written
	hidden  []string
}

func (l *laying) add(k kind, paths ...string) {
	for _, p := range paths {
		l.plan.mounts = append(l.plan.mounts, mount{path: p, kind: k})
	}
}

// roots checks the places to write: a directory that would give the machine
// or the home directory away is refused (Y71).
func (l *laying) roots(readOnly bool) error {
	for i, root := range append([]string{l.facts.dir}, l.facts.write...) {
		switch {
		case !clean(root):
			return fmt.Errorf("%q cannot be written behind a boundary", root)
		case i == 0 && readOnly:
			l.add(show, root)
			continue
		case root == "/" || tree.Within(root, l.facts.home):
			return fmt.Errorf("%s holds the home directory %s there: name a directory inside it", root, l.facts.home)
		case slices.Contains(neverWrite, root):
			return fmt.Errorf("%s belongs to the system there: name a directory inside it", root)
		case slices.Contains([]string{".config", ".cache", ".local", ".local/share", ".local/state", ".local/bin"}, strings.TrimPrefix(root, l.facts.home+"/")):
			return fmt.Errorf("%s holds the settings of many programs there: name a directory inside it", root)
		}
		for _, start := range append(places.Starts(l.facts.home, func(string) string { return "" }), places.OfMachine()...) {
			if tree.Within(start.Path, root) {
				return fmt.Errorf("%s: %s starts programs from what stands in %s there, outside of the boundary too: choose another directory", root, start.By, start.Path)
			}
		}
		l.add(write, root)
		l.tops = append(l.tops, root)
	}
	return nil
}

func (l *laying) writable(p string) bool {
	return slices.ContainsFunc(l.tops, func(r string) bool { return tree.Within(r, p) })
}

// guard keeps what stands at a path as it is, and where it is: each directory
// above it becomes a mount, which cannot be renamed.
func (l *laying) guard(t thing) {
	if !l.writable(t.path) || slices.Contains(l.tops, t.path) {
		return
	}
	if t.kind == 'l' {
		l.plan.notes = append(l.plan.notes, t.path+" is a symbolic link there: look at what it leads to after the run")
		return
	}
	l.add(protect, t.path)
	for dir := path.Dir(t.path); l.writable(dir) && !slices.Contains(l.tops, dir); dir = path.Dir(dir) {
		l.add(pin, dir)
	}
}

// names guards the protected names that exist and lists those that do not.
func (l *laying) names() {
	bases := slices.Clone(l.tops)
	for _, g := range l.facts.gits {
		bases = append(bases, path.Dir(g.path))
	}
	for _, t := range l.facts.guarded {
		l.guard(t)
	}
	for _, base := range tree.Tidy(bases) {
		if !l.writable(base) {
			continue
		}
		for _, name := range jail.ProtectedNames() {
			if p := path.Join(base, name); !l.facts.found[p] {
				l.plan.absent = append(l.plan.absent, p)
			}
		}
	}
}

// git guards what git executes, in each git directory that was found; where
// the profile says so, the whole of it.
func (l *laying) git() {
	for _, g := range l.facts.gits {
		if l.profile.WholeGit || g.kind != 'd' {
			l.guard(g)
			continue
		}
		if l.writable(g.path) {
			l.add(pin, g.path)
			for dir := path.Dir(g.path); l.writable(dir) && !slices.Contains(l.tops, dir); dir = path.Dir(dir) {
				l.add(pin, dir)
			}
			for _, name := range jail.GitNames() {
				if p := path.Join(g.path, name); !l.facts.found[p] {
					l.plan.absent = append(l.plan.absent, p)
				}
			}
		}
	}
	for _, record := range l.facts.config {
		dir, text, _ := strings.Cut(record, "\n")
		settings, _ := gitconf.Parse([]byte(text))
		for _, s := range settings {
			base := path.Dir(dir)
			switch {
			case s.Key == "core.hookspath", s.Key == "core.attributesfile":
			case s.Key == "include.path", strings.HasPrefix(s.Key, "includeif.") && strings.HasSuffix(s.Key, ".path"):
				base = dir
			default:
				continue
			}
			p := s.Value
			if !path.IsAbs(p) {
				p = path.Join(base, p)
			}
			if p = path.Clean(p); clean(p) && !strings.HasPrefix(s.Value, "~") && l.writable(p) && !slices.Contains(l.tops, p) {
				l.plan.notes = append(l.plan.notes, fmt.Sprintf("git there takes %s from %s: it is closed", s.Key, p))
				l.add(protect, p)
			}
		}
	}
}

// agents grants the state folders of agent CLIs and keeps in them what starts
// programs or configures a gate (Y59, Y69).
func (l *laying) agents() {
	for _, a := range l.facts.agents {
		if l.writable(a.path) {
			continue
		}
		l.add(write, a.path)
		l.tops = append(l.tops, a.path)
	}
	for _, c := range l.facts.closed {
		l.guard(c)
	}
	for _, p := range l.facts.private {
		if p.kind == 'd' && l.writable(p.path) {
			l.add(empty, p.path)
		}
	}
	for _, s := range l.facts.settings {
		if s.kind == 'f' {
			l.plan.copies = append(l.plan.copies, s.path)
			l.plan.mounts = append(l.plan.mounts, mount{path: s.path, kind: copied, from: strconv.Itoa(len(l.plan.copies))})
		}
	}
}

// hide covers credential stores, sockets and, where no state folder is
// granted, the agents' own log-ins.
func (l *laying) hide() {
	all := slices.Concat(l.facts.stores, l.facts.secrets, l.facts.sockets)
	if !l.profile.AgentState {
		all = slices.Concat(all, l.facts.logins, l.facts.settings)
	}
	if !l.noUnix {
		listening := l.listening()
		if len(listening) > maxSockets {
			l.plan.noUnix = true
			l.plan.notes = append(l.plan.notes, fmt.Sprintf("%d unix sockets listen there: all are denied inside", len(listening)))
		} else {
			all = append(all, listening...)
		}
	}
	byPath := map[string]byte{}
	var paths []string
	for _, t := range all {
		if t.kind == 'l' || t.path == "/" || t.path == l.facts.home || l.within(t.path) {
			continue
		}
		byPath[t.path] = t.kind
		paths = append(paths, t.path)
	}
	for _, p := range tree.Outermost(paths) {
		if l.private(p) {
			continue
		}
		k := hideFile
		if byPath[p] == 'd' {
			k = hideDir
		}
		l.add(k, p)
		l.hidden = append(l.hidden, p)
	}
}

// within reports whether a place that is needed lies in path: that cannot be
// hidden as a whole.
func (l *laying) within(p string) bool {
	return slices.ContainsFunc(l.tops, func(r string) bool { return tree.Within(p, r) }) || tree.Within(p, l.facts.dir)
}

// private reports whether path is out of sight anyway.
func (l *laying) private(p string) bool {
	if slices.ContainsFunc(l.plan.mounts, func(m mount) bool { return m.kind <= write && tree.Within(m.path, p) }) {
		return false
	}
	return slices.ContainsFunc(private, func(d string) bool { return tree.Within(d, p) })
}

// listening are the sockets that are in sight.
func (l *laying) listening() []thing {
	var out []thing
	for _, p := range l.facts.listening {
		if clean(p) && !l.private(p) {
			out = append(out, thing{'s', p})
		}
	}
	return out
}

// environment is what the program there finds: that machine's own places, what
// goes along, and the private ones.
func (l *laying) environment(p jail.Profile, opts jail.Options) []string {
	env := slices.Clone(l.facts.env)
	env = append(env, "HOME="+l.facts.home, "TMPDIR=/tmp", "REEVE_SANDBOX=1", "XDG_CACHE_HOME=/tmp/.cache", "GOCACHE=/tmp/.cache/go-build", "npm_config_cache=/tmp/.cache/npm", "PIP_CACHE_DIR=/tmp/.cache/pip", "npm_config_update_notifier=false")
	return append(env, opts.Set...)
}

// order sorts the mounts so that a directory comes right before what lies
// below it, and the hidden ones last; of two that are alike one is kept.
func (l *laying) order() {
	last := func(m mount) int {
		if m.kind >= hideDir {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(l.plan.mounts, func(a, b mount) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(strings.ReplaceAll(a.path, "/", "\x00"), strings.ReplaceAll(b.path, "/", "\x00")), cmp.Compare(a.kind, b.kind))
	})
	l.plan.mounts = slices.Compact(l.plan.mounts)
	for _, m := range l.plan.mounts {
		if m.kind == protect && len(l.plan.checked.kept) < 5 {
			l.plan.checked.kept = append(l.plan.checked.kept, m.path)
		}
	}
	l.plan.checked.hidden = l.hidden[:min(len(l.hidden), 20)]
	l.plan.checked.outside = l.facts.home
	l.plan.absent = tree.Tidy(l.plan.absent)
}

// arguments of bubblewrap, but the program's own. dir is the private directory
// of the run there.
func (p plan) arguments(f facts, opts jail.Options, net jail.NetMode, tty bool, dir string) ([]string, error) {
	version, err := sizes(f.bwrap)
	if err != nil {
		return nil, err
	}
	memory := func(at, mode string, size int64) []string {
		args := []string{"--perms", mode}
		if version {
			args = append(args, "--size", strconv.FormatInt(size, 10))
		}
		return append(args, "--tmpfs", at)
	}
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL", "--die-with-parent"}
	if !tty {
		args = append(args, "--new-session")
	}
	if net != jail.UnrestrictedNetwork {
		args = append(args, "--unshare-net")
	}
	scratch := opts.Limits.Scratch
	if scratch <= 0 {
		scratch = 1 << 30
	}
	args = slices.Concat(args, []string{"--ro-bind", "/", "/"}, memory("/tmp", "1777", scratch), memory("/run", "0755", 16<<20), []string{"--dev", "/dev"},
		memory("/dev/shm", "1777", 256<<20), []string{"--remount-ro", "/dev", "--proc", "/proc"})
	if f.uid == "0" {
		args = append(args, "--remount-ro", "/proc")
	}
	var sealed []string
	for _, m := range p.mounts {
		switch m.kind {
		case show, protect:
			args = append(args, "--ro-bind", m.path, m.path)
		case write, pin:
			args = append(args, "--bind", m.path, m.path)
		case empty:
			args = append(args, memory(m.path, "0700", 16<<20)...)
		case copied:
			args = append(args, "--bind", path.Join(dir, "copy"+m.from), m.path)
		case hideDir:
			args = append(args, memory(m.path, "0555", 4096)...)
			sealed = append(sealed, "--remount-ro", m.path)
		case hideFile:
			args = append(args, "--ro-bind", path.Join(dir, "empty"), m.path)
		}
	}
	args = append(args, sealed...)
	for _, kv := range p.env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.Contains(kv, "\x00") {
			return nil, fmt.Errorf("environment entry %q is not NAME=value", kv)
		}
		args = append(args, "--setenv", name, value)
	}
	return append(args, "--chdir", f.dir), nil
}

// sizes reads the version of bubblewrap: 0.5 brought --perms, without which
// nothing is built, and 0.7 --size.
func sizes(version string) (bool, error) {
	var major, minor int
	if n, err := fmt.Sscanf(version, "bubblewrap %d.%d", &major, &minor); err != nil || n != 2 || major == 0 && minor < 5 {
		return false, fmt.Errorf("bubblewrap there says %q; at least version 0.5 is needed", version)
	}
	return major > 0 || minor >= 7, nil
}

// checkMachine refuses a machine on which no boundary can be built.
func (f *facts) checkMachine() (goarch string, err error) {
	if f.system != "Linux" {
		return "", fmt.Errorf("it runs %s; a boundary is built on Linux there", filepath.Base(f.system))
	}
	switch f.machine {
	case "x86_64", "amd64":
		return "amd64", nil
	case "aarch64", "arm64":
		return "arm64", nil
	}
	return "", errors.New("no system call filter is known for its processor, " + strconv.Quote(f.machine))
}
