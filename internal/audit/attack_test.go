package audit

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// ways to run SQL on the file, as an attacker would: with the library and with
// the command.
var ways = map[string]func(t *testing.T, db, script string){
	"database/sql": func(t *testing.T, db, script string) {
		c, err := sql.Open("sqlite", db)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Exec(script); err != nil {
			t.Fatal(err)
		}
	},
	"sqlite3": func(t *testing.T, db, script string) {
		path, err := exec.LookPath("sqlite3")
		if err != nil {
			t.Skip("the sqlite3 command is not installed")
		}
		cmd := exec.Command(path, "-bail", db)
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("sqlite3: %v: %s", err, out)
		}
	},
}

const (
	attackCalls = 10 // 20 rows
	shiftUp     = "UPDATE tool_executions SET id = -id - 1 WHERE id >= 7; UPDATE tool_executions SET id = -id WHERE id < 0;"
	shiftDown   = "UPDATE tool_executions SET id = -id + 1 WHERE id > 7; UPDATE tool_executions SET id = -id WHERE id < 0;"
)

// copyOf inserts row from again as row to.
func copyOf(from, to int) string {
	return fmt.Sprintf("INSERT INTO tool_executions SELECT %d, %s FROM tool_executions WHERE id = %d;", to, strings.TrimPrefix(chain.AllColumns, "id, "), from)
}

// attacks are SQL texts and what Verify must say of them.
var attacks = []struct {
	name, sql string
	row       int64
	kind      chain.Kind
}{
	{"a tool's name is edited", "UPDATE tool_executions SET tool_name = 'read_file' WHERE id = 7;", 7, chain.KindAltered},
	{"arguments are edited", "UPDATE tool_executions SET arguments = '{}' WHERE id = 7;", 7, chain.KindAltered},
	{"a time is edited", "UPDATE tool_executions SET timestamp = '2026-08-05T09:00:00.000000Z' WHERE id = 7;", 7, chain.KindAltered},
	{"a flag is edited", "UPDATE tool_executions SET user_confirmed = 1 WHERE id = 7;", 7, chain.KindAltered},
	{"a null becomes empty", "UPDATE tool_executions SET approval_id = '' WHERE id = 7;", 7, chain.KindAltered},
	{"an empty text becomes null", "UPDATE tool_executions SET result_summary = NULL WHERE id = 8;", 8, chain.KindAltered},
	{"two columns are swapped", "UPDATE tool_executions SET rule = rule_at, rule_at = rule WHERE id = 7;", 7, chain.KindAltered},
	{"a letter moves to the next column", "UPDATE tool_executions SET tool_name = tool_name || substr(tool_source, 1, 1), tool_source = substr(tool_source, 2) WHERE id = 7;", 7, chain.KindAltered},
	{"a hash is edited", "UPDATE tool_executions SET hash = zeroblob(32) WHERE id = 7;", 7, chain.KindAltered},
	{"a hash is emptied", "UPDATE tool_executions SET hash = x'' WHERE id = 7;", 7, chain.KindAltered},
	{"a link is edited", "UPDATE tool_executions SET prev_hash = zeroblob(32) WHERE id = 7;", 7, chain.KindAltered},
	{"the first row is edited", "UPDATE tool_executions SET rule = 'x' WHERE id = 1;", 1, chain.KindAltered},
	{"the last row is edited", "UPDATE tool_executions SET rule = 'x' WHERE id = 20;", 20, chain.KindAltered},
	{"two rows are edited", "UPDATE tool_executions SET rule = 'x' WHERE id IN (9, 7);", 7, chain.KindAltered},
	{"a row is deleted", "DELETE FROM tool_executions WHERE id = 7;", 7, chain.KindMissing},
	{"three rows are deleted", "DELETE FROM tool_executions WHERE id BETWEEN 7 AND 9;", 7, chain.KindMissing},
	{"the first row is deleted", "DELETE FROM tool_executions WHERE id = 1;", 1, chain.KindMissing},
	{"a row is deleted and the rest renumbered", "DELETE FROM tool_executions WHERE id = 7;" + shiftDown, 7, chain.KindMissing},
	{"a row is copied into the middle", shiftUp + copyOf(6, 7), 7, chain.KindInserted},
	{"a row is copied to the end", copyOf(20, 21), 21, chain.KindInserted},
	{"a row is put before the first", copyOf(6, 0), 0, chain.KindInserted},
	{"a row is put below zero", copyOf(6, -5), -5, chain.KindInserted},
	{"an edited copy is put into the middle", shiftUp + copyOf(6, 7) + "UPDATE tool_executions SET rule = 'x' WHERE id = 7;", 7, chain.KindInserted},
	{"two rows are swapped", "UPDATE tool_executions SET id = 0 WHERE id = 7; UPDATE tool_executions SET id = 7 WHERE id = 8; UPDATE tool_executions SET id = 8 WHERE id = 0;", 7, chain.KindReordered},
	{"a row is moved to the end", "UPDATE tool_executions SET id = 21 WHERE id = 7;", 7, chain.KindReordered},
	{"the last row is cut", "DELETE FROM tool_executions WHERE id = 20;", 20, chain.KindCut},
	{"the last five rows are cut", "DELETE FROM tool_executions WHERE id > 15;", 16, chain.KindCut},
	{"every row is cut", "DELETE FROM tool_executions;", 1, chain.KindCut},
	{"a trigger is added", "CREATE TRIGGER t AFTER INSERT ON tool_executions BEGIN DELETE FROM tool_executions WHERE id = new.id; END;", 0, chain.KindDefinition},
	{"the view hides a tool", "DROP VIEW executions; CREATE VIEW executions AS SELECT * FROM tool_executions WHERE tool_name <> 'write_file';", 0, chain.KindDefinition},
	{"an index is dropped", "DROP INDEX tool_executions_tool;", 0, chain.KindDefinition},
	{"the table is dropped", "DROP VIEW executions; DROP TABLE tool_executions;", 1, chain.KindCut},
	{"the table is renamed", "ALTER TABLE tool_executions RENAME TO gone;", 0, chain.KindDefinition},
	{"the version in the header is changed", "PRAGMA user_version = 7;", 0, chain.KindDefinition},
	{"the owner in the header is changed", "PRAGMA application_id = 7;", 0, chain.KindDefinition},
	{"a column is added", "ALTER TABLE tool_executions ADD COLUMN more TEXT;", 0, chain.KindDefinition},
}

