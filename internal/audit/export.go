package audit

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// Format is a form of export.
type Format string

const (
	FormatJSON Format = "json" // one array, one object a line
	FormatCSV  Format = "csv"  // RFC 4180 with a head line
)

// guard keeps a spreadsheet from reading a cell as a formula: it starts with
// an apostrophe then, as OWASP's page on CSV injection advises.
func guard(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r\n'", cell[0]) >= 0 {
		return "'" + cell
	}
	return cell
}

// Export writes one row for each call that the filter chooses, oldest first,
// in constant memory.
func (r *Reader) Export(ctx context.Context, w io.Writer, format Format, f Filter) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var put func(chain.Row) error
	end := func() error { return nil }
	switch format {
	case FormatJSON:
		put, end = jsonArray(out)
	case FormatCSV:
		c := csv.NewWriter(out)
		if err := c.Write(chain.Columns[:]); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		put = func(row chain.Row) error {
			cells := row.Fields()
			for i, cell := range cells {
				cells[i] = guard(cell)
			}
			return c.Write(cells)
		}
		end = func() error { c.Flush(); return c.Error() }
	default:
		return fmt.Errorf("export: unknown format %q; it is json or csv", format)
	}
	sql, args := executions(f, "")
	if f.Limit > 0 {
		// The newest so many, and still the oldest of them first.
		first, firstArgs := executions(f, "")
		sql += " AND t.id >= (SELECT coalesce(min(id), 0) FROM (SELECT id FROM (" + first + ") ORDER BY id DESC LIMIT " + strconv.Itoa(f.Limit) + "))"
		args = append(args, firstArgs...)
	}
	if err := r.each(ctx, sql+" ORDER BY id", args, put); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := end(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func jsonArray(w *bufio.Writer) (put func(chain.Row) error, end func() error) {
	between := "[\n"
	put = func(row chain.Row) error {
		b, err := row.MarshalJSON()
		if err != nil {
			return err
		}
		w.WriteString(between)
		between = ",\n"
		_, err = w.Write(b)
		return err
	}
	end = func() error {
		if between == "[\n" {
			w.WriteString("[")
		}
		_, err := w.WriteString("\n]\n")
		return err
	}
	return put, end
}
