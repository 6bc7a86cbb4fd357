// Package record is the door through which a person reads the record: reeve
// audit.
//
// [Desk] is where the person stands, [Desk.Run] carries out one command. It
// reads the files themselves, so that nothing here needs the daemon.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/export"
	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
)

// Usage and Help are the manual's.
const Usage = `reeve audit [ls] [FILTERS] [--json]
reeve audit show ID | CALL [--json]
reeve audit stats [--by tool|actor|decision|status|tier|day|session[,...]] [FILTERS] [--json]
reeve audit export [--format json|jsonl|csv|ocsf|otlp [--content]] [FILTERS]
reeve audit metrics [--out FILE] [FILTERS]
reeve audit verify [--key KEY] [--against FILE] [--json]
reeve audit tail [FILTERS] [--json]
reeve audit reseal --keep-broken
reeve audit checkpoint [--key]
reeve audit prune --keep AGE [--dry-run]
reeve audit accept
FILTERS: [--session ID] [--tool NAME] [--tier read|write|destructive|denied] [--status success|error|denied|timeout|unknown] [--since WHEN] [--until WHEN] [--limit N]`

const Help = `ls (or list) shows one line for each call, the newest 50, oldest first; --limit 0 shows all. A call that has no outcome shows as unknown. WHEN is 2006-01-02, 2006-01-02T15:04:05Z, or how long ago: 90m, 36h, 7d. --risk is another word for --tier.

show prints everything on record of one call, named by the number of a row or by its call id.

stats counts the calls that the filters choose by what they have in common: how many, how many a rule, the gate or a person refused, how many a person was asked about and agreed to, how many failed, whose outcome is unknown, and how long those that ran took, in all, in the middle and at the 95th of a hundred. --by names one or several of tool, actor, decision, status, tier, day (UTC) and session; the table has 50 lines unless --limit says otherwise.

export writes every call that the filters choose, oldest first: json is one array and jsonl one object a line, both with the names of the columns; csv has cells that no spreadsheet takes for formulas; ocsf is one event of class API Activity a line, by OCSF 1.8.0; otlp is requests of OpenTelemetry, one a line, with spans and log records, and without arguments and summaries unless --content is given. With redact.personal.export = true what identifies a person is masked in arguments and summaries.

metrics counts the whole record in the text form of Prometheus; --out replaces FILE whole, for the textfile collector of a node. A daemon serves the same, since its start, at telemetry.metrics (reeve config explain).

verify reads the whole record and says whether it is as it was written: exit code 0, or 1 and the first row that was altered, removed, inserted, moved or cut off. It lists the calls whose outcome is unknown. Then it holds the signed checkpoints against the rows, with the key that the vault confirms, or --key, which you noted; where nothing vouches for the key, or nothing is signed, it says so, and the exit code is still 0. --against compares with what was kept elsewhere: a file of one checkpoint, or of many, of which all by this key count.

tail shows the newest ten calls and then every row as it is written, until interrupted.

reseal puts a record that does not verify aside, unchanged, and starts a new one whose first row tells of it. Stop the daemon first; until then everything is denied. It asks for a person: at a terminal that no agent stands behind, who types the word reseal.

checkpoint signs what is recorded by now and prints the signed checkpoint, and on standard error the verifier key, which you should note elsewhere; --key prints that alone. The daemon does the same by itself: for every 1,000 rows, a minute after a new one, and when it ends. It needs a vault that is open (reeve vault init).

prune removes rows that are older than AGE, such as 90d; at least 1d, at most 36500d. It goes from the first row on and stops at a row that is younger, at a call that is still open, and at the newest checkpoint. A checkpoint is signed at the cut and a row tells of it, so that verify proves the rest. The space in the file is used again, and the file stays as large as it is. It asks for a person, who types the word prune; --dry-run only tells. Without a key nothing is pruned.

accept has a record signed that a reseal began: the vault remembers the one before, and verify finds this one replaced, until a person at a terminal types the word accept. It gets a new key.

ls, show, stats, export, metrics, verify and tail need no daemon and change no file of Reeve's.`

