package shellread

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
)

// MaxText is the longest text that is read, in bytes; longer text is unknown.
const MaxText = 64 << 10

// At is where the text will run. Paths are absolute and clean.
type At struct {
	Dir       string // the directory the shell starts in; "" = not known
	Home      string // what ~ stands for; "" = not known
	Workspace string // root of the session's workspace; "" = none
}

// Read returns every effect of running src with bash, worst case, in the
// order of the text. It never returns an empty list for text that holds
// anything but blanks and comments.
func Read(src string, at At) []reeve.Effect {
	file, err := syntax.NewParser().Parse(strings.NewReader(src), "")
	if err != nil {
		return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "does not parse as bash: " + err.Error()}}
	}
	var all []reeve.Effect
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		c := &reeve.Command{Dir: at.Dir}
		for _, w := range call.Args {
			lit := w.Lit()
			text := src[w.Pos().Offset():w.End().Offset()]
			if lit == "" {
				lit = text
			}
			c.Words = append(c.Words, reeve.Word{Text: lit, Known: lit == text})
		}
		all = append(all, reeve.Effect{Kind: reeve.EffectRun, Command: c})
		return true
	})
	return all
}
