// Package cgroup bounds the memory and the number of processes of one whole
// tree, where a control group can be made: below the group of the daemon or
// one above it that the person may write (cgroups(7), version 2, as systemd
// delegates it to a user's session), or in the hierarchies of version 1, which
// only root may write.
//
// A process is put into its group while it waits at the gate of its wall, so
// that all it starts is in there too. Nothing here changes a group that is not
// its own.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds are what a tree may use; zero leaves it open.
type Bounds struct {
	Memory    int64 // bytes, with what is swapped out
	Processes int64 // processes and threads at one time
	CPU       int64 // thousandths of one processor
}

// Group is one tree's control group: a directory in each hierarchy that a
// bound needs. A nil Group bounds nothing.
type Group struct {
	dirs []string // all below mounts of the kernel
	v2   bool
}

// prefix is how the names of our groups begin; the rest is the id of a run.
const prefix = "reeve-"

// file is a setting of a group and its value.
type file struct{ name, value string }

// hierarchy is a mounted tree of groups and our own place in it.
type hierarchy struct {
	mount       string
	own         string   // below mount, beginning with a slash
	controllers []string // of version 1; empty for version 2
}

// Places are the hierarchies that the process can see.
type Places struct {
	v2 *hierarchy
	v1 []hierarchy
}

// Find reads which hierarchies there are from the two files that the kernel
// gives each process: self/cgroup and self/mountinfo.
func Find() (Places, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Places{}, fmt.Errorf("find the control groups: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Places{}, fmt.Errorf("find the control groups: %w", err)
	}
	return parse(string(groups), string(mounts)), nil
}

// parse reads lines "ID:CONTROLLERS:PATH" (version 2 has no controllers) and
// the mounts of types cgroup and cgroup2 (proc(5), cgroups(7)).
func parse(groups, mounts string) Places {
	type mounted = struct{ root, at string }
	v1 := map[string]mounted{}
	var v2 *mounted
	for line := range strings.Lines(mounts) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		m := mounted{unescape(f[3]), unescape(f[4])}
		switch g[0] {
		case "cgroup2":
			v2 = &m
		case "cgroup":
			for _, opt := range strings.Split(g[2], ",") {
				v1[opt] = m
			}
		}
	}
	var p Places
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		if parts[1] == "" {
			if own, ok := below(parts[2], v2); v2 != nil && ok {
				p.v2 = &hierarchy{mount: v2.at, own: own}
			}
			continue
		}
		controllers := strings.Split(parts[1], ",")
		if m, known := v1[controllers[0]]; known {
			if own, ok := below(parts[2], &m); ok {
				p.v1 = append(p.v1, hierarchy{m.at, own, controllers})
			}
		}
	}
	return p
}

