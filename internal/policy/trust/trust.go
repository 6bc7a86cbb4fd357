// Package trust remembers which policy files of projects a person has accepted:
// the exact content, by its digest, in one workspace.
package trust

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Trust keeps which project policies a person has accepted, by workspace and
// by the digest of the exact content.
type Trust struct {
	file *durable.File
	mu   sync.Mutex // guards all
	all  map[string]map[string]bool
}

// maxFile bounds trust.json, in bytes: a digest takes under 80.
const maxFile = 16 << 20

// Open reads what is trusted from a state directory; told hears where the
// backup had to be taken. What can be read nowhere is an error: untrusted is
// the safe reading, but a person should know.
func Open(state string, told func(note string)) (*Trust, error) {
	t := &Trust{file: &durable.File{Path: filepath.Join(state, "trust.json"), Max: maxFile, Told: told,
		Check: func(b []byte) error { _, err := parse(b); return err }}}
	b, err := t.file.Read()
	if err != nil {
		return nil, fmt.Errorf("read what is trusted: %w", err)
	}
	t.all, err = parse(b)
	return t, err
}

func parse(b []byte) (all map[string]map[string]bool, err error) {
	if b == nil {
		return map[string]map[string]bool{}, nil
	}
	if err = json.Unmarshal(b, &all); err == nil && all == nil {
		err = errors.New("it holds nothing")
	}
	return all, err
}

// Has reports whether the file with this digest is trusted in a workspace.
func (t *Trust) Has(ws string, digest [32]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[ws][hex.EncodeToString(digest[:])]
}

// Set trusts it, or no more.
func (t *Trust) Set(ws string, digest [32]byte, yes bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := hex.EncodeToString(digest[:])
	var next map[string]map[string]bool
	err := t.file.Change(func(old []byte) (_ []byte, err error) {
		if next, err = parse(old); err != nil {
			return nil, err
		}
		if next[ws] == nil {
			next[ws] = map[string]bool{}
		}
		if next[ws][key] = true; !yes {
			delete(next[ws], key)
		}
		return json.Marshal(next, json.Deterministic(true))
	})
	if err != nil {
		return fmt.Errorf("keep what is trusted: %w", err)
	}
	t.all = next
	return nil
}
