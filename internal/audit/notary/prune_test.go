package notary

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/vault"
)

// keepFrom is how long is kept so that call n is the oldest that stays.
func (h *house) keepFrom(n int) time.Duration { return h.now.Sub(day(n)) + time.Hour }

func (h *house) prune(n int) Pruning {
	h.t.Helper()
	p, err := h.n.Prune(h.t.Context(), h.keepFrom(n), false)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// TestAPrunedRecordProvesItself: after one prune and after another, by the one
// who pruned and by the next daemon.
func TestAPrunedRecordProvesItself(t *testing.T) {
	h := written(t)
	first := h.n.book.Notes[0] // of 10 rows
	kept := first + "\n" + h.sign() + "\n"
	if p := h.prune(8); p != (Pruning{1, 16}) {
		t.Fatalf("pruned %v, want rows 1 to 16", p)
	}
	rep := h.good()
	if rep.Pruned != 16 || rep.Rows != 25 || rep.Sealed.Rows != 41 || rep.Head.Tool != audit.PruneTool {
		t.Errorf("pruned once: %+v", rep)
	}
	r, err := audit.OpenRead(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.List(t.Context(), audit.Filter{})
	if err != nil || len(rows) != 13 || rows[0].ID != 18 {
		t.Errorf("listed: %d calls from row %d (%v), want 13 from 18", len(rows), rows[0].ID, err)
	}
	r.Close()
	h.call()
	h.again()
	h.sign()
	h.good()
	if p := h.prune(15); p != (Pruning{17, 30}) {
		t.Fatalf("pruned %v, want rows 17 to 30", p)
	}
	h.again()
	h.call()
	h.sign()
	if rep = h.good(); rep.Pruned != 30 {
		t.Errorf("pruned twice: up to row %d", rep.Pruned)
	}
	if p := h.prune(15); p.Rows() != 0 {
		t.Errorf("pruned again: %v, want nothing", p)
	}
	// A checkpoint of rows that are gone, kept elsewhere, is still proven.
	for what, against := range map[string]string{"the first checkpoint": first, "all that was kept": kept} {
		if rep := verify(t, h.dir, audit.Known{Memory: h.memory(), Against: against}); rep.Broken != nil {
			t.Errorf("against %s: %v", what, rep.Broken)
		}
	}
	h.close()
	f := h.log.Files()
	for _, path := range []string{f.DB, f.Head, f.Start, f.Tree, f.Book, f.Key} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want it private", path, info.Mode(), err)
		}
	}
	if db, err := os.ReadFile(h.log.Files().DB); err != nil || strings.Contains(string(db), "file3\"") {
		t.Errorf("what was removed can still be read in the file (%v)", err)
	}
	rep = verify(t, h.dir, audit.Known{})
	if rep.Broken != nil || rep.Sealed.By != audit.KeyFile {
		t.Errorf("without the vault: %v", rep.Broken)
	}
	remove(t, h.log.Files().Tree) // it can be made anew from where the record begins
	h.open()
	h.sign()
	h.call()
	h.sign()
	h.good()
	// Of what was pruned nothing is proven then; what was kept since is held against the rest.
	if rep := verify(t, h.dir, audit.Known{Memory: h.memory(), Against: kept}); rep.Broken != nil {
		t.Errorf("against all that was kept: %v", rep.Broken)
	}
	if rep := verify(t, h.dir, audit.Known{Memory: h.memory(), Against: first}); rep.Broken == nil || rep.Broken.Kind != chain.KindElsewhere {
		t.Errorf("against the first alone: %v", rep.Broken)
	}
}

// TestWhatIsNeverPruned: rows that are not signed, a call that is open and what
// follows it, rows that are younger; nothing without a key.
func TestWhatIsNeverPruned(t *testing.T) {
	h := newHouse(t)
	for range 3 {
		h.call()
	}
	open := rowsOf(h.calls)[0]
	if err := h.log.Append(t.Context(), open); err != nil { // row 7
		t.Fatal(err)
	}
	h.calls++
	for range 3 {
		h.call()
	}
	for keep, want := range map[time.Duration]Pruning{h.keepFrom(5): {1, 6}, h.keepFrom(2): {1, 4}, h.keepFrom(0): {1, 0}, MaxKeep: {1, 0}} {
		p, err := h.n.Prune(t.Context(), keep, true)
		if err != nil || p != want {
			t.Errorf("keeping %v: %v, %v, want %v", keep, p, err, want)
		}
	}
	for _, keep := range []time.Duration{0, -1, MinKeep - 1, MaxKeep + 1} {
		if _, err := h.n.Prune(t.Context(), keep, true); !errors.Is(err, reeve.ErrUsage) {
			t.Errorf("keeping %v: %v, want a usage error", keep, err)
		}
	}
	if rep := h.good(); rep.Pruned != 0 || rep.Rows != 13 {
		t.Errorf("a dry run has changed the record: %+v", rep)
	}
	at, err := h.log.Prunable(t.Context(), h.now, 3)
	if err != nil || at.ID != 3 {
		t.Errorf("with three signed rows: up to row %d, %v", at.ID, err)
	}
	h.safe.lock(vault.ErrLocked)
	if _, err := h.n.Prune(t.Context(), h.keepFrom(5), false); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("without the key: %v, want a refusal", err)
	}
	h.good2()
}

