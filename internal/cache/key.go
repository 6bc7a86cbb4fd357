package cache

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reeve-gate/reeve/internal/durable"
)

// KeyFile is the usual name of the installation's key, in the state directory.
const KeyFile = "cache.key"

// InstallationKey gives the key at path, which is made where there is none. One
// that others could have read or written is replaced: whatever it
// authenticated is then made anew. It says less than a key of the vault, since
// it lies beside what it authenticates: a program of the same user that can
// read both can forge.
func InstallationKey(path string) ([]byte, error) {
	key, err := readKey(path)
	switch {
	case err == nil:
		return key, nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errUnfit):
		return nil, fmt.Errorf("read the key of caches: %w", err)
	}
	key = make([]byte, KeySize)
	rand.Read(key) // never fails (crypto/rand)
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("keep the key of caches: %w", err)
	}
	if err := durable.WriteFile(path, key, 0o600); err != nil {
		return nil, fmt.Errorf("keep the key of caches: %w", err)
	}
	return key, nil
}

var errUnfit = errors.New("it is no key of ours alone")

func readKey(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errUnfit
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() != KeySize || !ok || int(st.Uid) != os.Geteuid() {
		return nil, errUnfit
	}
	key := make([]byte, KeySize)
	_, err = io.ReadFull(f, key)
	return key, err
}
