package results

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of what is kept of results that were too long to be given at once.
const (
	maxKept    = 16 << 20 // bytes of one
	maxAllKept = 64 << 20 // bytes of a session's; the oldest give way
	KeepFor    = time.Hour
)

// Kept keeps the texts of long results in the folders of their sessions, masked
// as the results were. It is safe for concurrent use.
type Kept struct {
	dir func(session string) string // the session's own folder

	mu sync.Mutex // guards what follows, and the files
	by map[string][]kept
}

type kept struct {
	id    string
	size  int64
	until time.Time
}

// NewKept keeps results below the folders of sessions.
func NewKept(dir func(session string) string) *Kept { return &Kept{dir: dir, by: map[string][]kept{}} }

func (k *Kept) file(session, id string) string {
	return filepath.Join(k.dir(session), "results", id)
}

// Put keeps a text and gives the word it is found under; "" where it could not
// be kept.
func (k *Kept) Put(session, text string, now time.Time) string {
	if len(text) > maxKept {
		text = text[:maxKept]
	}
	var b [12]byte
	rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tidy(session, now, maxAllKept-int64(len(text)))
	file := k.file(session, id)
	if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, []byte(text), 0o600) != nil {
		os.Remove(file)
		return ""
	}
	k.by[session] = append(k.by[session], kept{id, int64(len(text)), now.Add(KeepFor)})
	return id
}

// tidy forgets what has expired, and the oldest until all the rest has at most
// room bytes. It is called under mu.
func (k *Kept) tidy(session string, now time.Time, room int64) {
	all := k.by[session]
	var size int64
	for _, one := range all {
		size += one.size
	}
	for len(all) > 0 && (size > room || !now.Before(all[0].until)) {
		os.Remove(k.file(session, all[0].id))
		size -= all[0].size
		all = all[1:]
	}
	k.by[session] = all
}

// Get gives up to n bytes of a kept text from offset, whole characters, and
// how long it is.
func (k *Kept) Get(session, id string, offset, n int, now time.Time) (part string, total int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tidy(session, now, maxAllKept)
	for _, one := range k.by[session] {
		if one.id != id {
			continue
		}
		b, err := os.ReadFile(k.file(session, id))
		if err != nil {
			return "", 0, fmt.Errorf("what was kept cannot be read: %w", err)
		}
		if offset > len(b) {
			return "", len(b), fmt.Errorf("it has %d bytes; offset %d lies behind its end", len(b), offset)
		}
		b = b[offset:]
		if len(b) > n {
			b = b[:n]
			for len(b) > 0 && !utf8.Valid(b[max(0, len(b)-utf8.UTFMax):]) && len(b) > n-utf8.UTFMax {
				b = b[:len(b)-1]
			}
		}
		return string(b), int(one.size), nil
	}
	return "", 0, errors.New("nothing is kept under this id; it is forgotten after an hour, and with its session")
}

// Drop forgets everything of a session.
func (k *Kept) Drop(session string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.by[session]) > 0 {
		os.RemoveAll(filepath.Dir(k.file(session, "x")))
	}
	delete(k.by, session)
}
