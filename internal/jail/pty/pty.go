// Package pty gives a contained program a terminal of its own and joins it to
// the person's.
//
// [Open] makes a pair: the terminal goes to the program as [jail.Cmd].TTY,
// the master stays with whoever keeps the session. [Relay] copies between a
// master and a person's terminal until the program's side is closed. The two
// are apart so that the master can live in another process than the person's
// terminal and outlive it. Raw mode and size signals are the caller's: it
// knows the person's terminal.
//
// The person's terminal is never handed to the program, which could push
// input into it (TIOCSTI).
package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Pair is a terminal and its master.
type Pair struct {
	Master *os.File // what a person types is written here, what the program shows is read here
	TTY    *os.File // for the program; closed by the starter once the program has it
}

// Size is a terminal's size in characters.
type Size struct{ Rows, Cols uint16 }

// Open makes a pair of the given size; a zero size is 24 by 80.
func Open(size Size) (Pair, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return Pair{}, fmt.Errorf("make a terminal: %w", err)
	}
	if master, err = waiting(master); err != nil {
		tty.Close()
		return Pair{}, fmt.Errorf("make a terminal: %w", err)
	}
	p := Pair{Master: master, TTY: tty}
	if size.Rows == 0 || size.Cols == 0 {
		size = Size{24, 80}
	}
	if err := Resize(master, size); err != nil {
		p.Close()
		return Pair{}, err
	}
	return p, nil
}

// Close closes both ends that are still open.
func (p Pair) Close() {
	p.Master.Close()
	p.TTY.Close()
}

// waiting makes a file one that Go waits for without a thread, and whose reads
// have deadlines and end when it is closed: to ask for its number, as is done
// while a pair is made, takes that away.
func waiting(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// on does what with the file's number and leaves the file as it is.
func on(f *os.File, what func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = what(int(fd)) }); err != nil {
		return err
	}
	return done
}

// Resize tells the program behind a master that its terminal has a new size.
func Resize(master *os.File, size Size) error {
	err := on(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	if err != nil {
		return fmt.Errorf("set terminal size: %w", err)
	}
	return nil
}

// SizeOf reads the size of a terminal.
func SizeOf(tty *os.File) (size Size, err error) {
	err = on(tty, func(fd int) error {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil {
			size = Size{ws.Row, ws.Col}
		}
		return err
	})
	if err != nil {
		return Size{}, fmt.Errorf("read terminal size: %w", err)
	}
	return size, nil
}

// Relay copies what the program shows to out until the program's side is
// closed, and what in gives to the program for as long as that takes. It
// returns after everything shown was written to out. A read of in may still
// be waiting then; whoever owns in ends it by closing or by a deadline.
func Relay(master *os.File, in io.Reader, out io.Writer) error {
	go func() {
		if _, err := io.Copy(master, in); err == nil {
			master.Write([]byte{4}) // end of input: what ^D says on a terminal
		}
	}()
	_, err := io.Copy(out, master)
	if closedByProgram(err) {
		return nil
	}
	return fmt.Errorf("relay terminal: %w", err)
}

// closedByProgram: Linux answers EIO on a master whose terminal nobody holds.
func closedByProgram(err error) bool {
	return err == nil || errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed)
}