// Desk is where a person types a command. Every field is required.
type Desk struct {
	Stdout, Stderr io.Writer
	Dir            string                        // where the record lies, absolute
	Settings       string                        // where config.toml lies, absolute
	Build          string                        // of this program
	Present        func(what, word string) error // a person at a terminal types the word
	Recall         func() (*seal.Memory, error)  // what the vault remembers; nil = of nothing signed
	Client         func() (Keeper, error)        // the daemon, which is started where none runs
	Fail           func(error) int               // says an error and gives its exit code
}

// Run carries out one command, what stands after reeve audit, and gives its
// exit code.
func (d *Desk) Run(args []string) int {
	verb := "ls"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	do := map[string]func([]string) int{
		"ls": d.list, "list": d.list, "show": d.show, "stats": d.stats, "export": d.export, "metrics": d.metrics,
		"verify": d.verify, "tail": d.tail, "reseal": d.reseal,
		"checkpoint": d.checkpoint, "prune": d.prune, "accept": d.accept,
	}[verb]
	if do == nil {
		return d.usage("audit %q: it is ls, show, stats, export, metrics, verify, tail, checkpoint, prune, reseal or accept", verb)
	}
	return do(args)
}

// usage says what is wrong with the command line.
func (d *Desk) usage(format string, args ...any) int {
	fmt.Fprintf(d.Stderr, "reeve: "+format+"\n", args...)
	return reeve.ExitUsage
}

// filters are what chooses rows, as typed and then as read.
type filters struct {
	*flag.FlagSet
	since, until, status string
	json                 bool
	filter               audit.Filter
}

func (d *Desk) filters(verb string, limit int) *filters {
	f := &filters{FlagSet: cmdline.New(d.Stderr, "audit "+verb)}
	f.StringVar(&f.filter.Session, "session", "", "")
	f.StringVar(&f.filter.Tool, "tool", "", "")
	f.StringVar(&f.filter.Tier, "tier", "", "")
	f.StringVar(&f.filter.Tier, "risk", "", "")
	f.StringVar(&f.status, "status", "", "")
	f.StringVar(&f.since, "since", "", "")
	f.StringVar(&f.until, "until", "", "")
	f.IntVar(&f.filter.Limit, "limit", limit, "")
	f.BoolVar(&f.json, "json", false, "")
	return f
}

// parse reads the command line; ok is false where the command must end.
func (f *filters) parse(d *Desk, args []string) (code int, ok bool) {
	if code, ok := cmdline.Parse(f.FlagSet, args); !ok {
		return code, false
	}
	if f.NArg() > 0 {
		return d.usage("audit: %q is too much; see reeve help audit", f.Arg(0)), false
	}
	if f.filter.Limit < 0 {
		return d.usage("--limit is %d; 0 means all", f.filter.Limit), false
	}
	if f.filter.Tier != "" {
		if _, err := reeve.ParseTier(f.filter.Tier); err != nil {
			return d.usage("--tier: %v", err), false
		}
	}
	switch s := reeve.Status(f.status); s {
	case "", reeve.StatusSuccess, reeve.StatusError, reeve.StatusDenied, reeve.StatusTimeout, reeve.StatusUnknown:
		f.filter.Status = s
	default:
		return d.usage("--status is %q; it is success, error, denied, timeout or unknown", f.status), false
	}
	for _, w := range []struct {
		name, text string
		to         *time.Time
	}{{"since", f.since, &f.filter.Since}, {"until", f.until, &f.filter.Until}} {
		t, err := when(w.text, time.Now())
		if err != nil {
			return d.usage("--%s: %v", w.name, err), false
		}
		*w.to = t
	}
	return 0, true
}

// when reads a moment: a day, a time, or how long before now. Empty is the
// zero time.
func when(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation("2006-01-02", text, time.Local); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no moment; write 2006-01-02, 2006-01-02T15:04:05Z, or how long ago, such as 90m or 7d", text)
}

// openAudit opens the record; nothing recorded yet is no fault.
func (d *Desk) open() (r *audit.Reader, code int) {
	r, err := audit.OpenRead(d.Dir)
	if errors.Is(err, reeve.ErrNotFound) {
		fmt.Fprintf(d.Stderr, "reeve: nothing is recorded yet in %s\n", d.Dir)
		return nil, reeve.ExitOK
	}
	if err != nil {
		return nil, d.Fail(err)
	}
	return r, 0
}

