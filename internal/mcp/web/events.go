package web

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// event is one of a stream of server-sent events (WHATWG HTML, section 9.2).
type event struct {
	id   string
	name string
	data []byte
}

// events reads a stream. It is not safe for concurrent use.
type events struct {
	r     *bufio.Reader
	max   int
	last  string        // the last id that was seen
	retry time.Duration // what the server wants between attempts; 0 = it said nothing
}

var errLongEvent = errors.New("an event is above the bound")

func newEvents(r io.Reader, max int) *events {
	e := &events{r: bufio.NewReaderSize(r, 32<<10), max: max}
	if mark, err := e.r.Peek(3); err == nil && string(mark) == "\ufeff" {
		e.r.Discard(3)
	}
	return e
}

// next returns the next event that has data. An event that the stream ends in
// is none. Of one that is above the bound nothing is kept and the error is
// errLongEvent; the stream cannot be read on after it.
func (e *events) next() (event, error) {
	var ev event
	for {
		line, err := e.line(len(ev.data))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if ev.data == nil {
				ev = event{}
				continue
			}
			ev.data, ev.id = ev.data[:len(ev.data)-1], e.last
			return ev, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			ev.data = append(append(ev.data, value...), '\n')
		case "event":
			ev.name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= maxEventID {
				e.last = string(value)
			}
		case "retry":
			if n, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.retry = min(time.Duration(n)*time.Millisecond, maxRetry)
			}
		}
	}
}

const (
	maxEventID = 1 << 10
	maxRetry   = time.Minute
)

// line reads up to the next CR, LF or CRLF. have is what the event holds
// already.
func (e *events) line(have int) ([]byte, error) {
	var line []byte
	for {
		c, err := e.r.ReadByte()
		if err != nil {
			return nil, err
		}
		switch c {
		case '\n':
			return line, nil
		case '\r':
			if next, err := e.r.Peek(1); err == nil && next[0] == '\n' {
				e.r.Discard(1)
			}
			return line, nil
		}
		// The rest of the line that is in the buffer is taken at once.
		e.r.UnreadByte()
		buffered, _ := e.r.Peek(e.r.Buffered())
		if i := bytes.IndexAny(buffered, "\r\n"); i >= 0 {
			buffered = buffered[:i]
		}
		if line = append(line, buffered...); have+len(line) > e.max {
			return nil, errLongEvent
		}
		e.r.Discard(len(buffered))
	}
}
