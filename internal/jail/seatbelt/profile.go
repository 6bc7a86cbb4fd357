package seatbelt

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
)

// Bounds of a profile. The compiler of profiles refuses a string of more than
// 1,025 bytes, and a path of the system has at most 1,024 (MAXPATHLEN); the
// kernel takes 1 MiB of arguments and environment together (ARG_MAX).
const (
	maxString = 900
	maxText   = 384 << 10
	maxAbsent = 400 // names that do not exist yet; further ones are looked for after the run only
)

// Local are facts of one start that no plan holds.
type Local struct {
	Temp string // the tree's own temporary directory, without symbolic links
	TTY  string // path of the program's terminal; empty = none
	Port uint16 // where the proxy of a [jail.ProxiedNetwork] listens on 127.0.0.1
}

// Profile is what sandbox-exec is told.
type Profile struct {
	Text   string   // the rules, for -p
	Params []string // NAME=VALUE, each for one -D
	Notes  []string // what the plan asked for and this wall does in another way
}

// Args are the arguments of sandbox-exec before the program's own.
func (p Profile) Args() []string {
	args := []string{"-p", p.Text}
	for _, d := range p.Params {
		args = append(args, "-D", d)
	}
	return args
}

// Write turns a plan into a profile. The paths of both must be absolute, clean
// and the kernel's own. The error is a [reeve.ErrBoundary] and names what no
// profile can express.
func Write(plan jail.Plan, local Local) (Profile, error) {
	w := &writer{plan: plan, local: local, params: map[string]string{}}
	if plan.Workspace == "" || local.Temp == "" {
		return Profile{}, fmt.Errorf("write a seatbelt profile: %w: the plan names no workspace, or the start no temporary directory", reeve.ErrBoundary)
	}
	if plan.Net == jail.ProxiedNetwork && local.Port == 0 {
		return Profile{}, fmt.Errorf("write a seatbelt profile: %w: a network that leads through the proxy needs the proxy", reeve.ErrBoundary)
	}
	w.processes()
	w.system()
	w.reading()
	w.writing()
	w.hiding()
	w.network()
	w.closing()
	text := w.text.String()
	size := len(text)
	for _, p := range w.list {
		size += len(p) + 4
	}
	if size > maxText {
		w.fail(fmt.Errorf("the profile has %d bytes, at most %d: the workspace holds too many protected names; choose a smaller one", size, maxText))
	}
	if err := errors.Join(w.errs...); err != nil {
		return Profile{}, fmt.Errorf("write a seatbelt profile: %w: %w", reeve.ErrBoundary, err)
	}
	return Profile{Text: text, Params: w.list, Notes: w.notes}, nil
}

// writer puts a profile together, section by section.
type writer struct {
	plan   jail.Plan
	local  Local
	text   strings.Builder
	params map[string]string // path to the name of its parameter
	list   []string
	notes  []string
	errs   []error
}

func (w *writer) fail(err error) { w.errs = append(w.errs, err) }

// rule writes one rule with its filters, each on a line; without a filter the
// rule would hold for everything, so that nothing is written.
func (w *writer) rule(verb, ops string, filters ...string) {
	if len(filters) == 0 {
		return
	}
	w.text.WriteString("(" + verb + " " + ops + "\n  " + strings.Join(filters, "\n  ") + ")\n")
}

func (w *writer) line(s string) { w.text.WriteString(s + "\n") }

// param is a reference to a path.
func (w *writer) param(p string) string {
	name, ok := w.params[p]
	if !ok {
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p || strings.Contains(p, "\x00"):
			w.fail(fmt.Errorf("%q is not an absolute clean path", p))
		case len(p) > maxString:
			w.fail(fmt.Errorf("a path of %d bytes (%.60q…); a profile takes at most %d", len(p), p, maxString))
		}
		name = "P" + strconv.Itoa(len(w.list))
		w.params[p] = name
		w.list = append(w.list, name+"="+p)
	}
	return `(param "` + name + `")`
}