// below makes a path of the hierarchy one of the mount: a container sees a
// part of the hierarchy only.
func below(path string, m *struct{ root, at string }) (string, bool) {
	if m == nil {
		return "", false
	}
	if m.root == "/" {
		return path, true
	}
	rest, ok := strings.CutPrefix(path, m.root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return "/" + strings.TrimPrefix(rest, "/"), true
}

// unescape reads the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Make makes the group of the run id. held and unheld name every bound that
// was asked for; where none can be held the Group is nil. id must be a name
// without a slash.
func (p Places) Make(id string, b Bounds) (g *Group, held, unheld []string) {
	if b == (Bounds{}) || id == "" || strings.ContainsAny(id, "/\x00\n") {
		return nil, nil, b.Names()
	}
	if g, held, unheld = p.makeV2(id, b); g != nil {
		return g, held, unheld
	}
	return p.makeV1(id, b)
}

// Names are the bounds asked for, each in one word.
func (b Bounds) Names() []string {
	var all []string
	for _, one := range b.list() {
		all = append(all, one.name)
	}
	return all
}

// bound is one asked-for bound in the words of both versions.
type bound struct {
	name, controller string
	said             string
	v2, v1           []file
}

func (b Bounds) list() []bound {
	var all []bound
	if b.Memory > 0 {
		n := strconv.FormatInt(b.Memory, 10)
		all = append(all, bound{"memory", "memory", "memory " + Size(b.Memory),
			[]file{{"memory.max", n}, {"memory.swap.max", "0"}, {"memory.oom.group", "1"}},
			[]file{{"memory.limit_in_bytes", n}, {"memory.memsw.limit_in_bytes", n}}})
	}
	if b.Processes > 0 {
		n := strconv.FormatInt(b.Processes, 10)
		set := []file{{"pids.max", n}}
		all = append(all, bound{"processes", "pids", n + " processes", set, set})
	}
	if b.CPU > 0 {
		quota := strconv.FormatInt(b.CPU*100, 10) // of a period of 100,000 µs
		all = append(all, bound{"processors", "cpu", fmt.Sprintf("%.2g processors", float64(b.CPU)/1000),
			[]file{{"cpu.max", quota + " 100000"}},
			[]file{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", quota}}})
	}
	return all
}

// Size writes a number of bytes in the largest unit that it is a whole number
// of.
func Size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	i := 0
	for ; i < len(units)-1 && n != 0 && n%1024 == 0; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

// makeV2 looks upwards from our own group for the nearest that hands the
// controllers to its children: a group with processes of its own cannot.
func (p Places) makeV2(id string, b Bounds) (g *Group, held, unheld []string) {
	if p.v2 == nil {
		return nil, nil, nil
	}
	want := b.list()
	best, parent := 0, ""
	for at := p.v2.own; ; at = filepath.Dir(at) {
		dir := filepath.Join(p.v2.mount, at)
		has := words(filepath.Join(dir, "cgroup.subtree_control"))
		n := 0
		for _, w := range want {
			if slices.Contains(has, w.controller) {
				n++
			}
		}
		if n > best && writable(filepath.Join(dir, "cgroup.procs")) {
			best, parent = n, dir
		}
		if at == "/" || best == len(want) {
			break
		}
	}
	if parent == "" {
		return nil, nil, nil
	}
	dir := filepath.Join(parent, prefix+id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, nil, nil
	}
	g = &Group{dirs: []string{dir}, v2: true}
	for _, w := range want {
		if set(dir, w.v2) == nil {
			held = append(held, w.said)
		} else {
			unheld = append(unheld, w.name)
		}
	}
	if len(held) == 0 {
		g.Remove()
		return nil, nil, nil
	}
	return g, held, unheld
}

func (p Places) makeV1(id string, b Bounds) (g *Group, held, unheld []string) {
	g = &Group{}
	for _, w := range b.list() {
		if dir, err := p.oneV1(id, w); err == nil {
			g.dirs, held = append(g.dirs, dir), append(held, w.said)
		} else {
			unheld = append(unheld, w.name)
		}
	}
	if len(g.dirs) == 0 {
		return nil, nil, unheld
	}
	return g, held, unheld
}

var errNoHierarchy = errors.New("no such hierarchy is mounted")

func (p Places) oneV1(id string, w bound) (string, error) {
	i := slices.IndexFunc(p.v1, func(h hierarchy) bool { return slices.Contains(h.controllers, w.controller) })
	if i < 0 {
		return "", errNoHierarchy
	}
	dir := filepath.Join(p.v1[i].mount, p.v1[i].own, prefix+id)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := set(dir, w.v1); err != nil {
		os.Remove(dir)
		return "", err
	}
	return dir, nil
}

// set writes the settings. The first is the bound itself; one of the others
// that the kernel does not have (no swap, an older version) is left out.
func set(dir string, files []file) error {
	for i, f := range files {
		err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.value), 0o600)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

func words(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// Add puts a process into the group. What it starts afterwards is in it too.
func (g *Group) Add(pid int) error {
	if g == nil {
		return nil
	}
	for _, dir := range g.dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
			return fmt.Errorf("put process %d under its bounds: %w", pid, err)
		}
	}
	return nil
}

// Remove takes the group away when its processes are gone; where the kernel
// can (Linux 5.14, version 2) it ends what is left of them. The kernel may
// hold a group for a moment after its last process.
func (g *Group) Remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.dirs {
		if g.v2 {
			os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o600)
		}
		err := os.Remove(dir)
		for wait := time.Millisecond; err != nil && !errors.Is(err, fs.ErrNotExist) && wait < 200*time.Millisecond; wait *= 2 {
			time.Sleep(wait)
			err = os.Remove(dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweepAfter is how old a group without a process must be to be nobody's:
// whoever makes one puts a process into it right then.
const (
	sweepAfter = time.Minute
	sweepDead  = 2 * time.Second // the process that its name begins with is dead
)

// madeFor is the process that a group was made for, by its name (PID-MORE);
// 0 = it does not say.
func madeFor(dir string) int {
	digits, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
	pid, _ := strconv.Atoi(digits)
	return pid
}

// Sweep removes groups of ours without a process, a minute old or where the
// process that they were made for is dead: what a killed daemon, or a killed
// keeper of a session, left behind. It returns how many.
func (p Places) Sweep() (n int) {
	var parents []string
	for _, h := range p.v1 {
		parents = append(parents, filepath.Join(h.mount, h.own))
	}
	if p.v2 != nil {
		for at := p.v2.own; ; at = filepath.Dir(at) {
			parents = append(parents, filepath.Join(p.v2.mount, at))
			if at == "/" {
				break
			}
		}
	}
	for _, parent := range parents {
		all, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
		for _, dir := range all {
			info, err := os.Stat(dir)
			if err != nil {
				continue
			}
			after := sweepAfter
			if pid := madeFor(dir); pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				after = sweepDead
			}
			if time.Since(info.ModTime()) < after { // another daemon may have made it right now
				continue
			}
			if len(words(filepath.Join(dir, "cgroup.procs"))) == 0 && os.Remove(dir) == nil {
				n++
			}
		}
	}
	return n
}
