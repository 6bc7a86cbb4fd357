package catalog

import (
	"fmt"
	"sync"

	"github.com/reeve-gate/reeve/internal/cache"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Shelf keeps the last offer of each server on disk, in a cache that nobody
// else can have written: a person is shown it, and trusts what it says. It is
// safe for concurrent use. An offer is good for the settings it was made with
// and for no others.
type Shelf struct {
	kept *cache.Cache

	mu   sync.Mutex // guards read, and the files
	read map[string]*Offer
}

// offerVersion is the form of an offer in the cache.
const offerVersion = 1

// maxKept bounds an offer in the cache: its definitions have at most [maxOffer]
// bytes, and twice that where every character of them is escaped.
const maxKept = 3 * maxOffer

// NewShelf keeps offers in a directory, which is made when it is needed,
// authenticated with a key; told hears what was thrown away. See [cache.Cache].
func NewShelf(dir string, key func() ([]byte, error), told func(note string)) *Shelf {
	return &Shelf{read: map[string]*Offer{},
		kept: &cache.Cache{Dir: dir, Purpose: "what an mcp server offers", Version: offerVersion, Max: maxKept, Key: key, Told: told}}
}

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
	var o Offer
	if !s.kept.Get(server, &o) || o.Server != server {
		return nil
	}
	return &o
}

// Put keeps an offer in place of the one before.
func (s *Shelf) Put(o *Offer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[o.Server] = o
	if err := s.kept.Put(o.Server, o); err != nil {
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
	if err := s.kept.Drop(server); err != nil {
		return fmt.Errorf("forget server %s: %w", server, err)
	}
	return nil
}
