package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestAnEditKeepsWhatStoodThere(t *testing.T) {
	dir := t.TempDir()
	file, target := filepath.Join(dir, "reeve", "policy.toml"), filepath.Join(dir, "dotfiles", "policy.toml")
	add := func(text string) error {
		_, err := Edit(file, func(src []byte) ([]byte, error) { return append(src, text...), nil })
		return err
	}
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	if err := errors.Join(add("a"), add("b"), add("c"), add("d"), add("e")); err != nil {
		t.Fatal(err)
	}
	for end, want := range map[string]string{"": "abcde", ".bak": "abcd", ".bak.2": "abc", ".bak.3": "ab"} {
		if got := read(file + end); got != want {
			t.Errorf("policy.toml%s holds %q, want %q", end, got, want)
		}
	}
	if changed, err := Edit(file, func(src []byte) ([]byte, error) { return src, nil }); changed || err != nil || read(file+".bak") != "abcd" {
		t.Errorf("nothing to change: %v, %v", changed, err)
	}
	refused := errors.New("no")
	if _, err := Edit(file, func([]byte) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) || read(file) != "abcde" {
		t.Errorf("refused: %v", err)
	}
	_, err := Edit(file, func(src []byte) ([]byte, error) {
		return []byte("mine"), os.WriteFile(file, []byte("theirs"), 0o600) // an editor saves in this moment
	})
	if err == nil || !strings.Contains(err.Error(), "meanwhile") || read(file) != "theirs" {
		t.Errorf("changed by another: %v, holds %q", err, read(file))
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.Rename(file, target), os.Symlink(target, file), add("!")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(file); err != nil || to != target || read(target) != "theirs!" || read(file+".bak") != "theirs" {
		t.Errorf("at the end of a link: %q, %v, holds %q", to, err, read(target))
	}
	if left, _ := os.ReadDir(filepath.Dir(target)); len(left) != 1 {
		t.Errorf("beside the file that the link leads to: %v", left)
	}
	if err := os.Chmod(target, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := add("?"); err == nil || read(target) != "theirs!" {
		t.Errorf("one that others may write: %v", err)
	}
}

func TestEditsTogetherLoseNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := Edit(file, func(src []byte) ([]byte, error) { return append(src, 'x'), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := os.ReadFile(file); err != nil || len(got) != 20 {
		t.Errorf("%q, %v", got, err)
	}
}
