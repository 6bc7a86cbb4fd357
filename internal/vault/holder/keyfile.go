package holder

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// KeyFile keeps the key in a file of mode 0600: weaker than the others, since
// whoever reads the person's files has it. It is made only where a person named
// a path, and never in a directory of Reeve's own, which would be copied along with the vault.
//
// A line of the file is one key: reeve-vault-key-1 VAULT KEK HEX.
type KeyFile struct {
	Path string   // absolute
	Not  []string // directories that it must not stand in
}

var _ vault.Holder = (*KeyFile)(nil)

// Weak is the warning that goes with a key file.
const Weak = "its key stands in a file that every program of yours can read, agents outside of reeve run among them; reeve vault rekey --keychain or --passphrase moves it"

const keyLine = "reeve-vault-key-1"

// KeyFileAt is the key file that a note names.
func KeyFileAt(note []byte) *KeyFile { return &KeyFile{Path: string(note)} }

// Kind names the holder.
func (f *KeyFile) Kind() string { return KindKeyFile }

// Place is the note of its keys: the path.
func (f *KeyFile) Place() []byte { return []byte(f.Path) }

// Make adds a new key to the file. The note is the path.
func (f *KeyFile) Make(_ context.Context, vaultID, kek string) (key, note []byte, err error) {
	if err := f.place(); err != nil {
		return nil, nil, err
	}
	lines, err := f.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	defer wipeAll(lines)
	key = make([]byte, 32)
	rand.Read(key)
	line := fmt.Appendf(nil, "%s %s %s ", keyLine, vaultID, kek)
	line = hex.AppendEncode(line, key)
	lines = append(lines, line)
	return key, f.Place(), f.write(lines)
}

// place refuses paths that would keep the key beside what it opens.
func (f *KeyFile) place() error {
	if !filepath.IsAbs(f.Path) {
		return fmt.Errorf("the path of the key file must be absolute, not %q", f.Path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(f.Path))
	if err != nil {
		return fmt.Errorf("the directory of the key file: %w; make it first, or name another", err)
	}
	for _, not := range f.Not {
		if real, err := filepath.EvalSymlinks(not); err == nil {
			not = real
		}
		if dir == not || strings.HasPrefix(dir, not+string(filepath.Separator)) {
			return fmt.Errorf("the key file must not stand in %s, with what it opens; name another directory, best on another disk", not)
		}
	}
	return nil
}

// Key gives a key of the file.
func (f *KeyFile) Key(_ context.Context, vaultID, kek string, note []byte) ([]byte, error) {
	at := KeyFile{Path: string(note)}
	if at.Path == "" {
		at.Path = f.Path
	}
	lines, err := at.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the vault's key file %s is missing: put it back there", at.Path)
	}
	if err != nil {
		return nil, err
	}
	defer wipeAll(lines)
	for _, line := range lines {
		if rest, found := bytes.CutPrefix(line, prefix(vaultID, kek)); found {
			key := make([]byte, hex.DecodedLen(len(rest)))
			if _, err := hex.Decode(key, rest); err != nil || len(key) != 32 {
				return nil, fmt.Errorf("the key file %s is damaged: put a copy back", at.Path)
			}
			return key, nil
		}
	}
	return nil, fmt.Errorf("the key file %s holds another vault's keys, or an older one of this: put the right one back", at.Path)
}

// Forget takes a key out of the file, and the file away with its last key.
func (f *KeyFile) Forget(_ context.Context, vaultID, kek string, note []byte) error {
	at := KeyFile{Path: string(note)}
	if at.Path == "" {
		at.Path = f.Path
	}
	at.sweep()
	lines, err := at.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer wipeAll(lines)
	var rest [][]byte
	for _, line := range lines {
		if !bytes.HasPrefix(line, prefix(vaultID, kek)) {
			rest = append(rest, line)
		}
	}
	switch {
	case len(rest) == len(lines):
		return nil
	case len(rest) == 0:
		return os.Remove(at.Path)
	}
	return at.write(rest)
}

func prefix(vaultID, kek string) []byte {
	return fmt.Appendf(nil, "%s %s %s ", keyLine, vaultID, kek)
}

// read gives the lines of the file, which must be ours alone.
func (f *KeyFile) read() (lines [][]byte, err error) {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("the vault's key file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the vault's key file: %w", err)
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || info.Size() > 64<<10:
		return nil, fmt.Errorf("the vault's key file %s is no small regular file: put the one back that reeve vault init or rekey made, or name another", f.Path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("the vault's key file %s can be read by others (mode %04o): chmod 600 it, and reeve vault rekey, since they may have read it", f.Path, info.Mode().Perm())
	case st != nil && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("the vault's key file %s belongs to user %d, not to you", f.Path, st.Uid)
	}
	all := make([]byte, info.Size())
	n, err := file.ReadAt(all, 0)
	if err != nil && n < len(all) {
		return nil, fmt.Errorf("the vault's key file: %w", err)
	}
	for line := range bytes.Lines(all) {
		if line = bytes.TrimRight(line, "\n"); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func (f *KeyFile) write(lines [][]byte) error {
	all := append(bytes.Join(lines, []byte("\n")), '\n')
	defer ref.Wipe(all)
	f.sweep()
	if err := durable.WriteFile(f.Path, all, 0o600); err != nil {
		return fmt.Errorf("write the vault's key file: %w", err)
	}
	return nil
}

// sweep removes what a write of the file left beside it that was cut off: it holds
// keys. The vault is locked meanwhile; should another vault write the same file in
// this moment, its write fails and it keeps the key that it had.
func (f *KeyFile) sweep() {
	dir, name := filepath.Split(f.Path)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		mark, found := strings.CutPrefix(e.Name(), "."+name+".")
		if mark, temp := strings.CutSuffix(mark, ".tmp"); found && temp && len(mark) == 16 && strings.Trim(mark, "0123456789abcdef") == "" {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

func wipeAll(lines [][]byte) { ref.Wipe(lines...) }
