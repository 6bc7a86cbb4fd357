// Package export writes the record in the forms that other programs read: JSON,
// CSV, the events of OCSF, and OTLP.
//
// [Write] is all of it: one event for each call that a filter chooses, oldest
// first, in constant memory however long the record is. It reads and never
// writes the record, so that nothing of it needs the daemon.
//
//	json   one array, one object a line; names and values are the columns
//	jsonl  the same objects, one a line, and nothing around them
//	csv    RFC 4180 with a head line; every cell below it quoted, none a formula
//	ocsf   JSON lines, each an event of OCSF 1.8.0, class API Activity (6003)
//	otlp   JSON lines, each a request of OTLP: spans, then log records
//
// What was masked before a row was written stays masked. Arguments and summaries
// stand in every form but otlp, where they are left out unless they are asked for
// (see package otlp).
package export

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/otlp"
)

// Format is a form of export.
type Format string

const (
	JSON  Format = "json"
	JSONL Format = "jsonl"
	CSV   Format = "csv"
	OCSF  Format = "ocsf"
	OTLP  Format = "otlp"
)

// Formats are all there are, the usual one first.
var Formats = []Format{JSON, JSONL, CSV, OCSF, OTLP}

// List names the formats for a person.
func List() string {
	var all []string
	for _, f := range Formats {
		all = append(all, string(f))
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// Options say what is written.
type Options struct {
	Format Format
	Filter audit.Filter
	Clean  func(string) string // what is done to arguments and summaries; nil = nothing
	Build  string              // of the program, for events that name it
	Host   string              // name of this machine, for events that name it

	Content bool // arguments and summaries stand in otlp too
}

// form writes one row after the other.
type form interface {
	put(chain.Row) error
	end() error
}

// Write writes every call that the filter chooses to w.
func Write(ctx context.Context, r *audit.Reader, w io.Writer, o Options) error {
	if !slices.Contains(Formats, o.Format) {
		return fmt.Errorf("export: unknown format %q; it is %s", o.Format, List())
	}
	out := bufio.NewWriterSize(w, 64<<10)
	f := o.form(out)
	err := r.Each(ctx, o.Filter, func(row chain.Row) error {
		if o.Clean != nil {
			row.Args, row.Summary = o.Clean(row.Args), o.Clean(row.Summary)
		}
		return f.put(row)
	})
	if err == nil {
		err = f.end()
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func (o Options) form(w *bufio.Writer) form {
	switch o.Format {
	case JSONL:
		return &lines{w, func(row chain.Row) ([]byte, error) { return row.MarshalJSON() }}
	case CSV:
		return &table{w: w}
	case OCSF:
		return &lines{w, func(row chain.Row) ([]byte, error) { return event(row, o.Build, o.Host) }}
	case OTLP:
		return &requests{w: w, enc: otlp.Encoder{Build: o.Build, Host: o.Host, Content: o.Content}}
	}
	return &array{w: w, between: "[\n"}
}

// array is one JSON array.
type array struct {
	w       *bufio.Writer
	between string
}

func (a *array) put(row chain.Row) error {
	b, err := row.MarshalJSON()
	if err != nil {
		return err
	}
	a.w.WriteString(a.between)
	a.between = ",\n"
	_, err = a.w.Write(b)
	return err
}

func (a *array) end() error {
	if a.between == "[\n" {
		a.w.WriteString("[")
	}
	_, err := a.w.WriteString("\n]\n")
	return err
}

// lines is one JSON object a line.
type lines struct {
	w      *bufio.Writer
	encode func(chain.Row) ([]byte, error)
}

func (l *lines) put(row chain.Row) error {
	b, err := l.encode(row)
	if err != nil {
		return err
	}
	l.w.Write(b)
	return l.w.WriteByte('\n')
}

func (*lines) end() error { return nil }

// requests is OTLP, some rows in each request.
type requests struct {
	w    *bufio.Writer
	enc  otlp.Encoder
	rows []chain.Row
}

// perRequest is how many rows stand in one line of OTLP.
const perRequest = 100

func (q *requests) put(row chain.Row) error {
	if q.rows = append(q.rows, row); len(q.rows) < perRequest {
		return nil
	}
	return q.end()
}

func (q *requests) end() error {
	if len(q.rows) == 0 {
		return nil
	}
	spans, _ := q.enc.Traces(q.rows)
	logs, _ := q.enc.Logs(q.rows)
	q.rows = q.rows[:0]
	for _, body := range [][]byte{spans, logs} {
		if body == nil {
			continue
		}
		q.w.Write(body)
		if err := q.w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}
