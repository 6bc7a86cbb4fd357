package shellread

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// value is what a variable is set to.
type value struct {
	text    string
	known   bool
	number  bool
	keyed   bool // a keyed array
	integer bool // declare -i
	element bool // one element of an array
	export  bool
}

// set follows an assignment, whoever makes it.
func (r *reader) set(name string, v value) {
	s := &r.scope
	old := s.lookup(name)
	if (old != nil && old.integer || table.OwnNumbers[name]) && !v.number {
		r.unknown(name + " is declared to be a number, so what it is given is evaluated")
	}
	b := binding{name: name, number: v.number, keyed: v.keyed, integer: v.integer || old != nil && old.integer}
	if v.element && old != nil {
		b.number, b.keyed = b.number && old.number, old.keyed
	}
	s.bind(b)
	if s.vars.count > maxVars || len(s.env) > maxVars/8 {
		r.spend("sets more variables than are followed")
	}
	r.special(name, v)
	exported := v.export || s.allExport || slices.ContainsFunc(s.env, func(a reeve.Assign) bool { return a.Name == name })
	if exported {
		s.env = upsert(s.env, assign(name, v.text, v.known))
	}
}

func assign(name, text string, known bool) reeve.Assign {
	return reeve.Assign{Name: name, Value: text, Known: known, Harmless: table.Variable(name, text, known) == table.VarHarmless}
}

// upsert replaces or adds a variable without changing the list in place.
func upsert(list []reeve.Assign, a reeve.Assign) []reeve.Assign {
	out := make([]reeve.Assign, 0, len(list)+1)
	for _, x := range list {
		if x.Name != a.Name {
			out = append(out, x)
		}
	}
	return append(out, a)
}

// special follows variables that change how the shell itself works, or what
// every later program loads.
func (r *reader) special(name string, v value) {
	s := &r.scope
	switch name {
	case "IFS":
		s.split = true
	case "GLOBIGNORE":
		r.loose = true // any value switches leading dots on (bash(1), Pathname Expansion)
	case "HOME":
		s.homeMoved = true
	case "CDPATH":
		s.cdpath = true
	case "PWD", "OLDPWD":
		s.prev = ""
	case "PS4", "PS0", "PS1", "PROMPT_COMMAND":
		if !v.known || strings.ContainsAny(v.text, "$`\\") {
			r.unknown(name + " is set to a text that bash would expand and run")
		}
	case "BASH_ALIASES", "BASH_CMDS", "POSIXLY_CORRECT", "SHELLOPTS", "BASHOPTS", "BASH_COMPAT", "DIRSTACK":
		r.unknown("sets " + name + ", which changes what later words mean")
	}
	if table.Variable(name, v.text, v.known) == table.VarCode && s.code == "" {
		s.code = name + " is set, which decides what programs load or start"
	}
}

// assignments reads NAME=value without a command.
func (r *reader) assignments(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		name, v := r.assignment(a, false)
		r.set(name, v)
	}
}

// assignment reads one assignment; keyed says that its array is keyed.
func (r *reader) assignment(a *syntax.Assign, keyed bool) (string, value) {
	if a.Name == nil {
		r.unknown("an assignment that is not read")
		return "", value{}
	}
	name := a.Name.Value
	old := r.scope.lookup(name)
	keyed = keyed || old != nil && old.keyed
	v := value{keyed: keyed}
	if a.Index != nil {
		v.element = true
		if w, ok := a.Index.(*syntax.Word); ok && keyed {
			r.expand(w)
		} else {
			r.arith(a.Index)
		}
	}
	if a.Array != nil {
		v.number = len(a.Array.Elems) > 0
		for _, e := range a.Array.Elems {
			if e.Index != nil && keyed {
				if w, ok := e.Index.(*syntax.Word); ok {
					r.expand(w)
				}
			} else if e.Index != nil {
				r.arith(e.Index)
			}
			if e.Value != nil {
				v.number = r.numbers(e.Value) && v.number
			}
		}
		v.number = v.number && (!a.Append || old != nil && old.number)
		return name, v
	}
	if a.Value != nil {
		w := r.expand(a.Value)
		v.text, v.known = w.Text, w.Known
		v.number = w.Known && isDigits(w.Text) || w.Digit && (w.Lead == "" || isDigits(w.Lead)) && digitsAround(a.Value) || r.counts(a.Value, "")
	} else {
		v.known = true // NAME= sets it to nothing, which counts as zero
		v.number = true
	}
	if a.Append {
		v.number = v.number && old != nil && old.number
		v.known = false
	}
	return name, v
}

