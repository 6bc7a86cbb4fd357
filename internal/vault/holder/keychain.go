package holder

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/reeve-gate/reeve/internal/vault"
)

// What a keychain can say. Neither is an occasion for another way of keeping the key: nothing
// falls back by itself (contract Y95 does it otherwise).
var (
	ErrNoKeychain     = errors.New("no keychain of the system answers here; with a desktop session, start its Secret Service (such as gnome-keyring or KWallet); without one, use reeve vault init --passphrase")
	ErrKeychainLocked = errors.New("the system's keychain is locked; unlock it (a login to the desktop does, or its own program, such as seahorse), and try again")
	ErrKeychainSilent = errors.New("the system's keychain does not answer: it waits for you to unlock it, or hangs; unlock it or start it anew, and try again")
	ErrNoCollection   = errors.New("the system's keychain has no keyring to keep keys in; log in to the desktop once, or make one with the keychain's own program (such as seahorse), or use reeve vault init --passphrase")
	ErrNoEntry        = errors.New("the system's keychain has no key for this vault; it was removed there, or the vault comes from another machine: put the entry back, or move vault.db away (reeve vault status shows where it is), make a new one (reeve vault init), and take over a copy that reeve vault export made (reeve vault import)")
)

// Service is the name under which a person finds our entries in the keychain.
const Service = "reeve vault"

// Store is the system's keychain, as far as it is needed.
type Store interface {
	Get(ctx context.Context, account string) (string, error)
	Set(ctx context.Context, account, secret string) error
	Delete(ctx context.Context, account string) error // one that is not there is ErrNoEntry
}

// Keychain keeps the key in the keychain of the system (contract Y92). Each call
// waits at most Limit; it never raises a prompt.
type Keychain struct {
	Store Store         // nil = the system's
	Limit time.Duration // 0 = two seconds
}

var _ vault.Holder = (*Keychain)(nil)

// Kind names the holder.
func (k *Keychain) Kind() string { return KindKeychain }

func account(vaultID, kek string) string { return vaultID + "/" + kek }

// do calls the store with a limit. A store that hangs is left behind.
func (k *Keychain) do(ctx context.Context, f func(context.Context, Store) error) error {
	limit := k.Limit
	if limit == 0 {
		limit = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	store := k.Store
	if store == nil {
		store = system()
	}
	done := make(chan error, 1)
	go func() { done <- f(ctx, store) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w (for %s)", ErrKeychainSilent, limit)
	}
}

// Make keeps a new key.
func (k *Keychain) Make(ctx context.Context, vaultID, kek string) (key, note []byte, err error) {
	key = make([]byte, 32)
	rand.Read(key)
	text := base64.StdEncoding.EncodeToString(key)
	err = k.do(ctx, func(ctx context.Context, s Store) error { return s.Set(ctx, account(vaultID, kek), text) })
	return key, []byte{}, err
}

// Key gives a key.
func (k *Keychain) Key(ctx context.Context, vaultID, kek string, _ []byte) ([]byte, error) {
	text := make(chan string, 1)
	err := k.do(ctx, func(ctx context.Context, s Store) error {
		t, err := s.Get(ctx, account(vaultID, kek))
		text <- t
		return err
	})
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(<-text)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%w (its entry is no key)", ErrNoEntry)
	}
	return key, nil
}

// Forget removes a key.
func (k *Keychain) Forget(ctx context.Context, vaultID, kek string, _ []byte) error {
	err := k.do(ctx, func(ctx context.Context, s Store) error { return s.Delete(ctx, account(vaultID, kek)) })
	if errors.Is(err, ErrNoEntry) {
		return nil
	}
	return err
}
