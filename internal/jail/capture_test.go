package jail

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve/internal/permit"
)

// scripted is a process that is a function.
type scripted struct {
	done    chan struct{}
	stopped chan struct{}
	exit    Exit
}

func (s *scripted) Wait() (Exit, error)    { <-s.done; return s.exit, nil }
func (s *scripted) Stop(time.Duration)     { close(s.stopped); <-s.done }
func (s *scripted) Signal(os.Signal) error { return nil }
func (s *scripted) PID() int               { return 0 }
func (s *scripted) Contains(int) bool      { return false }

func TestCaptureKeepsTheTailAndCountsTheRest(t *testing.T) {
	const kept = 40 * 1024 // contract Y76
	c, err := Capture(t.Context(), func(out, errs *os.File) (Process, error) {
		p := &scripted{done: make(chan struct{}), stopped: make(chan struct{}), exit: Exit{Code: 3}}
		o, _ := os.OpenFile("/proc/self/fd/"+fd(out), os.O_WRONLY, 0)
		go func() {
			o.WriteString(strings.Repeat("a", 5*kept) + "end")
			o.Close()
			close(p.done)
		}()
		return p, nil
	})
	if err != nil || c.Exit.Code != 3 || c.Stdout.Total != 5*kept+3 || len(c.Stdout.Text) != kept || !strings.HasSuffix(c.Stdout.Text, "aend") || !c.Stdout.Truncated() || c.Stderr.Truncated() {
		t.Errorf("%d of %d bytes, %+v, %v", len(c.Stdout.Text), c.Stdout.Total, c.Exit, err)
	}
}

func TestCaptureStopsTheTreeWhenItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	c, err := Capture(ctx, func(out, _ *os.File) (Process, error) {
		p := &scripted{done: make(chan struct{}), stopped: make(chan struct{}), exit: Exit{Code: 143}}
		held, _ := os.OpenFile("/proc/self/fd/"+fd(out), os.O_WRONLY, 0) // a descendant that keeps the pipe open
		t.Cleanup(func() { held.Close() })
		go func() { <-p.stopped; close(p.done) }()
		return p, nil
	})
	if err != nil || !c.TimedOut || c.Exit.Code != 143 {
		t.Errorf("%+v %v", c, err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("an open pipe was waited for: %s", took)
	}
}

// deadline is a wall that tells how long a command was given.
type deadline struct {
	Wall
	given time.Duration
	plan  Plan
}

func (d *deadline) Start(ctx context.Context, _ permit.Permit, _ [32]byte, plan Plan, _ Cmd) (Process, error) {
	at, _ := ctx.Deadline()
	d.given, d.plan = time.Until(at), plan
	return nil, errors.New("nothing starts here")
}

// TestAUtilityCommandHasFiveMinutesAtMost is contract Y76.
func TestAUtilityCommandHasFiveMinutesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for asked, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, -1: 5 * time.Minute, time.Hour: 5 * time.Minute, 5*time.Minute + 1: 5 * time.Minute, time.Second: time.Second} {
			var wall deadline
			if _, err := Output(t.Context(), &wall, permit.Permit{}, [32]byte{}, Plan{}, []string{"true"}, Limits{Wall: asked}); err == nil {
				t.Fatal("a command that did not start gave no error")
			}
			if wall.given != want || wall.plan.Limits.Wall != want {
				t.Errorf("asked for %s, a command was given %s and %s, want %s", asked, wall.given, wall.plan.Limits.Wall, want)
			}
		}
	})
}

func TestCaptureOfWhatDoesNotStartIsItsError(t *testing.T) {
	want := errors.New("no")
	if _, err := Capture(t.Context(), func(_, _ *os.File) (Process, error) { return nil, want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

func fd(f *os.File) string {
	n := f.Fd()
	if n >= 100 {
		panic("many files")
	}
	return strings.TrimPrefix(string([]byte{byte('0' + n/10), byte('0' + n%10)}), "0")
}
