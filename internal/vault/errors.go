package vault

import (
	"errors"
	"fmt"

	"github.com/reeve-gate/reeve/internal/sqlite"
)

// What can be wrong. Each text says what a person can do.
var (
	ErrNone       = errors.New("there is no vault yet; reeve vault init makes one")
	ErrLocked     = errors.New("the vault is locked; reeve vault unlock opens it")
	ErrAbsent     = errors.New("the vault holds no such secret; reeve vault ls lists them")
	ErrThere      = errors.New("the vault holds this secret already; reeve vault rotate replaces it")
	ErrWrongKey   = errors.New("the key does not open the vault")
	ErrDamaged    = errors.New("the vault's file is damaged")
	ErrRolledBack = errors.New("the vault's file is older than the vault was")
	ErrReplaced   = errors.New("the vault's file was removed or replaced while it was open, so that nothing was changed; try again, and it is opened anew")
	ErrBusy       = errors.New("another process is changing the vault; try again when it is done")
)

const (
	repair = "put a copy of vault.db back; or move the file away and make a new one (reeve vault init), which takes over a copy that reeve vault export made (reeve vault import)"
	older  = "put the newer vault.db back; where the older one was put there on purpose, reeve vault unlock --accept-older takes it as it is"
)

// damaged says what is wrong with the file, and what to do.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrDamaged, fmt.Sprintf(format, args...), repair)
}

// of gives an error of the database its meaning.
func of(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrRolledBack), errors.Is(err, ErrAbsent), errors.Is(err, ErrThere), errors.Is(err, ErrWrongKey), errors.Is(err, ErrBusy), errors.Is(err, ErrReplaced):
		return err
	case sqlite.Busy(err):
		return fmt.Errorf("%s: %w", doing, ErrBusy)
	case sqlite.Damaged(err):
		return damaged("%s: %v", doing, err)
	case sqlite.DiskFull(err):
		return fmt.Errorf("%s: the disk is full, or the file cannot be written, so that nothing was changed; make room there and try again: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
