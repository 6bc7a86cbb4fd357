package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

type value struct {
	Words []string `json:"words"`
}

var key = bytes.Repeat([]byte{7}, KeySize)

func newCache(dir string, told *[]string) *Cache {
	return &Cache{Dir: dir, Purpose: "test", Version: 2, Max: 1000, Key: func() ([]byte, error) { return key, nil },
		Told: func(n string) { *told = append(*told, n) }}
}

func get(c *Cache, name string) string {
	var v value
	if !c.Get(name, &v) {
		return ""
	}
	return strings.Join(v.Words, " ")
}

func TestWhatIsKeptIsReadAgainAndNothingElseIs(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, c *Cache, file string){
		"a bit of the value": func(t *testing.T, c *Cache, file string) { flip(t, file, -3) },
		"a bit of the code":  func(t *testing.T, c *Cache, file string) { flip(t, file, header-1) },
		"a bit of the size":  func(t *testing.T, c *Cache, file string) { flip(t, file, len(magic)+11) },
		"its version":        func(t *testing.T, c *Cache, file string) { flip(t, file, len(magic)+3) },
		"cut":                func(t *testing.T, c *Cache, file string) { must(t, os.Truncate(file, int64(header)+4)) },
		"empty":              func(t *testing.T, c *Cache, file string) { must(t, os.Truncate(file, 0)) },
		"longer":             func(t *testing.T, c *Cache, file string) { appendTo(t, file, "x") },
		"too large":          func(t *testing.T, c *Cache, file string) { must(t, os.Truncate(file, 1<<40)) },
		"plain JSON": func(t *testing.T, c *Cache, file string) {
			must(t, os.WriteFile(file, []byte(`{"words":["forged"]}`), 0o600))
		},
		"an older form": func(t *testing.T, c *Cache, file string) {
			b, _ := os.ReadFile(file)
			must(t, os.WriteFile(file, bytes.Replace(b, []byte("CACHE 1"), []byte("CACHE 0"), 1), 0o600))
		},
		"of another name": func(t *testing.T, c *Cache, file string) {
			must(t, c.Put("other", value{[]string{"other"}}))
			must(t, os.Rename(filepath.Join(c.Dir, "other.cache"), file))
		},
		"of another purpose": func(t *testing.T, c *Cache, file string) {
			o := *c
			o.Purpose = "else"
			must(t, o.Put("one", value{[]string{"other"}}))
		},
		"of another installation": func(t *testing.T, c *Cache, file string) {
			o := *c
			o.Key = func() ([]byte, error) { return bytes.Repeat([]byte{8}, KeySize), nil }
			must(t, o.Put("one", value{[]string{"other"}}))
		},
		"of an older reeve": func(t *testing.T, c *Cache, file string) {
			o := *c
			o.Version = 1
			must(t, o.Put("one", value{[]string{"other"}}))
		},
		"of another shape": func(t *testing.T, c *Cache, file string) {
			must(t, c.Put("one", map[string]int{"numbers": 1}))
		},
		"a link": func(t *testing.T, c *Cache, file string) {
			must(t, os.Rename(file, file+".away"))
			must(t, os.Symlink(file+".away", file))
		},
		"a pipe": func(t *testing.T, c *Cache, file string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			c := newCache(filepath.Join(t.TempDir(), "c"), &told)
			must(t, c.Put("one", value{[]string{"a", "b"}}))
			if got := get(c, "one"); got != "a b" || len(told) != 0 {
				t.Fatalf("read again: %q, told %q", got, told)
			}
			file := filepath.Join(c.Dir, "one.cache")
			spoil(t, c, file)
			if got := get(c, "one"); got != "" || len(told) != 1 || !strings.Contains(told[0], "is made anew") {
				t.Errorf("it is read as %q, told %q", got, told)
			}
			if _, err := os.Lstat(file); err == nil {
				t.Error("it was not thrown away")
			}
			if got := get(c, "one"); got != "" || len(told) != 1 {
				t.Errorf("once more: %q, told %q", got, told)
			}
			must(t, c.Put("one", value{[]string{"c"}}))
			if got := get(c, "one"); got != "c" {
				t.Errorf("made anew: %q", got)
			}
		})
	}
}

