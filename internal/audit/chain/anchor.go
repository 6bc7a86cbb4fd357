package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Anchor is what audit.head says: a row that was durable when it was written.
type Anchor struct {
	ID   int64
	Hash Hash
}

const anchorForm = "reeve-audit-head v1 %019d %s"

func (a Anchor) String() string {
	body := fmt.Sprintf(anchorForm, a.ID, a.Hash)
	sum := sha256.Sum256([]byte(body))
	return body + " " + hex.EncodeToString(sum[:4]) + "\n"
}

// ErrAnchor says that a text is no anchor.
var ErrAnchor = errors.New("it is not an anchor")

// ParseAnchor reads the one line of the file and accepts nothing but the very
// text that String gives.
func ParseAnchor(text string) (Anchor, error) {
	f := strings.Split(strings.TrimSuffix(text, "\n"), " ")
	if len(f) != 5 {
		return Anchor{}, ErrAnchor
	}
	id, err := strconv.ParseInt(f[2], 10, 64)
	hash, err2 := hex.DecodeString(f[3])
	if err != nil || err2 != nil || id < 0 || len(hash) != len(Hash{}) {
		return Anchor{}, ErrAnchor
	}
	a := Anchor{ID: id, Hash: Hash(hash)}
	if a.String() != text {
		return Anchor{}, ErrAnchor
	}
	return a, nil
}

// ReadAnchor reads the file at path. A read may meet the writer half way, so
// a line that does not check is read again.
func ReadAnchor(path string) (a Anchor, err error) {
	for range 20 {
		var text []byte
		if text, err = os.ReadFile(path); err != nil {
			return Anchor{}, err
		}
		if len(text) > 4096 {
			return Anchor{}, ErrAnchor
		}
		if a, err = ParseAnchor(string(text)); err == nil {
			return a, nil
		}
	}
	return Anchor{}, err
}

// NewAnchor makes the file, durable, where it is missing.
func NewAnchor(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.WriteFile(path, []byte(Anchor{}.String()), 0o600)
}
