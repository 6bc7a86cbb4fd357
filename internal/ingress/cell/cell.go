// Package cell makes text of the record, of an agent or of a program fit one
// cell of one line before a person reads it.
package cell

import (
	"strings"
	"sync"

	"github.com/reeve-gate/reeve/internal/redact"
)

// mask is the last filter before a person's eyes: what is kept was masked
// before it was written, and a rule learnt since then may know more.
var mask = sync.OnceValue(redact.New)

// Of masks secrets in s, shows what a terminal obeys, puts it on one line, and
// cuts it to width runes where width is more than zero.
func Of(s string, width int) string {
	s = redact.Visible(mask().Text(s))
	s = strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}
