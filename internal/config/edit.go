package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/reeve-gate/reeve/internal/durable"
)

// keepFormer is how many former contents of a person's file stay beside it.
const keepFormer = 3

// edits is held while a file is changed: one change at a time in this process.
var edits sync.Mutex

// Edit changes a file that a person keeps and Reeve may add to, such as
// policy.toml, and says whether it did. What stood there before is kept as
// FILE.bak, and two older ones behind it. A file at the end of a link is
// changed there, and its backups stand beside the link. It is never taken from
// a backup by itself: a mistake in it is the person's to mend, and until then
// change has to refuse it.
func Edit(file string, change func(src []byte) ([]byte, error)) (changed bool, err error) {
	edits.Lock()
	defer edits.Unlock()
	real := file
	if to, err := filepath.EvalSymlinks(file); err == nil {
		real = to
	}
	src, err := ReadOwned(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	out, err := change(src)
	if err != nil || src != nil && bytes.Equal(out, src) {
		return false, err
	}
	if err := durable.MkdirAll(filepath.Dir(real)); err != nil {
		return false, fmt.Errorf("write %s: %w", file, err)
	}
	now, err := os.ReadFile(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, src) {
		return false, fmt.Errorf("%s was changed meanwhile; try again", file)
	}
	return true, durable.WriteFileBackup(real, out, 0o600, file, keepFormer)
}
