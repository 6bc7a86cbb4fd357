package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Keeper is the daemon that signs and prunes.
type Keeper interface {
	Record(ctx context.Context, w wire.Record) (wire.Recorded, error)
}

// known gathers what is known of the record from elsewhere. why says why the
// vault did not confirm it.
func (d *Desk) known(key, against string) (known audit.Known, why doubt, err error) {
	known.Key = key
	if against != "" {
		text, err := os.ReadFile(against)
		if err != nil {
			return known, why, fmt.Errorf("--against: %w", err)
		}
		known.Against = string(text)
	}
	m, err := d.Recall()
	switch {
	case errors.Is(err, reeve.ErrNotFound):
		return known, doubt{why: "there is no vault to keep a key in; reeve vault init makes one"}, nil
	case err != nil:
		return known, doubt{strings.TrimSpace(err.Error()), true}, nil
	case m == nil:
		return known, doubt{why: "the vault remembers no checkpoint; the daemon makes the first one within a minute of the next call"}, nil
	}
	known.Memory = m
	return known, doubt{why: "the daemon makes the first checkpoint within a minute of the next call"}, nil
}

// doubt is why the vault does not confirm a record; mute says that it could not
// be asked.
type doubt struct {
	why  string
	mute bool
}

// writeSealed says what is signed, and who vouches for it.
func writeSealed(w io.Writer, rep audit.Report, d doubt) {
	s, why := rep.Sealed, cell.Of(d.why, 0)
	for _, m := range s.Former {
		fmt.Fprintf(w, "before it: the vault remembers a record of %d signed rows that was put aside\n", m.Size)
	}
	if rep.Pruned > 0 {
		fmt.Fprintf(w, "pruned: rows 1 to %d; a signed row tells of it\n", rep.Pruned)
	}
	if s.Newest == "" {
		if d.mute {
			fmt.Fprintf(w, "not signed, as far as these files tell; the vault could not be asked whether it was: %s\n", why)
		} else {
			fmt.Fprintf(w, "not signed: %s\n", why)
		}
		fmt.Fprintf(w, "  whoever can write to its directory could have rewritten all of it\n")
		return
	}
	fmt.Fprintf(w, "signed: up to row %d of %d, by %s; checkpoints: %d\n", s.Rows, rep.Pruned+rep.Rows, s.Key, s.Count)
	switch s.By {
	case audit.KeyGiven:
		fmt.Fprintf(w, "the key is the one that was given\n")
	case audit.KeyVault:
		fmt.Fprintf(w, "the vault confirms the key and the newest checkpoint\n")
	case audit.KeyFile:
		fmt.Fprintf(w, "not confirmed: %s\n", why)
		fmt.Fprintf(w, "  compare the key with the one that you have noted, or say it: --key KEY\n")
	}
	if s.Torn {
		fmt.Fprintf(w, "a checkpoint was being written when the power went; the next one takes its place\n")
	}
}

// advice is what to do about a record that is not what it was.
func advice(rep audit.Report) string {
	b := rep.Broken
	switch {
	case rep.Anew:
		return "if you resealed it, run reeve audit accept; else somebody put it here: see audit.db.broken-* beside it, and a checkpoint that you keep elsewhere"
	case b.Kind == chain.KindElsewhere:
		return "the daemon cannot notice this, since it does not know that checkpoint; run reeve down, and keep a copy of the directory and of the checkpoint before anything else"
	case b.Row == 0 && (b.Kind == chain.KindUnsealed || b.Kind == chain.KindSignature || b.Kind == chain.KindCheckpoint):
		if rep.Sealed.By == audit.KeyVault {
			return "the rows are those that the vault remembers; run reeve down: the next daemon puts such checkpoints aside, says so in a row and signs all rows anew"
		}
		return "the chain of the rows holds; whether they are those that were signed is known to the vault: run reeve vault unlock, and verify again"
	}
	return "from its next start on the daemon denies everything until a person runs: reeve down; reeve audit reseal --keep-broken"
}

