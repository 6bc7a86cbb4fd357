package vault_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/sqlite"
	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/holder"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// place is a vault's directories, and a key file apart from them.
type place struct {
	opt  vault.Options
	file *holder.KeyFile
	dir  string
}

func newPlace(t testing.TB) place {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"data", "state", "keys"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return placeIn(dir)
}

func placeIn(dir string) place {
	return place{dir: dir,
		opt:  vault.Options{File: filepath.Join(dir, "data", vault.File), Head: filepath.Join(dir, "state", vault.HeadFile), Now: time.Now},
		file: &holder.KeyFile{Path: filepath.Join(dir, "keys", "key"), Not: []string{filepath.Join(dir, "data"), filepath.Join(dir, "state")}}}
}

func (p place) create(t testing.TB) *vault.Vault {
	t.Helper()
	v, err := vault.Create(t.Context(), p.opt, p.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

func (p place) open() (*vault.Vault, error) {
	v, err := vault.Open(p.opt)
	if err != nil {
		return nil, err
	}
	if err := v.Unlock(ctx, p.file, false); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

func name(t testing.TB, s string) ref.Name {
	t.Helper()
	n, err := ref.ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func put(t testing.TB, v *vault.Vault, s, value string, how vault.How) {
	t.Helper()
	if _, err := v.Put(name(t, s), []byte(value), how, "typed"); err != nil {
		t.Fatal(err)
	}
}

func has(t testing.TB, v *vault.Vault, s, want string) {
	t.Helper()
	got, err := v.Get(name(t, s))
	if err != nil || string(got) != want {
		t.Errorf("%s is %q, %v; want %q", s, got, err, want)
	}
}

func fails(t testing.TB, what string, err, want error, say string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), say) {
		t.Errorf("%s: %v; want %q that says %q", what, err, want, say)
	}
}

func secretValue() string {
	b := make([]byte, 24)
	rand.Read(b)
	return "pw-" + base64.RawURLEncoding.EncodeToString(b)
}

// TestAVaultKeepsGivesListsAndDeletes covers G36.
func TestAVaultKeepsGivesListsAndDeletes(t *testing.T) {
	p := newPlace(t)
	v := p.create(t)
	put(t, v, "github/token", "first value", vault.New)
	put(t, v, "jira/password", "second value", vault.New)
	has(t, v, "github/token", "first value")
	_, err := v.Put(name(t, "github/token"), []byte("x"), vault.New, "typed")
	fails(t, "a second one", err, vault.ErrThere, "rotate")
	_, err = v.Put(name(t, "no/such"), []byte("x"), vault.Replace, "typed")
	fails(t, "rotate what is not there", err, vault.ErrAbsent, "reeve vault ls")
	put(t, v, "github/token", "third value", vault.Replace)
	has(t, v, "github/token", "third value")
	for _, size := range []int{0, vault.MaxValue + 1} {
		if _, err := v.Put(name(t, "a/b"), make([]byte, size), vault.New, ""); err == nil {
			t.Errorf("a value of %d bytes was taken", size)
		}
	}
	again, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	has(t, again, "github/token", "third value")
	again.Lock()
	_, err = again.Get(name(t, "github/token"))
	fails(t, "locked", err, vault.ErrLocked, "reeve vault unlock")
	list, err := again.List()
	if err != nil || len(list) != 2 || list[0].Name.String() != "github/token" || list[0].Version != 2 || list[1].Version != 1 || list[0].Origin != "typed" {
		t.Errorf("the list of a locked vault: %+v, %v", list, err)
	}
	if err := v.Remove(name(t, "github/token")); err != nil {
		t.Fatal(err)
	}
	_, err = v.Get(name(t, "github/token"))
	fails(t, "removed", err, vault.ErrAbsent, "reeve vault ls")
	fails(t, "removed twice", v.Remove(name(t, "github/token")), vault.ErrAbsent, "reeve vault ls")
}

func TestNamesThatCouldLeaveTheirPlaceAreRefused(t *testing.T) {
	for _, bad := range []string{"", "a", "a/", "/b", "a/b/c", "../b", "a/..", ".a/b", "a/.b", "-a/b", "a b/c", "a/b\n", "a\x00/b", "é/b", strings.Repeat("a", 64) + "/b", "reeve://a/b"} {
		if _, err := ref.ParseName(bad); err == nil {
			t.Errorf("%q was taken for a name", bad)
		}
	}
	for _, good := range []string{"github/token", "GITHUB_TOKEN/x.y-z", "_a/9", strings.Repeat("a", 63) + "/b"} {
		n, err := ref.ParseName(good)
		back, ok, rerr := ref.Parse(n.Reference())
		if err != nil || !ok || rerr != nil || back != n {
			t.Errorf("%q: %v, %v, %v", good, err, ok, rerr)
		}
	}
	if _, ok, err := ref.Parse("reeve://nothing"); !ok || err == nil {
		t.Error("a broken reference counts as a plain value")
	}
}

// TestNothingInTheFilesShowsAValue covers G37, G39: raw bytes of every file,
// while it is open, with its log, and afterwards.
func TestNothingInTheFilesShowsAValue(t *testing.T) {
	p := newPlace(t)
	v := p.create(t)
	var values []string
	for i := range 40 {
		old, value := secretValue(), secretValue()
		values = append(values, old, value)
		put(t, v, fmt.Sprintf("svc%d/key", i%8), old, vault.Either)
		put(t, v, fmt.Sprintf("svc%d/key", i%8), value, vault.Replace)
		if i%10 == 0 {
			if err := v.Rekey(ctx, p.file, p.file); err != nil {
				t.Fatal(err)
			}
		}
		if i%20 == 5 {
			if err := v.Remove(name(t, "svc1/key")); err != nil && !errors.Is(err, vault.ErrAbsent) {
				t.Fatal(err)
			}
		}
		noneReadable(t, p.dir, values)
	}
	v.Close()
	noneReadable(t, p.dir, values)
}

// noneReadable looks through the raw bytes of every file below dir.
func noneReadable(t testing.TB, dir string, values []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil // a temporary one that is gone
		}
		files++
		for _, v := range values {
			for _, form := range []string{v, hex.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(v))[:24]} {
				if bytes.Contains(raw, []byte(form)) {
					t.Fatalf("%s holds a value", path)
				}
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files were looked at: %v", files, err)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		p := newPlace(t)
		v := p.create(t)
		put(t, v, "a/b", "value", vault.New)
		for _, f := range []string{p.opt.File, p.opt.Head, p.file.Path, p.opt.File + "-wal", p.opt.File + "-shm"} {
			if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f, info, err)
			}
		}
		v.Close()
		if err := os.Chmod(p.opt.File, 0o644); err != nil {
			t.Fatal(err)
		}
		again, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
		if info, _ := os.Stat(p.opt.File); info.Mode().Perm() != 0o600 {
			t.Errorf("the file stays open to others: %v", info.Mode())
		}
	})
}

