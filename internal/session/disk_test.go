package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/flow"
)

func kept(t *testing.T, s *Store) Session {
	t.Helper()
	one, err := s.Create(Session{Client: "claude", Foreign: "f", Workspace: t.TempDir()}, "/home/nobody-here")
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// TestADamagedStateLoosensNothing covers Y104: what a session has read, and a
// tool that was switched off, are taken from a backup that is as new.
func TestADamagedStateLoosensNothing(t *testing.T) {
	state := t.TempDir()
	s := open(t, state)
	one := kept(t, s)
	s.AddTaint(one.ID, flow.Taint{Private: true})
	s.AddTaint(one.ID, flow.Taint{Untrusted: true})
	for _, c := range []reeve.Catalog{reeve.CatalogAuto, reeve.CatalogOff} {
		if err := s.SetTool("bash", c); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{filepath.Join(s.Dir(one.ID), "session.json"), filepath.Join(state, "tools.json")}
	for name, damage := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 5) },
		"missing": os.Remove,
	} {
		for _, path := range files {
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
		}
		var notes []string
		again, err := Open(state, 3, time.Now, nil, func(n string) { notes = append(notes, n) })
		if err != nil || again.Taint(one.ID) != (flow.Taint{Private: true, Untrusted: true}) || again.Catalog(one.ID, "bash") != reeve.CatalogOff {
			t.Errorf("%s: it has read %+v, bash is %s, %v", name, again.Taint(one.ID), again.Catalog(one.ID, "bash"), err)
		}
		if len(notes) != 2 {
			t.Errorf("%s: told %q", name, notes)
		}
	}
	for _, end := range []string{"", ".bak"} {
		for _, path := range files[:1] {
			if err := os.WriteFile(path+end, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var notes []string
	again, err := Open(state, 3, time.Now, nil, func(n string) { notes = append(notes, n) })
	if err != nil || len(again.List()) != 0 || len(notes) != 1 || !strings.Contains(notes[0], one.ID) {
		t.Errorf("a session that can be read nowhere: %+v, told %q, %v", again.List(), notes, err)
	}
	for _, end := range []string{"", ".bak"} {
		if err := os.WriteFile(files[1]+end, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(state, 3, time.Now, nil, nil); err == nil || !strings.Contains(err.Error(), "mend it") {
		t.Errorf("settings of tools that can be read nowhere: %v", err)
	}
}

// TestWhatCouldNotBeWrittenIsWrittenAtTheEnd covers Y106.
func TestWhatCouldNotBeWrittenIsWrittenAtTheEnd(t *testing.T) {
	state := t.TempDir()
	s := open(t, state)
	one := kept(t, s)
	dir := s.Dir(one.ID)
	if err := errors.Join(os.Rename(dir, dir+"-away"), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	read := flow.Taint{Untrusted: true}
	s.AddTaint(one.ID, read)
	if err := s.Close(time.Minute); err == nil || s.Taint(one.ID) != read {
		t.Errorf("where nothing can be written: %v, and it has read %+v", err, s.Taint(one.ID))
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+"-away", dir)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(time.Minute); err != nil {
		t.Error(err)
	}
	if got := open(t, state).Taint(one.ID); got != read {
		t.Errorf("after the end it has read %+v, want %+v", got, read)
	}
	s.all[one.ID].write.Lock() // a disk that hangs
	if err := s.Close(time.Millisecond); err == nil || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("a disk that hangs: %v", err)
	}
	s.all[one.ID].write.Unlock()
}

// TestNamesOfSessionsLeadNowhereElse covers Y101.
func TestNamesOfSessionsLeadNowhereElse(t *testing.T) {
	state := t.TempDir()
	s := open(t, filepath.Join(state, "deep"))
	one := kept(t, s)
	if err := os.CopyFS(filepath.Join(state, one.ID), os.DirFS(s.Dir(one.ID))); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../../" + one.ID, "..", "", "./" + one.ID, one.ID + "/.", "NUL"} {
		if got, err := s.Recall(id); !errors.Is(err, reeve.ErrNotFound) {
			t.Errorf("recall %q: %+v, %v", id, got, err)
		}
		if got, err := s.Reopen(id, "/home/nobody-here"); !errors.Is(err, reeve.ErrNotFound) {
			t.Errorf("reopen %q: %+v, %v", id, got, err)
		}
	}
}