// sealedJSON is the same for scripts.
type sealedJSON struct {
	Rows        int64  `json:"rows"`
	Checkpoints int    `json:"checkpoints"`
	Key         string `json:"key,omitempty"`
	By          string `json:"confirmed_by"` // given, vault, or "" = nobody
	Why         string `json:"unconfirmed,omitempty"`
	Former      int    `json:"former_records,omitempty"`
}

func sealedOf(s audit.Sealed, d doubt) sealedJSON {
	out := sealedJSON{Rows: s.Rows, Checkpoints: s.Count, Key: s.Key, Why: d.why, Former: len(s.Former)}
	if s.By == audit.KeyVault {
		out.Why = ""
	}
	if s.Newest != "" && s.By != audit.KeyFile {
		out.By = string(s.By)
	}
	return out
}

func (d *Desk) checkpoint(args []string) int {
	f := cmdline.New(d.Stderr, "audit checkpoint")
	key := f.Bool("key", false, "")
	if code, ok := cmdline.Parse(f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return d.usage("audit checkpoint takes no argument")
	}
	c, err := d.Client()
	if err != nil {
		return d.Fail(err)
	}
	r, err := c.Record(context.Background(), wire.Record{Do: "checkpoint"})
	if err != nil {
		return d.Fail(fmt.Errorf("audit checkpoint: %w", err))
	}
	if *key {
		fmt.Fprintln(d.Stdout, r.Key)
		return reeve.ExitOK
	}
	fmt.Fprint(d.Stdout, r.Note)
	fmt.Fprintf(d.Stderr, "reeve: verifier key: %s\n", r.Key)
	return reeve.ExitOK
}

func (d *Desk) prune(args []string) int {
	f := cmdline.New(d.Stderr, "audit prune")
	text := f.String("keep", "", "")
	dry := f.Bool("dry-run", false, "")
	if code, ok := cmdline.Parse(f, args); !ok {
		return code
	}
	if *text == "" || f.NArg() > 0 {
		return d.usage("audit prune: say how long rows are kept, such as --keep 90d")
	}
	keep, err := config.Keep(*text)
	if err != nil {
		return d.usage("audit prune: --keep: %v", err)
	}
	c, err := d.Client()
	if err != nil {
		return d.Fail(err)
	}
	w := wire.Record{Do: "prune", KeepS: int64(keep / time.Second), DryRun: true}
	would, err := c.Record(context.Background(), w)
	if err != nil {
		return d.Fail(fmt.Errorf("audit prune: %w", err))
	}
	if *dry || would.Rows == 0 {
		fmt.Fprintf(d.Stdout, "would go: %s\n", would.Line)
		return reeve.ExitOK
	}
	fmt.Fprintf(d.Stderr, "reeve: will be removed for good: %s\n", would.Line)
	if err := d.Present("audit prune", "prune"); err != nil {
		return d.Fail(err)
	}
	w.DryRun = false
	r, err := c.Record(context.Background(), w)
	if err != nil {
		return d.Fail(fmt.Errorf("audit prune: %w", err))
	}
	fmt.Fprintf(d.Stdout, "gone: %s\n", r.Line)
	return reeve.ExitOK
}

func (d *Desk) accept(args []string) int {
	f := cmdline.New(d.Stderr, "audit accept")
	if code, ok := cmdline.Parse(f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return d.usage("audit accept takes no argument")
	}
	c, err := d.Client()
	if err != nil {
		return d.Fail(err)
	}
	if err := d.Present("audit accept", "accept"); err != nil {
		return d.Fail(err)
	}
	r, err := c.Record(context.Background(), wire.Record{Do: "accept"})
	if err != nil {
		return d.Fail(fmt.Errorf("audit accept: %w", err))
	}
	fmt.Fprintf(d.Stderr, "reeve: %s: %s\n", r.Line, r.Key)
	return reeve.ExitOK
}
