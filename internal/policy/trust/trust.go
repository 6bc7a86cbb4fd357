// Package trust remembers which policy files of projects a person has accepted:
// the exact content, by its digest, in one workspace.
package trust

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Trust keeps which project policies a person has accepted, by workspace and
// by the digest of the exact content.
type Trust struct {
	file string
	mu   sync.Mutex // guards all, and the file
	all  map[string]map[string]bool
}

// Open reads what is trusted from a state directory.
func Open(state string) (*Trust, error) {
	t := &Trust{file: filepath.Join(state, "trust.json"), all: map[string]map[string]bool{}}
	b, err := os.ReadFile(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &t.all)
	}
	if err != nil { // untrusted is the safe reading, but a person should know
		return nil, fmt.Errorf("read %s: %w; remove the file to start with nothing trusted", t.file, err)
	}
	return t, nil
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
	if t.all[ws] == nil {
		t.all[ws] = map[string]bool{}
	}
	was := t.all[ws][key]
	if t.all[ws][key] = true; !yes {
		delete(t.all[ws], key)
	}
	b, err := json.Marshal(t.all, json.Deterministic(true))
	if err == nil {
		err = durable.WriteFile(t.file, b, 0o600)
	}
	if err != nil {
		if t.all[ws][key] = true; !was {
			delete(t.all[ws], key)
		}
		return fmt.Errorf("keep what is trusted: %w", err)
	}
	return nil
}