func TestVerifyNamesTheFirstBrokenRow(t *testing.T) {
	whole := t.TempDir()
	l := mustOpen(t, whole)
	for n := range attackCalls {
		out := outcome(n)
		if n == 3 {
			out.Summary = ""
		}
		mustAppend(t, l, intent(n), out)
	}
	mustClose(t, l)
	if rep := mustVerify(t, whole); rep.Broken != nil || rep.Rows != 2*attackCalls {
		t.Fatalf("before any attack: %+v", rep)
	}
	for way, run := range ways {
		t.Run(way, func(t *testing.T) {
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "state")
					if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
						t.Fatal(err)
					}
					run(t, filepath.Join(dir, "audit.db"), a.sql)
					wantBroken(t, dir, a.row, a.kind)
				})
			}
		})
	}
}

// wantBroken checks that Verify names the break, that a writer refuses to go
// on with the same words, and that reading does not fail for it.
func wantBroken(t *testing.T, dir string, row int64, kind chain.Kind) {
	t.Helper()
	rep := mustVerify(t, dir)
	if rep.Broken == nil || rep.Broken.Row != row || rep.Broken.Kind != kind {
		t.Fatalf("verify: %v, want row %d %s", rep.Broken, row, kind)
	}
	l, err := Open(dir, clock)
	if err != nil {
		t.Fatalf("open: %v, want a log that reads", err)
	}
	defer l.Close()
	if err := l.Broken(); err == nil {
		t.Fatal("a writer opened a broken record as good")
	}
	err = l.Append(context.Background(), intent(99))
	if !errors.Is(err, reeve.ErrBroken) {
		t.Fatalf("append: %v, want ErrBroken", err)
	}
	want := "record broken at row " + fmt.Sprint(row)
	if row == 0 {
		want = "record broken"
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "run reeve audit verify, then reeve audit reseal --keep-broken") {
		t.Errorf("append says %q", err)
	}
	if again := mustVerify(t, dir); *again.Broken != *rep.Broken {
		t.Errorf("after a writer looked: %v, before: %v", again.Broken, rep.Broken)
	}
}

