package vault

import (
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve/internal/durable"
)

const headForm = "reeve-vault-head v1 %s %d"

func (v *Vault) headLine(k *keys, counter int64) string {
	body := fmt.Sprintf(headForm, v.id, counter)
	return body + " " + hex.EncodeToString(mac(k.head, body)) + "\n"
}

// writeHead notes the newest counter. It is called after the commit, under the lock: a file
// ahead of its head is good, one behind it was put back.
func (v *Vault) writeHead(k *keys, counter int64) error {
	if v.opt.Head == "" {
		return nil
	}
	if err := durable.WriteFile(v.opt.Head, []byte(v.headLine(k, counter)), 0o600); err != nil {
		return fmt.Errorf("note the vault's newest state: %w", err)
	}
	return nil
}

// firstHead makes sure that there is a head before the counter moves on for
// the first time. The caller holds the lock and has the file verified.
func (v *Vault) firstHead() error {
	if _, err := os.Lstat(v.opt.Head); v.opt.Head == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return v.writeHead(v.keys, v.counter)
}

// judge compares the file's counter with the one that was noted before it was
// read.
func (v *Vault) judge(noted int64, err error, counter int64) error {
	switch {
	case v.opt.Head == "":
		return nil
	case errors.Is(err, fs.ErrNotExist) && counter == 1: // it was made, and nothing since
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing, so that nobody can tell: %s", ErrRolledBack, v.opt.Head, older)
	case err != nil:
		return err
	case noted > counter:
		return fmt.Errorf("%w: it stands at change %d, and was at %d: %s", ErrRolledBack, counter, noted, older)
	}
	return nil
}

// readHead is the noted counter. A line of another vault, or one that was not
// written by this one, is none.
func (v *Vault) readHead(k *keys) (int64, error) {
	text, err := readSmall(v.opt.Head)
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text))
	if len(f) == 5 {
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err == nil && hmac.Equal([]byte(v.headLine(k, n)), text) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: %s is of another vault or was changed: %s", ErrRolledBack, v.opt.Head, older)
}

// readSmall reads a file of a line. Something else in its place, such as a pipe
// that nobody writes to or a file without end, is read as nothing, since it must
// not hold the daemon up.
func readSmall(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, 4096))
}
