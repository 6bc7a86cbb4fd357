package notary

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/seal"
)

const (
	columns   = "call_id, phase, timestamp, session_id, tool_name, tool_source, risk_tier, arguments, result_status, result_summary, user_confirmed, duration_ms, input_channel, actor, origin, mode, decision, step, rule, rule_at, approval_id, dangerous_mode, sandbox, contained, parent_id, prev_hash, hash"
	shiftUp   = "UPDATE tool_executions SET id = -id - 1 WHERE id >= 17; UPDATE tool_executions SET id = -id WHERE id < 0;"
	shiftDown = "UPDATE tool_executions SET id = -id + 1 WHERE id > 17; UPDATE tool_executions SET id = -id WHERE id < 0;"
)

// TestARewrittenRecordIsNoticedWithoutTheKey: somebody who may write every file
// of the record, and has not the key, does one thing to its rows and makes
// everything fit: the chain, the anchor, the tree, and the checkpoints, in each
// way that there is. The record has 40 rows, and checkpoints of 10, 20, 30, 40.
func TestARewrittenRecordIsNoticedWithoutTheKey(t *testing.T) {
	h := written(t)
	h.close()
	older := newHouse(t)
	for range 8 {
		older.call()
	}
	older.close()
	for _, a := range []struct {
		name, sql string
		from      int64 // the first row that is another one
		exact     int64 // the row that is named while the file of the tree is the old one
	}{
		{"edit", "UPDATE tool_executions SET arguments = '{}' WHERE id = 17;", 17, 17},
		{"delete", "DELETE FROM tool_executions WHERE id = 17;" + shiftDown, 17, 17},
		{"insert", shiftUp + "INSERT INTO tool_executions SELECT 17, " + columns + " FROM tool_executions WHERE id = 3;", 17, 17},
		{"swap", "UPDATE tool_executions SET id = 0 WHERE id = 17; UPDATE tool_executions SET id = 17 WHERE id = 18; UPDATE tool_executions SET id = 18 WHERE id = 0;", 17, 17},
		{"truncate", "DELETE FROM tool_executions WHERE id > 35;", 36, 36},
	} {
		for how, forge := range forgeries {
			t.Run(a.name+"/"+how, func(t *testing.T) {
				dir := copied(t, h.dir)
				sql(t, dir, a.sql)
				rechain(t, dir, min(a.from, 35))
				want := forge(t, dir, a.from, a.exact)
				rep := verify(t, dir, audit.Known{Memory: h.memory()})
				if rep.Broken == nil {
					t.Fatalf("nothing was noticed: %+v", rep)
				}
				switch {
				case a.name == "truncate":
					want = finding{36, chain.KindCut, false}
				case a.name == "delete" && want.byVault:
					want = finding{40, chain.KindCut, true}
				}
				if rep.Broken.Kind != want.kind || rep.Broken.Row != want.row {
					t.Errorf("noticed: %v, want row %d, %s", rep.Broken, want.row, want.kind)
				}
				denied(t, h, dir)
			})
		}
	}
	t.Run("an older copy of everything but the vault", func(t *testing.T) {
		old := newHouse(t)
		for range 8 {
			old.call()
		}
		old.sign()
		old.close()
		was := copied(t, old.dir)
		old.open()
		old.call()
		old.sign()
		old.close()
		rep := verify(t, was, audit.Known{Memory: old.memory()})
		if rep.Broken == nil || rep.Broken.Kind != chain.KindCut || rep.Broken.Row != 17 {
			t.Errorf("noticed: %v, want a cut behind row 16", rep.Broken)
		}
		denied(t, old, was)
	})
	t.Run("another record with its own key", func(t *testing.T) {
		rep := verify(t, older.dir, audit.Known{Memory: h.memory()})
		if rep.Broken == nil {
			t.Error("nothing was noticed")
		}
		denied(t, h, older.dir)
	})
}

// denied begins a daemon with the vault of h on the record in dir: it must sign
// nothing, and take no record.
func denied(t *testing.T, h *house, dir string) {
	t.Helper()
	d := &house{t: t, dir: dir, safe: h.safe, now: h.now}
	before := *h.memory()
	d.open()
	_, err := d.n.Checkpoint(t.Context())
	if err == nil {
		t.Fatal("a daemon has signed it")
	}
	if errors.Is(err, ErrAnew) {
		t.Fatalf("it was taken for a reseal: %v", err)
	}
	if err := d.log.Append(t.Context(), rowsOf(99)[0]); !errors.Is(err, reeve.ErrBroken) {
		t.Errorf("a record was taken: %v", err)
	}
	if now := *h.memory(); now.Size != before.Size || now.Root != before.Root {
		t.Error("the vault was made to forget")
	}
	if s := d.n.State(); s.Why == "" {
		t.Error("the state says that all is well")
	}
}

