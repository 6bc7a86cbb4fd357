package pipes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Bounds of what is kept of a server's standard error.
const (
	journalLine   = 2 << 10   // bytes of one line; the rest is cut
	journalWords  = 400       // bytes of the last words
	journalBudget = 256 << 10 // bytes a minute; what is above is counted
)

// Journal takes what a program prints beside its messages: standard error, and
// lines on standard output that are none. It never blocks the program, keeps
// the last line, and passes lines on within a budget. A nil Journal drops
// everything. It is safe for concurrent use.
type Journal struct {
	write func(line string)

	mu      sync.Mutex // guards what follows
	last    string
	left    int // bytes of the budget
	fresh   time.Time
	dropped int64 // lines since the budget was used up
}

// NewJournal passes lines to write, one at a time; write masks and keeps them.
func NewJournal(write func(line string)) *Journal { return &Journal{write: write} }

// Drain reads r to its end.
func (j *Journal) Drain(r io.Reader) {
	if j == nil {
		io.Copy(io.Discard, r)
		return
	}
	br := bufio.NewReaderSize(r, journalLine)
	for {
		part, err := br.ReadSlice('\n')
		if line := strings.TrimRight(string(part), "\r\n"); line != "" {
			j.line(line)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = br.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// Stray notes a line of standard output that is no message.
func (j *Journal) Stray(line []byte) {
	if j == nil {
		return
	}
	j.line("on standard output, no message: " + string(line[:min(len(line), journalLine)]))
}

func (j *Journal) line(s string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = s
	if now := time.Now(); now.Sub(j.fresh) >= time.Minute {
		if j.dropped > 0 {
			j.write(fmt.Sprintf("and %d lines more, which were too many to keep", j.dropped))
		}
		j.left, j.fresh, j.dropped = journalBudget, now, 0
	}
	if j.left < len(s) {
		j.dropped++
		return
	}
	j.left -= len(s) + 1
	j.write(s)
}

// Last is the end of what was printed last, on one line.
func (j *Journal) Last() string {
	if j == nil {
		return ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := strings.ToValidUTF8(strings.Join(strings.Fields(j.last), " "), "\ufffd")
	if len(s) > journalWords {
		s = strings.ToValidUTF8(s[:journalWords], "") + "…"
	}
	return s
}
