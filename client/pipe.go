package client

import (
	"fmt"
	"io"
	"os"
)

// pipeIn is a stream as a pipe: itself, or one that a copy of it is written to.
func pipeIn(f *os.File) (in *os.File, ends func(), err error) {
	if piped(f) {
		return f, func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	go func() {
		io.Copy(w, f)
		w.Close()
	}()
	return r, func() { r.Close() }, nil
}

// pipeOut is the same for a stream that is written to; written waits until all
// of it is.
func pipeOut(f *os.File) (out *os.File, written func(), err error) {
	if piped(f) {
		return f, func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	done := make(chan struct{})
	go func() {
		io.Copy(f, r)
		close(done)
	}()
	return w, func() { w.Close(); <-done }, nil
}

func piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