type finding struct {
	row     int64
	kind    chain.Kind
	byVault bool // no checkpoint that the rows could be held against is left
}

// forgeries are what is done to the other files, and what is then noticed of an
// edit of row 17, which the checkpoint of 20 rows has, as a person sees it whose
// vault is open.
var forgeries = map[string]func(t *testing.T, dir string, from, exact int64) finding{
	"the other files stay": func(_ *testing.T, _ string, _, exact int64) finding { return finding{exact, chain.KindAltered, false} },
	"the tree too": func(t *testing.T, dir string, _, _ int64) finding {
		retree(t, dir)
		return finding{11, chain.KindCheckpoint, false}
	},
	"the tree is gone": func(t *testing.T, dir string, _, _ int64) finding {
		remove(t, chain.In(dir).Tree)
		return finding{11, chain.KindCheckpoint, false}
	},
	"the checkpoints end before it": func(t *testing.T, dir string, from, _ int64) finding {
		retree(t, dir)
		f := chain.In(dir)
		book := read(t, f.Book)
		var kept []string
		for _, n := range book.Notes {
			if seal.SizeOf(n) < from {
				kept = append(kept, n+"\n")
			}
		}
		write(t, f.Book, strings.Join(kept, ""))
		return finding{11, chain.KindCheckpoint, true} // what the vault remembers has other rows
	},
	"the checkpoints are gone": func(t *testing.T, dir string, _, _ int64) finding {
		retree(t, dir)
		remove(t, chain.In(dir).Book)
		return finding{1, chain.KindCheckpoint, true}
	},
	"signed with another key": func(t *testing.T, dir string, _, _ int64) finding {
		f := chain.In(dir)
		write(t, f.Book, forge(t, retree(t, dir))+"\n")
		return finding{1, chain.KindCheckpoint, true}
	},
	"the last checkpoint altered": func(t *testing.T, dir string, _, _ int64) finding {
		f := chain.In(dir)
		rows := retree(t, dir)
		book := read(t, f.Book)
		_, sig, _ := strings.Cut(book.Newest(), "\n\n")
		origin, _, _ := strings.Cut(book.Newest(), "\n")
		c := seal.Checkpoint{Origin: origin, Size: rows.Size(), Root: rows.Root()}
		write(t, f.Book, c.Text()+"\n"+sig+"\n")
		return finding{1, chain.KindCheckpoint, true}
	},
	"the checkpoints are garbage": func(t *testing.T, dir string, _, _ int64) finding {
		f := chain.In(dir)
		write(t, f.Book, strings.Replace(mustRead(t, f.Book), "\n20\n", "\n2O\n", 1))
		return finding{17, chain.KindAltered, true} // the tree is the old one
	},
}