func (w *writer) literal(p string) string { return "(literal " + w.param(p) + ")" }
func (w *writer) subpath(p string) string { return "(subpath " + w.param(p) + ")" }

func (w *writer) each(form func(string) string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = form(p)
	}
	return out
}

// quote is a string of the profile's language. What needs an escape that its
// reader may not know is refused.
func (w *writer) quote(s string) string {
	if len(s) > maxString {
		w.fail(fmt.Errorf("a pattern of %d bytes (%.60q…); a profile takes at most %d", len(s), s, maxString))
	}
	if !utf8.ValidString(s) || strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) >= 0 {
		w.fail(fmt.Errorf("%q holds a control character or is no UTF-8, which a pattern cannot name", s))
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// roots are the places that may be written, ours included.
func (w *writer) roots() []string {
	var all []string
	if !w.plan.ReadOnly {
		all = append(all, w.plan.Workspace)
	}
	all = append(all, w.plan.Write...)
	all = append(all, w.local.Temp)
	for _, e := range w.plan.Expose {
		if e.Write {
			all = append(all, e.From)
		}
	}
	return all
}

func (w *writer) processes() {
	w.line("(version 1)")
	w.line("(deny default)")
	w.line("; the tree starts programs and sees and signals its own processes only")
	w.line("(allow process-exec*)")
	w.line("(allow process-fork)")
	w.line("(allow process-info* (target same-sandbox))")
	w.line("(allow signal (target same-sandbox))")
	w.line("(allow mach-host*)")
	w.line("(allow ipc-posix-sem)")
	w.line("(allow ipc-posix-shm*)")
}

func (w *writer) system() {
	var names []string
	for _, s := range settings {
		names = append(names, "(sysctl-name-prefix "+w.quote(s)+")")
	}
	w.rule("allow", "sysctl-read", names...)
	w.line("; services of the system; why each: services.go")
	var services []string
	for _, s := range servicesOf(w.plan) {
		services = append(services, "(global-name "+w.quote(s.name)+")")
	}
	w.rule("allow", "mach-lookup", services...)
}

// private are directories of which every tree has its own or none: what the
// machine keeps there is not shown, unless the plan names it.
var private = []string{"/dev", "/private/tmp", "/private/var/tmp", "/private/var/folders"}

func (w *writer) reading() {
	w.line("; reading is free, save in private places and behind the masks below")
	w.line("(allow file-read* file-map-executable)")
	w.rule("deny", "file-read*", w.each(w.subpath, private)...)
	shown := slices.Concat([]string{w.plan.Workspace}, w.plan.Write, w.plan.Read, []string{w.local.Temp})
	w.rule("allow", "file-read*", w.each(w.subpath, shown)...)
	// The directories on the way there: a program asks what they are to find
	// out where it stands (realpath, getcwd).
	var above []string
	for _, p := range shown {
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			if slices.ContainsFunc(private, func(d string) bool { return within(d, dir) }) && !slices.Contains(above, dir) {
				above = append(above, dir)
			}
		}
	}
	w.rule("allow", "file-read-metadata", w.each(w.literal, above)...)
	w.line("; devices")
	devices := w.each(w.literal, []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper", "/dev/autofs_nowait"})
	w.rule("allow", "file-read*", slices.Concat(devices, []string{w.literal("/dev"), w.subpath("/dev/fd")})...)
	w.rule("allow", "file-write-data file-ioctl", slices.Concat(w.each(w.literal, []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper"}), []string{w.subpath("/dev/fd")})...)
	w.line("(allow pseudo-tty)")
	own := []string{`(require-all (regex "^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty"))`} // made inside
	if w.local.TTY != "" {
		own = append(own, w.literal(w.local.TTY))
	}
	w.rule("allow", "file-read* file-write-data file-ioctl", own...)
}

// place is one path of the plan and whether it may be written.
type place struct {
	path  string
	write bool
	order int // where two say something of the same path, the greater one wins
}

// places are what may be written and what may not, a directory right before
// what lies below it: so the last rule that matches is that of the nearest.
func (w *writer) places() []place {
	var all []place
	add := func(order int, write bool, paths ...string) {
		for _, p := range paths {
			all = append(all, place{p, write, order})
		}
	}
	add(0, false, w.plan.Read...)
	add(1, true, w.roots()...)
	if w.plan.ReadOnly {
		add(1, false, w.plan.Workspace)
	}
	add(2, false, w.guarded()...)
	slices.SortStableFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(strings.ReplaceAll(a.path, "/", "\x00"), strings.ReplaceAll(b.path, "/", "\x00")), cmp.Compare(a.order, b.order))
	})
	return all
}

// guarded are the things that exist and stay as they are.
func (w *writer) guarded() []string {
	all := slices.Concat(w.plan.Protect, w.plan.Private)
	for _, l := range w.plan.Links {
		all = append(all, l.Path)
	}
	for _, e := range w.plan.Expose {
		if !e.Write {
			all = append(all, e.From)
		}
	}
	return all
}

// writing opens the roots and takes from them the names that steer programs
// later, those included that do not exist yet. Every directory above one of
// them stays where it is, and so does each root.
func (w *writer) writing() {
	w.line("; what may be written, and the protected names in it")
	for _, p := range w.places() {
		verb := "deny"
		if p.write {
			verb = "allow"
		}
		w.rule(verb, "file-write*", w.subpath(p.path))
	}
	w.absent()
	for _, p := range w.plan.Private {
		w.notes = append(w.notes, p+" can be read only: this system gives no copy of its own")
	}
	pins := slices.Concat(w.roots(), w.plan.Pin)
	for _, p := range slices.Concat(w.guarded(), w.plan.Absent, w.plan.Mask) {
		for dir := path.Dir(p); w.belowRoot(dir); dir = path.Dir(dir) {
			if !strings.Contains(dir, "*") {
				pins = append(pins, dir)
			}
		}
	}
	slices.Sort(pins)
	w.line("; directories above a protected or hidden name are not moved away")
	w.rule("deny", "file-write-unlink", w.each(w.literal, slices.Compact(pins))...)
	w.line("; no program that runs as its owner")
	w.line("(deny file-write-setugid)")
}

func (w *writer) belowRoot(dir string) bool {
	return slices.ContainsFunc(w.roots(), func(r string) bool { return r != dir && within(r, dir) })
}

// absent closes the names that do not exist yet. The system's disks take .GIT
// for .git: what has no true spelling yet is closed in every one.
func (w *writer) absent() {
	names := slices.Clone(w.plan.Absent)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) })
	if len(names) > maxAbsent {
		w.notes = append(w.notes, fmt.Sprintf("%d protected names do not exist yet: the outermost %d are closed, the others are looked for after the run", len(names), maxAbsent))
		names = names[:maxAbsent]
	}
	var filters []string
	for _, name := range names {
		if !w.belowRoot(name) {
			continue // cannot be written anyway
		}
		root := ""
		for _, r := range w.roots() {
			if within(r, name) && len(r) > len(root) {
				root = r
			}
		}
		filters = append(filters, "(regex "+w.quote("^"+exactly(root)+anyCase(name[len(root):])+"(/|$)")+")")
	}
	w.rule("deny", "file-write*", filters...)
}

