// Package session keeps the sessions of one daemon: which workspace, mode and
// profile each has, which client's session it answers for, what it has read,
// how many calls it has made and how they were decided.
//
// A session that is kept is one folder below sessions/ in the state directory,
// with session.json in it, a [durable.File] with its backup; one that is not
// ends with the daemon, and so does what runs in it. What only matters while the daemon
// lives (taint, tally, running process) is kept in memory; losing it can only
// make an answer stricter or a receipt shorter, with one exception that is
// handled: taint is written at once when it grows, because forgetting it would
// loosen step 7. A client's session that ended and begins again has read what
// it had read. The count of calls begins again with the daemon.
package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/flow"
)

// Session is what is kept of one session.
type Session struct {
	ID        string                   `json:"id"` // UUIDv7
	Name      string                   `json:"name,omitzero"`
	Client    string                   `json:"client"` // "cli", "run", "claude" ...
	Foreign   string                   `json:"foreign,omitzero"`
	Workspace string                   `json:"workspace"`
	Mode      reeve.Mode               `json:"mode"`
	Profile   string                   `json:"profile"`
	Parent    string                   `json:"parent,omitzero"`
	Started   time.Time                `json:"started"`
	Ended     time.Time                `json:"ended,omitzero"`
	Taint     flow.Taint               `json:"taint"`
	Tools     map[string]reeve.Catalog `json:"tools,omitzero"` // the session's own tool settings (Y27)
	Only      []string                 `json:"only,omitzero"`  // the actor's own tool set; nil = no restriction
	OnlyWhy   string                   `json:"only_why,omitzero"`
	Agent     string                   `json:"agent,omitzero"` // name of the program that runs in it
	Allowed   []Allowed                `json:"allowed,omitzero"`
	Host      string                   `json:"host,omitzero"` // the other machine that it runs on; empty = this one
}

// Allowed are hosts that may be reached in one session, as its own layer of the
// policy.
type Allowed struct {
	From  string   `json:"from"`         // where the rules are said to stand
	Why   string   `json:"why"`          // their reason
	Hosts []string `json:"hosts"`        // as a rule writes them: HOST or HOST:PORT
	Own   bool     `json:"own,omitzero"` // they are the service that the session's agent is made of
}

// Tally counts how the calls of a session were decided.
type Tally struct {
	Allowed, Asked, Denied int
	Refusals               []string // the newest, at most 20
}

// Store holds the sessions. It is safe for concurrent use.
type Store struct {
	dir      string // <state>/sessions
	now      func() time.Time
	newID    func() string
	maxCalls int
	told     func(note string)
	settings *durable.File // tools.json

	set   sync.Mutex // held while the person's settings change
	first sync.Mutex // held while a client's session is looked for and begun, so that it is one

	mu      sync.Mutex // guards what follows and every *live in it
	all     map[string]*live
	foreign map[string]string // client + "\x00" + foreign id → session id
	ended   map[string]past   // by the same key
	unsaved map[*live]bool    // the disk has less than is known of them
	catalog map[string]reeve.Catalog
}

// past is what an ended session of a client hands on to the next of its name.
type past struct {
	taint flow.Taint
	calls int
}

type live struct {
	Session
	calls int
	used  time.Time // when it was last asked for, or made a call
	tally Tally
	plan  bool // the client in it is in plan mode now
	kept  bool // it outlives the daemon, and has a file

	write sync.Mutex    // held while the file is written, so that what is newer stands last
	file  *durable.File // of a session that is kept
}

// Bounds of the files, in bytes: what they hold is bounded, far below.
const maxFile = 16 << 20

// Open reads the sessions that have not ended. told hears, for a person, what
// was taken from a backup and what could not be read; nil is nobody.
func Open(state string, maxCalls int, now func() time.Time, newID func() string, told func(note string)) (*Store, error) {
	if told == nil {
		told = func(string) {}
	}
	s := &Store{dir: filepath.Join(state, "sessions"), now: now, newID: newID, maxCalls: maxCalls, told: told,
		all: map[string]*live{}, foreign: map[string]string{}, ended: map[string]past{}, unsaved: map[*live]bool{}, catalog: map[string]reeve.Catalog{}}
	s.settings = &durable.File{Path: filepath.Join(state, "tools.json"), Max: maxFile, Told: told,
		Check: func(b []byte) error { _, err := parseCatalog(b); return err }}
	if err := durable.MkdirAll(s.dir); err != nil {
		return nil, fmt.Errorf("make the sessions folder: %w", err)
	}
	if err := s.readCatalog(); err != nil {
		return nil, err
	}
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("read the sessions folder: %w", err)
	}
	for _, n := range names {
		one, file, err := s.read(n.Name())
		switch {
		case errors.Is(err, reeve.ErrNotFound): // a folder that nobody came to write in, or that is being removed
		case err != nil: // a session that cannot be read is not resumed: its calls are refused as unknown
			told(err.Error())
		case !one.Ended.IsZero():
			s.remember(&live{Session: one})
		default:
			l := s.keep(one)
			l.kept, l.file = true, file
		}
	}
	return s, nil
}

