package jail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/permit"
)

// Bounds of a utility command (Y76).
const (
	MaxUtility  = 5 * time.Minute
	MaxOutput   = 40 << 10 // bytes kept of each stream
	StopGrace   = 2 * time.Second
	drainWindow = 500 * time.Millisecond
)

// Captured is what a bounded command left behind.
type Captured struct {
	Stdout, Stderr Tail
	Exit           Exit
	TimedOut       bool // the wall time ran out and the tree was stopped
	Duration       time.Duration
}

// Tail is the end of a stream, and how much came in all.
type Tail struct {
	Text  string
	Total int64 // bytes written by the program
}

// Truncated reports whether the beginning is missing.
func (t Tail) Truncated() bool { return t.Total > int64(len(t.Text)) }

// Output runs argv inside plan to its end and keeps the last [MaxOutput]
// bytes of each stream (Y76, A14: where the wall refuses, nothing runs). Stdin
// is empty. The wall time is limits.Wall, at most [MaxUtility]; at its end, or
// when ctx ends, the whole tree is stopped. The error says why nothing ran, or
// why the end is not known; a program that fails is no error.
func Output(ctx context.Context, wall Wall, p permit.Permit, digest [32]byte, plan Plan, argv []string, limits Limits) (Captured, error) {
	if limits.Wall <= 0 || limits.Wall > MaxUtility {
		limits.Wall = MaxUtility
	}
	plan.Limits = limits
	ctx, cancel := context.WithTimeout(ctx, limits.Wall)
	defer cancel()
	return Capture(ctx, func(out, errs *os.File) (Process, error) {
		return wall.Start(ctx, p, digest, plan, Cmd{Argv: argv, Stdout: out, Stderr: errs})
	})
}

// Capture starts a process with two pipes and keeps the tail of each. start
// must hand the files to the process and not keep them.
func Capture(ctx context.Context, start func(stdout, stderr *os.File) (Process, error)) (Captured, error) {
	var c Captured
	out, err := newTailReader()
	if err != nil {
		return c, err
	}
	errs, err := newTailReader()
	if err != nil {
		out.abandon()
		return c, err
	}
	begin := time.Now()
	proc, err := start(out.w, errs.w)
	out.w.Close()
	errs.w.Close()
	if err != nil {
		out.abandon()
		errs.abandon()
		return c, err
	}
	ended := make(chan struct{})
	stopped := make(chan bool, 1)
	go func() {
		select {
		case <-ended:
			stopped <- false
		case <-ctx.Done():
			proc.Stop(StopGrace)
			stopped <- true
		}
	}()
	exit, waitErr := proc.Wait()
	close(ended)
	cut := <-stopped
	c.Exit, c.Duration = exit, time.Since(begin)
	// The wall counts the same time and may have stopped the tree before we did.
	c.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded) && (cut || exit.Code > 128)
	c.Stdout, c.Stderr = out.finish(), errs.finish()
	if waitErr != nil {
		return c, waitErr
	}
	if cut && !c.TimedOut {
		return c, fmt.Errorf("command stopped: %w", context.Cause(ctx))
	}
	return c, nil
}

// tailReader drains a pipe and keeps its end, so that a program which writes
// without limit neither blocks nor fills memory.
type tailReader struct {
	r, w *os.File
	done chan struct{}

	mu    sync.Mutex // guards buf and total
	buf   []byte
	total int64
}

func newTailReader() (*tailReader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe for a command's output: %w", err)
	}
	t := &tailReader{r: r, w: w, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		io.Copy(t, r)
	}()
	return t, nil
}

// Write keeps at most twice the bound before it drops the beginning.
func (t *tailReader) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*MaxOutput {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-MaxOutput:]...)
	}
	return len(p), nil
}

// finish waits a moment for what is still in the pipe. Outside a wall a
// process that left the group may hold it open for ever; it is not waited for.
func (t *tailReader) finish() Tail {
	t.r.SetReadDeadline(time.Now().Add(drainWindow))
	<-t.done
	t.r.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.buf) > MaxOutput {
		t.buf = t.buf[len(t.buf)-MaxOutput:]
	}
	return Tail{Text: string(t.buf), Total: t.total}
}

func (t *tailReader) abandon() {
	t.w.Close()
	<-t.done
	t.r.Close()
}