func (d *Desk) list(args []string) int {
	f := d.filters("ls", 50)
	if code, ok := f.parse(d, args); !ok {
		return code
	}
	r, code := d.open()
	if r == nil {
		if f.json && code == 0 {
			fmt.Fprintln(d.Stdout, "[]")
		}
		return code
	}
	defer r.Close()
	if f.json {
		if err := export.Write(context.Background(), r, d.Stdout, export.Options{Format: export.JSON, Filter: f.filter}); err != nil {
			return d.Fail(err)
		}
		return reeve.ExitOK
	}
	rows, err := r.List(context.Background(), f.filter)
	if err != nil {
		return d.Fail(err)
	}
	t := tabwriter.NewWriter(d.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, lineOf(row))
	}
	if err := t.Flush(); err != nil {
		return d.Fail(err)
	}
	return reeve.ExitOK
}

// lineOf is one row as tab-separated cells.
func lineOf(row chain.Row) string {
	status := string(row.Status)
	if row.Phase == reeve.PhaseIntent && status == "" {
		status = "started"
	}
	if row.Dangerous {
		status += " dangerous"
	}
	what := row.Args
	if row.Status == reeve.StatusDenied || row.Status == reeve.StatusError {
		what = row.Summary
	}
	return strings.Join([]string{
		strconv.FormatInt(row.ID, 10), row.Time.Local().Format("2006-01-02 15:04:05"), cell.Of(string(row.Actor), 32), cell.Of(row.Tool, 32),
		row.Tier.String(), row.Decision.String(), cell.Of(status, 24), cell.Of(what, 80),
	}, "\t")
}

func (d *Desk) show(args []string) int {
	f := cmdline.New(d.Stderr, "audit show")
	asJSON := f.Bool("json", false, "")
	names, code, ok := cmdline.Mixed(f, args)
	if !ok {
		return code
	}
	if len(names) != 1 {
		return d.usage("audit show takes the number of one row, or one call id")
	}
	r, code := d.open()
	if r == nil {
		return max(code, reeve.ExitFailed)
	}
	defer r.Close()
	rows, err := r.Show(context.Background(), names[0])
	if err != nil {
		return d.Fail(err)
	}
	if *asJSON {
		return d.json(rows)
	}
	for i, row := range rows {
		if i > 0 {
			fmt.Fprintln(d.Stdout)
		}
		cells := row.Fields()
		for j, name := range chain.Columns {
			if cells[j] != "" {
				fmt.Fprintf(d.Stdout, "%-16s%s\n", name, cell.Of(cells[j], 0))
			}
		}
	}
	return reeve.ExitOK
}

// auditJSON writes any value as one line, without the escapes of HTML.
func (d *Desk) json(v any) int {
	enc := json.NewEncoder(d.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return d.Fail(err)
	}
	return reeve.ExitOK
}

func (d *Desk) verify(args []string) int {
	f := cmdline.New(d.Stderr, "audit verify")
	asJSON := f.Bool("json", false, "")
	key := f.String("key", "", "")
	against := f.String("against", "", "")
	if code, ok := cmdline.Parse(f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return d.usage("audit verify takes no argument; --against names what was kept elsewhere")
	}
	known, why, err := d.known(*key, *against)
	if err != nil {
		return max(d.Fail(err), reeve.ExitFailed)
	}
	rep, err := audit.Verify(context.Background(), d.Dir, known)
	if err != nil {
		return max(d.Fail(err), reeve.ExitFailed)
	}
	code := reeve.ExitOK
	if rep.Broken != nil {
		code = reeve.ExitFailed
	}
	if *asJSON {
		return max(code, d.json(verifyJSON(rep, why)))
	}
	writeReport(d.Stdout, rep, why)
	return code
}

