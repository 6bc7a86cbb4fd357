package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
)

// Catalog is the stricter of the person's setting for a tool and the
// session's own (Y24, Y27). A setting for "bash" also holds for another
// client's tool of that name, "claude:bash".
func (s *Store) Catalog(id, tool string) reeve.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.catalog) == 0 && (s.all[id] == nil || len(s.all[id].Tools) == 0) {
		return reeve.CatalogUnset
	}
	_, bare, _ := strings.Cut(tool, ":")
	c := max(s.catalog[tool], s.catalog[bare])
	if l := s.all[id]; l != nil {
		c = max(c, l.Tools[tool], l.Tools[bare])
	}
	return c
}

// Settings returns the person's tool settings.
func (s *Store) Settings() map[string]reeve.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]reeve.Catalog, len(s.catalog))
	for k, v := range s.catalog {
		out[k] = v
	}
	return out
}

// SetTool changes and keeps the person's setting for one tool.
func (s *Store) SetTool(tool string, c reeve.Catalog) error {
	s.set.Lock()
	defer s.set.Unlock()
	var next map[string]reeve.Catalog
	err := s.settings.Change(func(old []byte) (_ []byte, err error) {
		if next, err = parseCatalog(old); err != nil {
			return nil, err
		}
		next[strings.ToLower(tool)] = c
		return json.Marshal(next, json.Deterministic(true))
	})
	if err != nil {
		return fmt.Errorf("keep the tool settings: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog = next
	return nil
}

// readCatalog fails closed: settings that cannot be read stop the daemon, since
// forgetting an "off" would loosen the gate.
func (s *Store) readCatalog() error {
	b, err := s.settings.Read()
	if err == nil {
		s.catalog, err = parseCatalog(b)
	}
	if err != nil {
		return fmt.Errorf("read the tool settings: %w", err)
	}
	return nil
}

func parseCatalog(b []byte) (all map[string]reeve.Catalog, err error) {
	if b == nil {
		return map[string]reeve.Catalog{}, nil
	}
	if err = json.Unmarshal(b, &all); err == nil && all == nil {
		err = errors.New("it holds nothing")
	}
	return all, err
}
