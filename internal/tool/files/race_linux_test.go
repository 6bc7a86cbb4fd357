package files

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// swapEnv makes this test binary the swapping process: it names a directory
// and the path below it whose every name is swapped.
const swapEnv = "REEVE_TEST_SWAP"

func TestMain(m *testing.M) {
	if dir, path, ok := strings.Cut(os.Getenv(swapEnv), "|"); ok {
		swap(dir, strings.Split(path, "/"))
		return
	}
	os.Exit(m.Run())
}

// swap exchanges every name of a path below dir with the symbolic link that
// lies beside it as NAME.link, as fast as it can, until its standard input
// ends. It holds the real directories by descriptor, so that it never swaps
// anything that a link leads to.
func swap(dir string, path []string) {
	fds := make([]int, len(path))
	for i, name := range path {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		fds[i], dir = fd, filepath.Join(dir, name)
	}
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	os.Stdout.WriteString("ready\n")
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		// There and back, each state for a few microseconds, one name at a
		// time: a call then meets every name in either state at any step.
		fd, name := fds[i%len(fds)], path[i%len(fds)]
		for range 2 {
			unix.Renameat2(fd, name, fd, name+".link", unix.RENAME_EXCHANGE)
			for range i % 20 {
				unix.Getppid()
			}
		}
	}
}

const marker = "OUTSIDE-SECRET"

// raceWorld is a workspace whose directories have twins outside, of the same
// names, with a marker in every file.
func raceWorld(t *testing.T) *world {
	w := newWorld(t, map[string]string{"a/b/c/f": "inside\n", "a/b/c/d/g": "inside\n", "a/b/h": "inside\n", "plain": "inside\n", "a/b/c/.env": marker})
	for _, name := range []string{"a/b/c/f", "a/b/c/d/g", "a/b/h", "a/b/c/new", "a/b/c/moved"} {
		w.write(filepath.Join(w.out, name), marker+"\n")
	}
	w.link(w.out+"/a", "a.link")
	w.link("../../out/a/b", "a/b.link")
	w.link(w.out+"/a/b/c", "a/b/c.link")
	w.link(".env", "a/b/c/f.link")
	return w
}

func (w *world) startSwapping(below, path string) (stop func()) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), swapEnv+"="+filepath.Join(w.ws, below)+"|"+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		w.t.Fatalf("the swapping process says %q, %v", line, err)
	}
	return func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("the swapping process: %v", err)
		}
	}
}

// raceCalls are calls of every tool on the swapped path.
var raceCalls = [][]any{
	{"write_file", "path", "a/b/c/f", "content", "inside again\n"},
	{"read_file", "path", "a/b/c/f"},
	{"edit_file", "path", "a/b/c/f", "old", "i", "new", "I", "all", true},
	{"list_dir", "path", "a/b/c"},
	{"apply_patch", "patch", "--- a/plain\n+++ b/plain\n@@ -1 +1 @@\n-inside\n+inside\n--- /dev/null\n+++ b/a/b/c/new\n@@ -0,0 +1 @@\n+new\n"},
	{"grep", "pattern", "[A-Z]+-[A-Z]+|inside"},
	{"glob", "pattern", "**", "path", "a"},
	{"move_path", "from", "a/b/c/new", "to", "a/b/c/moved"},
	{"copy_path", "from", "a/b/c/d", "to", "a/b/copied"},
	{"create_dir", "path", "a/b/c/x/y"},
	{"copy_path", "from", "a/b/c/f", "to", "a/stolen"},
	{"grep", "pattern", "SECRET", "path", "a/b/c/f"},
	{"delete_path", "path", "a/b/c/moved"},
	{"read_file", "path", "a/stolen"},
	{"delete_path", "path", "a/stolen"},
	{"delete_path", "path", "a/b/copied"},
	{"delete_path", "path", "a/b/c/x"},
	{"delete_path", "path", "a/b/c/new"},
}

// TestNothingOutsideChangesOrIsReadWhileDirectoriesAreSwapped is amendment 41,
// contract M34 and Y50: 10,000 calls over all tools.
func TestNothingOutsideChangesOrIsReadWhileDirectoriesAreSwapped(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := raceWorld(t)
		before := outside(t, w.out)
		stop := w.startSwapping("", "a/b/c/f")
		good, bad := map[string]int{}, map[string]int{}
		begin := time.Now()
		calls := 10_000
		if testing.Short() || os.Getuid() != 0 && os.Getenv("REEVE_TEST_AS_USER") != "" {
			calls = 2_000 // the second run, as an ordinary user
		}
		for i := range calls {
			call := raceCalls[i%len(raceCalls)]
			name := call[0].(string)
			r := w.do(name, call[1:]...)
			if strings.Contains(r.Output, marker) {
				stop()
				t.Fatalf("call %d, %v, read what is outside: %q", i, call, r.Output)
			}
			if r.Status == reeve.StatusSuccess {
				good[name]++
			} else {
				bad[name]++
			}
		}
		stop()
		t.Logf("%d calls in %s; done %v; refused %v", calls, time.Since(begin).Round(time.Millisecond), good, bad)
		for name := range w.tools {
			if good[name] == 0 || bad[name] == 0 && name != "glob" && name != "grep" {
				t.Errorf("%s: %d done, %d refused: the race was not live for it", name, good[name], bad[name])
			}
		}
		if after := outside(t, w.out); after != before {
			t.Errorf("outside changed from\n%s\nto\n%s", before, after)
		}
		if text := w.read("a/b/c/.env"); text != marker {
			t.Errorf("the credential holds %q", text)
		}
	})
}

// outside lists every file outside with its content, mode and time.
func outside(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if !d.IsDir() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(content)
		}
		b.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + " " + text + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
