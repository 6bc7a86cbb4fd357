package shellread

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
)

// The differential test asks bash itself. Generated lines are run by a real
// bash in a sandbox where every program is a stub that says its name, and a
// program that said its name must stand in Read's list.
//
// A line of which Read says that it cannot be told needs no running: whatever
// it starts, it is asked about. The others are run in groups, each group in a
// shell of its own; that the joined text of a group can be told is checked
// first. Starting a process costs far more than reading a line, so only some
// of the lines may do it, and where the shell itself starts a stub a function
// of that name stands for the file in most groups.
//
// REEVE_SHELL_LINES, REEVE_SHELL_SEED and REEVE_SHELL_FORKS set how many
// lines, which, and how many of a hundred may start processes. Where the
// number of lines is not set, no new batch is begun after 40 seconds.
func TestEveryProgramThatBashStartsIsListed(t *testing.T) {
	box := newBox(t)
	lines, seed, forks := envInt("REEVE_SHELL_LINES", 20_000), uint64(envInt("REEVE_SHELL_SEED", int(time.Now().UnixNano()&0xffffffff))), envInt("REEVE_SHELL_FORKS", 6)
	if testing.Short() {
		lines = 2_000
	}
	t.Logf("seed %d, %d lines, %d of a hundred may start processes", seed, lines, forks)
	const batch = 250
	var (
		mu   sync.Mutex
		all  tally
		wg   sync.WaitGroup
		next = make(chan int)
	)
	for range max(2, runtime.NumCPU()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range next {
				g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(n)))}
				part := g.batch(min(batch, lines-n*batch), forks)
				started := box.run(t, n, part.groups)
				part.compare(started)
				mu.Lock()
				all.add(&part)
				for i, b := range part.bad {
					if len(all.bad)+i < 20 {
						t.Errorf("seed %d: %s", seed, b)
					}
				}
				all.bad = append(all.bad, part.bad...)
				mu.Unlock()
			}
		}()
	}
	begun, asked := time.Now(), os.Getenv("REEVE_SHELL_LINES") != ""
	for n := range (lines + batch - 1) / batch {
		if !asked && time.Since(begun) > 40*time.Second {
			t.Logf("the machine is slow: stopped before line %d; set REEVE_SHELL_LINES to have them all", n*batch)
			break
		}
		next <- n
	}
	close(next)
	wg.Wait()
	t.Logf("%d lines; %d cannot be told (%d of them do not parse); %d run in %d groups, %d programs started", all.lines, all.untold, all.unparsed, all.run, all.count, all.programs)
	t.Logf("constructs: %s", all.constructs())
	if len(all.bad) > 20 {
		t.Errorf("%d groups in all start a program that is not listed", len(all.bad))
	}
	if all.programs < all.run/2 {
		t.Errorf("only %d programs started in %d lines: the sandbox does not do its work", all.programs, all.run)
	}
	if all.told*10 < all.plain*5 {
		t.Errorf("only %d of %d well-formed lines can be told: answering that nothing can be told passes for nothing", all.told, all.plain)
	}
}

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// tally is a batch of lines and what came of them.
type tally struct {
	lines, untold, unparsed, plain, told, run, count, programs int

	kinds  map[string]int
	groups []group
	bad    []string
}

// group is lines that run one after the other in one shell.
type group struct {
	texts []string
	files bool // every stub is a file
}

func (g group) joined() string { return strings.Join(g.texts, "\n") }

// holding is the lines that may have started p.
func (g group) holding(p string) string {
	var some []string
	for _, text := range g.texts {
		if strings.Contains(text, p[1:]) {
			some = append(some, text)
		}
	}
	return strings.Join(some, "\n--- and\n")
}

func (t *tally) add(u *tally) {
	t.lines, t.untold, t.unparsed, t.plain, t.told = t.lines+u.lines, t.untold+u.untold, t.unparsed+u.unparsed, t.plain+u.plain, t.told+u.told
	t.run, t.count, t.programs = t.run+u.run, t.count+u.count, t.programs+u.programs
	if t.kinds == nil {
		t.kinds = map[string]int{}
	}
	for k, n := range u.kinds {
		t.kinds[k] += n
	}
}

