package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/notary"
	"github.com/reeve-gate/reeve/internal/audit/publish"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/vault"
)

// newNotary signs the record, and has its checkpoints kept where the settings say.
func newNotary(d *Daemon) (*notary.Notary, error) {
	n := &notary.Notary{Log: d.log, Vault: d.vault, Now: time.Now, NewID: newID, Say: d.logf}
	n.Keep, _ = config.Keep(d.conf.Audit.Keep) // Parse has checked it
	pins, err := d.conf.Pins()
	if err != nil {
		return nil, err
	}
	all, err := publish.ParseAll(d.conf.Audit.Publish, chain.In(d.opt.Paths.State).Witnessed, &netguard.Guard{Pins: pins})
	if err != nil {
		return nil, fmt.Errorf("audit.publish: %w", err)
	}
	for _, p := range all {
		n.Sinks = append(n.Sinks, &notary.Sink{To: p})
	}
	d.vault.Opened = n.Wake
	return n, nil
}

// newRecordDoor is a person's way to the record.
func newRecordDoor(d *Daemon) *notary.Door {
	return &notary.Door{Notary: d.notary, Kernel: d.kernel, Tool: d.tools.record, NewID: newID, Session: func() (string, error) {
		one, err := d.store.ForClient(session.Session{Client: "cli", Foreign: "audit", Workspace: nowhere(d.opt.Paths), Mode: reeve.ModeDefault, Profile: d.conf.Sandbox.Profile}, d.opt.Paths.Home)
		return one.ID, err
	}}
}

// lastCheckpoint bounds what is done for the record when the daemon ends.
const lastCheckpoint = 2 * time.Second

// closeRecord flushes the record and has its end signed.
func (d *Daemon) closeRecord() error {
	d.endNotary()
	d.notary.Wait()
	err := d.log.Close()
	ctx, cancel := context.WithTimeout(context.Background(), lastCheckpoint)
	defer cancel()
	d.notary.Close(ctx)
	return err
}

// Remembered is what the vault remembers of the record, asked without a daemon:
// nil where nothing was ever signed. An error says why it cannot be asked.
func Remembered(ctx context.Context, p config.Paths) (*seal.Memory, error) {
	w := newWarden(p, redact.New())
	defer w.Close()
	m, err := notary.Recall(ctx, w)
	if errors.Is(err, vault.ErrAbsent) {
		return nil, nil
	}
	if errors.Is(err, vault.ErrNone) {
		return nil, fmt.Errorf("%w: %w", reeve.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	return &m, nil
}
