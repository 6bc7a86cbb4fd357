package message

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrLong is a line above the bound. The rest of it is passed over by the next
// call of [Lines.Next].
var ErrLong = errors.New("the line is too long")

// Lines splits a stream into lines. It is not safe for concurrent use.
type Lines struct {
	r    *bufio.Reader
	max  int
	long bool // the rest of a long line is still to be passed over
}

// NewLines reads from r lines of at most max bytes; 0 means [MaxLine].
func NewLines(r io.Reader, max int) *Lines {
	if max <= 0 {
		max = MaxLine
	}
	return &Lines{r: bufio.NewReaderSize(r, 32<<10), max: max}
}

// Next returns the next line that is not blank, without its end, in memory of
// its own. A last line without an end counts as one. The error is [ErrLong],
// after which the stream goes on, or what the stream ended with.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.one()
		if err != nil {
			return nil, err
		}
		if line = bytes.Trim(line, " \t\r"); len(line) > 0 {
			return line, nil
		}
	}
}

// one reads up to the next line feed. A line is copied once at its end, or,
// where it does not fit the reader's own room, as it comes.
func (l *Lines) one() ([]byte, error) {
	if l.long {
		if err := l.pass(); err != nil {
			return nil, err
		}
	}
	part, err := l.r.ReadSlice('\n')
	if err == nil {
		return l.whole(bytes.Clone(part[:len(part)-1]))
	}
	var line []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if line = append(line, part...); len(line) > l.max {
			return nil, l.tooLong()
		}
		part, err = l.r.ReadSlice('\n')
	}
	line = append(line, part...)
	switch {
	case err == nil:
		return l.whole(line[:len(line)-1])
	case err == io.EOF && len(line) > 0:
		return l.whole(line)
	}
	return nil, err
}

func (l *Lines) whole(line []byte) ([]byte, error) {
	if len(line) > l.max {
		return nil, l.bound()
	}
	return line, nil
}

func (l *Lines) bound() error { return fmt.Errorf("%w: at most %d bytes", ErrLong, l.max) }

func (l *Lines) tooLong() error {
	l.long = true
	return l.bound()
}

// pass goes to the end of a long line and keeps nothing of it.
func (l *Lines) pass() error {
	for {
		_, err := l.r.ReadSlice('\n')
		switch {
		case err == nil:
			l.long = false
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
