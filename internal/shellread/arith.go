package shellread

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// Arithmetic in bash evaluates what variables hold, again and again, and
// subscripts in it are expanded: with x='a[$(id)]', $((x)) runs id. So a name
// may stand in arithmetic only where its value is certain to be a number.

// arith reads an arithmetic expression.
func (r *reader) arith(x syntax.ArithmExpr) {
	if x == nil || !r.enter() {
		if x != nil {
			r.leave()
		}
		return
	}
	defer r.leave()
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		r.binary(x)
	case *syntax.UnaryArithm:
		r.arith(x.X)
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			r.arithAssign(x.X, true)
		}
	case *syntax.ParenArithm:
		r.arith(x.X)
	case *syntax.Word:
		if x != nil {
			r.arithWord(x)
		}
	default:
		r.unknown("arithmetic that is not read: " + r.words.Source(x))
	}
}

func (r *reader) binary(x *syntax.BinaryArithm) {
	switch x.Op {
	case syntax.Assgn:
		r.arith(x.Y)
		r.arithAssign(x.X, true)
	case syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn, syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		r.arith(x.X)
		r.arith(x.Y)
		r.arithAssign(x.X, true)
	case syntax.TernQuest, syntax.AndArit, syntax.OrArit: // the right side may not run
		r.arith(x.X)
		base := r.scope
		end := r.branch(base, func() { r.arith(x.Y) })
		r.scope = join(&base, base, end)
	default:
		r.arith(x.X)
		r.arith(x.Y)
	}
}

// arithAssign gives the variable that an expression names a number.
func (r *reader) arithAssign(x syntax.ArithmExpr, number bool) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		r.unknown("arithmetic that sets what is not a name: " + r.words.Source(x))
		return
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		if syntax.ValidName(p.Value) {
			r.set(p.Value, value{number: number})
			return
		}
	case *syntax.ParamExp:
		if p.Param != nil && p.Index != nil && !p.Excl {
			r.subscript(p.Param.Value, p.Index)
			old := r.scope.lookup(p.Param.Value)
			r.set(p.Param.Value, value{number: number && old != nil && old.number, keyed: old != nil && old.keyed, element: true})
			return
		}
	}
	r.unknown("arithmetic that sets what is not a name: " + r.words.Source(x))
}

// arithWord reads a number, a name, or text that becomes one.
func (r *reader) arithWord(w *syntax.Word) {
	if lit := w.Lit(); lit != "" {
		r.arithText(lit)
		return
	}
	r.inside(w.Parts, false)
	if !r.arithParts(w.Parts) {
		r.unknown("arithmetic over " + r.words.Source(w) + ", which may hold a text that bash would run")
	}
}

// arithText reads literal text of arithmetic.
func (r *reader) arithText(s string) {
	switch {
	case isConstant(s):
	case syntax.ValidName(s):
		if !r.isNumber(s) {
			r.unknown("arithmetic over " + s + ", which may hold a text that bash would run")
		}
	default:
		r.unknown("arithmetic that is not read: " + s)
	}
}

// isConstant: 12, 0x1f, 16#ff.
func isConstant(s string) bool {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	for i := range len(s) {
		if !word(s[i]) && s[i] != '#' && s[i] != '@' {
			return false
		}
	}
	return true
}

// arithParts reports whether every part of a word is certain to be digits.
func (r *reader) arithParts(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !isDigits(p.Value) && !(len(parts) == 1 && isConstant(p.Value)) {
				return false
			}
		case *syntax.SglQuoted:
			if !isDigits(p.Value) {
				return false
			}
		case *syntax.DblQuoted:
			if !r.arithParts(p.Parts) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.ParamExp:
			if !r.numberParam(p) {
				return false
			}
		case *syntax.CmdSubst:
			if !r.counts(&syntax.Word{Parts: []syntax.WordPart{p}}, "") {
				return false
			}
		default:
			return false
		}
	}
	return len(parts) > 0
}

// numberParam reports whether an expansion is certain to be a number.
func (r *reader) numberParam(p *syntax.ParamExp) bool {
	if p.Length {
		return true
	}
	if p.Param == nil || p.Excl || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return false
	}
	if e := p.Exp; e != nil {
		switch e.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if e.Word != nil && !isDigits(e.Word.Lit()) {
				return false
			}
		default:
			return false
		}
	}
	switch p.Param.Value {
	case "?", "#", "$", "!":
		return true
	}
	return r.isNumber(p.Param.Value)
}

// subscript reads the subscript of an array: arithmetic, or text where the
// array is keyed.
func (r *reader) subscript(name string, x syntax.ArithmExpr) {
	if allElements(x) {
		return
	}
	if b := r.scope.lookup(name); b != nil && b.keyed {
		if w, ok := x.(*syntax.Word); ok {
			r.expand(w)
			return
		}
	}
	if name == "BASH_REMATCH" || name == "PIPESTATUS" || name == "FUNCNAME" || name == "BASH_SOURCE" || name == "BASH_LINENO" || name == "DIRSTACK" {
		if w, ok := x.(*syntax.Word); ok && isDigits(w.Lit()) {
			return
		}
	}
	r.arith(x)
}

// let reads one argument of let: arithmetic, in quotes or not.
func (r *reader) let(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		r.arith(x)
		return
	}
	text := ""
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		text = p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) != 1 {
			r.arith(x)
			return
		}
		lit, ok := p.Parts[0].(*syntax.Lit)
		if !ok {
			r.arith(x)
			return
		}
		text = lit.Value
	default:
		r.arith(x)
		return
	}
	expr, err := syntax.NewParser().Arithmetic(strings.NewReader(text))
	if err != nil || expr == nil {
		r.unknown("arithmetic that is not read: " + text)
		return
	}
	saved := r.words
	r.words.Src = text
	r.arith(expr)
	r.words = saved
}

// test reads a condition of [[ ]].
func (r *reader) test(x syntax.TestExpr) {
	if x == nil || !r.enter() {
		if x != nil {
			r.leave()
		}
		return
	}
	defer r.leave()
	switch x := x.(type) {
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			r.testNumber(x.X)
			r.testNumber(x.Y)
		default:
			r.test(x.X)
			r.test(x.Y)
		}
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w, _ := x.X.(*syntax.Word)
			r.variableName(r.expand(w), "[[ -v ]]")
			return
		}
		r.test(x.X)
	case *syntax.ParenTest:
		r.test(x.X)
	case *syntax.Word:
		r.expand(x)
	default:
		r.unknown("a condition that is not read: " + r.words.Source(x))
	}
}

// testNumber reads an operand of -eq and its like, which is arithmetic.
func (r *reader) testNumber(x syntax.TestExpr) {
	w, ok := x.(*syntax.Word)
	if !ok {
		r.test(x)
		return
	}
	r.arithWord(w)
}

// variableName checks a word that a builtin takes for a variable: a subscript
// in it would be evaluated.
func (r *reader) variableName(w words.Word, who string) bool {
	if w.Certain() && syntax.ValidName(w.Text) {
		return true
	}
	if w.Certain() {
		name, rest, ok := strings.Cut(w.Text, "[")
		if sub, end := strings.CutSuffix(rest, "]"); ok && end && syntax.ValidName(name) && (isDigits(sub) || sub == "@" || sub == "*") {
			return true
		}
	}
	r.unknown(who + " evaluates " + w.Text + " as a variable's name")
	return false
}
