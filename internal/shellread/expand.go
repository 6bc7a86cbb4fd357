package shellread

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// expand reads a word where no braces are expanded: what its expansions run,
// and what it is.
func (r *reader) expand(w *syntax.Word) words.Word {
	if w == nil {
		return words.Word{}
	}
	r.inside(w.Parts, false)
	r.words.Split = r.scope.split
	return r.words.One(w)
}

// arguments reads the words of a command.
func (r *reader) arguments(args []*syntax.Word) []words.Word {
	out := make([]words.Word, 0, len(args))
	for _, w := range args {
		r.inside(w.Parts, false)
		r.words.Split = r.scope.split
		n := len(out)
		out = r.words.Append(out, w)
		if r.steps += len(out) - n; r.steps > maxSteps {
			r.spend(tooLong)
			break
		}
	}
	return out
}

// inside reads everything that runs while a word is expanded.
func (r *reader) inside(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if r.enter() {
				r.inside(p.Parts, true)
			}
			r.leave()
		case *syntax.ParamExp:
			r.param(p, quoted)
		case *syntax.CmdSubst:
			r.substitution(p, quoted)
		case *syntax.ArithmExp:
			r.arith(p.X)
		case *syntax.ProcSubst:
			r.subshell(func() {
				r.in = input{kind: inputUnknown}
				r.stmts(p.Stmts)
			})
		case *syntax.ExtGlob:
			// the parser keeps the pattern as it is written
			if strings.ContainsAny(p.Pattern.Value, "$`<>(") {
				r.unknown("an extended pattern that is not read: " + r.words.Source(p))
			}
		default:
			r.unknown(fmt.Sprintf("holds an expansion that is not read: %T", p))
		}
	}
}

// substitution reads $(..) and `..`.
func (r *reader) substitution(c *syntax.CmdSubst, quoted bool) {
	if c.TempFile || c.ReplyVar {
		r.unknown("a substitution that runs in the shell itself: " + r.words.Source(c))
	}
	saved := r.wrappers
	r.subshell(func() {
		if src := r.words.Source(c); c.Backquotes && strings.Contains(src, `\`) {
			r.backquoted(src, quoted)
			return
		}
		if r.enter() {
			r.stmts(c.Stmts)
		}
		r.leave()
	})
	r.wrappers = saved
}

// backquoted reads `..` with escapes. bash takes one level of them away
// before it reads the text as commands; the parser does not, and so reads
// `echo "\$(id)"` as harmless.
func (r *reader) backquoted(src string, quoted bool) {
	if len(src) < 2 || src[0] != '`' {
		r.unknown("a backquoted command that is not read")
		return
	}
	var b strings.Builder
	body := src[1 : len(src)-1]
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' && i+1 < len(body) {
			switch body[i+1] {
			case '$', '`', '\\':
				i++
			case '"':
				if quoted {
					i++
				}
			}
		}
		b.WriteByte(body[i])
	}
	r.text(b.String(), "a backquoted command")
}

// param reads ${..}.
func (r *reader) param(p *syntax.ParamExp, quoted bool) {
	if !r.enter() {
		r.leave()
		return
	}
	defer r.leave()
	if p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet || p.Param == nil {
		r.unknown("an expansion that is not bash's: " + r.words.Source(p))
		return
	}
	if p.Excl && p.Names == 0 && !allElements(p.Index) {
		r.unknown("an expansion through the name in a variable: " + r.words.Source(p))
	}
	if p.Index != nil && !allElements(p.Index) {
		r.subscript(p.Param.Value, p.Index)
	}
	if quoted && hidesExpansion(p) {
		r.unknown("single quotes that quote nothing within double quotes: " + r.words.Source(p))
	}
	if p.Slice != nil {
		r.arith(p.Slice.Offset)
		r.arith(p.Slice.Length)
	}
	if p.Repl != nil {
		r.expand(p.Repl.Orig)
		r.expand(p.Repl.With)
	}
	if e := p.Exp; e != nil {
		w := r.expand(e.Word)
		switch e.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			b := r.scope.lookup(p.Param.Value)
			number := b != nil && b.number && isDigits(w.Text)
			r.set(p.Param.Value, value{text: w.Text, known: w.Certain(), number: number})
		case syntax.OtherParamOps:
			if !w.Known || strings.ContainsAny(w.Text, "P") {
				r.unknown("an expansion that runs what a variable holds: " + r.words.Source(p))
			}
		}
	}
}

// hidesExpansion: in "${x-'$(id)'}" bash runs id, since single quotes mean
// nothing there; the parser takes them for quotes.
func hidesExpansion(p *syntax.ParamExp) bool {
	for _, w := range [...]*syntax.Word{wordOf(p.Exp), origOf(p.Repl), withOf(p.Repl)} {
		if w == nil {
			continue
		}
		for _, part := range w.Parts {
			if q, ok := part.(*syntax.SglQuoted); ok && strings.ContainsAny(q.Value, "$`\\") {
				return true
			}
		}
	}
	return false
}

func wordOf(e *syntax.Expansion) *syntax.Word {
	if e == nil {
		return nil
	}
	return e.Word
}

func origOf(e *syntax.Replace) *syntax.Word {
	if e == nil {
		return nil
	}
	return e.Orig
}

func withOf(e *syntax.Replace) *syntax.Word {
	if e == nil {
		return nil
	}
	return e.With
}

func allElements(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// isNumber reports whether a variable is certain to hold a number.
func (r *reader) isNumber(name string) bool {
	if b := r.scope.lookup(name); b != nil {
		return b.number
	}
	return table.NumberVars[name]
}

// numbers reports whether every item that a word of for ... in becomes is a
// number.
func (r *reader) numbers(w *syntax.Word) bool {
	for _, x := range r.arguments([]*syntax.Word{w}) {
		if !(x.Certain() && isDigits(x.Text) || x.Digit && x.Lead == "") && !r.counts(w, "seq") {
			return false
		}
	}
	return true
}

func isDigits(s string) bool { return table.Digits(s) }

// counts reports whether a word is a substitution whose output is a number,
// or with seq several of them.
func (r *reader) counts(w *syntax.Word, also string) bool {
	if w == nil || len(w.Parts) != 1 || r.scope.code != "" {
		return false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	c, ok := part.(*syntax.CmdSubst)
	if !ok || len(c.Stmts) != 1 || c.TempFile || c.ReplyVar {
		return false
	}
	cmd := c.Stmts[0].Cmd
	if b, ok := cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		cmd = b.Y.Cmd
	}
	call, ok := cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 || r.findFunc(call.Args[0].Lit()) != nil {
		return false
	}
	lits := make([]string, len(call.Args))
	for i, w := range call.Args {
		lits[i] = w.Lit()
	}
	return table.CountsOnly(lits, also)
}