// exactly is a regular expression that matches s and nothing else.
func exactly(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`\.^$|()[]{}*+?`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// anyCase matches s whatever the case of its letters; * stands for any rest of
// an element.
func anyCase(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			b.WriteString("[" + string(c) + string(c-'a'+'A') + "]")
		case c >= 'A' && c <= 'Z':
			b.WriteString("[" + string(c-'A'+'a') + string(c) + "]")
		case c == '*':
			b.WriteString("[^/]*")
		default:
			b.WriteString(exactly(string(s[i : i+1])))
		}
	}
	return b.String()
}

// hiding closes what is masked, Reeve's own state last, and opens in it the
// single things that the session is shown.
func (w *writer) hiding() {
	w.line("; hidden places, and what is shown although it lies in one")
	w.rule("deny", "file-read* file-write*", w.each(w.subpath, w.plan.Mask)...)
	var dirs []string
	for _, p := range w.plan.Private {
		dirs = append(dirs, "(require-all "+w.subpath(p)+" (require-not "+w.literal(p)+"))")
	}
	w.rule("deny", "file-read* file-write*", dirs...)
	var shown, cache []string
	for _, e := range w.plan.Expose {
		if e.Write {
			cache = append(cache, w.subpath(e.From))
		} else {
			shown = append(shown, w.subpath(e.From))
		}
	}
	w.rule("allow", "file-read*", shown...)
	w.rule("allow", "file-read* file-write*", cache...)
}

