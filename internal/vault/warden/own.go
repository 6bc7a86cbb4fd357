package warden

import (
	"context"

	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// Kept gives what Reeve itself keeps in the vault under a key; vault.ErrAbsent
// where that is nothing. The slice is the caller's, to be wiped.
func (w *Warden) Kept(ctx context.Context, key string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return nil, err
	}
	return v.Get(ref.Name{Service: vault.Own, Key: key})
}

// Keep keeps something of Reeve's own, sealed as a person's secrets are.
func (w *Warden) Keep(ctx context.Context, key string, value []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, err := w.usable(ctx)
	if err != nil {
		return err
	}
	_, err = v.Put(ref.Name{Service: vault.Own, Key: key}, value, vault.Either, "reeve")
	return err
}
