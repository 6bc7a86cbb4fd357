package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/reeve-gate/reeve/internal/redact"
)

// screen is an output stream of the command. On a terminal every control,
// bidirectional and invisible character becomes visible, whoever wrote it: no
// command needs to remember that what it prints came from somewhere else, and
// none of ours writes such a character there through its stream. What is piped
// or written to a file goes out as it is.
type screen struct {
	io.WriteCloser
	file *os.File
}

func newScreen(f *os.File) *screen {
	if term.IsTerminal(int(f.Fd())) {
		return &screen{redact.VisibleWriter(f), f}
	}
	return &screen{raw{f}, f}
}

// raw is a file that stays open.
type raw struct{ *os.File }

func (raw) Close() error { return nil }

// fileOf is the file behind a stream of the command.
func fileOf(stream any) (f *os.File, ok bool) {
	switch s := stream.(type) {
	case *os.File:
		return s, true
	case *screen:
		return s.file, true
	}
	return nil, false
}
