//go:build linux

package native_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/jailtest"
	"github.com/reeve-gate/reeve/internal/testuser"
)

func none() *jail.NetMode { return new(jail.NetMode) }

// digest is that of the permits of the bench.
var digest = [32]byte{42}

// TestTheFirstProcessIsOutOfReach: the program's one neighbour, which has the
// same user, shows nothing of itself, obeys no signal, and has no power that
// could be taken over.
func TestTheFirstProcessIsOutOfReach(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := jailtest.NewBench(t, wall(t))
		script := `for f in environ mem maps auxv stack syscall io; do head -c 1 /proc/1/$f >/dev/null 2>&1 && echo "read $f"; done
for l in exe cwd root; do readlink /proc/1/$l >/dev/null 2>&1 && echo "link $l"; done
ls /proc/1/fd /proc/1/map_files /proc/1/task/1/fd >/dev/null 2>&1 && echo listed
for n in pid mnt user; do readlink /proc/1/ns/$n >/dev/null 2>&1 && echo "namespace $n"; done
: 2>/dev/null > /proc/1/mem && echo written
for s in TERM INT QUIT HUP USR1 SEGV URG CHLD STOP KILL 34; do kill -$s 1 2>/dev/null; done
head -c 1 /proc/self/environ >/dev/null && echo own
exec 5<>/tmp/held; echo ready; read line`
		in, hold, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		from, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.Wall.Start(t.Context(), b.Permit(), digest, b.Plan(t, "agent", jail.Options{Net: none()}),
			jail.Cmd{Argv: []string{"bash", "-c", script}, Stdin: in, Stdout: out})
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		out.Close()
		said := bufio.NewReader(from)
		var got []string
		for len(got) == 0 || got[len(got)-1] != "ready" {
			line, err := said.ReadString('\n')
			if err != nil {
				t.Fatalf("%q, then %v", got, err)
			}
			got = append(got, strings.TrimSpace(line))
		}
		if want := []string{"own", "ready"}; !slices.Equal(got, want) {
			t.Errorf("inside: %q, want %q", got, want)
		}
		powerless(t, p.PID())
		hold.Close()
		if exit, err := p.Wait(); err != nil || exit.Code != 1 { // of read, at the end of its input
			t.Errorf("end: %+v %v", exit, err)
		}
	})
}

// powerless looks from outside at every thread of a first process.
func powerless(t *testing.T, pid int) {
	t.Helper()
	proc := "/proc/" + strconv.Itoa(pid)
	threads, err := filepath.Glob(proc + "/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads: %v %v", threads, err)
	}
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			bad := false
			switch name {
			case "CapInh", "CapPrm", "CapEff", "CapAmb":
				bad = strings.Trim(value, "0") != ""
			case "NoNewPrivs":
				bad = value != "1"
			case "Seccomp":
				bad = value != "2"
			}
			if bad {
				t.Errorf("%s: %s is %s", file, name, value)
			}
		}
	}
	if os.Getuid() != 0 {
		return // its descriptors are closed to us, too
	}
	left, err := os.ReadDir(proc + "/fd")
	if err != nil || len(left) != 1 {
		t.Fatalf("the first process holds %v %v, want what it tells the end on", left, err)
	}
	if to, err := os.Readlink(proc + "/fd/" + left[0].Name()); err != nil || !strings.HasPrefix(to, "pipe:") {
		t.Errorf("the first process holds %s %v", to, err)
	}
}

// TestNothingOfTheOldRootIsLeft: one root, which is read-only, and nothing
// below it that can be written but what the plan says.
func TestNothingOfTheOldRootIsLeft(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := jailtest.NewBench(t, wall(t))
		b.Put(t, filepath.Join(b.Workspace, ".git/config"), "")
		plan := b.Plan(t, "agent", jail.Options{Net: none()})
		c := b.Shell(t, plan, jail.Limits{}, "cat /proc/self/mountinfo")
		writable := []string{"/tmp", "/run", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/shm", b.Workspace, b.Workspace + "/.git"}
		if os.Getuid() != 0 {
			writable = append(writable, "/proc")
		}
		roots, last := 0, map[string]string{}
		for line := range strings.Lines(c.Stdout.Text) {
			f := strings.Fields(line)
			at, options := f[4], strings.Split(f[5], ",")
			last[at] = f[5]
			if at == "/" {
				roots++
			}
			if !slices.Contains(options, "ro") && !slices.Contains(writable, at) {
				t.Errorf("%s can be written: %s", at, line)
			}
			if !slices.Contains(options, "nosuid") || !slices.Contains(options, "nodev") && !strings.HasPrefix(at, "/dev/") {
				t.Errorf("%s starts programs as their owners, or holds devices: %s", at, line)
			}
			if strings.Contains(line, " shared:") || strings.Contains(line, " master:") {
				t.Errorf("what is mounted outside would appear below %s: %s", at, line)
			}
		}
		if roots != 1 {
			t.Errorf("%d roots, want one:\n%s", roots, c.Stdout.Text)
		}
		for _, at := range writable {
			if options, ok := last[at]; !ok || !strings.HasPrefix(options, "rw") {
				t.Errorf("%s is mounted %q, want it writable", at, options)
			}
		}
	})
}

