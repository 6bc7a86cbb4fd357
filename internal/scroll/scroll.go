// Package scroll keeps what a session showed on its terminal: a log on disk
// of bounded size, written by the process that keeps the session and read by
// whoever attaches to it or asks for its logs, also after its end.
//
// The log is a few files named log-OFFSET in one directory, where OFFSET is
// the place of the file's first byte in all that was ever shown (16 hex
// digits). A [Writer] begins a new file when one is full and removes the
// oldest, so that between [Size] and half of it are kept. What Write has
// returned for survives a kill of the writer: it is with the system. A power
// cut may take the end of it.
//
// [Plain] turns the bytes of a terminal into text that cannot steer one.
//
// Masking is not done here: what must not reach the disk is masked before it
// comes to a Writer.
package scroll

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Size bounds what is kept of one session, in bytes.
const Size = 4 << 20

const (
	half   = Size / 2
	prefix = "log-"
)

// Writer adds to the log of one directory. It is not for concurrent use, and
// one directory has one Writer at a time.
type Writer struct {
	dir  string
	file *os.File
	used int64 // bytes of file
	at   int64 // bytes shown in all, as far as they are kept
	lost int64 // bytes since that could not be written
}

// Create goes on where the log of dir ends. dir must exist; the files are
// readable by their owner only, under any umask that grants that.
func Create(dir string) (*Writer, error) {
	w := &Writer{dir: dir}
	parts, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("open the session's log: %w", err)
	}
	if n := len(parts); n > 0 {
		w.at = parts[n-1].end()
	}
	if err := w.next(); err != nil {
		return nil, fmt.Errorf("open the session's log: %w", err)
	}
	return w, nil
}

// next begins a file and lets go of all but the one before it.
func (w *Writer) next() error {
	f, err := os.OpenFile(name(w.dir, w.at), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if w.file != nil {
		w.file.Close()
	}
	w.file, w.used = f, 0
	if parts, err := list(w.dir); err == nil {
		for _, p := range parts[:max(0, len(parts)-2)] {
			os.Remove(p.path)
		}
	}
	return nil
}

// Write adds p. A log that cannot be written loses what is shown meanwhile and
// says so in its text when it can be written again: the session itself goes
// on, so that no error is returned.
func (w *Writer) Write(p []byte) (int, error) {
	all := len(p)
	if w.lost > 0 && !w.put(fmt.Appendf(nil, "\r\n[reeve: %d bytes could not be kept here]\r\n", w.lost)) {
		w.lost += int64(all)
		return all, nil
	}
	w.lost = 0
	for len(p) > 0 {
		n := min(len(p), int(half-w.used))
		if n <= 0 {
			if w.next() != nil {
				w.lost += int64(len(p))
				return all, nil
			}
			continue
		}
		if !w.put(p[:n]) {
			w.lost += int64(len(p))
			return all, nil
		}
		p = p[n:]
	}
	return all, nil
}

// put writes p whole or not at all, as far as the log is concerned.
func (w *Writer) put(p []byte) bool {
	n, err := w.file.Write(p)
	if err != nil {
		if n > 0 {
			w.file.Truncate(w.used)
		}
		return false
	}
	w.used += int64(n)
	w.at += int64(n)
	return true
}

// At is the offset behind the last byte that is kept.
func (w *Writer) At() int64 { return w.at }

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// part is one file of a log.
type part struct {
	path        string
	start, size int64
}

func (p part) end() int64 { return p.start + p.size }

func name(dir string, at int64) string { return filepath.Join(dir, fmt.Sprintf("%s%016x", prefix, at)) }

// list gives the files of a log, oldest first.
func list(dir string) ([]part, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []part
	for _, n := range names {
		hex, ours := strings.CutPrefix(n.Name(), prefix)
		start, err := strconv.ParseInt(hex, 16, 64)
		if !ours || err != nil || len(hex) != 16 {
			continue
		}
		info, err := n.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		all = append(all, part{filepath.Join(dir, n.Name()), start, info.Size()})
	}
	slices.SortFunc(all, func(a, b part) int { return int(min(max(a.start-b.start, -1), 1)) })
	return all, nil
}

// Copy writes to w what the log of dir holds from the offset from on, or from
// its oldest byte where that comes later, and returns the offset behind the
// last byte written. A directory without a log is empty, not an error.
func Copy(w io.Writer, dir string, from int64) (next int64, err error) {
	parts, err := list(dir)
	if err != nil {
		return from, fmt.Errorf("read the session's log: %w", err)
	}
	for _, p := range parts {
		if p.end() <= from {
			continue
		}
		f, err := os.Open(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was the oldest, and is gone since the list was made
		}
		if err != nil {
			return from, fmt.Errorf("read the session's log: %w", err)
		}
		from = max(from, p.start)
		n, err := copyFrom(w, f, from-p.start)
		f.Close()
		if from += n; err != nil {
			return from, fmt.Errorf("read the session's log: %w", err)
		}
	}
	return from, nil
}

func copyFrom(w io.Writer, f *os.File, at int64) (int64, error) {
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f)
}

// Tail gives the last bytes of the log of dir, at most n, and the offset of
// the first of them. Where more is kept than that, it begins behind the end of
// a line if there is one.
func Tail(dir string, n int64) (tail []byte, at int64, err error) {
	parts, err := list(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("read the session's log: %w", err)
	}
	if len(parts) == 0 {
		return nil, 0, nil
	}
	oldest, end := parts[0].start, parts[len(parts)-1].end()
	at = max(oldest, end-n)
	var b strings.Builder
	if _, err := Copy(&b, dir, at); err != nil {
		return nil, 0, err
	}
	text := b.String()
	if at > oldest {
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			text, at = text[i+1:], at+int64(i)+1
		}
	}
	return []byte(text), at, nil
}

// Files opens the files of a log for reading, oldest first, so that another
// process can be given them. The caller closes them.
func Files(dir string) ([]*os.File, error) {
	parts, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("read the session's log: %w", err)
	}
	var all []*os.File
	for _, p := range parts {
		f, err := os.Open(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			for _, f := range all {
				f.Close()
			}
			return nil, fmt.Errorf("read the session's log: %w", err)
		}
		all = append(all, f)
	}
	return all, nil
}

// Chunk reads at most n bytes of the log of dir from the offset at on, or from
// its oldest byte where that comes later, and gives the offset behind them. No
// bytes mean that the log ends there.
func Chunk(dir string, at int64, n int) (chunk []byte, next int64, err error) {
	parts, err := list(dir)
	if err != nil {
		return nil, at, fmt.Errorf("read the session's log: %w", err)
	}
	for _, p := range parts {
		if p.end() <= at {
			continue
		}
		f, err := os.Open(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, at, fmt.Errorf("read the session's log: %w", err)
		}
		defer f.Close()
		at = max(at, p.start)
		buf := make([]byte, n)
		got, err := f.ReadAt(buf, at-p.start)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, at, fmt.Errorf("read the session's log: %w", err)
		}
		return buf[:got], at + int64(got), nil
	}
	return nil, at, nil
}