// digitsAround reports whether the literal parts of a word are digits, so that
// $x$y and 1$x are numbers where x and y are.
func digitsAround(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !isDigits(p.Value) {
				return false
			}
		case *syntax.DblQuoted:
			if !digitsAround(&syntax.Word{Parts: p.Parts}) {
				return false
			}
		case *syntax.ParamExp, *syntax.ArithmExp:
		default:
			return false
		}
	}
	return true
}

// declare reads declare, typeset, local, export and readonly.
func (r *reader) declare(c *syntax.DeclClause) {
	d := declaration{who: c.Variant.Value}
	before, given, harmless := r.scope, r.exported(), true
	from := len(r.out)
	for _, a := range c.Args {
		if a.Naked && a.Name == nil || a.Naked && strings.HasPrefix(a.Name.Value, "-") {
			w := a.Value
			if w == nil {
				continue
			}
			word := r.expand(w)
			if !d.option(r, word) {
				harmless = false
			}
			continue
		}
		harmless = d.name(r, a) && harmless
	}
	mark := reeve.CommandBuiltin
	if harmless && len(r.out) == from {
		mark = reeve.CommandReadOnly
	}
	after := r.scope
	r.scope.code, r.scope.env = before.code, given // what the builtin itself runs with
	r.builtinEffect(d.who, r.words.Source(c), mark)
	r.scope = after
}

// declaration is declare and its like with the options seen so far.
type declaration struct {
	who                               string
	export, integer, keyed, functions bool
}

// option reads a word that is no NAME=value: options, or a name that is only
// known when it runs.
func (d *declaration) option(r *reader, w words.Word) bool {
	if !w.Certain() {
		if name, value, is := strings.Cut(w.Lead, "="); is && syntax.ValidName(name) && !d.integer && (d.who == "export" || d.who == "readonly" || value != "" && value[0] != '(') {
			r.set(name, valueOf(w.Text, d))
			return table.Variable(name, "", false) == table.VarHarmless
		}
		r.unknown(d.who + " evaluates " + w.Text + " as an assignment")
		return false
	}
	if !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
		if name, _, is := strings.Cut(w.Text, "="); is || !syntax.ValidName(name) {
			r.unknown(d.who + " evaluates " + w.Text + " as an assignment")
			return false
		}
		r.set(w.Text, value{export: d.who == "export" || d.export})
		return true
	}
	ok := true
	for _, letter := range w.Text[1:] {
		switch letter {
		case 'x':
			d.export = w.Text[0] == '-'
		case 'i':
			d.integer = true
		case 'A':
			d.keyed = true
		case 'n':
			if d.who == "export" || d.who == "readonly" {
				continue // export -n takes the mark away
			}
			r.unknown(d.who + " -n makes a name stand for another variable")
			ok = false
		case 'f':
			d.functions = true
			if d.who == "export" || d.export {
				r.scope.code = firstOf(r.scope.code, "functions are exported")
				ok = false
			}
		}
	}
	return ok
}

// valueOf is a value that is not known, given by a declaration.
func valueOf(text string, d *declaration) value {
	return value{text: text, export: d.who == "export" || d.export}
}

// name reads NAME, NAME=value and NAME=(...). It reports whether the variable
// is harmless.
func (d *declaration) name(r *reader, a *syntax.Assign) bool {
	if d.functions {
		return true
	}
	export := d.who == "export" || d.export
	if a.Naked {
		if a.Index != nil {
			r.subscript(a.Name.Value, a.Index)
		}
		old := r.scope.lookup(a.Name.Value)
		v := value{integer: d.integer, keyed: d.keyed || old != nil && old.keyed, number: old != nil && old.number || d.integer && old == nil && !export, export: export}
		r.set(a.Name.Value, v)
		return !export || table.Variable(a.Name.Value, "", false) == table.VarHarmless
	}
	name, v := r.assignment(a, d.keyed)
	if d.integer && !v.number {
		r.unknown(name + " is declared to be a number, so what it is given is evaluated")
	}
	v.integer, v.export, v.keyed = d.integer, export, v.keyed || d.keyed
	if hasBrace(a) {
		v.known, v.number = false, false
	}
	r.set(name, v)
	kind := table.Variable(name, v.text, v.known)
	return kind == table.VarHarmless || kind == table.VarUnknown && !export && !r.scope.allExport
}

// hasBrace: bash may expand braces in the arguments of declare.
func hasBrace(a *syntax.Assign) bool {
	return a.Value != nil && strings.Contains(a.Value.Lit(), "{")
}