// sql changes a closed vault behind its back.
func (p place) sql(t testing.TB, statements ...string) {
	t.Helper()
	c, err := sqlite.Dial(p.opt.File, "mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range statements {
		if err := c.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestWhatWasChangedBehindItsBackIsNoticed covers G37: each row is bound to its name and its
// version, and all of them to one another.
func TestWhatWasChangedBehindItsBackIsNoticed(t *testing.T) {
	for what, sql := range map[string]string{
		"a value under another name":     `UPDATE secret SET wrapped = (SELECT wrapped FROM secret WHERE service='b'), sealed = (SELECT sealed FROM secret WHERE service='b') WHERE service='a'`,
		"names exchanged":                `UPDATE secret SET service = CASE service WHEN 'a' THEN 'x' ELSE service END`,
		"another version":                `UPDATE secret SET version = 7 WHERE service='a'`,
		"a row removed":                  `DELETE FROM secret WHERE service='a'`,
		"a row added":                    `INSERT INTO secret SELECT 'c', key, version, kek, wrapped, sealed, created, origin FROM secret WHERE service='a'`,
		"an earlier version put back":    `UPDATE secret SET version = 1, wrapped = (SELECT wrapped FROM kept), sealed = (SELECT sealed FROM kept), created = (SELECT created FROM kept) WHERE service='a'`,
		"the counter":                    `UPDATE meta SET counter = counter + 1`,
		"the origin":                     `UPDATE secret SET origin = 'env A' WHERE service='a'`,
		"the root":                       `UPDATE meta SET root = zeroblob(60)`,
		"the key in use":                 `UPDATE kek SET state = 'going'`,
		"the sum":                        `UPDATE meta SET mac = zeroblob(32)`,
		"the file's own row":             `DELETE FROM meta`,
		"a table that is not there more": `DROP TABLE secret`,
		"a table beside":                 `CREATE TABLE other(x)`,
		"a trigger":                      `CREATE TRIGGER other AFTER UPDATE ON meta BEGIN DELETE FROM kek; END`,
		"a view in place of a table":     `ALTER TABLE secret RENAME TO other; CREATE VIEW secret AS SELECT * FROM other`,
	} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t)
			v := p.create(t)
			put(t, v, "a/k", "first of a", vault.New)
			v.Close()
			beside := `ATTACH '` + filepath.Join(t.TempDir(), "beside") + `' AS beside`
			p.sql(t, beside, `CREATE TABLE beside.kept AS SELECT * FROM secret WHERE service='a'`)
			v, err := p.open()
			if err != nil {
				t.Fatal(err)
			}
			put(t, v, "a/k", "second of a", vault.Replace)
			put(t, v, "b/k", "of b", vault.New)
			v.Close()
			if v, err = p.open(); err != nil {
				t.Fatal(err)
			}
			v.Close()
			p.sql(t, beside, sql)
			if v, err = p.open(); err == nil {
				v.Close()
			}
			fails(t, what, err, vault.ErrDamaged, "export")
		})
	}
}