func TestWithoutAKeyThereIsNoCacheAndNothingIsLost(t *testing.T) {
	var told []string
	c := newCache(t.TempDir(), &told)
	must(t, c.Put("one", value{[]string{"a"}}))
	with := c.Key
	c.Key = func() ([]byte, error) { return nil, errors.New("locked") }
	must(t, c.Put("one", value{[]string{"b"}}))
	if got := get(c, "one"); got != "" || len(told) != 0 {
		t.Errorf("read without a key: %q, told %q", got, told)
	}
	c.Key = with
	if got := get(c, "one"); got != "a" {
		t.Errorf("with the key again: %q, told %q", got, told)
	}
}

func TestNamesLeadNowhereElseAndSizesAreBounded(t *testing.T) {
	var told []string
	dir := t.TempDir()
	c := newCache(filepath.Join(dir, "c"), &told)
	must(t, os.WriteFile(filepath.Join(dir, "x.cache"), []byte("kept"), 0o600))
	for _, name := range []string{"../x", "a/b", "", ".", "NUL", strings.Repeat("n", 200)} {
		if err := c.Put(name, value{}); err == nil {
			t.Errorf("kept as %q", name)
		}
		if got := get(c, name); got != "" || c.Drop(name) != nil {
			t.Errorf("%q is read as %q", name, got)
		}
	}
	if err := c.Put("one", value{[]string{strings.Repeat("x", 1000)}}); err == nil {
		t.Error("more than may be read again was kept")
	}
	if b, err := os.ReadFile(filepath.Join(dir, "x.cache")); string(b) != "kept" || err != nil || len(told) != 0 {
		t.Errorf("a file elsewhere holds %q, %v, told %q", b, err, told)
	}
}

func TestTheInstallationsKeyIsItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", KeyFile)
	first, err := InstallationKey(path)
	must(t, err)
	if again, err := InstallationKey(path); err != nil || !bytes.Equal(again, first) || len(first) != KeySize {
		t.Errorf("read again: %x, %v", again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	seen := [][]byte{first}
	for name, spoil := range map[string]func() error{
		"for others": func() error { return os.Chmod(path, 0o640) },
		"short":      func() error { return os.Truncate(path, 3) },
		"a link":     func() error { return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)) },
		"gone":       func() error { return os.Remove(path) },
	} {
		must(t, spoil())
		now, err := InstallationKey(path)
		must(t, err)
		for _, was := range seen {
			if bytes.Equal(now, was) {
				t.Errorf("%s: the key is one that was there before", name)
			}
		}
		seen = append(seen, now)
	}
}

// FuzzFilesOfOthersAreRefused: what opens is what this installation would write.
func FuzzFilesOfOthersAreRefused(f *testing.F) {
	c := newCache("", new([]string))
	good := c.seal(key, "one", []byte(`{"words":["a"]}`))
	f.Add(good)
	f.Add([]byte(magic))
	f.Add(good[:header])
	f.Add(binary.BigEndian.AppendUint64(bytes.Clone(good[:len(magic)+4]), 1<<63))
	other := bytes.Clone(good)
	other[len(magic)+11]++ // says that it is longer than it is
	f.Add(other)
	f.Add([]byte(`{"words":["a"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		body, err := c.open(key, "one", b)
		if err == nil && !bytes.Equal(c.seal(key, "one", body), b) {
			t.Errorf("%q opens as %q", b, body)
		}
		if err == nil && !bytes.Equal(b, good) && string(body) == `{"words":["a"]}` {
			t.Errorf("%q is another file with the same value", b)
		}
	})
}

func flip(t *testing.T, file string, at int) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	must(t, os.WriteFile(file, b, 0o600))
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Close()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
