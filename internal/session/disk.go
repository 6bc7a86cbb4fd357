package session

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
)

// file is the file of one session.
func (s *Store) file(id string) *durable.File {
	return &durable.File{Path: filepath.Join(s.Dir(id), "session.json"), Max: maxFile, Told: s.told, Check: func(b []byte) error {
		var one Session
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		if one.ID != id {
			return fmt.Errorf("it tells of session %s", one.ID)
		}
		return nil
	}}
}

// read reads one session, also one that has ended.
func (s *Store) read(id string) (one Session, file *durable.File, err error) {
	if err := durable.Name(id); err != nil { // contract Y101
		return one, nil, fmt.Errorf("read session: %w: %w", reeve.ErrNotFound, err)
	}
	file = s.file(id)
	b, err := file.Read()
	switch {
	case err != nil:
		return one, nil, fmt.Errorf("read session %s: %w", id, err)
	case b == nil:
		return one, nil, fmt.Errorf("read session %s: %w: nothing was written", id, reeve.ErrNotFound)
	}
	err = json.Unmarshal(b, &one)
	return one, file, err
}

// persist brings what is known of a session to the disk.
func (s *Store) persist(l *live) error {
	l.write.Lock()
	defer l.write.Unlock()
	s.mu.Lock()
	one := l.Session
	delete(s.unsaved, l)
	s.mu.Unlock()
	err := s.save(l, &one)
	if err != nil {
		s.mu.Lock()
		s.unsaved[l] = true
		s.mu.Unlock()
	}
	return err
}

// Close writes down what could not be written when it changed, and waits for it
// and for what is being written at most as long as is given (contract Y106).
func (s *Store) Close(wait time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- s.flush() }() // a disk that hangs lets nobody go; the process then ends without it
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("the disk took longer than %s to keep the sessions; what they read last may not be written down", wait)
	}
}

func (s *Store) flush() error {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.unsaved))
	rest := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	var err error
	for _, l := range all {
		err = errors.Join(err, s.persist(l))
	}
	for _, l := range rest {
		l.write.Lock() // what is being written has its end
		l.write.Unlock()
	}
	return err
}

// save writes a session. Where somebody else wrote its file, what is known here
// counts: it is what the daemon judges by.
func (s *Store) save(l *live, one *Session) error {
	if l.file == nil { // the first time; nothing is there yet
		l.file = s.file(one.ID)
		if _, err := l.file.Read(); err != nil {
			return fmt.Errorf("keep session %s: %w", one.ID, err)
		}
	}
	b, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("keep session %s: %w", one.ID, err)
	}
	if err := durable.MkdirAll(s.Dir(one.ID)); err != nil {
		return fmt.Errorf("keep session %s: %w", one.ID, err)
	}
	if err = l.file.Put(b); errors.Is(err, durable.ErrDamaged) || errors.Is(err, durable.ErrForm) {
		err = errors.Join(l.file.Remove(), l.file.Put(b))
	}
	if err != nil {
		return fmt.Errorf("keep session %s: %w", one.ID, err)
	}
	return nil
}
