package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/durable"
)

// ResealTool is the name of the first row of a record that a reseal began.
const ResealTool = "reeve.audit.reseal"

// Reseal puts a record that does not verify aside and starts a new one, whose
// first row says what was broken and where the old files are. The old rows
// are kept exactly as they are; keepBroken says that the person knows this
// and must be true, since there is no way to make a broken chain good.
//
// It refuses where a writer runs and where the record holds. It returns the
// path that the old database has now.
func Reseal(ctx context.Context, dir string, keepBroken bool, known Known, now func() time.Time) (kept string, err error) {
	f := chain.In(dir)
	if !keepBroken {
		return "", fmt.Errorf("reseal: %w: say --keep-broken: the broken record is kept beside the new one, never mended", reeve.ErrUsage)
	}
	lock, err := durable.TryLock(f.Lock)
	if errors.Is(err, durable.ErrLocked) {
		return "", errors.New("reseal: reeve still writes this record; stop it with reeve down")
	}
	if err != nil {
		return "", fmt.Errorf("reseal: %w", err)
	}
	rep, err := func() (Report, error) {
		// Verify takes a held lock for a writer at work, so ours waits.
		lock.Close()
		return Verify(ctx, dir, known)
	}()
	if err != nil {
		return "", fmt.Errorf("reseal: %w", err)
	}
	if rep.Broken == nil {
		return "", fmt.Errorf("reseal: the record holds (%d rows); there is nothing to reseal", rep.Rows)
	}
	if lock, err = durable.TryLock(f.Lock); err != nil {
		return "", fmt.Errorf("reseal: %w", err)
	}
	mark := ".broken-" + now().UTC().Format("20060102T150405.000000Z")
	err = f.PutAside(mark)
	lock.Close()
	if err != nil {
		return "", fmt.Errorf("reseal: %w", err)
	}
	kept = f.DB + mark
	return kept, firstRow(ctx, dir, now, rep.Broken, kept)
}

// firstRow starts the new record with what is known of the old one.
func firstRow(ctx context.Context, dir string, now func() time.Time, b *chain.Break, kept string) error {
	l, err := Open(dir, now)
	if err != nil {
		return fmt.Errorf("reseal: %w", err)
	}
	err = l.Append(ctx, reeve.Record{
		CallID: uuid.Must(uuid.NewV7()).String(), Session: uuid.Nil.String(), Phase: reeve.PhaseOutcome,
		Tool: ResealTool, Source: "native", Tier: reeve.TierDestructive, Status: reeve.StatusSuccess,
		Summary: fmt.Sprintf("%v; the old record is kept as %s", b, kept), Confirmed: true,
		Channel: reeve.ChannelCLI, Actor: reeve.ActorUser, Origin: reeve.OriginHost, Decision: reeve.Allow, Step: reeve.StepOutcome,
	})
	if err := errors.Join(err, l.Close()); err != nil {
		return fmt.Errorf("reseal: %w", err)
	}
	return nil
}
