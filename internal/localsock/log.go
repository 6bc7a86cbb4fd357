package localsock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const (
	// LogName is the daemon's log, in the state directory.
	LogName = "daemon.log"
	// MaxLog bounds it, in bytes; where it is full, its newer half stays
	// (contract Y107).
	MaxLog = 4 << 20

	maxLine = 64 << 10
)

// openLog opens the daemon's log: no link, which would have us write elsewhere,
// and no pipe, which would keep us waiting for a reader.
func openLog(state string) (*os.File, error) {
	path := filepath.Join(state, LogName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil && !errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("open the daemon's log: %w", err)
	}
	if err == nil {
		if info, serr := f.Stat(); serr == nil && info.Mode().IsRegular() {
			return f, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("open the daemon's log: %s is no regular file; remove it", path)
}

// Log is the daemon's log as the daemon writes it, within [MaxLog] where it is a
// regular file that can be read. It is safe for concurrent use.
type Log struct {
	File *os.File

	mu sync.Mutex // guards what stands in the file
}

var _ io.Writer = (*Log)(nil)

// Write adds a line, of which it keeps the beginning, and takes the older half
// of the log away where it is full.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	part := line
	if len(part) > maxLine {
		part = append(bytes.Clone(part[:maxLine]), " [cut]\n"...)
	}
	if info, err := l.File.Stat(); err == nil && info.Mode().IsRegular() && info.Size()+int64(len(part)) > MaxLog {
		l.halve(info.Size())
	}
	if _, err := l.File.Write(part); err != nil {
		return 0, err
	}
	return len(line), nil
}

// halve keeps the newer lines. The file stays the same one, since a daemon that
// is being started writes to it too.
func (l *Log) halve(size int64) {
	rest := make([]byte, MaxLog/2)
	n, err := l.File.ReadAt(rest, max(0, size-int64(len(rest))))
	if err != nil && !errors.Is(err, io.EOF) {
		return
	}
	if _, whole, _ := bytes.Cut(rest[:n], []byte("\n")); l.File.Truncate(0) == nil {
		l.File.Write(whole)
	}
}