func (w *writer) network() {
	w.line("; network: " + w.plan.Net.String())
	switch w.plan.Net {
	case jail.UnrestrictedNetwork:
		w.line("(allow system-socket)")
		w.line(`(allow network-outbound (remote ip "*:*"))`)
		w.line(`(allow network-inbound (local ip "*:*"))`)
		w.line(`(allow network-bind (local ip "*:*"))`)
		// Host names are resolved through a socket.
		w.rule("allow", "network-outbound", "(remote unix-socket "+w.literal("/private/var/run/mDNSResponder")+")")
	case jail.ProxiedNetwork:
		w.line(`(allow network-outbound (remote ip "localhost:` + strconv.Itoa(int(w.local.Port)) + `"))`)
	}
	var shown []string
	if !w.plan.NoUnix {
		// A rule for files does not hold for a socket with a name: those need
		// rules of the network. Own children meet below what may be written.
		w.line("(allow system-socket (socket-domain AF_UNIX))")
		for _, root := range w.roots() {
			here := w.subpath(root)
			w.rule("allow", "network-bind", "(local unix-socket "+here+")")
			w.rule("allow", "network-inbound", "(local unix-socket "+here+")")
			w.rule("allow", "network-outbound", "(remote unix-socket "+here+")")
		}
		for _, e := range w.plan.Expose {
			if !e.Write {
				shown = append(shown, "(remote unix-socket "+w.subpath(e.From)+")")
			}
		}
	}
	var hidden, kept []string
	for _, m := range w.plan.Mask {
		hidden = append(hidden, "(remote unix-socket "+w.subpath(m)+")")
	}
	for _, p := range slices.Concat(w.guarded(), w.plan.Mask) {
		kept = append(kept, "(local unix-socket "+w.subpath(p)+")")
	}
	w.rule("deny", "network-bind", kept...)
	w.rule("deny", "network-outbound", hidden...)
	w.rule("allow", "network-outbound", shown...)
}

// closing stands last: what no line above may open.
func (w *writer) closing() {
	w.line("; nothing is made to act outside: Apple Events, LaunchServices, jobs, the keychain")
	w.line("(deny appleevent-send)")
	w.line("(deny lsopen)")
	w.line("(deny job-creation)")
	w.line("(deny file-link)")
	w.line("(deny file-clone)")
	var names []string
	for _, s := range closed {
		names = append(names, "(global-name "+w.quote(s.name)+")")
	}
	for _, s := range closedPrefixes {
		names = append(names, "(global-name-prefix "+w.quote(s.name)+")")
	}
	w.rule("deny", "mach-lookup", names...)
}

// within reports whether p is root or lies below it.
func within(root, p string) bool {
	return p == root || root == "/" || strings.HasPrefix(p, root) && p[len(root)] == '/'
}
