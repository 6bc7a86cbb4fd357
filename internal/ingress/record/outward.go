package record

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/export"
	"github.com/reeve-gate/reeve/internal/audit/metrics"
	"github.com/reeve-gate/reeve/internal/audit/tally"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/personal"
)

// export writes the record for other programs.
func (d *Desk) export(args []string) int {
	f := d.filters("export", 0)
	format := f.String("format", string(export.JSON), "")
	content := f.Bool("content", false, "")
	if code, ok := f.parse(d, args); !ok {
		return code
	}
	o := export.Options{Format: export.Format(*format), Filter: f.filter, Content: *content, Build: d.Build}
	if !slices.Contains(export.Formats, o.Format) {
		return d.usage("--format is %q; it is %s", *format, export.List())
	}
	if o.Content && o.Format != export.OTLP {
		return d.usage("--content is of --format otlp; every other format holds arguments and summaries")
	}
	conf, err := config.Load(d.Settings)
	if err != nil {
		return d.Fail(err)
	}
	if conf.Outward("export") {
		o.Clean = personal.Text
	}
	o.Host, _ = os.Hostname() // an event without it is still one
	r, code := d.open()
	if r == nil {
		return code
	}
	defer r.Close()
	if err := export.Write(context.Background(), r, d.Stdout, o); err != nil {
		return d.Fail(err)
	}
	return reeve.ExitOK
}

// stats counts calls.
func (d *Desk) stats(args []string) int {
	f := d.filters("stats", 50)
	by := f.String("by", "tool", "")
	if code, ok := f.parse(d, args); !ok {
		return code
	}
	names := strings.Split(*by, ",")
	for i, name := range names {
		if !slices.Contains(tally.Keys(), name) || slices.Index(names, name) != i {
			return d.usage("--by is %q; it is one of %s, or several with commas between them", *by, strings.Join(tally.Keys(), ", "))
		}
	}
	r, code := d.open()
	if r == nil {
		if f.json && code == 0 {
			return d.json(tally.Tally{By: names, Groups: []tally.Group{}, All: tally.Group{Key: []string{}}})
		}
		return code
	}
	defer r.Close()
	t, err := tally.Count(context.Background(), r, f.filter, names)
	if err != nil {
		return d.Fail(err)
	}
	if f.json {
		return d.json(t)
	}
	return d.table(t, f.filter.Limit)
}

// table is a tally for a person.
func (d *Desk) table(t tally.Tally, limit int) int {
	w := tabwriter.NewWriter(d.Stdout, 0, 0, 2, ' ', 0)
	line := func(key []string, g tally.Group) {
		for _, k := range key {
			fmt.Fprintf(w, "%s\t", cell.Of(k, 48))
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", g.Calls, g.Refused, g.Asked, g.Agreed, g.Failed, g.Unknown, took(g.Total), took(g.Median), took(g.P95))
	}
	fmt.Fprintf(w, "%s\tcalls\trefused\tasked\tagreed\tfailed\tunknown\ttotal\tmedian\tp95\n", strings.Join(t.By, "\t"))
	shown := t.Groups
	if limit > 0 && len(shown) > limit {
		shown = shown[:limit]
	}
	for _, g := range shown {
		line(g.Key, g)
	}
	all := make([]string, len(t.By))
	all[0] = "all"
	line(all, t.All)
	if err := w.Flush(); err != nil {
		return d.Fail(err)
	}
	if more := len(t.Groups) - len(shown); more > 0 {
		fmt.Fprintf(d.Stderr, "reeve: %d more lines; --limit 0 shows all\n", more)
	}
	if t.Cut {
		fmt.Fprintf(d.Stderr, "reeve: more than %d groups; the calls of the rest are counted as %s\n", tally.MaxGroups, tally.Others)
	}
	return reeve.ExitOK
}

// took is a length of time as a person reads it.
func took(ms int64) string {
	t := time.Duration(ms) * time.Millisecond
	switch {
	case t >= time.Hour:
		return strings.TrimSuffix(t.Round(time.Minute).String(), "0s")
	case t >= 10*time.Second:
		return t.Round(time.Second).String()
	}
	return t.String()
}

// metrics counts the whole record for Prometheus.
func (d *Desk) metrics(args []string) int {
	f := d.filters("metrics", 0)
	out := f.String("out", "", "")
	if code, ok := f.parse(d, args); !ok {
		return code
	}
	if f.json || f.filter.Limit != 0 {
		return d.usage("audit metrics takes no --json and no --limit: it writes what Prometheus reads, of every call that the filters choose")
	}
	var c metrics.Counter
	newest := metrics.Gauge{Name: "reeve_audit_rows", Help: "Number of the newest row of the record."}
	r, code := d.open()
	if r == nil && code != 0 {
		return code
	}
	if r != nil {
		defer r.Close()
		if err := count(r, f.filter, &c, &newest); err != nil {
			return d.Fail(err)
		}
	}
	if *out == "" {
		if err := c.Write(d.Stdout, newest); err != nil {
			return d.Fail(err)
		}
		return reeve.ExitOK
	}
	// Whole or not at all: the collector of a node reads whatever stands there.
	var b bytes.Buffer
	path, err := filepath.Abs(*out)
	if err == nil {
		err = c.Write(&b, newest)
	}
	if err == nil {
		err = durable.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		return d.Fail(fmt.Errorf("write the metrics: %w", err))
	}
	return reeve.ExitOK
}

func count(r *audit.Reader, f audit.Filter, c *metrics.Counter, newest *metrics.Gauge) error {
	ctx := context.Background()
	row, err := r.Newest(ctx)
	if err != nil {
		return err
	}
	newest.Value = float64(row.ID)
	return r.Brief(ctx, f, func(rec *reeve.Record) error {
		c.Add(rec)
		return nil
	})
}
