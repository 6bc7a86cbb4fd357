package api

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// serving serves a socket of a session, or the control socket, and gives its
// path.
func serving(t *testing.T, session string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // short: a socket's path has a bound
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "sock")
	l, err := localsock.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Build: "test"}
	var served sync.WaitGroup
	served.Go(func() { s.Serve(t.Context(), l, session) })
	t.Cleanup(func() { l.Close(); served.Wait(); s.Wait() })
	return path
}

func dial(t *testing.T, path string) *localsock.Conn {
	t.Helper()
	c, err := localsock.Dial(path, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// answered asks in a protocol that nobody speaks, to which there is an answer.
func answered(c *localsock.Conn) error {
	b, err := wire.Encode(wire.Request{Hello: wire.Hello{Proto: -1}})
	if err != nil {
		return err
	}
	if err := c.Write(b); err != nil {
		return err
	}
	_, _, err = c.Read()
	return err
}

// TestASessionsSocketServesOnlySoManyAtOnce: what runs inside a boundary cannot
// use up what the daemon serves everybody with.
func TestASessionsSocketServesOnlySoManyAtOnce(t *testing.T) {
	path := serving(t, "a-session")
	var held []*localsock.Conn
	for range maxInside {
		held = append(held, dial(t, path))
	}
	more := dial(t, path)
	if err := answered(more); err == nil {
		t.Error("one more than may be is served")
	}
	if err := answered(held[0]); err != nil {
		t.Errorf("one of those before is not served: %v", err)
	}
	held[0].Close()
	for begin := time.Now(); ; { // its place is free when the server has seen the end
		if err := answered(dial(t, path)); err == nil {
			break
		} else if time.Since(begin) > 10*time.Second {
			t.Fatalf("the place of one that has ended is not free: %v", err)
		}
	}
}

// descriptors is how many the process has open, of the first thousand.
func descriptors() int {
	n := 0
	for fd := range 1000 {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil {
			n++
		}
	}
	return n
}

// TestServingGoesOnWhenDescriptorsWereUsedUp: the control socket outlives a
// moment without a descriptor. It runs in a process of its own, where no other test
// opens or closes any.
func TestServingGoesOnWhenDescriptorsWereUsedUp(t *testing.T) {
	if os.Getenv("REEVE_TEST_ALONE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "REEVE_TEST_ALONE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	path := serving(t, "")
	before := descriptors()
	c := dial(t, path)
	if err := answered(c); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for begin := time.Now(); descriptors() > before; { // the server closes its end after the answer
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the server keeps a descriptor of a connection that has ended")
		}
		runtime.Gosched()
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = 200
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)
	var taken []int
	give := func() {
		for _, fd := range taken {
			syscall.Close(fd)
		}
		taken = nil
	}
	defer give()
	for {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, fd)
	}
	last := len(taken) - 1
	syscall.Close(taken[last]) // for the client; the server finds none
	taken = taken[:last]
	c = dial(t, path)
	b, err := wire.Encode(wire.Request{Hello: wire.Hello{Proto: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, _, err := c.Read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the server had a descriptor, or gave up: %v", err)
	}
	give()
	if err := answered(dial(t, path)); err != nil {
		t.Errorf("nobody is served any more: %v", err)
	}
}
