// Package testuser runs tests a second time as an ordinary user.
//
// Root passes permission checks that everybody else meets, and owns what a
// boundary must not let it write, so a test of walls or permissions says
// little until it has passed as both. [Both] runs a test here and, where that
// is root, again as the account [Name], which is made if it is missing. The
// account nobody is not used: its number is also the one under which the
// kernel shows owners it cannot map, so that ownership checks pass by
// accident.
//
// The test binary is copied to a directory that everyone can enter, together
// with the package's testdata, since a checkout may lie below a closed one.
// Only tests import this package.
package testuser

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Name is the ordinary account.
const Name = "reeve-test"

// again marks the second run, so that it does not start a third.
const again = "REEVE_TEST_AS_USER"

// User is the account and a home directory of its own for one test.
type User struct {
	UID, GID int
	Home     string // 0700, owned by the user, removed with the test
	Dir      string // 0755, for what the user must be able to read
}

// Both runs f here, and where that is root, the whole test again as the
// ordinary user. It must be called from a top-level test.
func Both(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	me := "root"
	if os.Getuid() != 0 {
		me = "an ordinary user"
	}
	t.Run("as "+me, f)
	if os.Getuid() == 0 && os.Getenv(again) == "" {
		t.Run("as an ordinary user", func(t *testing.T) { Rerun(t, "^"+strings.Split(t.Name(), "/")[0]+"$") })
	}
}

// Rerun runs the tests of this binary that match pattern as the ordinary
// user and fails with them. A skip there is shown, with its reason.
func Rerun(t *testing.T, pattern string) {
	t.Helper()
	u := Get(t)
	bin := filepath.Join(u.Dir, "test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, bin, 0o755)
	if _, err := os.Stat("testdata"); err == nil {
		if err := os.CopyFS(filepath.Join(u.Dir, "testdata"), os.DirFS("testdata")); err != nil {
			t.Fatal(err)
		}
	}
	deadline, ok := t.Deadline()
	if !ok {
		deadline = time.Now().Add(10 * time.Minute)
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	args := []string{"-test.run=" + pattern, "-test.v=true", "-test.count=1"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := u.Command(ctx, bin, args...)
	cmd.Dir = u.Dir
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("as %s: %v\n%s", Name, err, text)
	}
	if !strings.Contains(text, "--- PASS") && !strings.Contains(text, "--- SKIP") {
		t.Fatalf("as %s: no test ran for %s\n%s", Name, pattern, text)
	}
	if strings.Contains(text, "--- SKIP") {
		t.Logf("as %s:\n%s", Name, text)
	}
}

// Command prepares a program to run as the user, in its home, with a plain
// environment.
func (u User) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = u.Home
	cmd.Env = []string{
		"HOME=" + u.Home, "USER=" + Name, "LOGNAME=" + Name, "SHELL=/bin/sh", "LANG=C.UTF-8", again + "=1",
		"TMPDIR=" + filepath.Join(u.Home, "tmp"), "PATH=" + os.Getenv("PATH"),
	}
	for _, pass := range []string{"GOFLAGS", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB", "GOTOOLCHAIN", "REEVE_TEST_BINARY"} {
		if v, ok := os.LookupEnv(pass); ok {
			cmd.Env = append(cmd.Env, pass+"="+v)
		}
	}
	if u.UID != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}}
	}
	return cmd
}

// Get makes the account where it is missing and gives it a home for this
// test. It skips where we are not root and so cannot become another user.
func Get(t testing.TB) User {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	uid, gid, err := account()
	if err != nil {
		t.Skipf("no ordinary account: %v", err)
	}
	dir, err := os.MkdirTemp("/tmp", "reeve-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	u := User{UID: uid, GID: gid, Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "files")}
	for path, mode := range map[string]os.FileMode{dir: 0o755, u.Dir: 0o755, u.Home: 0o700, filepath.Join(u.Home, "tmp"): 0o700} {
		if err := os.MkdirAll(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{u.Home, filepath.Join(u.Home, "tmp")} {
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// account finds or makes the user. Two test binaries may try at once: the
// loser finds what the winner made.
func account() (uid, gid int, err error) {
	for range 2 {
		u, err := user.Lookup(Name)
		if err == nil {
			uid, _ = strconv.Atoi(u.Uid)
			gid, _ = strconv.Atoi(u.Gid)
			if uid < 1000 {
				return 0, 0, fmt.Errorf("%s has the number %d; an ordinary user has at least 1000", Name, uid)
			}
			return uid, gid, nil
		}
		out, err := exec.Command("/usr/sbin/useradd", "--create-home", "--user-group", "--shell", "/bin/bash", Name).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "exists") {
			return 0, 0, fmt.Errorf("useradd %s: %w: %s", Name, err, strings.TrimSpace(string(out)))
		}
	}
	return 0, 0, fmt.Errorf("account %s did not appear", Name)
}

func copyFile(t testing.TB, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
