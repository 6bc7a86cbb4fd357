package localsock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair returns both ends of a connection through a real socket.
func pair(t *testing.T) (server, client *Conn) {
	t.Helper()
	path := filepath.Join(short(t), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan *Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			close(got)
			return
		}
		got <- c
	}()
	client, err = Dial(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	server = <-got
	if server == nil {
		t.Fatal("nothing was accepted")
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}

// short is a directory whose path leaves room for a socket's.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ls")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestFramesAndFilesArriveWhole(t *testing.T) {
	server, client := pair(t)
	big := bytes.Repeat([]byte("x"), 1<<20)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		client.Write([]byte("one"), w)
		w.Close()
		client.Write(nil)
		client.Write(big)
		client.Close()
	}()
	frame, files, err := server.Read()
	if err != nil || string(frame) != "one" || len(files) != 1 {
		t.Fatalf("first: %q, %d files, %v", frame, len(files), err)
	}
	if _, err := files[0].WriteString("through"); err != nil {
		t.Fatal(err)
	}
	files[0].Close()
	if b, _ := io.ReadAll(r); string(b) != "through" {
		t.Errorf("the file carried %q", b)
	}
	if frame, files, err = server.Read(); err != nil || len(frame) != 0 || len(files) != 0 {
		t.Errorf("empty frame: %q, %d files, %v", frame, len(files), err)
	}
	if frame, _, err = server.Read(); err != nil || !bytes.Equal(frame, big) {
		t.Errorf("large frame: %d bytes, %v", len(frame), err)
	}
	if _, _, err = server.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, want io.EOF", err)
	}
}

func TestOversizeIsRefusedAtBothEnds(t *testing.T) {
	server, client := pair(t)
	if err := client.Write(make([]byte, MaxFrame+1)); err == nil {
		t.Error("a frame above the bound was sent")
	}
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], MaxFrame+1)
	if _, err := client.u.Write(head[:]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.Read(); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("announced above the bound: %v", err)
	}
}

func TestThePeerIsTheProcessAtTheOtherEnd(t *testing.T) {
	server, client := pair(t)
	want := Peer{UID: os.Getuid(), PID: os.Getpid()}
	if server.Peer != want || client.Peer != want {
		t.Errorf("peers %+v and %+v, want %+v", server.Peer, client.Peer, want)
	}
}

func TestTheSocketIsClosedToOthers(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(short(t), "state")
	l, err := Listen(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]os.FileMode{dir: 0o700, l.Path(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
	open := filepath.Join(short(t), "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(filepath.Join(open, "s")); err == nil {
		l.Close()
		t.Error("a socket was bound in a directory that everybody can write")
	}
}

func TestALongStatePathMovesTheSocket(t *testing.T) {
	run := short(t)
	getenv := func(string) string { return run }
	p, err := Path("/home/p/.local/state/reeve", "sock", getenv)
	if err != nil || p != "/home/p/.local/state/reeve/sock" {
		t.Errorf("short: %s, %v", p, err)
	}
	long := "/" + strings.Repeat("d", 120)
	a, err := Path(long+"1", "sock", getenv)
	if err != nil || !strings.HasPrefix(a, run) || len(a) > maxPath {
		t.Errorf("long: %s, %v", a, err)
	}
	if b, _ := Path(long+"2", "sock", getenv); a == b {
		t.Error("two state directories share a socket")
	}
}

func TestADaemonNeverStartsADaemon(t *testing.T) {
	state := filepath.Join(short(t), "state")
	getenv := func(name string) string { return map[string]string{Starting: "1"}[name] }
	if err := Spawn(state, []string{"__daemon"}, nil, getenv, time.Second); err == nil || !strings.Contains(err.Error(), "starts no other") {
		t.Errorf("started from a daemon: %v", err)
	}
	for _, kv := range daemonEnv(func(string) string { return "" }, nil) {
		if kv == Starting+"=1" {
			return
		}
	}
	t.Error("a daemon is not told that it is one")
}

func TestDescentIsFollowedAndDoubtCounts(t *testing.T) {
	self, parent, _, err := Look(os.Getpid())
	if err != nil || parent != os.Getppid() {
		t.Fatalf("look at myself: parent %d, want %d (%v)", parent, os.Getppid(), err)
	}
	none := func(Process) bool { return false }
	if Descends(os.Getpid(), none) {
		t.Error("descends from nothing, yet reported")
	}
	cmd := exec.Command("sh", "-c", "read x") // no exec: the shell stays in between
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); cmd.Wait() }()
	if !Descends(cmd.Process.Pid, func(p Process) bool { return p == self }) {
		t.Error("a child is not seen as descending")
	}
	if Descends(os.Getpid(), func(p Process) bool { return p.PID == cmd.Process.Pid }) {
		t.Error("a parent is seen as descending from its child")
	}
	for _, pid := range []int{1<<22 + 7, 0, -1} {
		if !Descends(pid, none) {
			t.Errorf("process %d, which cannot be looked at, counts as a person's", pid)
		}
	}
	reused := Process{self.PID, self.Start + 1}
	if Descends(os.Getpid(), func(p Process) bool { return p == reused }) {
		t.Error("another process of the same number is taken for the old one")
	}
}

// FuzzRead: whatever bytes arrive, a frame that is returned is exactly what
// its length announced, and nothing above the bound is read.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'x'})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'x'})
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Skipf("no socket pair: %v", err)
		}
		ends := [2]*net.UnixConn{}
		for i, fd := range fds {
			file := os.NewFile(uintptr(fd), "end")
			c, err := net.FileConn(file)
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = c.(*net.UnixConn)
			defer c.Close()
		}
		go func() { ends[1].Write(b); ends[1].Close() }()
		frame, files, err := (&Conn{u: ends[0]}).Read()
		if err != nil {
			if frame != nil || files != nil {
				t.Fatalf("an error came with %q and %d files", frame, len(files))
			}
			return
		}
		if n := binary.BigEndian.Uint32(b); int(n) != len(frame) || n > MaxFrame || !bytes.Equal(frame, b[4:4+n]) {
			t.Fatalf("announced %d, got %d bytes", n, len(frame))
		}
	})
}

func TestTheDaemonIsGivenWhatTheSettingsNameAndNothingElse(t *testing.T) {
	vars := map[string]string{"HOME": "/h", "TOKEN": "s", "OTHER": "o", "LD_PRELOAD": "/x.so", "PATH": "/evil"}
	env := daemonEnv(func(name string) string { return vars[name] }, []string{"TOKEN", "UNSET", "LD_PRELOAD", "PATH"})
	want := []string{Starting + "=1", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/h", "TOKEN=s"}
	if !slices.Equal(env, want) {
		t.Errorf("%q, want %q", env, want)
	}
}
