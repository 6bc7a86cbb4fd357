package keeper

import (
	"errors"
	"fmt"
	"sync"
)

// Masks are the values that are masked in the logs of the sessions of one daemon,
// and the links on which their keepers are told what is learnt later. It is safe
// for concurrent use.
type Masks struct {
	Values func() []string // all that are known by now, in the order in which they became so
	Key    []byte          // under which their marks are told from one another

	mu    sync.Mutex
	links map[*Link]bool
}

// known are the values by now; nil knows none.
func (m *Masks) known() []string {
	if m == nil {
		return nil
	}
	return m.Values()
}

func (m *Masks) key() []byte {
	if m == nil {
		return nil
	}
	return m.Key
}

// add has a link told from now on; its keeper was told the first n values.
func (m *Masks) add(l *Link, n int) error {
	if m == nil {
		return nil
	}
	l.mu.Lock()
	l.masked = n
	l.mu.Unlock()
	m.mu.Lock()
	if m.links == nil {
		m.links = map[*Link]bool{}
	}
	m.links[l] = true
	m.mu.Unlock()
	return l.mask(m.Values())
}

// Tell has every session that runs masked for what was learnt since it started.
func (m *Masks) Tell() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.Values()
	var errs []error
	for l := range m.links {
		if l.Over() {
			delete(m.links, l)
		} else if err := l.mask(all); err != nil && !l.Over() {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// mask tells the keeper what it was not told yet of all values, one at a time: a
// frame holds any of them.
func (l *Link) mask(all []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; l.masked < len(all); l.masked++ {
		if err := l.say(word{Do: "mask", Mask: []byte(all[l.masked])}); err != nil {
			return fmt.Errorf("mask in a session's log what was learnt since it started: %w", err)
		}
	}
	return nil
}
