package spare

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestEverySessionGetsASocketOfItsOwn: one that was tidied away is not handed
// out, a name is gone when the last has ended, and what an earlier daemon left
// is removed.
func TestEverySessionGetsASocketOfItsOwn(t *testing.T) {
	state := t.TempDir()
	getenv := func(string) string { return "" }
	left := filepath.Join(state, "hooks", "left.sock")
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := New(state, getenv)
	seen := map[string]bool{}
	for range 20 {
		l, err := h.Open()
		if err != nil {
			t.Fatal(err)
		}
		if seen[l.Path()] {
			t.Errorf("%s serves two sessions", l.Path())
		}
		seen[l.Path()] = true
		if c, err := net.Dial("unix", l.Path()); err != nil {
			t.Error(err)
		} else {
			c.Close()
		}
		h.work.Wait() // the next one is ready
		if h.spare == nil {
			t.Fatal("no socket was made ready")
		}
		if len(seen)%2 == 0 {
			if err := os.Remove(h.spare.Path()); err != nil {
				t.Fatal(err)
			}
		}
		h.Drop(l)
	}
	h.End()
	if names, err := os.ReadDir(filepath.Join(state, "hooks")); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v %v", names, err)
	}
	if l, err := h.Open(); err == nil {
		l.Close()
		if h.spare != nil {
			t.Error("a socket was made ready after the end")
		}
	}
}
