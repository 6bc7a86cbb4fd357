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
	"github.com/reeve-gate/reeve/internal/audit/seal"
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
func (d *Desk) known(key, against string) (known audit.Known, why string, err error) {
	known.Key = key
	if against != "" {
		text, err := os.ReadFile(against)
		if err != nil {
			return known, "", fmt.Errorf("--against: %w", err)
		}
		known.Against = string(text)
		book, err := seal.ParseBook(known.Against + "\n") // a file of many, as a directory of audit.publish has it
		if err == nil && len(book.Notes) > 0 {
			known.Against = book.Newest()
		}
	}
	m, err := d.Recall()
	switch {
	case err != nil:
		return known, unsigned(err), nil
	case m == nil:
		return known, "the vault remembers no checkpoint", nil
	}
	known.Memory = m
	return known, "", nil
}

// writeSealed says what is signed, and who vouches for it.
func writeSealed(w io.Writer, rep audit.Report, why string) {
	s := rep.Sealed
	for _, m := range s.Former {
		fmt.Fprintf(w, "before it: the vault remembers a record of %d signed rows that was put aside\n", m.Size)
	}
	if rep.Pruned > 0 {
		fmt.Fprintf(w, "pruned: rows 1 to %d; a signed row tells of it\n", rep.Pruned)
	}
	if s.Newest == "" {
		fmt.Fprintf(w, "not signed: %s; whoever can write to its directory could rewrite all of it\n", cell.Of(why, 0))
		return
	}
	fmt.Fprintf(w, "signed: up to row %d of %d, by %s; checkpoints: %d\n", s.Rows, rep.Pruned+rep.Rows, s.Key, s.Count)
	switch s.By {
	case audit.KeyGiven:
		fmt.Fprintf(w, "the key is the one that was given\n")
	case audit.KeyVault:
		fmt.Fprintf(w, "the vault confirms the key and the newest checkpoint\n")
	case audit.KeyFile:
		fmt.Fprintf(w, "not confirmed: %s; compare the key with the one that you have noted, or say it: --key\n", cell.Of(why, 0))
	}
	if s.Torn {
		fmt.Fprintf(w, "a checkpoint was being written when the power went; the next one takes its place\n")
	}
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

func sealedOf(s audit.Sealed, why string) sealedJSON {
	out := sealedJSON{Rows: s.Rows, Checkpoints: s.Count, Key: s.Key, Why: why, Former: len(s.Former)}
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

// unsigned is why a record is not signed, in words for a person.
func unsigned(err error) string {
	text := err.Error()
	if errors.Is(err, reeve.ErrNotFound) {
		text = "there is no vault to keep a key in; reeve vault init makes one"
	}
	return strings.TrimSpace(text)
}
