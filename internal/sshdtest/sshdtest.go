//go:build linux

// Package sshdtest is another machine for tests: a real sshd on a free port of
// loopback, with keys of the test, that lets the test's own account in and
// gives it a home directory of the test's. It runs as root and as an ordinary
// user.
package sshdtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Machine is the other machine: this one, behind a real sshd on loopback that
// lets this account in with a key of the test, and gives it a home directory
// of the test's.
type Machine struct {
	Base      string   // of all that follows
	Home      string   // the account's home directory there, with a few credentials
	Workspace string   // below it, with a name that a shell would act on
	Options   []string // of ssh, to get there
	PID       int      // of sshd
}

// New starts one; it ends with the test.
func New(t testing.TB) *Machine {
	t.Helper()
	const server = "/usr/sbin/sshd"
	if _, err := os.Stat(server); err != nil {
		t.Skip("openssh-server is not installed")
	}
	base, err := os.MkdirTemp("/var/tmp", "reeve-ssh-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	m := &Machine{Base: base, Home: filepath.Join(base, "home"), Workspace: filepath.Join(base, "home/work/it's a $(touch x) dir")}
	for _, dir := range []string{m.Workspace, filepath.Join(m.Home, ".ssh"), filepath.Join(m.Home, ".claude/hooks")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"home/.ssh/id": "secret", "home/.netrc": "secret", "home/.claude/settings.json": "{}", "home/.claude.json": `{"a":1}`} {
		m.Put(t, filepath.Join(base, name), text)
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(base, key)).CombinedOutput(); err != nil {
			t.Fatalf("make a key: %v %s", err, out)
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	public, err := os.ReadFile(filepath.Join(base, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	m.Put(t, filepath.Join(base, "known"), fmt.Sprintf("[127.0.0.1]:%d %s", port, public))
	m.Put(t, filepath.Join(base, "config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\nPidFile none\nPrintMotd no\nPermitRootLogin yes\nPasswordAuthentication no\nLogLevel ERROR\nSetEnv HOME=%s\n",
		port, base, base, m.Home))
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sshd := exec.Command(server, "-D", "-e", "-f", filepath.Join(base, "config"))
	sshd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	m.PID = sshd.Process.Pid
	t.Cleanup(func() { sshd.Process.Kill(); sshd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; {
		c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("sshd does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
	m.Options = []string{"Port=" + strconv.Itoa(port), "IdentityFile=" + base + "/user", "IdentitiesOnly=yes", "UserKnownHostsFile=" + base + "/known", "GlobalKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes"}
	return m
}

// Put writes a file, with its directories.
func (m *Machine) Put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
