package export

import (
	"bufio"
	"strings"
	"unicode"

	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// table is CSV. Every cell below the head line is quoted: a spreadsheet that splits at a semicolon
// or a tab, as many do outside the English-speaking world, then makes no second
// cell out of a part of one, which could be a formula.
type table struct {
	w    *bufio.Writer
	head bool
}

func (t *table) put(row chain.Row) error {
	t.begin()
	cells := row.Fields()
	for i, cell := range cells {
		cells[i] = guard(cell)
	}
	return t.line(cells)
}

func (t *table) end() error { t.begin(); return nil }

// begin writes the head line, once.
func (t *table) begin() {
	if !t.head {
		t.head = true
		t.w.WriteString(strings.Join(chain.Columns[:], ",") + "\n")
	}
}

func (t *table) line(cells []string) error {
	for i, cell := range cells {
		if i > 0 {
			t.w.WriteByte(',')
		}
		t.w.WriteByte('"')
		t.w.WriteString(strings.ReplaceAll(cell, `"`, `""`))
		t.w.WriteByte('"')
	}
	return t.w.WriteByte('\n')
}

// formula are the characters that a spreadsheet begins a formula with, and the
// apostrophe, so that taking one away gives back every cell. The ASCII ones are
// those of OWASP's page on CSV injection; the rest are their forms that Unicode
// holds for the same in compatibility (NFKC), which spreadsheets fold, and the
// minus sign itself.
const formula = "=+-@'" + "＝＋－＠" + "﹦﹢﹣﹫" + "⁼⁺⁻₌₊₋" + "−"

// guard keeps a spreadsheet from reading a cell as a formula: it starts with an
// apostrophe then. What stands before the first visible character does not
// count, since importers drop it; a cell that begins with a control or an
// invisible character is guarded whatever follows.
func guard(cell string) string {
	for _, c := range cell {
		switch {
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c):
			return "'" + cell
		case unicode.IsSpace(c), unicode.Is(unicode.Zs, c):
			continue
		case strings.ContainsRune(formula, c):
			return "'" + cell
		default:
			return cell
		}
	}
	return cell
}
