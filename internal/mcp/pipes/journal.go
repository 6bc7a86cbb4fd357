package pipes

import (
	"bytes"
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
	journalStray  = 64 << 10  // bytes of a stray line that are looked at
)

// Journal takes what a program prints beside its messages: standard error, and
// lines on standard output that are none. It never blocks the program, keeps
// the last line, and passes lines on within a budget. What is a secret is masked
// before it is cut into lines, since a key stands on many, and a line may be cut
// in the middle of a token. A nil Journal drops everything. It is safe for
// concurrent use.
type Journal struct {
	write func(line string)
	mask  func(io.Writer) io.WriteCloser

	mu      sync.Mutex // guards what follows
	last    string
	left    int // bytes of the budget
	fresh   time.Time
	dropped int64 // lines since the budget was used up
}

// NewJournal passes lines to write, one at a time. mask masks what is written
// through it; it keeps nothing back after it is closed.
func NewJournal(write func(line string), mask func(io.Writer) io.WriteCloser) *Journal {
	return &Journal{write: write, mask: mask}
}

// Drain reads r to its end.
func (j *Journal) Drain(r io.Reader) {
	if j == nil {
		io.Copy(io.Discard, r)
		return
	}
	lines := &cutter{line: j.line}
	w := j.mask(lines)
	buf, passed := make([]byte, 32<<10), true
	for {
		n, err := r.Read(buf)
		if part := buf[:n]; !j.full(part) {
			w.Write(part) // the cutter takes everything
			passed = true
		} else if passed {
			w.Close()
			lines.end()
			w, passed = j.mask(lines), false
		}
		if err != nil {
			w.Close()
			lines.end()
			return
		}
	}
}

// full reports whether the budget of this minute is used up; then what was read
// is only counted.
func (j *Journal) full(part []byte) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dropped == 0 || time.Since(j.fresh) >= time.Minute {
		return false
	}
	j.dropped += int64(bytes.Count(part, []byte("\n")))
	return true
}

// cutter cuts a stream into lines, and of each keeps the beginning.
type cutter struct {
	line func(string)
	buf  []byte
}

func (c *cutter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		part, rest, found := bytes.Cut(p, []byte("\n"))
		c.buf = append(c.buf, part[:min(len(part), journalLine-len(c.buf))]...)
		if !found {
			return n, nil
		}
		c.end()
		p = rest
	}
}

// end ends a line.
func (c *cutter) end() {
	if line := strings.TrimRight(string(c.buf), "\r"); line != "" {
		c.line(line)
	}
	c.buf = c.buf[:0]
}

// Stray notes a line of standard output that is no message.
func (j *Journal) Stray(line []byte) {
	if j == nil || j.full([]byte("\n")) {
		return
	}
	lines := &cutter{line: func(s string) { j.line("on standard output, no message: " + s) }}
	w := j.mask(lines)
	w.Write(line[:min(len(line), journalStray)])
	w.Close()
	lines.end()
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