// TestAChangeUnderAnOpenVaultIsNoticed: between unlocking and reading.
func TestAChangeUnderAnOpenVaultIsNoticed(t *testing.T) {
	for what, sql := range map[string]string{
		"row":            `UPDATE secret SET origin = 'x'`,
		"row taken out":  `DELETE FROM secret WHERE service = 'a'`,
		"row and number": `UPDATE meta SET counter = counter + 1`,
	} {
		p := newPlace(t)
		v := p.create(t)
		put(t, v, "a/k", "of a", vault.New)
		p.sql(t, sql)
		_, err := v.Get(name(t, "a/k"))
		fails(t, what, err, vault.ErrDamaged, "")
		v.Close()
	}
}

// TestWhatWasPutIntoAnOpenVaultIsNotRun: a trigger would take away what is kept.
func TestWhatWasPutIntoAnOpenVaultIsNotRun(t *testing.T) {
	p := newPlace(t)
	v := p.create(t)
	put(t, v, "a/k", "of a", vault.New)
	p.sql(t, `CREATE TRIGGER other AFTER INSERT ON secret BEGIN DELETE FROM secret WHERE service = 'a'; END`)
	_, err := v.Put(name(t, "b/k"), []byte("of b"), vault.New, "")
	fails(t, "a change", err, vault.ErrDamaged, "did not make")
	p.sql(t, `DROP TRIGGER other`)
	has(t, v, "a/k", "of a")
	put(t, v, "b/k", "of b", vault.New)
}

// TestAFileThatIsNotThereAnyMoreIsNotWrittenInto: a copy that is put back under an
// open vault is the vault from then on; what went into the file before it would be
// lost with it.
func TestAFileThatIsNotThereAnyMoreIsNotWrittenInto(t *testing.T) {
	for what, change := range map[string]func(file, copied string) error{
		"removed":  func(file, _ string) error { return os.Remove(file) },
		"replaced": func(file, copied string) error { return os.Rename(copied, file) },
	} {
		p := newPlace(t)
		v := p.create(t)
		raw, err := os.ReadFile(p.opt.File)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(p.dir, "copy")
		if err := errors.Join(os.WriteFile(copied, raw, 0o600), change(p.opt.File, copied)); err != nil {
			t.Fatal(err)
		}
		_, err = v.Put(name(t, "a/k"), []byte("of a"), vault.New, "")
		fails(t, what, err, vault.ErrReplaced, "opened anew")
		if !v.Replaced() {
			t.Errorf("%s: it is not noticed", what)
		}
	}
}

// TestAVaultIsMadeWithoutTheLogOfTheOneBefore: SQLite would carry over what stands
// in a log that bears the file's name.
func TestAVaultIsMadeWithoutTheLogOfTheOneBefore(t *testing.T) {
	p := newPlace(t)
	v := p.create(t)
	c, err := sqlite.Dial(p.opt.File, "mode=rw&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(`UPDATE meta SET counter = counter + 1`); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(p.opt.File + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatalf("the log has %d bytes, %v", len(log), err)
	}
	v.Close()
	c.Close()
	if err := errors.Join(os.Remove(p.opt.File), os.WriteFile(p.opt.File+"-wal", log, 0o600)); err != nil {
		t.Fatal(err)
	}
	again := p.create(t)
	put(t, again, "a/k", "of a", vault.New)
	has(t, again, "a/k", "of a")
}