// forge signs with a key of the attacker's own, under the name of the record.
func forge(t *testing.T, rows *seal.Range) string {
	t.Helper()
	secret, err := seal.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	s, err := seal.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := s.Sign(rows)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// TestWithoutTheVaultAGivenKeyNotices: the verifier key is all that is needed,
// and a checkpoint that was kept elsewhere notices what was cut.
func TestWithoutTheVaultAGivenKeyNotices(t *testing.T) {
	h := written(t)
	newest := h.sign()
	h.close()
	key := h.n.State().Key
	if rep := verify(t, h.dir, audit.Known{}); rep.Broken != nil || rep.Sealed.By != audit.KeyFile || rep.Sealed.Rows != 40 {
		t.Errorf("with nothing known: %v, %+v", rep.Broken, rep.Sealed)
	}
	if rep := verify(t, h.dir, audit.Known{Key: key, Against: newest}); rep.Broken != nil || rep.Sealed.By != audit.KeyGiven {
		t.Errorf("with the key: %v, %+v", rep.Broken, rep.Sealed)
	}
	forged := copied(t, h.dir)
	f := chain.In(forged)
	sql(t, forged, "UPDATE tool_executions SET arguments = '{}' WHERE id = 17;")
	rechain(t, forged, 17)
	secret, err := seal.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	s, err := seal.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := s.Sign(retree(t, forged))
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.Book, signed+"\n")
	write(t, f.Key, s.Key.String()+"\n")
	if rep := verify(t, forged, audit.Known{}); rep.Broken != nil || rep.Sealed.By != audit.KeyFile {
		t.Errorf("forged with its own key, and nothing known: %v; it can only be said that nobody confirms the key", rep.Broken)
	}
	if rep := verify(t, forged, audit.Known{Key: key}); rep.Broken == nil || rep.Broken.Kind != chain.KindSignature {
		t.Errorf("forged, with the key: %v, want %s", rep.Broken, chain.KindSignature)
	}
	// Cut to what an older checkpoint has: only what was kept elsewhere knows more.
	cut := copied(t, h.dir)
	sql(t, cut, "DELETE FROM tool_executions WHERE id > 20;")
	rechain(t, cut, 20)
	book := read(t, chain.In(cut).Book)
	write(t, chain.In(cut).Book, book.Notes[0]+"\n"+book.Notes[1]+"\n")
	if rep := verify(t, cut, audit.Known{Key: key}); rep.Broken != nil {
		t.Errorf("cut, with the key: %v", rep.Broken)
	}
	if rep := verify(t, cut, audit.Known{Key: key, Against: newest}); rep.Broken == nil || rep.Broken.Kind != chain.KindElsewhere || rep.Broken.Row != 21 {
		t.Errorf("cut, with a checkpoint from elsewhere: %v, want that row 21 is missing", rep.Broken)
	}
	// Whoever cut it, and could use the vault as well, had the record go on: a
	// file of the publisher's has the newer ones, and then smaller ones.
	for name, kept := range map[string]string{
		"with a file that has gone back":   strings.Join(append(read(t, chain.In(h.dir).Book).Notes, read(t, chain.In(cut).Book).Notes[1]), "\n"),
		"with one that two records share":  newest + "\n" + forge(t, &seal.Range{}) + "\n",
		"with one that is torn at the end": newest + "\n" + newest[:len(newest)-20],
	} {
		if rep := verify(t, cut, audit.Known{Key: key, Against: kept}); rep.Broken == nil || rep.Broken.Kind != chain.KindElsewhere || rep.Broken.Row != 21 {
			t.Errorf("cut, %s: %v, want that row 21 is missing", name, rep.Broken)
		}
		if rep := verify(t, h.dir, audit.Known{Key: key, Against: kept}); rep.Broken != nil {
			t.Errorf("whole, %s: %v", name, rep.Broken)
		}
	}
	if rep := verify(t, h.dir, audit.Known{Key: key, Against: forge(t, &seal.Range{})}); rep.Broken == nil || rep.Broken.Kind != chain.KindElsewhere {
		t.Errorf("a checkpoint of another record: %v", rep.Broken)
	}
	if _, err := audit.Verify(t.Context(), h.dir, audit.Known{Key: key, Against: "no checkpoint"}); !errors.Is(err, reeve.ErrUsage) {
		t.Errorf("what is no checkpoint: %v", err)
	}
	if rep := verify(t, cut, audit.Known{Memory: h.memory()}); rep.Broken == nil || rep.Broken.Kind != chain.KindCut {
		t.Errorf("cut, with the vault: %v", rep.Broken)
	}
}

// TestLostCheckpointsAreToldAndTheRecordGoesOn: the rows still prove themselves
// by what the vault remembers.
func TestLostCheckpointsAreToldAndTheRecordGoesOn(t *testing.T) {
	for name, harm := range map[string]func(f chain.Files){
		"gone":  func(f chain.Files) { remove(t, f.Book) },
		"older": func(f chain.Files) { write(t, f.Book, read(t, f.Book).Notes[0]+"\n") },
		"none":  func(f chain.Files) { write(t, f.Book, "nothing\n\n— of\n\n it") },
		"one of them is not signed": func(f chain.Files) {
			b := read(t, f.Book)
			body, _, _ := strings.Cut(b.Notes[1], "\n\n")
			_, sig, _ := strings.Cut(b.Notes[2], "\n\n")
			b.Notes[1] = body + "\n\n" + sig
			write(t, f.Book, strings.Join(b.Notes, "\n")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := written(t)
			h.close()
			harm(h.log.Files())
			if rep := h.verify(); rep.Broken == nil || rep.Broken.Row != 0 || rep.Rows != 40 || !slices.Contains([]chain.Kind{chain.KindUnsealed, chain.KindCheckpoint, chain.KindSignature}, rep.Broken.Kind) {
				t.Fatalf("verify: %v, %d rows; want that something is wrong with the checkpoints, and forty rows hold", rep.Broken, rep.Rows)
			}
			h.open()
			h.sign()
			rep := h.good()
			if rep.Sealed.Rows != 41 || rep.Head.Tool != "reeve.audit.checkpoints" || !strings.Contains(rep.Head.Summary, "signed anew") {
				t.Errorf("afterwards: %+v, newest row %q: %q", rep.Sealed, rep.Head.Tool, rep.Head.Summary)
			}
		})
	}
}