// verifyJSON is the report for scripts.
func verifyJSON(rep audit.Report, why doubt) any {
	type broken struct {
		Row  int64      `json:"row"`
		Kind chain.Kind `json:"kind"`
		Why  string     `json:"why"`
	}
	out := struct {
		Good    bool        `json:"good"`
		Broken  *broken     `json:"broken"`
		Pruned  int64       `json:"pruned"` // the rows up to this one are gone
		Rows    int64       `json:"rows"`
		Intents int64       `json:"intents"`
		Hash    string      `json:"hash"`
		Anchor  int64       `json:"anchor"`
		OpenAll int64       `json:"open_intents"`
		Open    []chain.Row `json:"open"`
		Sealed  sealedJSON  `json:"signed"`
	}{rep.Broken == nil, nil, rep.Pruned, rep.Rows, rep.Intents, rep.Head.Hash.String(), rep.Anchor, rep.OpenAll, rep.Open, sealedOf(rep.Sealed, why)}
	if b := rep.Broken; b != nil {
		out.Broken = &broken{b.Row, b.Kind, b.Why}
	}
	return out
}

func writeReport(w io.Writer, rep audit.Report, why doubt) {
	if b := rep.Broken; b != nil {
		at, before := "", ""
		if b.Row != 0 {
			at, before = fmt.Sprintf(" at row %d", b.Row), " before it"
		}
		fmt.Fprintf(w, "broken%s: %s: %s\n", at, b.Kind, cell.Of(b.Why, 0))
		fmt.Fprintf(w, "rows%s that hold: %d\n%s\n", before, rep.Rows, advice(rep))
		return // what is open behind the break is not known
	}
	fmt.Fprintf(w, "good: %d rows, each chained to the one before\n", rep.Rows)
	if rep.Rows > 0 {
		fmt.Fprintf(w, "newest: row %d of %s, hash %s\n", rep.Head.ID, rep.Head.Time.Format(time.RFC3339), rep.Head.Hash)
	}
	if rep.Ahead > 0 {
		fmt.Fprintf(w, "audit.head, which has the hash of the newest row a fifth of a second after it was written, stands at row %d\n", rep.Anchor)
	}
	writeSealed(w, rep, why)
	if rep.OpenAll == 0 {
		return
	}
	fmt.Fprintf(w, "calls whose outcome is unknown: %d\n", rep.OpenAll)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rep.Open[:min(20, len(rep.Open))] {
		fmt.Fprintf(t, "  %s\n", lineOf(row))
	}
	t.Flush()
	if rep.OpenAll > 20 {
		fmt.Fprintf(w, "  and %d more: reeve audit ls --status unknown --limit 0\n", rep.OpenAll-20)
	}
}

func (d *Desk) tail(args []string) int {
	f := d.filters("tail", 10)
	if code, ok := f.parse(d, args); !ok {
		return code
	}
	r, code := d.open()
	if r == nil {
		return code
	}
	defer r.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := r.Tail(ctx, f.filter, func(row chain.Row) {
		var err error
		if f.json {
			err = json.NewEncoder(d.Stdout).Encode(row)
		} else {
			_, err = fmt.Fprintln(d.Stdout, strings.ReplaceAll(lineOf(row), "\t", "  "))
		}
		if err != nil { // nobody reads any more
			stop()
		}
	})
	if err != nil {
		return d.Fail(err)
	}
	return reeve.ExitOK
}

func (d *Desk) reseal(args []string) int {
	f := cmdline.New(d.Stderr, "audit reseal")
	keep := f.Bool("keep-broken", false, "")
	if code, ok := cmdline.Parse(f, args); !ok {
		return code
	}
	if !*keep {
		return d.usage("audit reseal: say --keep-broken: the broken record is kept beside the new one, never mended")
	}
	known, why, err := d.known("", "")
	if err != nil {
		return d.Fail(err)
	}
	rep, err := audit.Verify(context.Background(), d.Dir, known)
	if err != nil {
		return max(d.Fail(err), reeve.ExitFailed)
	}
	writeReport(d.Stderr, rep, why)
	if rep.Broken == nil {
		return d.Fail(errors.New("audit reseal: the record holds; there is nothing to put aside"))
	}
	if err := d.Present("audit reseal", "reseal"); err != nil {
		return d.Fail(err)
	}
	kept, err := audit.Reseal(context.Background(), d.Dir, *keep, known, time.Now)
	if err != nil {
		return d.Fail(err)
	}
	fmt.Fprintf(d.Stderr, "reeve: a new record is open; the broken one is kept as %s\n", kept)
	if known.Memory != nil {
		fmt.Fprintf(d.Stderr, "reeve: it is signed once you run: reeve audit accept\n")
	}
	return reeve.ExitOK
}
