// Package bell tells the person at a program's terminal that something the
// program wants waits for an answer, without disturbing what it shows.
//
// A [Bell] stands between a program's output and the terminal. Where the
// program only writes text, the question is told on lines of its own. Where it
// draws the screen itself (the other screen, pastes or the mouse or keys of its
// own: an editor, an agent's face) a line would tear what it has drawn: then
// the terminal's bell rings and its title says it, until the question is
// settled; the lines follow when the program gives the screen back and the
// question still stands.
package bell

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
)

// The terminal's title is put aside and taken back (XTWINOPS 22 and 23, XTerm
// Control Sequences); a terminal that knows neither keeps ours until the next
// prompt or program sets its own.
const (
	ring      = "\a"
	keepTitle = "\x1b[22;2t"
	setTitle  = "\x1b]2;%s\x1b\\"
	giveTitle = "\x1b[23;2t"
)

// Bell is an output on its way to a terminal.
type Bell struct {
	out  io.Writer
	kept bool // the person can leave the program running

	mu      sync.Mutex // guards what follows, and out
	modes   attach.Modes
	midLine bool
	waits   []waiting
	titled  string // the question that the title tells; empty: it is the program's own
}

type waiting struct {
	approval.Question
	rung, told bool
}

// New makes one. kept says that the detach key leaves the program running.
func New(out io.Writer, kept bool) *Bell { return &Bell{out: out, kept: kept} }

// Write shows what the program writes.
func (b *Bell) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.out.Write(p)
	b.modes.Write(p)
	if len(p) > 0 {
		b.midLine = p[len(p)-1] != '\n'
	}
	b.say()
	return n, err
}

// Told is called with each question of the program's session, and again when
// it has ended.
func (b *Bell) Told(e approval.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = slices.DeleteFunc(b.waits, func(w waiting) bool { return w.ID == e.Question.ID })
	if e.State == approval.Pending {
		b.waits = append(b.waits, waiting{Question: e.Question})
	}
	b.say()
}

// Close gives the terminal its title back.
func (b *Bell) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits = nil
	b.say()
}

// say tells what is to be told now. Nothing goes into the middle of a sequence
// of the program's: the next write brings the rest of it, and comes here.
func (b *Bell) say() {
	if !b.modes.Whole() && len(b.waits) > 0 {
		return
	}
	drawn := b.modes.Drawn()
	for i := range b.waits {
		w := &b.waits[i]
		if !w.rung {
			io.WriteString(b.out, ring)
			w.rung = true
		}
		if !w.told && !drawn {
			b.lines(w.Question)
			w.told = true
		}
	}
	switch {
	case len(b.waits) > 0 && drawn:
		b.title(b.waits[len(b.waits)-1].Question)
	case b.titled != "":
		io.WriteString(b.out, giveTitle)
		b.titled = ""
	}
}

// lines tells a question on lines of its own. The terminal is raw, so that
// each begins with a carriage return.
func (b *Bell) lines(q approval.Question) {
	if b.midLine {
		io.WriteString(b.out, "\r\n")
	}
	where := "in another terminal"
	if b.kept {
		where += ", or here after ^] d"
	}
	for _, line := range []string{
		"reeve: this waits for your word until " + q.Expires.Local().Format("15:04") + ": " + cell.Of(q.Operation, 200),
		"       answer " + where + ":",
		"       reeve approvals allow " + q.ID + " (or deny)",
	} {
		io.WriteString(b.out, line+"\r\n")
	}
	b.midLine = false
}

// title says it in the terminal's title, once for each question.
func (b *Bell) title(q approval.Question) {
	if b.titled == q.ID {
		return
	}
	if b.titled == "" {
		io.WriteString(b.out, keepTitle)
	}
	fmt.Fprintf(b.out, setTitle, "reeve approvals: "+cell.Of(q.Operation, 60)+" waits")
	b.titled = q.ID
}
