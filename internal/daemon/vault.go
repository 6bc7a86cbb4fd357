package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/cache"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/warden"
)

// newWarden keeps the vault of this installation. Every value in it is masked.
func newWarden(p config.Paths, clean *redact.Redactor) *warden.Warden {
	return &warden.Warden{Options: vault.Options{File: filepath.Join(p.Data, vault.File), Head: filepath.Join(p.State, vault.HeadFile), Now: time.Now},
		Own: own(p), Mask: clean.AddSecrets}
}

// mask masks values everywhere from now on, in the logs of sessions that run too:
// each is told before it returns, and one that takes nothing holds it up for two
// seconds.
func (d *Daemon) mask(values ...string) (short int) {
	before := len(d.clean.Secrets())
	short = d.clean.AddSecrets(values...)
	if len(d.clean.Secrets()) > before {
		if err := d.masks.Tell(); err != nil {
			d.logf("%v", err)
		}
	}
	return short
}

// Vault tells how the vault is, without a daemon; it is not opened.
func Vault(p config.Paths) warden.State {
	w := newWarden(p, redact.New())
	defer w.Close()
	return w.State()
}

// unlockVault opens the vault before anything is decided or shown, so that its
// values are masked from the first word on. Without a vault it costs one look at
// the disk.
func (d *Daemon) unlockVault() {
	if err := d.vault.Start(context.Background()); err != nil {
		d.logf("the vault is not open, so that what is in it is not masked by its value: %v", err)
	}
}

// cacheKey authenticates what is kept to be quick: with a key of the vault, or
// of the installation where there is no vault. While the vault is locked there
// is none.
func (d *Daemon) cacheKey() ([]byte, error) {
	key, err := d.vault.CacheKey(context.Background())
	if errors.Is(err, vault.ErrNone) {
		return cache.InstallationKey(filepath.Join(d.opt.Paths.State, cache.KeyFile))
	}
	return key, err
}

// newVaultDoor is a person's way to the vault.
func newVaultDoor(d *Daemon) *warden.Door {
	return &warden.Door{Warden: d.vault, Kernel: d.kernel, Tool: d.tools.secret, NewID: newID, Session: func() (string, error) {
		one, err := d.store.ForClient(session.Session{Client: "cli", Foreign: "vault", Workspace: nowhere(d.opt.Paths), Mode: reeve.ModeDefault, Profile: d.conf.Sandbox.Profile}, d.opt.Paths.Home)
		return one.ID, err
	}}
}

// noCore: a core file would hold what the daemon knows. The programs that it
// starts have the same bound.
func noCore() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	limit.Cur = 0
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
}