func (t *tally) constructs() string {
	var all []string
	for k, n := range t.kinds {
		all = append(all, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

var boxAt = At{Dir: "/tmp/cwd", Home: "/tmp/home", Workspace: "/tmp/cwd"}

// batch makes n lines, every fifth shaken, and sorts those that can be told
// into groups.
func (g *generator) batch(n, forks int) tally {
	t := tally{kinds: map[string]int{}}
	var open group
	for t.lines < n {
		text := g.line(1 + g.IntN(4))
		if startsProcess(text) && g.IntN(100) >= forks {
			continue
		}
		shaken := t.lines%5 == 4
		if shaken {
			text = g.shake(text)
		}
		t.lines++
		for k := range g.used {
			t.kinds[k]++
		}
		_, untold := listing(Read(text, boxAt))
		if !shaken {
			t.plain++
		}
		if untold != "" {
			t.untold++
			if strings.HasPrefix(untold, "does not parse") {
				t.unparsed++
			}
			continue
		}
		if !shaken {
			t.told++
		}
		t.run++
		alone := strings.Contains(text, "exec") || strings.Contains(text, "exit") || strings.Contains(text, "set ") || strings.HasSuffix(text, `\`)
		if grown := (group{texts: append(slices.Clone(open.texts), text)}); !alone && len(grown.texts) <= 16 {
			if _, untold := listing(Read(grown.joined(), boxAt)); untold == "" {
				open = grown
				continue
			}
		}
		t.close(open)
		open = group{}
		if alone {
			t.close(group{texts: []string{text}})
			continue
		}
		open.texts = []string{text}
	}
	t.close(open)
	t.count = len(t.groups)
	return t
}

func (t *tally) close(g group) {
	if len(g.texts) > 0 {
		g.files = len(t.groups)%16 == 0
		t.groups = append(t.groups, g)
	}
}

// startsProcess: the shell forks for it.
func startsProcess(text string) bool {
	text = strings.ReplaceAll(text, "$((", "")
	for _, form := range []string{"$(", "`", "<(", ">(", "|", "& wait", "coproc", "(", "env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs", "find", "bash", "sh ", "sed", "awk", "sort", "flock", "chrt", "taskset", "prlimit", "setarch", "command", "exec"} {
		if strings.Contains(text, form) && !(form == "(" && strings.Count(text, "(") == strings.Count(text, "()")+2*strings.Count(text, "((")) && !(form == "|" && strings.Count(text, "|") == 2*strings.Count(text, "||")) {
			return true
		}
	}
	return false
}

// compare looks for programs that started and are not listed.
func (t *tally) compare(started [][]string) {
	for i, g := range t.groups {
		t.programs += len(started[i])
		effects := Read(g.joined(), boxAt)
		listed, untold := listing(effects)
		for _, p := range started[i] {
			if !listed[p] && untold == "" {
				t.bad = append(t.bad, fmt.Sprintf("bash started %s, which is not listed\n--- lines that hold a part of its name\n%s\n--- listed\n%v", p, g.holding(p), describe(effects)))
				break
			}
		}
	}
}

// listing is the programs that Read lists, and why it cannot tell for certain.
func listing(effects []reeve.Effect) (listed map[string]bool, untold string) {
	listed = map[string]bool{}
	for _, e := range effects {
		if e.Kind == reeve.EffectUnknown {
			untold = e.Why
		}
		if e.Kind != reeve.EffectRun {
			continue
		}
		c := e.Command
		listed[c.Program()] = true
		switch c.Program() {
		case "sed", "awk", "sort": // what their scripts start is marked, not listed
			if c.Marks.Any(reeve.CommandRunsProgram | reeve.CommandFedScript) {
				untold = firstOf(untold, c.Why)
			}
		}
		if c.Marks.Has(reeve.CommandUnknownProgram) {
			untold = firstOf(untold, c.Why)
		}
	}
	return listed, untold
}

func describe(effects []reeve.Effect) string {
	var b strings.Builder
	for i := range effects {
		b.WriteString("  " + effects[i].String() + "\n")
	}
	return b.String()
}

// box runs lines in bubblewrap: no network, everything read-only but a
// private /tmp, no capabilities, its own processes.
type box struct {
	bwrap, bin, dir string
}

func newBox(t *testing.T) *box {
	t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bubblewrap is missing: generated lines are only run in a sandbox")
	}
	for _, need := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is missing", need)
		}
	}
	b := &box{bwrap: bwrap, dir: t.TempDir()}
	b.bin = filepath.Join(b.dir, "bin")
	must(t, os.Mkdir(b.bin, 0o755))
	// A stub that bash reads with "." is no program that started: the shell
	// that reads it would be named.
	stub := []byte("#!/bin/dash\n[ \"${BASH_SOURCE-$0}\" != \"$0\" ] || echo \"${0##*/}\" >&9\n")
	for _, s := range stubs {
		must(t, os.WriteFile(filepath.Join(b.bin, s), stub, 0o755))
	}
	for _, w := range realWrappers {
		if path, err := exec.LookPath(w); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil && !slices.Contains(stubs, w) {
				must(t, os.Symlink(path, filepath.Join(b.bin, w)))
			}
		}
	}
	must(t, os.Chmod(b.dir, 0o755))
	if out, err := b.command(t.Context(), b.dir, "echo in the box; : > /never").CombinedOutput(); !strings.Contains(string(out), "in the box") || !strings.Contains(string(out), "Read-only") {
		t.Skipf("bubblewrap does not hold here, so generated lines are not run: %v: %s", err, out)
	}
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *box) command(ctx context.Context, out, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
		"--setenv", "PATH", "/tmp/bin", "--setenv", "HOME", "/tmp/home", "--setenv", "LC_ALL", "C.UTF-8",
		"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", b.bin, "/tmp/bin", "--bind", out, "/tmp/out",
		"--dir", "/tmp/home", "--dir", "/tmp/cwd", "--chdir", "/tmp/cwd", "--", "/bin/bash", "--norc", "--noprofile", "-c", script)
	cmd.WaitDelay = time.Second
	return cmd
}

// watchdog ends a group that runs for more than half a second or one: shaking
// makes loops without an end. The bound on a group's record ends most of them
// sooner.
const watchdog = `set -m
PATH=/usr/bin:/bin mkfifo /tmp/never
(exec 8<>/tmp/never; was=; while :; do read -t 0.5 x <&8; { read now </tmp/now; } 2>/dev/null; [[ $now == "$was" ]] && kill -9 -- -$now; was=$now; done) >/dev/null 2>&1 9>&- &
`

// run gives the programs that each group started.
func (b *box) run(t *testing.T, n int, groups []group) [][]string {
	out := filepath.Join(b.dir, fmt.Sprintf("out%d", n))
	started := make([][]string, len(groups))
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Error(err)
		return started
	}
	defer os.RemoveAll(out)
	var s strings.Builder
	s.WriteString(watchdog)
	for i, g := range groups {
		s.WriteString("(ulimit -t 3 -f 8\n")
		if !g.files {
			for _, p := range stubs {
				fmt.Fprintf(&s, "%s() { echo %s >&9; }\n", p, p)
			}
		}
		for _, text := range g.texts {
			fmt.Fprintf(&s, "eval %s\n", quote(text))
		}
		fmt.Fprintf(&s, "wait) </dev/null >/dev/null 2>&1 9>>/tmp/out/%d & echo $! >/tmp/now; wait $!\n", i)
	}
	if err := os.WriteFile(filepath.Join(out, "script"), []byte(s.String()), 0o644); err != nil {
		t.Error(err)
		return started
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_ = b.command(ctx, out, ". /tmp/out/script").Run() // the lines' own failures are no failure
	for i := range groups {
		if log, err := os.ReadFile(filepath.Join(out, strconv.Itoa(i))); err == nil {
			whole := log[:bytes.LastIndexByte(log, '\n')+1] // the bound may cut the last name
			started[i] = strings.Fields(string(whole))
		}
	}
	return started
}
