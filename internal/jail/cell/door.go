//go:build linux

package cell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// Patience is how long the first process may take from its start to the
// listener, and from there to the program.
const Patience = 10 * time.Second

// Door is the pair of sockets over which the first process reports. The other
// end is handed to it and to nobody else; it is closed before the program runs.
type Door struct {
	ours   *os.File
	Theirs *os.File // to be inherited, and closed here once it was
}

// NewDoor makes the pair.
func NewDoor() (*Door, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // ours alone: it is read with a deadline
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	return &Door{os.NewFile(uintptr(fds[0]), "door"), os.NewFile(uintptr(fds[1]), "door")}, nil
}

// Close closes both ends.
func (d *Door) Close() {
	d.ours.Close()
	d.Theirs.Close()
}

// Await listens to the first process until the program runs. Once the boundary
// stands, and nothing runs in it yet, standing is called with the inode of the
// process namespace; then listener, which owns it from there, with the listening
// socket where one was ordered. The program begins after both returned nil. Any
// error means that it did not start and will not.
func (d *Door) Await(ctx context.Context, o *orders.Orders, standing func(ns uint64) error, listener func(*os.File) error) error {
	stop := context.AfterFunc(ctx, func() { d.ours.SetReadDeadline(time.Now()) })
	defer stop()
	expected := orders.Standing
	for {
		if ctx.Err() == nil {
			d.ours.SetReadDeadline(time.Now().Add(Patience))
		}
		r, passed, err := d.receive()
		switch {
		case errors.Is(err, io.EOF) && expected == orders.Fault:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the first process inside ended before it was done")
		case ctx.Err() != nil:
			closeFile(passed)
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("the first process inside was not done after %s", Patience)
		case err != nil:
			return fmt.Errorf("hear of the first process inside: %w", err)
		case r.Kind == orders.Fault && passed == nil:
			return explain(r, o)
		case r.Kind != expected, (passed != nil) != (r.Kind == orders.Standing && o.Listen != 0):
			closeFile(passed)
			return errors.New("the first process inside said something out of turn")
		case r.Kind == orders.Starting:
			expected = orders.Fault // or the end
			continue
		}
		expected = orders.Starting
		if err := standing(r.Number); err != nil {
			closeFile(passed)
			return err
		}
		if passed != nil {
			if err := listener(passed); err != nil {
				return fmt.Errorf("take the listener of the sandbox: %w", err)
			}
		}
		if _, err := d.ours.Write([]byte{orders.Go}); err != nil {
			return fmt.Errorf("answer the first process inside: %w", err)
		}
	}
}

func closeFile(f *os.File) {
	if f != nil {
		f.Close()
	}
}

// receive reads one message and the descriptor that came with it.
func (d *Door) receive() (r orders.Report, passed *os.File, err error) {
	conn, err := d.ours.SyscallConn()
	if err != nil {
		return r, nil, err
	}
	buf, control := make([]byte, orders.ReportSize+1), make([]byte, unix.CmsgSpace(4))
	var n, controlled int
	var got error
	err = conn.Read(func(fd uintptr) bool {
		n, controlled, _, _, got = unix.Recvmsg(int(fd), buf, control, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(got, unix.EAGAIN)
	})
	if err = errors.Join(err, got); err != nil {
		return r, nil, err
	}
	passed = descriptor(control[:controlled])
	if n == 0 {
		closeFile(passed)
		return r, nil, io.EOF
	}
	r, ok := orders.DecodeReport(buf[:n])
	if !ok {
		closeFile(passed)
		return r, nil, fmt.Errorf("a message of %d bytes", n)
	}
	return r, passed, nil
}

// descriptor takes the one descriptor out of a message.
func descriptor(control []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil
	}
	unix.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), "listener")
}

// StartError says that the boundary stood, and the program could not be
// started in it.
type StartError struct {
	Program string
	Cause   error
}

func (e *StartError) Error() string { return "start " + e.Program + ": " + e.Cause.Error() }

func (e *StartError) Unwrap() error { return e.Cause }

// Refused is what a wall answers for an error of its start: where the boundary
// itself stood, that is no fault of the boundary.
func Refused(err error) error {
	var program *StartError
	if errors.As(err, &program) {
		return fmt.Errorf("start in sandbox: %w", err)
	}
	return fmt.Errorf("start in sandbox: %w: %w", reeve.ErrBoundary, err)
}

// explain says which step failed, with the place where it was a mount.
func explain(r orders.Report, o *orders.Orders) error {
	cause := error(syscall.Errno(r.Errno))
	if r.Op == orders.Compare {
		cause = errors.New("it changed while the sandbox was made")
	}
	where := ""
	if r.Op != orders.None && r.Op != orders.Compare {
		where = " (" + r.Op.String() + ")"
	}
	what := "cannot " + r.Step.String()
	switch {
	case r.Step == orders.MountStep && r.Number < uint64(len(o.Mounts)):
		what = o.Mounts[r.Number].String()
	case r.Step == orders.EnterDir:
		what += " " + o.Dir
	case r.Step == orders.Start && len(o.Argv) > 0:
		return &StartError{o.Argv[0], cause}
	}
	return fmt.Errorf("%s%s: %w", what, where, cause)
}
