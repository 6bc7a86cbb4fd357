//go:build linux

package cell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/orders"
)

// say plays the first process: each report, with a descriptor where one is
// given, and the end.
type say struct {
	report orders.Report
	pass   bool
}

func TestADoorHearsTheFirstProcessInTurnOnly(t *testing.T) {
	standing := say{report: orders.Report{Kind: orders.Standing, Number: 77}}
	listening := say{standing.report, true}
	starting := say{report: orders.Report{Kind: orders.Starting}}
	mount := say{report: orders.Report{Kind: orders.Fault, Step: orders.MountStep, Op: orders.Attach, Number: 1, Errno: uint32(unix.EBUSY)}}
	lost := say{report: orders.Report{Kind: orders.Fault, Step: orders.Start, Errno: uint32(unix.ENOENT)}}
	for name, c := range map[string]struct {
		says   []say
		listen uint16
		want   string // in the error; empty = none
	}{
		"starts":                       {[]say{standing, starting}, 0, ""},
		"listens and starts":           {[]say{listening, starting}, 3128, ""},
		"ends":                         {nil, 0, "ended before"},
		"ends when it stands":          {[]say{standing}, 0, "ended before"},
		"ends after the listener":      {[]say{listening}, 3128, "ended before"},
		"a mount fails":                {[]say{mount}, 0, "cannot hide /home/p/.ssh (move_mount): device or resource busy"},
		"the program is not there":     {[]say{standing, starting, lost}, 0, "start tool: no such file"},
		"a listener nobody asked for":  {[]say{listening, starting}, 0, "out of turn"},
		"a second listener":            {[]say{listening, listening}, 3128, "out of turn"},
		"it stands twice":              {[]say{standing, standing}, 0, "out of turn"},
		"starts before it stands":      {[]say{starting}, 0, "out of turn"},
		"starts twice":                 {[]say{standing, starting, starting}, 0, "out of turn"},
		"stands without its listener":  {[]say{standing, starting}, 3128, "out of turn"},
		"a socket when it starts":      {[]say{standing, {starting.report, true}}, 0, "out of turn"},
		"something that is not a word": {[]say{{report: orders.Report{Kind: 'Z'}}}, 0, "out of turn"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := NewDoor()
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			gone := make(chan struct{})
			defer func() { <-gone }()
			defer d.ours.Close()
			go func() {
				defer close(gone)
				for _, s := range c.says {
					s.send(t, d)
				}
				d.Theirs.Close()
			}()
			o := &orders.Orders{Listen: c.listen, Argv: []string{"tool"}, Mounts: []orders.Mount{{}, {What: orders.Hide, At: "/home/p/.ssh"}}}
			var ns uint64
			err = d.Await(t.Context(), o, func(n uint64) error { ns = n; return nil }, func(f *os.File) error { return f.Close() })
			switch {
			case c.want == "" && (err != nil || ns != 77):
				t.Errorf("namespace %d, %v", ns, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
			if refused := Refused(err); err != nil && errors.Is(refused, reeve.ErrBoundary) == errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v: whose fault is it?", refused)
			}
		})
	}
}

// send says one thing and, where one is due, waits for the answer.
func (s say) send(t *testing.T, d *Door) (answered bool) {
	var b [orders.ReportSize]byte
	s.report.Encode(&b)
	var rights []byte
	if s.pass {
		r, w, err := os.Pipe()
		if err != nil {
			t.Error(err)
			return false
		}
		defer r.Close()
		defer w.Close()
		rights = unix.UnixRights(int(w.Fd()))
	}
	if err := unix.Sendmsg(int(d.Theirs.Fd()), b[:], rights, nil, 0); err != nil && !errors.Is(err, unix.EPIPE) {
		t.Error(err) // no longer heard after what was out of turn
	}
	if s.report.Kind != orders.Standing {
		return false
	}
	n, _ := d.Theirs.Read(b[:1]) // or the end, where it was out of turn
	return n == 1 && b[0] == orders.Go
}

func TestWhatIsWrongOutsideLetsNothingBegin(t *testing.T) {
	busy := errors.New("nobody has time")
	for name, c := range map[string]struct{ standing, listener error }{"limits": {busy, nil}, "listener": {nil, busy}} {
		t.Run(name, func(t *testing.T) {
			d, err := NewDoor()
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			answered := make(chan bool, 1)
			go func() { answered <- say{orders.Report{Kind: orders.Standing}, true}.send(t, d) }()
			err = d.Await(t.Context(), &orders.Orders{Listen: 3128}, func(uint64) error { return c.standing }, func(f *os.File) error { f.Close(); return c.listener })
			if !errors.Is(err, busy) {
				t.Errorf("%v, want what was wrong", err)
			}
			d.ours.Close()
			if <-answered {
				t.Error("it was let go on")
			}
		})
	}
}

func TestADoorIsNotWaitedAtWhenTheRunIsOver(t *testing.T) {
	d, err := NewDoor()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Await(ctx, &orders.Orders{}, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
}
