package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Shelf keeps the last offer of each server on disk. It is safe for concurrent
// use. An offer is good for the settings it was made with and for no others.
type Shelf struct {
	dir string

	mu   sync.Mutex // guards known
	read map[string]*Offer
}

// NewShelf keeps offers in a directory, which is made when it is needed.
func NewShelf(dir string) *Shelf { return &Shelf{dir: dir, read: map[string]*Offer{}} }

// Offer is what a server with these settings offered last, or nil.
func (s *Shelf) Offer(server, hash string) *Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.read[server]
	if !ok {
		o = s.load(server)
		s.read[server] = o
	}
	if o == nil || o.Hash != hash {
		return nil
	}
	return o
}

// load reads one file. One that cannot be read is as good as none: the server
// is asked again.
func (s *Shelf) load(server string) *Offer {
	b, err := os.ReadFile(s.file(server))
	if err != nil {
		return nil
	}
	var o Offer
	if json.Unmarshal(b, &o, json.RejectUnknownMembers(true)) != nil || o.Server != server {
		return nil
	}
	return &o
}

func (s *Shelf) file(server string) string { return filepath.Join(s.dir, server+".json") }

// Put keeps an offer in place of the one before.
func (s *Shelf) Put(o *Offer) error {
	b, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("keep what server %s offers: %w", o.Server, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[o.Server] = o
	if err := durable.MkdirAll(s.dir); err != nil {
		return fmt.Errorf("keep what server %s offers: %w", o.Server, err)
	}
	if err := durable.WriteFile(s.file(o.Server), b, 0o600); err != nil {
		return fmt.Errorf("keep what server %s offers: %w", o.Server, err)
	}
	return nil
}

// Era is what a server with these settings was found to speak.
func (s *Shelf) Era(server, hash string) upstream.Era {
	if o := s.Offer(server, hash); o != nil {
		return o.Era
	}
	return upstream.EraUnknown
}

// Forget drops what is known of a server.
func (s *Shelf) Forget(server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.read, server)
	if err := os.Remove(s.file(server)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget server %s: %w", server, err)
	}
	return nil
}