// rehash gives the rows from id from to to-1 hashes that fit, as an attacker
// who knows the format would.
func rehash(t *testing.T, dir string, from, to int64) {
	t.Helper()
	c, err := chain.Dial(chain.In(dir).DB, "mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for id := from; id < to; id++ {
		prev, err := c.HashAt(t.Context(), id-1)
		if err != nil {
			t.Fatal(err)
		}
		var hash chain.Hash
		err = c.Query(t.Context(), "SELECT "+chain.AllColumns+" FROM tool_executions WHERE id = ?", []driver.Value{id}, func(v []driver.Value) error {
			hash = chain.Link(prev, id, chain.Leaf(v[chain.ColFirst:chain.ColPrev]))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Exec(fmt.Sprintf("UPDATE tool_executions SET prev_hash = x'%s', hash = x'%s' WHERE id = %d", prev, hash, id)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVerifySeesARewrittenChain(t *testing.T) {
	whole := t.TempDir()
	fill(t, whole, 0, attackCalls)
	edit := "UPDATE tool_executions SET rule = 'x' WHERE id = 7;"
	insert := shiftUp + copyOf(6, 7) + "UPDATE tool_executions SET rule = 'x' WHERE id = 7;"
	for _, a := range []struct {
		name, sql string
		from, to  int64
		row       int64
		kind      chain.Kind
	}{
		{"one row and its own hash", edit, 7, 8, 7, chain.KindAltered},
		{"one row and two hashes", edit, 7, 9, 8, chain.KindAltered},
		{"every hash to the end", edit, 7, 21, 20, chain.KindReplaced},
		{"a forged row with a good hash", insert, 7, 8, 7, chain.KindInserted},
	} {
		t.Run(a.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			ways["database/sql"](t, filepath.Join(dir, "audit.db"), a.sql)
			rehash(t, dir, a.from, a.to)
			wantBroken(t, dir, a.row, a.kind)
		})
	}
}

func TestVerifySeesWhatIsDoneToTheFiles(t *testing.T) {
	older, whole, other := t.TempDir(), t.TempDir(), t.TempDir()
	fill(t, older, 0, 6)
	if err := os.RemoveAll(whole); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(whole, os.DirFS(older)); err != nil {
		t.Fatal(err)
	}
	fill(t, whole, 6, attackCalls)
	fill(t, other, 50, 65)
	read := func(dir, name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	scribble := func(db []byte) []byte {
		db = bytes.Clone(db)
		for i := len(db) / 4096 * 4096 / 2; i < len(db); i++ {
			db[i] = 0x55
		}
		return db
	}
	for _, a := range []struct {
		name, file string
		content    []byte // nil = removed
		row        int64
		kind       chain.Kind
	}{
		{"an older copy is put back", "audit.db", read(older, "audit.db"), 13, chain.KindCut},
		{"another record is put there", "audit.db", read(other, "audit.db"), 20, chain.KindReplaced},
		{"the database is removed", "audit.db", nil, 1, chain.KindCut},
		{"the database is emptied", "audit.db", []byte{}, 1, chain.KindCut},
		{"the anchor is removed", "audit.head", nil, 0, chain.KindAnchor},
		{"the anchor is emptied", "audit.head", []byte{}, 0, chain.KindAnchor},
		{"the anchor of another record is put there", "audit.head", read(other, "audit.head"), 21, chain.KindCut},
		{"an older anchor with another hash is put there", "audit.head", []byte(chain.Anchor{ID: 5, Hash: chain.Hash{1}}.String()), 5, chain.KindReplaced},
	} {
		t.Run(a.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, a.file)
			var err error
			if a.content == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, a.content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			wantBroken(t, dir, a.row, a.kind)
		})
	}
	for name, content := range map[string][]byte{"text": []byte("this is no database, and it is long enough to be read as one"), "half of it scribbled over": scribble(read(whole, "audit.db"))} {
		t.Run("the database is "+name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "audit.db"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			if rep := mustVerify(t, dir); rep.Broken == nil {
				t.Error("verify found nothing")
			}
			l, err := Open(dir, clock)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := l.Append(context.Background(), intent(1)); !errors.Is(err, reeve.ErrBroken) {
				t.Errorf("append: %v, want ErrBroken", err)
			}
		})
	}
}

// TestDatabaseAheadOfItsAnchorIsGood: the anchor is written after the commit.
func TestDatabaseAheadOfItsAnchorIsGood(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 0, 3)
	head, err := os.ReadFile(filepath.Join(dir, "audit.head"))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, dir, 3, 5)
	if err := os.WriteFile(filepath.Join(dir, "audit.head"), head, 0o600); err != nil {
		t.Fatal(err)
	}
	rep := mustVerify(t, dir)
	if rep.Broken != nil || rep.Rows != 10 || rep.Anchor != 6 || rep.Ahead != 4 {
		t.Fatalf("verify: %+v, want ten good rows, four ahead of the anchor", rep)
	}
	fill(t, dir, 5, 6)
	if rep := mustVerify(t, dir); rep.Broken != nil || rep.Anchor != 12 {
		t.Errorf("after going on: %+v, want the anchor at row 12", rep)
	}
}

