package table

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// Given is one option as it stands in a command.
type Given struct {
	*Flag
	Value words.Word // meaningful where HasValue
	Has   bool       // a value was given
}

// Use is a command's words, sorted by what the table knows.
type Use struct {
	Flags    []Given
	Operands []words.Word
	Rest     int    // index of the first operand among the words; their number where there is none
	Strange  string // the first option that is not in the table; "" = all are known
	Loose    bool   // a word that is not certain could become an option
}

// Effects joins what the given options do.
func (u *Use) Effects() (e Effect) {
	for _, f := range u.Flags {
		e |= f.Effect
	}
	return e
}

// Flag finds a given option by name, the last one given.
func (u *Use) Flag(names ...string) (Given, bool) {
	for i := len(u.Flags) - 1; i >= 0; i-- {
		for _, n := range names {
			if u.Flags[i].Name == n {
				return u.Flags[i], true
			}
		}
	}
	return Given{}, false
}

// reading is a parse in progress.
type reading struct {
	p    *Program
	args []words.Word
	i    int
	use  Use
}

// Parse sorts the words after the program's name, and after the sub-command
// where p is one.
func (p *Program) Parse(args []words.Word) Use {
	r := reading{p: p, args: args}
	r.use.Rest = len(args)
	ends := p.Is(FirstEnds) || p.Is(Wraps)
	for ; r.i < len(args); r.i++ {
		w := &args[r.i]
		option, last := r.isOption(w)
		if last { // "--"
			r.i++
			break
		}
		if !option {
			if ends {
				break
			}
			r.operand(r.i)
			continue
		}
		if stops := r.option(w); stops {
			r.i++
			break
		}
	}
	for ; r.i < len(args); r.i++ {
		if ends && r.use.Rest == len(args) {
			r.use.Rest = r.i
		}
		r.operand(r.i)
	}
	return r.use
}

func (r *reading) operand(i int) {
	if r.use.Rest == len(r.args) {
		r.use.Rest = i
	}
	r.use.Operands = append(r.use.Operands, r.args[i])
}

// isOption reports whether a word starts an option, or ends the options.
func (r *reading) isOption(w *words.Word) (option, last bool) {
	if w.Certain() && w.Text == "--" {
		return false, true
	}
	if w.MayBeFlag() {
		r.use.Loose = true
	}
	return len(w.Lead) > 1 && w.Lead[0] == '-' || w.Lead == "-" && !w.Certain(), false
}

func (r *reading) strange(w *words.Word) {
	if r.use.Strange == "" {
		r.use.Strange = w.Text
	}
}

// option reads one word of options and its value.
func (r *reading) option(w *words.Word) (stops bool) {
	switch {
	case isNumber(w.Lead[1:]) && w.Certain() && r.p.flags.byName["-NUM"] != nil:
		return r.given(r.p.flags.byName["-NUM"], words.Word{}, false)
	case strings.HasPrefix(w.Lead, "--"), r.p.Is(LongOne):
		return r.long(w)
	}
	return r.cluster(w)
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// long reads --name, --name=value, or -name for programs that write it so.
func (r *reading) long(w *words.Word) bool {
	name, _, attached := strings.Cut(w.Lead, "=")
	if !attached && !w.Certain() {
		r.strange(w)
		r.abbreviated(name, words.Unknown(name))
		return false
	}
	f := r.p.flags.byName[name]
	if f == nil && r.p.Is(LongOne) && strings.HasPrefix(name, "--") {
		f = r.p.flags.byName[name[1:]]
	}
	if f == nil && r.p.Is(LongOne) && !attached {
		if f = r.p.flags.byName[w.Lead[:2]]; f != nil && f.Arity != NoValue && isNumber(w.Lead[2:]) {
			return r.given(f, w.From(2), true)
		}
		f = nil
	}
	if f == nil {
		r.strange(w)
		value := words.Unknown(name)
		if attached {
			value = w.From(len(name) + 1)
		}
		r.abbreviated(name, value)
		return false
	}
	if attached {
		if f.Arity == NoValue {
			r.strange(w)
		}
		return r.given(f, w.From(len(name)+1), true)
	}
	return r.separate(f)
}

// abbreviated gives every harmful option that the name may be short for.
func (r *reading) abbreviated(name string, value words.Word) {
	for _, f := range r.p.flags.harmful {
		if strings.HasPrefix(f.Name, name) {
			r.given(f, value, true)
		}
	}
}

// separate gives an option whose value is the next word, if it takes one.
func (r *reading) separate(f *Flag) bool {
	if f.Arity != OneValue || r.i+1 >= len(r.args) {
		return r.given(f, words.Word{}, false)
	}
	r.i++
	next := r.args[r.i]
	if !next.Known && !next.Quoted { // may become several words, or none
		r.use.Loose = true
	}
	return r.given(f, next, true)
}

// cluster reads one-letter options that share a dash.
func (r *reading) cluster(w *words.Word) bool {
	stops := false
	for j := 1; j < len(w.Lead); j++ {
		f := r.p.flags.byName["-"+w.Lead[j:j+1]]
		if f == nil {
			r.strange(w)
			continue
		}
		if f.Arity == NoValue {
			stops = r.given(f, words.Word{}, false) || stops
			continue
		}
		if j+1 < len(w.Text) || !w.Certain() { // the rest of the word is the value
			return r.given(f, w.From(j+1), true) || stops
		}
		return r.separate(f) || stops
	}
	if !w.Certain() {
		r.strange(w)
		r.use.Loose = true
	}
	return stops
}

func (r *reading) given(f *Flag, value words.Word, has bool) (stops bool) {
	r.use.Flags = append(r.use.Flags, Given{f, value, has})
	return f.Effect.Has(Stops)
}