// TestCheckpointsThatGoWhileADaemonRunsAreToldToo: their file is not made longer
// with nothing in it.
func TestCheckpointsThatGoWhileADaemonRunsAreToldToo(t *testing.T) {
	for name, harm := range map[string]func(f chain.Files){
		"gone":    func(f chain.Files) { remove(t, f.Book) },
		"shorter": func(f chain.Files) { write(t, f.Book, read(t, f.Book).Notes[0]+"\n") },
	} {
		t.Run(name, func(t *testing.T) {
			h := written(t)
			harm(h.log.Files())
			h.call()
			if _, err := h.n.Checkpoint(t.Context()); err == nil {
				t.Fatal("a checkpoint was put where others are missing")
			}
			h.sign()
			if rep := h.good(); rep.Head.Tool != "reeve.audit.checkpoints" || rep.Sealed.Rows != rep.Rows {
				t.Errorf("afterwards: %+v, newest row %q", rep.Sealed, rep.Head.Tool)
			}
		})
	}
}

// TestAnAcceptedRecordIsNoResealAgain: its first row says that a reseal began it,
// which is no excuse for what is done to it afterwards.
func TestAnAcceptedRecordIsNoResealAgain(t *testing.T) {
	h := written(t)
	h.close()
	sql(t, h.dir, "UPDATE tool_executions SET rule = 'x' WHERE id = 7;")
	if _, err := audit.Reseal(t.Context(), h.dir, true, audit.Known{Memory: h.memory()}, func() time.Time { return h.now }); err != nil {
		t.Fatal(err)
	}
	h.open()
	if _, err := h.n.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		h.call()
	}
	h.sign()
	h.close()
	sql(t, h.dir, "UPDATE tool_executions SET arguments = '{}' WHERE id = 4;")
	rechain(t, h.dir, 4)
	if rep := h.verify(); rep.Broken == nil || rep.Anew || rep.Broken.Row != 4 || rep.Rows != 3 || rep.Head.ID != 3 {
		t.Errorf("verify: %v, %d rows hold, anew: %v; want row 4", rep.Broken, rep.Rows, rep.Anew)
	}
	denied(t, h, h.dir)
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, path string) seal.Book {
	t.Helper()
	b, err := seal.ReadBook(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAFileOfManyCheckpointsIsHeldAgainstTheRowsWhole: rows were put back to what
// they were before, with the vault, and grew again; what was kept elsewhere
// has the checkpoints of the time between, and those of another machine.
func TestAFileOfManyCheckpointsIsHeldAgainstTheRowsWhole(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	defer other.close()
	other.call()
	kept := other.sign() + "\n"
	h.call()
	kept += h.sign() + "\n"
	h.close()
	was, secrets := copied(t, h.dir), copied(t, h.safe.dir)
	h.open()
	h.call()
	kept += h.sign() + "\n" + other.sign() + "\n"
	if rep := verify(t, h.dir, audit.Known{Memory: h.memory(), Against: kept}); rep.Broken != nil {
		t.Errorf("as it was signed: %v", rep.Broken)
	}
	if rep := verify(t, h.dir, audit.Known{Memory: h.memory(), Against: other.sign()}); rep.Broken == nil || rep.Broken.Kind != chain.KindElsewhere {
		t.Errorf("against another machine's alone: %v", rep.Broken)
	}
	h.close()
	back := &house{t: t, dir: was, safe: &safe{dir: secrets}, now: h.now, calls: 7}
	back.open()
	for range 3 {
		back.call()
		back.sign()
	}
	back.good() // nothing here can tell
	kept += back.sign() + "\n"
	rep := verify(t, back.dir, audit.Known{Memory: back.memory(), Against: kept})
	if rep.Broken == nil || !strings.Contains(rep.Broken.Error(), "rows 3 to 4 are not those of the checkpoint that was kept elsewhere") {
		t.Errorf("grown again: %v", rep.Broken)
	}
}