func TestVerifyListsIntentsWithoutOutcome(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	mustAppend(t, l, intent(1), intent(2), outcome(1), intent(3))
	mustClose(t, l)
	rep := mustVerify(t, dir)
	if rep.Broken != nil || rep.OpenAll != 2 || len(rep.Open) != 2 || rep.Open[0].CallID != intent(2).CallID || rep.Open[1].CallID != intent(3).CallID {
		t.Errorf("verify lists %+v, want calls 2 and 3", rep.Open)
	}
	if rep.Rows != 4 || rep.Intents != 3 {
		t.Errorf("verify counts %d rows and %d intents, want 4 and 3", rep.Rows, rep.Intents)
	}
}

// TestOldRowsAreCheckedAfterTheStart puts the fault before the rows that Open
// looks at.
func TestOldRowsAreCheckedAfterTheStart(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir)
	group(t, l, 0, newestAtStart/2+50)
	mustClose(t, l)
	ways["database/sql"](t, filepath.Join(dir, "audit.db"), "UPDATE tool_executions SET rule = 'x' WHERE id = 7;")
	l, err := Open(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var b *chain.Break
	if err := l.Verified(context.Background()); !errors.As(err, &b) || b.Row != 7 {
		t.Fatalf("verified: %v, want row 7", err)
	}
	if err := l.Append(context.Background(), intent(1)); !errors.Is(err, reeve.ErrBroken) {
		t.Errorf("append: %v, want ErrBroken", err)
	}
}

func TestResealKeepsTheBrokenRecordAndStartsANewOne(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	fill(t, dir, 0, 3)
	if _, err := Reseal(ctx, dir, true, Known{}, clock); err == nil || !strings.Contains(err.Error(), "nothing to reseal") {
		t.Errorf("reseal of a good record: %v, want a refusal", err)
	}
	ways["database/sql"](t, filepath.Join(dir, "audit.db"), "UPDATE tool_executions SET rule = 'x' WHERE id = 4;")
	if _, err := Reseal(ctx, dir, false, Known{}, clock); !errors.Is(err, reeve.ErrUsage) {
		t.Errorf("reseal without the word: %v, want a refusal", err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Reseal(ctx, dir, true, Known{}, clock)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(kept)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the kept record differs from the broken one (%v)", err)
	}
	rep := mustVerify(t, dir)
	if rep.Broken != nil || rep.Rows != 1 || !strings.Contains(rep.Head.Summary, "row 4") || !strings.Contains(rep.Head.Summary, kept) {
		t.Errorf("new record: %+v, want one row that tells of row 4 and %s", rep, kept)
	}
	fill(t, dir, 3, 5)
	if rep := mustVerify(t, dir); rep.Broken != nil || rep.Rows != 5 {
		t.Errorf("after going on: %+v", rep)
	}
	l := mustOpen(t, dir)
	if _, err := Reseal(ctx, dir, true, Known{}, clock); err == nil || !strings.Contains(err.Error(), "reeve down") {
		t.Errorf("reseal beside a writer: %v, want a refusal", err)
	}
	mustClose(t, l)
}