func (s *Store) keep(one Session) *live {
	l := &live{Session: one, used: s.now()}
	s.all[one.ID] = l
	if one.Foreign != "" {
		s.foreign[one.Client+"\x00"+one.Foreign] = one.ID
	}
	return l
}

// remember keeps what a session that has ended hands on.
func (s *Store) remember(l *live) {
	if l.Foreign == "" {
		return
	}
	key := l.Client + "\x00" + l.Foreign
	p := s.ended[key]
	s.ended[key] = past{p.taint.Join(l.Taint), max(p.calls, l.calls)}
}

// Create begins a new session and keeps it on the disk; see [Store.Begin].
func (s *Store) Create(one Session, home string) (Session, error) {
	one, err := s.Begin(one, home)
	if err != nil {
		return Session{}, err
	}
	if err := s.Keep(one.ID); err != nil {
		s.drop(one.ID)
		return Session{}, err
	}
	return one, nil
}

// Begin begins a new session, gives it an id and makes its workspace canonical:
// an existing directory, neither the root nor the home directory. It ends with
// the daemon unless [Store.Keep] is called.
func (s *Store) Begin(one Session, home string) (Session, error) {
	real, err := Workspace(one.Workspace, home)
	if err != nil {
		return Session{}, err
	}
	one.ID, one.Workspace, one.Started = s.newID(), real, s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(one).calls = s.ended[one.Client+"\x00"+one.Foreign].calls
	return one, nil
}

// Keep writes a session down, and its end when it comes: it outlives the daemon
// and the machine's power, since what may be begun again must know what it had
// read.
func (s *Store) Keep(id string) error {
	s.mu.Lock()
	l := s.all[id]
	if l == nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: no session %s, or it has ended", reeve.ErrNotFound, id)
	}
	l.kept = true
	s.mu.Unlock()
	return errors.Join(s.persist(l), durable.SyncDir(s.dir))
}

// drop forgets a session that could not be kept.
func (s *Store) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.all[id]; l != nil {
		delete(s.all, id)
		delete(s.foreign, l.Client+"\x00"+l.Foreign)
	}
}

// ForClient returns the session of (client, foreign id), new on first sight
// with what one says of it. Calls that come together have the same one: what one
// of them reads counts for the others.
func (s *Store) ForClient(one Session, home string) (Session, error) {
	if known, ok := s.ofClient(one); ok {
		return known, nil
	}
	s.first.Lock()
	defer s.first.Unlock()
	if known, ok := s.ofClient(one); ok {
		return known, nil
	}
	s.mu.Lock()
	one.Taint = one.Taint.Join(s.ended[one.Client+"\x00"+one.Foreign].taint)
	s.mu.Unlock()
	return s.Create(one, home)
}

// ofClient finds a client's session that has begun.
func (s *Store) ofClient(one Session) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.all[s.foreign[one.Client+"\x00"+one.Foreign]]; l != nil {
		l.used = s.now()
		return l.Session, true
	}
	return Session{}, false
}

// Workspace makes a session's root of dir: absolute, every link resolved, a
// directory, and not one that would make all of a person's files the
// workspace.
func Workspace(dir, home string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%w: workspace %q is not an absolute path", reeve.ErrUsage, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("open workspace %s: %w", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("open workspace %s: %w", dir, err)
	}
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		realHome = filepath.Clean(home)
	}
	switch {
	case !info.IsDir():
		return "", fmt.Errorf("%w: workspace %s is not a directory", reeve.ErrUsage, dir)
	case real == "/" || real == realHome:
		return "", fmt.Errorf("%w: %s cannot be a workspace, since all your files are in it; work in a folder of the project", reeve.ErrUsage, dir)
	}
	return real, nil
}

