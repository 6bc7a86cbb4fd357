package notary

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/vault"
)

// safe is a vault of files in a directory; shut is why it cannot be used.
type safe struct {
	dir  string
	mu   sync.Mutex // guards shut
	shut error
}

func (s *safe) lock(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = why
}

func (s *safe) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}

func (s *safe) Kept(_ context.Context, key string) ([]byte, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(s.dir, key))
	if errors.Is(err, os.ErrNotExist) {
		return nil, vault.ErrAbsent
	}
	return b, err
}

func (s *safe) Keep(_ context.Context, key string, value []byte) error {
	if err := s.usable(); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(s.dir, key), value, 0o600)
}

// house is one record with its notary.
type house struct {
	t     testing.TB
	dir   string // of the record
	safe  *safe
	log   *audit.Log
	n     *Notary
	calls int
	now   time.Time
	said  []string
}

// day is the time of call n.
func day(n int) time.Time { return time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

func newHouse(t testing.TB) *house {
	t.Helper()
	root := t.TempDir()
	h := &house{t: t, dir: filepath.Join(root, "state"), safe: &safe{dir: filepath.Join(root, "safe")}, now: day(1000)}
	if err := os.Mkdir(h.safe.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.open()
	return h
}

// open begins as a daemon does, but for what goes on by the clock.
func (h *house) open() {
	h.t.Helper()
	var err error
	if h.log, err = audit.Open(h.dir, func() time.Time { return h.now }); err != nil {
		h.t.Fatal(err)
	}
	ids := 0
	h.n = &Notary{Log: h.log, Vault: h.safe, Now: func() time.Time { return h.now }, Say: func(f string, a ...any) { h.said = append(h.said, fmt.Sprintf(f, a...)) },
		NewID: func() string { ids++; return fmt.Sprintf("row-%p-%d", h.log, ids) }}
	h.t.Cleanup(h.close)
}

func (h *house) close() {
	h.t.Helper()
	if err := h.log.Close(); err != nil {
		h.t.Error(err)
	}
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	h.n.forget()
}

// again is a daemon that ends and a new one.
func (h *house) again() {
	h.t.Helper()
	h.close()
	h.open()
}

// call writes the rows of one call, a day after the one before.
func (h *house) call() {
	h.t.Helper()
	for _, r := range rowsOf(h.calls) {
		if err := h.log.Append(h.t.Context(), r); err != nil {
			h.t.Fatal(err)
		}
	}
	h.calls++
}

func rowsOf(n int) []reeve.Record {
	r := reeve.Record{CallID: fmt.Sprintf("call-%d", n), Phase: reeve.PhaseIntent, Time: day(n), Session: "s", Tool: "write_file", Source: "native",
		Tier: reeve.TierWrite, Args: fmt.Sprintf(`{"path":"file%d"}`, n), Channel: reeve.ChannelHook, Actor: "hook:claude", Origin: reeve.OriginAgent, Decision: reeve.Allow, Step: reeve.StepPolicy}
	o := r
	o.Phase, o.Status, o.Summary = reeve.PhaseOutcome, reeve.StatusSuccess, "done"
	return []reeve.Record{r, o}
}

// sign makes a checkpoint, which must work.
func (h *house) sign() string {
	h.t.Helper()
	signed, err := h.n.Checkpoint(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return signed
}

// written is a record of twenty calls with a checkpoint behind each fifth row pair.
func written(t testing.TB) *house {
	h := newHouse(t)
	for n := range 20 {
		h.call()
		if n%5 == 4 {
			h.sign()
		}
	}
	return h
}

func (h *house) memory() *seal.Memory {
	h.t.Helper()
	m, err := Recall(h.t.Context(), h.safe)
	if errors.Is(err, vault.ErrAbsent) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return &m
}

// verify asks the vault, as a person's command does where it is open.
func (h *house) verify() audit.Report {
	h.t.Helper()
	return verify(h.t, h.dir, audit.Known{Memory: h.memory()})
}

func verify(t testing.TB, dir string, known audit.Known) audit.Report {
	t.Helper()
	rep, err := audit.Verify(t.Context(), dir, known)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func (h *house) good() audit.Report {
	h.t.Helper()
	rep := h.verify()
	if rep.Broken != nil {
		h.t.Fatalf("verify: %v", rep.Broken)
	}
	return rep
}

// sql runs a script on the database, as somebody of the same user could.
func sql(t testing.TB, dir, script string) {
	t.Helper()
	c, err := chain.Dial(chain.In(dir).DB, "mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// rechain gives every row from one on a hash that fits, and the anchor the last
// of them, as somebody would who knows the format.
func rechain(t testing.TB, dir string, from int64) {
	t.Helper()
	f := chain.In(dir)
	c, err := chain.Dial(f.DB, "mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	prev, err := c.HashAt(t.Context(), from-1)
	if err != nil {
		t.Fatal(err)
	}
	at := chain.Anchor{ID: from - 1, Hash: prev}
	type link struct{ prev, hash chain.Hash }
	var links []link
	err = c.Query(t.Context(), "SELECT "+chain.AllColumns+" FROM tool_executions WHERE id >= ? ORDER BY id", []driver.Value{from}, func(v []driver.Value) error {
		at.ID++
		next := chain.Link(at.Hash, at.ID, chain.Leaf(v[chain.ColFirst:chain.ColPrev]))
		links = append(links, link{at.Hash, next})
		at.Hash = next
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range links {
		if err := c.Exec(fmt.Sprintf("UPDATE tool_executions SET prev_hash = x'%s', hash = x'%s' WHERE id = %d", l.prev, l.hash, from+int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(f.Head, []byte(at.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// retree makes the file of the tree that of the rows as they are.
func retree(t testing.TB, dir string) *seal.Range {
	t.Helper()
	f := chain.In(dir)
	c, err := chain.Dial(f.DB, "mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start, err := f.ReadStart()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := seal.OpenTree(f.Tree)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	rows := seal.From(start)
	if err := tree.Begin(rows); err != nil {
		t.Fatal(err)
	}
	if err := c.Hashes(t.Context(), start.ID+1, 1<<62, func(_ int64, hash chain.Hash) error { return tree.Push(rows, hash) }); err != nil {
		t.Fatal(err)
	}
	if err := tree.Flush(rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// copied is a record as it lies there, in another directory.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