// TestAMountPointIsNeverMadeOnTheHost: a place inside that does not exist is
// made in the memory file systems of the boundary only, and the error names it.
func TestAMountPointIsNeverMadeOnTheHost(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := jailtest.NewBench(t, wall(t))
		b.Put(t, filepath.Join(b.State, "tool"), "ours")
		for _, to := range []string{filepath.Join(b.Workspace, "missing/tool"), filepath.Join(b.Home, "missing"), "/usr/missing/tool"} {
			plan := b.Plan(t, "agent", jail.Options{Net: none()})
			plan.Expose = []jail.Expose{{From: filepath.Join(b.State, "tool"), To: to}}
			_, err := b.Wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"true"}})
			if err == nil || !strings.Contains(err.Error(), filepath.Join(b.State, "tool")) {
				t.Errorf("shown at %s: %v", to, err)
			}
			if _, err := os.Lstat(filepath.Dir(to)); to != filepath.Join(b.Home, "missing") && !os.IsNotExist(err) {
				t.Errorf("%s was made: %v", filepath.Dir(to), err)
			}
		}
		plan := b.Plan(t, "agent", jail.Options{Net: none()})
		plan.Expose = []jail.Expose{{From: filepath.Join(b.State, "tool"), To: "/tmp/a/b/tool"}}
		if c := b.Shell(t, plan, jail.Limits{}, "cat /tmp/a/b/tool"); c.Stdout.Text != "ours" {
			t.Errorf("shown in a private directory: %q %s", c.Stdout.Text, c.Stderr.Text)
		}
	})
}

// TestAProgramThatCannotBeStartedIsToldAsSuch: that is no fault of the boundary.
func TestAProgramThatCannotBeStartedIsToldAsSuch(t *testing.T) {
	b := jailtest.NewBench(t, wall(t))
	plan := b.Plan(t, "agent", jail.Options{Net: none()})
	broken, script := filepath.Join(b.Workspace, "broken"), filepath.Join(b.Workspace, "script")
	for path, text := range map[string]string{broken: "#!/no/such/interpreter\n", script: "echo no first line\n"} {
		b.Put(t, path, text)
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{broken}})
	if err == nil || !os.IsNotExist(unwrapAll(err)) || strings.Contains(err.Error(), "boundary") {
		t.Errorf("without its interpreter: %v", err)
	}
	c, err := jail.Output(t.Context(), b.Wall, b.Permit(), digest, plan, []string{script}, jail.Limits{})
	if err != nil || c.Stdout.Text != "no first line\n" {
		t.Errorf("a script without a first line: %q %v", c.Stdout.Text, err)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

// TestManyAtOnceAllStart looks for a first process that waits for a thread
// which its copy does not have.
func TestManyAtOnceAllStart(t *testing.T) {
	b := jailtest.NewBench(t, wall(t))
	plan := b.Plan(t, "agent", jail.Options{Net: none()})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				p, err := b.Wall.Start(t.Context(), b.Permit(), digest, plan, jail.Cmd{Argv: []string{"true"}})
				if err != nil {
					t.Error(err)
					return
				}
				if exit, err := p.Wait(); err != nil || exit.Code != 0 {
					t.Errorf("end: %+v %v", exit, err)
				}
			}
		})
	}
	wg.Wait()
}

// keeper is the variable by which a copy of this test becomes the daemon that
// is killed.
const keeper = "REEVE_TEST_KEEPER"

// TestATreeEndsWithItsDaemon kills the process that started a tree, and sees
// the whole tree gone.
func TestATreeEndsWithItsDaemon(t *testing.T) {
	b := jailtest.NewBench(t, wall(t))
	if os.Getenv(keeper) != "" {
		p, err := b.Wall.Start(t.Context(), b.Permit(), digest, b.Plan(t, "agent", jail.Options{Net: none()}), jail.Cmd{Argv: []string{"sh", "-c", "setsid sleep 1000 & sleep 1000"}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("first", p.PID())
		p.Wait()
		return
	}
	testuser.Both(t, func(t *testing.T) {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestATreeEndsWithItsDaemon$")
		cmd.Env = append(os.Environ(), keeper+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		var pid int
		lines := bufio.NewScanner(out)
		for pid == 0 && lines.Scan() {
			fmt.Sscanf(lines.Text(), "first %d", &pid)
		}
		if pid == 0 {
			t.Fatal("the daemon started nothing")
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(end)/time.Millisecond))
			if n == 1 {
				return
			}
			if !errors.Is(err, unix.EINTR) {
				t.Fatalf("the tree lives on: %v", err)
			}
		}
	})
}