// TestAHeadThatIsNoFileHoldsNobodyUp: it is read before the daemon answers anybody.
func TestAHeadThatIsNoFileHoldsNobodyUp(t *testing.T) {
	for what, plant := range map[string]func(head string) error{
		"a pipe":             func(head string) error { return syscall.Mkfifo(head, 0o600) },
		"a directory":        func(head string) error { return os.Mkdir(head, 0o700) },
		"a link to no end":   func(head string) error { return os.Symlink("/dev/zero", head) },
		"a file without end": func(head string) error { return errors.Join(os.WriteFile(head, nil, 0o600), os.Truncate(head, 1<<40)) },
	} {
		p := newPlace(t)
		v := p.create(t)
		put(t, v, "a/k", "of a", vault.New)
		v.Close()
		if err := errors.Join(os.Remove(p.opt.Head), plant(p.opt.Head)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_, err := p.open()
		fails(t, what, err, vault.ErrRolledBack, "was changed")
	}
}

// TestAnOlderCopyIsNoticed: the whole file put back, with everything in it right.
func TestAnOlderCopyIsNoticed(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		p := newPlace(t)
		v := p.create(t)
		put(t, v, "a/k", "stolen token", vault.New)
		v.Close()
		old, err := os.ReadFile(p.opt.File)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = p.open(); err != nil {
			t.Fatal(err)
		}
		put(t, v, "a/k", "new token", vault.Replace)
		v.Close()
		if err := os.WriteFile(p.opt.File, old, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = p.open()
		fails(t, "an older file", err, vault.ErrRolledBack, "--accept-older")
		if err := os.Remove(p.opt.Head); err != nil {
			t.Fatal(err)
		}
		_, err = p.open()
		fails(t, "without the head", err, vault.ErrRolledBack, "is missing")
		if v, err = vault.Open(p.opt); err != nil {
			t.Fatal(err)
		}
		if err := v.Unlock(ctx, p.file, true); err != nil {
			t.Fatal(err)
		}
		has(t, v, "a/k", "stolen token")
		v.Close()
		if v, err = p.open(); err != nil {
			t.Fatalf("accepted once: %v", err)
		}
		v.Close()
		if err := os.WriteFile(p.opt.File, old, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = p.open()
		fails(t, "accepted once, not for ever", err, vault.ErrRolledBack, "")

		other := newPlace(t)
		other.create(t).Close()
		head, _ := os.ReadFile(other.opt.Head)
		if err := os.WriteFile(p.opt.Head, head, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = p.open()
		fails(t, "another vault's head", err, vault.ErrRolledBack, "another vault")
	})
}

// TestAVaultThatWasJustMadeNeedsNoHead: its process may have been killed before
// it was noted; from the first change on there is one.
func TestAVaultThatWasJustMadeNeedsNoHead(t *testing.T) {
	p := newPlace(t)
	p.create(t).Close()
	if err := os.Remove(p.opt.Head); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	v, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	put(t, v, "a/k", "kept", vault.New)
	v.Close()
	if v, err = p.open(); err != nil {
		t.Fatal(err)
	}
	has(t, v, "a/k", "kept")
	v.Close()
	if err := os.Remove(p.opt.Head); err != nil {
		t.Fatal(err)
	}
	_, err = p.open()
	fails(t, "a head that went", err, vault.ErrRolledBack, "is missing")
}

// TestAnyByteThatIsFlippedIsNoticedOrHarmless flips bytes all over the file.
func TestAnyByteThatIsFlippedIsNoticedOrHarmless(t *testing.T) {
	p := newPlace(t)
	v := p.create(t)
	put(t, v, "a/k", "the only value", vault.New)
	v.Close()
	good, err := os.ReadFile(p.opt.File)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := 0; at < len(good); at += 61 {
		bad := bytes.Clone(good)
		bad[at] ^= 0x41
		if err := os.WriteFile(p.opt.File, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := p.open()
		if err != nil {
			refused++
			continue
		}
		if got, err := v.Get(name(t, "a/k")); err == nil && string(got) != "the only value" {
			t.Errorf("byte %d flipped gives %q", at, got)
		}
		v.Close()
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	for _, junk := range []string{"", "no database at all, but a text that is long enough to be read", string(good[:len(good)/2])} {
		if err := os.WriteFile(p.opt.File, []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := p.open()
		if err == nil {
			v.Close()
		}
		fails(t, fmt.Sprintf("%d bytes", len(junk)), err, vault.ErrDamaged, "export")
	}
}

// TestRekeyMovesTheVaultToAnotherHolder: the key before it opens nothing.
func TestRekeyMovesTheVaultToAnotherHolder(t *testing.T) {
	p := newPlace(t)
	v := p.create(t)
	put(t, v, "a/k", "kept", vault.New)
	pass := &holder.Passphrase{Text: []byte("a long passphrase"), Cost: cheap}
	if err := v.Rekey(ctx, p.file, pass); err != nil {
		t.Fatal(err)
	}
	has(t, v, "a/k", "kept")
	if _, err := os.Stat(p.file.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former key file is still there: %v", err)
	}
	again, err := vault.Open(p.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wrong := &holder.Passphrase{Text: []byte("another passphrase")}
	fails(t, "wrong passphrase", again.Unlock(ctx, wrong, false), vault.ErrWrongKey, "does not open")
	if err := again.Unlock(ctx, p.file, false); err == nil || !strings.Contains(err.Error(), "passphrase") {
		t.Errorf("the former holder: %v", err)
	}
	if err := again.Unlock(ctx, &holder.Passphrase{Text: []byte("a long passphrase")}, false); err != nil {
		t.Fatal(err)
	}
	has(t, again, "a/k", "kept")
	// The vault that was open in another process learns of a new key.
	if err := again.Rekey(ctx, pass, p.file); err != nil {
		t.Fatal(err)
	}
	_, err = v.Get(name(t, "a/k"))
	fails(t, "another process's key", err, vault.ErrLocked, "another key")
}

// TestWritersOfOneFileDoNotLoseEachOthersChanges: handles as two processes have them.
func TestWritersOfOneFileDoNotLoseEachOthersChanges(t *testing.T) {
	p := newPlace(t)
	p.create(t)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			v, err := p.open()
			if err != nil {
				t.Error(err)
				return
			}
			defer v.Close()
			for i := range 10 {
				n := ref.Name{Service: fmt.Sprintf("w%d", w), Key: fmt.Sprintf("k%d", i)}
				if _, err := v.Put(n, []byte(n.String()), vault.New, ""); err != nil {
					t.Error(err)
				}
				if got, err := v.Get(n); err != nil || string(got) != n.String() {
					t.Errorf("%s: %q, %v", n, got, err)
				}
			}
		})
	}
	all.Wait()
	v, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	found := 0
	if err := v.Values(func(n ref.Name, value []byte) error {
		if found++; string(value) != n.String() {
			t.Errorf("%s holds %q", n, value)
		}
		return nil
	}); err != nil || found != 40 {
		t.Errorf("%d of 40 secrets: %v", found, err)
	}
}

func TestAVaultIsNeverWrittenOver(t *testing.T) {
	p := newPlace(t)
	_, err := vault.Open(p.opt)
	fails(t, "none", err, vault.ErrNone, "reeve vault init")
	v := p.create(t)
	put(t, v, "a/k", "kept", vault.New)
	if _, err := vault.Create(ctx, p.opt, p.file); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a second vault: %v", err)
	}
	has(t, v, "a/k", "kept")
}

// TestAGivenValueIsACopyAndIsWipeable: what a caller wipes is its own.
func TestAGivenValueIsACopyAndIsWipeable(t *testing.T) {
	v := newPlace(t).create(t)
	put(t, v, "a/k", "twice the same", vault.New)
	got, err := v.Get(name(t, "a/k"))
	if err != nil {
		t.Fatal(err)
	}
	ref.Wipe(got)
	if strings.Trim(string(got), "\x00") != "" {
		t.Errorf("wiped: %q", got)
	}
	has(t, v, "a/k", "twice the same")
}

func BenchmarkGet(b *testing.B) {
	v := newPlace(b).create(b)
	for i := range 100 {
		put(b, v, fmt.Sprintf("service%d/token", i), secretValue(), vault.New)
	}
	n := name(b, "service50/token")
	b.ReportAllocs()
	for b.Loop() {
		value, err := v.Get(n)
		if err != nil {
			b.Fatal(err)
		}
		ref.Wipe(value)
	}
}
