package chain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Snapshot is a connection that reads the record and leaves no trace in its
// directory.
//
// SQLite itself is not so careful: a read-only connection to a WAL database
// makes -shm, and -wal too, where they are missing. So there are three ways.
// While a writer holds the lock, its -wal and -shm exist and we join as one
// more reader. After a clean end there is no -wal, and the file is opened as
// immutable, which makes nothing. After a crash a -wal is left; it belongs to
// the evidence, so both files are copied to a private temporary directory and
// read there.
type Snapshot struct {
	*Conn
	dsn   [2]string // what Dial was given
	temp  string    // removed by Close; empty = nothing was copied
	files Files     // where it was read in place and at rest; else zero
	state FileState // of the database then
}

// ErrMoved says that a record at rest was written to while it was read.
var ErrMoved = errors.New("a writer started meanwhile; try again")

// Moved is ErrMoved where the pages that an immutable reader saw may be of
// two states.
func (s *Snapshot) Moved() error {
	if s.files.DB == "" {
		return nil
	}
	now, err := Stamp(s.files)
	if err == nil && now[0] != s.state {
		err = fmt.Errorf("read %s: %w", s.files.DB, ErrMoved)
	}
	return err
}

// Close gives up the view and what was copied for it.
func (s *Snapshot) Close() error {
	err := s.Conn.Close()
	if s.temp != "" {
		err = errors.Join(err, os.RemoveAll(s.temp))
	}
	return err
}

// readBusy is how long a reader waits for the moment in which the writer
// resets its -wal.
const readBusy = "_pragma=busy_timeout(5000)"

// OpenSnapshot opens the record that f names, at this moment.
func OpenSnapshot(f Files) (*Snapshot, error) {
	// The writer may start or end while we look; then look again.
	var last error
	for range 5 {
		live, err := durable.Locked(f.Lock)
		if err != nil {
			return nil, err
		}
		if live {
			return dialSnapshot(f.DB, "mode=ro&"+readBusy)
		}
		before, err := Stamp(f)
		if err != nil {
			return nil, err
		}
		s, err := openAtRest(f, before[1].size > 0)
		if err != nil {
			if Damaged(err) {
				return nil, err
			}
			last = err
			continue
		}
		after, err := Stamp(f)
		if err == nil && after == before {
			if s.temp == "" {
				s.files, s.state = f, before[0]
			}
			return s, nil
		}
		last = errors.Join(err, s.Close())
	}
	if last != nil {
		return nil, last
	}
	return nil, fmt.Errorf("read %s: it keeps changing, and no writer of ours holds %s", f.DB, f.Lock)
}

// openAtRest opens a record that nobody writes.
func openAtRest(f Files, wal bool) (*Snapshot, error) {
	if !wal {
		return dialSnapshot(f.DB, "mode=ro&immutable=1")
	}
	temp, err := os.MkdirTemp("", "reeve-audit-") // mode 0700
	if err != nil {
		return nil, err
	}
	copied := In(temp)
	if err := errors.Join(copyOver(f.DB, copied.DB), copyOver(f.WAL, copied.WAL)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	s, err := dialSnapshot(copied.DB, "mode=ro")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	s.temp = temp
	return s, nil
}

func dialSnapshot(path, how string) (*Snapshot, error) {
	c, err := Dial(path, how)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Conn: c, dsn: [2]string{path, how}}, nil
}

// Beside is one more connection to the same file, for another goroutine. Where a
// writer is at work it may see newer rows.
func (s *Snapshot) Beside() (*Conn, error) { return Dial(s.dsn[0], s.dsn[1]) }

func copyOver(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// FileState changes whenever somebody writes to the file.
type FileState struct {
	id      FileID
	size    int64
	changed time.Time
}

// Stamp is the state of the database and of its -wal; the zero state = missing.
func Stamp(f Files) (s [2]FileState, err error) {
	for i, path := range []string{f.DB, f.WAL} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && i == 1 {
			continue
		}
		if err != nil {
			return s, err
		}
		id, err := Identify(filepath.Clean(path))
		if err != nil {
			return s, err
		}
		s[i] = FileState{id, info.Size(), info.ModTime()}
	}
	return s, nil
}