// Repository returns the root of the repository around dir, or dir itself.
func Repository(dir string) string {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// SetPlan says whether the client in a session is in plan mode now: while it
// is, the session is judged as one in mode plan. It never loosens a session
// that began in plan.
func (s *Store) SetPlan(id string, plan bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[id]
	if l == nil {
		return fmt.Errorf("%w: no session %s, or it has ended", reeve.ErrNotFound, id)
	}
	l.plan = plan
	return nil
}

// Get returns one session that has not ended, in the mode that holds now.
func (s *Store) Get(id string) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[id]
	if l == nil {
		return Session{}, fmt.Errorf("%w: no session %s, or it has ended", reeve.ErrNotFound, id)
	}
	one := l.Session
	if l.plan {
		one.Mode = reeve.ModePlan
	}
	return one, nil
}

// List returns the sessions that have not ended, oldest first.
func (s *Store) List() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Session, 0, len(s.all))
	for _, l := range s.all {
		all = append(all, l.Session)
	}
	slices.SortFunc(all, func(a, b Session) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Dir is the session's own folder in the state directory.
func (s *Store) Dir(id string) string { return filepath.Join(s.dir, id) }

// End ends a session: later calls in it are refused.
func (s *Store) End(id string) error {
	s.mu.Lock()
	l := s.all[id]
	if l == nil {
		s.mu.Unlock()
		return nil
	}
	delete(s.all, id)
	if l.Foreign != "" {
		delete(s.foreign, l.Client+"\x00"+l.Foreign)
		s.remember(l)
	}
	l.Session.Ended = s.now()
	kept := l.kept
	s.mu.Unlock()
	if !kept {
		return nil
	}
	return s.persist(l)
}

// Recall reads a session back, also one that has ended.
func (s *Store) Recall(id string) (Session, error) {
	one, _, err := s.read(id)
	return one, err
}

// Reopen begins an ended session again: what it had read still counts, its
// workspace must still be fit for one.
func (s *Store) Reopen(id, home string) (Session, error) {
	one, file, err := s.read(id)
	if err != nil {
		return Session{}, err
	}
	real, err := Workspace(one.Workspace, home)
	if err == nil && real != one.Workspace {
		err = fmt.Errorf("%w: workspace %s leads to %s now", reeve.ErrUsage, one.Workspace, real)
	}
	if err != nil {
		return Session{}, fmt.Errorf("begin session %s again: %w", id, err)
	}
	one.Ended = time.Time{}
	if err := s.save(&live{file: file}, &one); err != nil {
		return Session{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keep(one)
	l.kept, l.file = true, file
	return one, nil
}

// Taint says what a session has read; for a child, its parents too.
func (s *Store) Taint(id string) flow.Taint {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t flow.Taint
	for l := s.all[id]; l != nil; l = s.all[l.Parent] {
		t = t.Join(l.Session.Taint)
	}
	return t
}

// AddTaint makes a session's taint grow. Where the growth cannot be written
// down it holds in memory all the same.
func (s *Store) AddTaint(id string, t flow.Taint) {
	s.mu.Lock()
	l := s.all[id]
	if l == nil || l.Session.Taint.Join(t) == l.Session.Taint {
		s.mu.Unlock()
		return
	}
	l.Session.Taint = l.Session.Taint.Join(t)
	kept := l.kept
	s.mu.Unlock()
	if kept {
		_ = s.persist(l)
	}
}

// Spend counts one call and refuses when the budget is used up.
func (s *Store) Spend(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[id]
	switch {
	case l == nil:
		return fmt.Errorf("session %s has ended", id)
	case l.calls >= s.maxCalls:
		return fmt.Errorf("this session has made %d calls, all that gate.max_calls grants; start a new session or raise it", s.maxCalls)
	}
	l.calls++
	l.used = s.now()
	return nil
}

// Idle lists a client's sessions that nobody has used for longer than that; a
// daemon that begins anew counts from then.
func (s *Store) Idle(client string, than time.Duration) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.all {
		if l.Client == client && s.now().Sub(l.used) > than {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Count adds one decided call to the session's tally.
func (s *Store) Count(id string, v reeve.Verdict, asked bool, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[id]
	if l == nil {
		return
	}
	if asked {
		l.tally.Asked++
	}
	if v == reeve.Allow {
		l.tally.Allowed++
		return
	}
	l.tally.Denied++
	if refusal == "" {
		return
	}
	if l.tally.Refusals = append(l.tally.Refusals, refusal); len(l.tally.Refusals) > 20 {
		l.tally.Refusals = l.tally.Refusals[1:]
	}
}

// Tally returns the counts so far.
func (s *Store) Tally(id string) Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.all[id]; l != nil {
		t := l.tally
		t.Refusals = slices.Clone(t.Refusals)
		return t
	}
	return Tally{}
}