func (h *house) good2() {
	h.safe.lock(nil)
	h.good()
}

// TestRowsThatAreGoneMustHaveBeenPruned: somebody without the key removes rows
// from the front and makes it look like a prune.
func TestRowsThatAreGoneMustHaveBeenPruned(t *testing.T) {
	h := written(t)
	first := read(t, h.log.Files().Book).Notes[1] // of 20 rows
	h.close()
	cutAt := func(t *testing.T, dir string, id int64, note string) {
		t.Helper()
		f := chain.In(dir)
		c, err := chain.Dial(f.DB, "mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		rows, hash := &seal.Range{}, chain.Hash{}
		err = c.Hashes(t.Context(), 1, id, func(_ int64, h chain.Hash) error { hash = h; rows.Push(h, nil); return nil })
		if err = errors.Join(err, c.Close(), f.WriteStart(chain.Start{ID: id, Hash: hash, Nodes: rows.Nodes(), Note: note})); err != nil {
			t.Fatal(err)
		}
		sql(t, dir, "DELETE FROM tool_executions WHERE id <= 20")
	}
	t.Run("with a checkpoint that was there", func(t *testing.T) {
		dir := copied(t, h.dir)
		cutAt(t, dir, 20, first)
		wantPrune(t, h, dir)
	})
	t.Run("and a row that says so", func(t *testing.T) {
		dir := copied(t, h.dir)
		cutAt(t, dir, 20, first)
		s, err := chain.In(dir).ReadStart()
		if err != nil {
			t.Fatal(err)
		}
		l, err := audit.Open(dir, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		r := rowsOf(50)[1]
		r.Tool, r.Args = audit.PruneTool, audit.Pruned(s.ID, s.Hash)
		if err := errors.Join(l.Append(t.Context(), r), l.Close()); err != nil {
			t.Fatal(err)
		}
		wantPrune(t, h, dir)
	})
	t.Run("with a checkpoint of its own", func(t *testing.T) {
		dir := copied(t, h.dir)
		rows := &seal.Range{}
		c, err := chain.Dial(chain.In(dir).DB, "mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		err = c.Hashes(t.Context(), 1, 20, func(_ int64, h chain.Hash) error { rows.Push(h, nil); return nil })
		if err = errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		cutAt(t, dir, 20, forge(t, rows))
		wantPrune(t, h, dir)
	})
	t.Run("and nothing else", func(t *testing.T) {
		dir := copied(t, h.dir)
		sql(t, dir, "DELETE FROM tool_executions WHERE id <= 20")
		if rep := verify(t, dir, audit.Known{Memory: h.memory()}); rep.Broken == nil || rep.Broken.Kind != chain.KindMissing || rep.Broken.Row != 1 {
			t.Errorf("noticed: %v, want row 1 missing", rep.Broken)
		}
	})
	t.Run("the start of a pruned record is removed", func(t *testing.T) {
		p := written(t)
		p.prune(8)
		p.close()
		remove(t, p.log.Files().Start)
		if rep := p.verify(); rep.Broken == nil || rep.Broken.Row != 1 {
			t.Errorf("noticed: %v, want row 1 missing", rep.Broken)
		}
	})
	t.Run("the start of a pruned record is moved", func(t *testing.T) {
		p := written(t)
		p.prune(8)
		p.close()
		note, err := p.log.Files().ReadStart()
		if err != nil {
			t.Fatal(err)
		}
		cutBack := note
		cutBack.ID, cutBack.Nodes = 20, slices.Repeat(note.Nodes, 2)
		if err := p.log.Files().WriteStart(cutBack); err != nil {
			t.Fatal(err)
		}
		if rep := p.verify(); rep.Broken == nil {
			t.Error("nothing was noticed")
		}
	})
	t.Run("a row is put before the start", func(t *testing.T) {
		p := written(t)
		p.prune(8)
		p.close()
		sql(t, p.dir, "INSERT INTO tool_executions SELECT 3, "+columns+" FROM tool_executions WHERE id = 30")
		if rep := p.verify(); rep.Broken == nil || rep.Broken.Row > 4 {
			t.Errorf("noticed: %v, want row 3 or 4", rep.Broken)
		}
	})
}

func wantPrune(t *testing.T, h *house, dir string) {
	t.Helper()
	for name, known := range map[string]audit.Known{"the vault": {Memory: h.memory()}, "the key": {Key: h.memory().Key}} {
		if rep := verify(t, dir, known); rep.Broken == nil || rep.Broken.Kind != chain.KindPrune {
			t.Errorf("with %s: %v, want %s", name, rep.Broken, chain.KindPrune)
		}
	}
	denied(t, h, dir)
}

// TestAPruneThatIsCutOffAnywhereIsGoneOnWith has each state that a crash can
// leave: every write of a prune in turn is the last.
func TestAPruneThatIsCutOffAnywhereIsGoneOnWith(t *testing.T) {
	for name, stop := range map[string]func(h *house, start chain.Start){
		"a row tells of it": func(*house, chain.Start) {},
		"and it is signed":  func(h *house, _ chain.Start) { h.sign() },
		"the start is written": func(h *house, s chain.Start) {
			h.sign()
			h.start(s)
		},
		"half of the rows are gone": func(h *house, s chain.Start) {
			h.sign()
			h.start(s)
			h.close()
			sql(h.t, h.dir, "DELETE FROM tool_executions WHERE id < 9")
			h.open()
		},
		"all of them are gone, and their checkpoints stand": func(h *house, s chain.Start) {
			h.sign()
			if err := h.log.Cut(h.t.Context(), s); err != nil {
				h.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := written(t)
			h.sign()
			last, err := h.log.Prunable(t.Context(), h.now.Add(-h.keepFrom(8)), 40)
			if err != nil || last.ID != 16 {
				t.Fatalf("up to row %d, %v", last.ID, err)
			}
			h.n.mu.Lock()
			start, err := h.n.startAt(t.Context(), last)
			h.n.mu.Unlock()
			if err == nil {
				err = h.log.Append(t.Context(), h.n.row(audit.PruneTool, reeve.TierDestructive, audit.Pruned(last.ID, last.Hash), "rows 1 to 16"))
			}
			if err != nil {
				t.Fatal(err)
			}
			stop(h, start)
			h.close()
			if name != "a row tells of it" {
				h.good()
			}
			h.open()
			h.sign()
			h.call() // the writer goes on with what was left
			h.again()
			h.sign()
			h.good()
			h.prune(8)
			rep := h.good()
			if rep.Pruned != 16 || rep.Rows != h.log.Newest().ID-16 {
				t.Errorf("afterwards: %+v", rep)
			}
			c, err := chain.Dial(h.log.Files().DB, "mode=ro")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				low, err := c.Lowest(t.Context())
				if err == nil && low == 17 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the first row is row %d, %v; want 17", low, err)
				}
			}
		})
	}
}

// start writes where the record begins, as the moment before a crash leaves it.
func (h *house) start(s chain.Start) {
	h.t.Helper()
	if err := h.log.Files().WriteStart(s); err != nil {
		h.t.Fatal(err)
	}
}

// TestRecordsAreTakenDuringAPrune: a call waits for no more than a few rows.
func TestRecordsAreTakenDuringAPrune(t *testing.T) {
	h := newHouse(t)
	fill(t, h, 6000)
	h.calls = 5000
	h.sign()
	done := make(chan error, 1)
	go func() {
		_, err := h.n.Prune(context.WithoutCancel(t.Context()), h.now.Sub(day(1000))+24*time.Hour, false)
		done <- err
	}()
	for n := 0; ; n++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if n < 2 {
				t.Errorf("%d calls were recorded meanwhile", n)
			}
			h.sign()
			if rep := h.good(); rep.Pruned == 0 {
				t.Error("nothing was pruned")
			}
			return
		default:
			h.call()
		}
	}
}

// TestTheProofOfAPrunedTreeIsThePublicOne: a verifier with sumdb/tlog alone
// follows the tree over a prune.
func TestTheProofOfAPrunedTreeIsThePublicOne(t *testing.T) {
	h := written(t)
	h.sign()
	root := func(size int64) tlog.Hash {
		for _, n := range read(t, h.log.Files().Book).Notes {
			if seal.SizeOf(n) == size {
				b, err := base64.StdEncoding.DecodeString(strings.Split(n, "\n")[2])
				if err != nil {
					t.Fatal(err)
				}
				return tlog.Hash(b)
			}
		}
		t.Fatalf("no checkpoint of %d rows", size)
		return tlog.Hash{}
	}
	older := root(20)
	h.prune(12)
	h.call()
	h.sign()
	newest := h.log.Newest().ID
	proof, err := h.n.prove(20, newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := tlog.CheckTree(proof, newest, root(newest), 20, older); err != nil {
		t.Error(err)
	}
}
