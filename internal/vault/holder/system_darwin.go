package holder

import (
	"context"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// system is the login keychain, which go-keyring reaches with /usr/bin/security
// and its standard input: no value stands in an argument.
func system() Store { return loginKeychain{} }

type loginKeychain struct{}

func (loginKeychain) Get(_ context.Context, account string) (string, error) {
	text, err := keyring.Get(Service, account)
	return text, said(err)
}

func (loginKeychain) Set(_ context.Context, account, text string) error {
	return said(keyring.Set(Service, account, text))
}

func (loginKeychain) Delete(_ context.Context, account string) error {
	return said(keyring.Delete(Service, account))
}

// said gives an error of the library its meaning. security(1) tells a locked
// keychain by its exit code alone.
func said(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNoEntry
	}
	return fmt.Errorf("%w (security: %v)", ErrKeychainLocked, err)
}
