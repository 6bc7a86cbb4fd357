package shellread

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// setBuiltin: set changes options and positional parameters.
func (r *reader) setBuiltin(st *start) {
	args, ok := st.ws[1:], true
	for i := 0; i < len(args); i++ {
		w := args[i]
		if !w.Certain() {
			if couldBe(w, "-") && (w.Lead == "" || w.Lead[0] == '-') {
				r.unknown("set with the word " + w.Text + " may change how the shell reads")
				ok = false
			}
			break
		}
		if w.Text == "--" || w.Text == "-" || w.Text == "" || w.Text[0] != '-' && w.Text[0] != '+' {
			break
		}
		for _, letter := range w.Text[1:] {
			switch {
			case letter == 'o':
				if i+1 < len(args) {
					i++
					ok = r.setOption(args[i], w.Text[0] == '-') && ok
				}
			case letter == 'a':
				r.scope.allExport = r.scope.allExport || w.Text[0] == '-'
			case letter == 'P':
				r.scope.physical = r.scope.physical || w.Text[0] == '-'
			case !strings.ContainsRune(table.QuietSet, letter):
				r.unknown("set " + w.Text + " changes how the shell reads")
				ok = false
			}
		}
	}
	r.simple(st, readOnlyIf(ok))
}

func (r *reader) setOption(w words.Word, on bool) bool {
	if w.Certain() && w.Text == "physical" {
		r.scope.physical = r.scope.physical || on
		return true
	}
	if !w.Certain() || !table.QuietSetNames[w.Text] {
		r.unknown("set -o " + w.Text + " changes how the shell reads")
		return false
	}
	if w.Text == "allexport" && on {
		r.scope.allExport = true
	}
	return true
}

func (r *reader) shopt(st *start) {
	ok, sets := true, false
	for _, w := range st.ws[1:] {
		switch {
		case !w.Certain():
			ok = false
			r.unknown("shopt with the word " + w.Text + " may change how the shell reads")
		case strings.HasPrefix(w.Text, "-"):
			sets = sets || strings.ContainsAny(w.Text, "su")
			if strings.Contains(w.Text, "o") {
				ok = false
				r.unknown("shopt -o changes how the shell reads")
			}
		case sets && !table.QuietShopt[w.Text]:
			ok = false
			r.unknown("shopt " + w.Text + " changes how the shell reads")
		case sets && table.LooseShopt[w.Text]:
			r.loose = true
		}
	}
	r.simple(st, readOnlyIf(ok))
}

// unset takes variables and functions away, and evaluates a subscript.
func (r *reader) unset(st *start) {
	ok, functions := true, false
	for _, w := range st.ws[1:] {
		if w.Certain() && strings.HasPrefix(w.Text, "-") {
			functions = functions || strings.Contains(w.Text, "f")
			continue
		}
		if !functions && !r.variableName(w, "unset") {
			ok = false
			continue
		}
		name := base(w.Text)
		if r.findFunc(name) != nil {
			r.scope.funcs = &function{name: name, certain: r.maybe == 0, next: r.scope.funcs}
		}
		if functions {
			continue
		}
		kept := r.scope.env[:0:0]
		for _, a := range r.scope.env {
			if a.Name != name {
				kept = append(kept, a)
			}
		}
		r.scope.env = kept
		if table.Variable(name, "", false) == table.VarCode {
			ok = false
			r.special(name, value{})
		} else {
			r.scope.bind(binding{name: name})
		}
	}
	r.simple(st, readOnlyIf(ok))
}

// hash -p and enable -f and -n change which program a name means.
func (r *reader) hash(st *start) {
	ok := true
	args := st.ws[1:]
	for i, w := range args {
		if !w.Certain() && w.MayBeFlag() || w.Certain() && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "pfn") && st.ws[0].Text == "enable" {
			ok = false
			r.unknown(st.ws[0].Text + " " + w.Text + " changes what a command means")
			continue
		}
		if st.ws[0].Text == "hash" && w.Certain() && strings.HasPrefix(w.Text, "-p") {
			ok = false
			for _, name := range args[i+1:] {
				r.scope.funcs = &function{name: name.Text, alias: true, certain: r.maybe == 0, next: r.scope.funcs}
				if !name.Known {
					r.unknown("hash -p may rename any program")
				}
			}
		}
	}
	if ok {
		r.simple(st, reeve.CommandReadOnly)
		return
	}
	r.list(st, reeve.CommandRunsProgram, "changes which program a name means")
}

// declareWords: export and its like where the parser saw plain words, after
// command or builtin, or with a quoted name.
func (r *reader) declareWords(st *start) {
	d := declaration{who: st.ws[0].Text}
	ok := true
	for _, w := range st.ws[1:] {
		name, text, is := strings.Cut(w.Text, "=")
		if at := strings.IndexByte(w.Lead, '='); !w.Known && at > 0 {
			name, is = w.Lead[:at], true
			text = w.Text
		}
		if !is || !syntax.ValidName(name) {
			ok = d.option(r, w) && ok
			continue
		}
		export := d.who == "export" || d.export
		v := value{text: text, known: w.Known, number: w.Known && isDigits(text), integer: d.integer, export: export}
		if d.integer && !v.number || strings.Contains(text, "(") {
			r.unknown(d.who + " evaluates " + w.Text)
			ok = false
		}
		r.set(name, v)
		ok = ok && table.Variable(name, text, w.Known) == table.VarHarmless
	}
	r.simple(st, readOnlyIf(ok))
}

// interactive: builtins for people at a terminal, of which some run text and
// some write files.
func (r *reader) interactive(st *start) {
	name, args := st.ws[0].Text, st.ws[1:]
	if name == "history" && (len(args) == 0 || len(args) == 1 && args[0].Certain() && isDigits(args[0].Text)) {
		r.simple(st, reeve.CommandReadOnly)
		return
	}
	for i, w := range args {
		if !w.Known {
			r.list(st, reeve.CommandUnknownWords, "a word of "+name+" is not certain")
			r.unknown(name + " may run text that is not certain")
			return
		}
		command, runs := completion(name, w, args[i+1:])
		switch {
		case runs:
			r.callback(command, name, st)
			r.list(st, reeve.CommandRunsProgram, name+" -C runs a command")
			return
		case (name == "complete" || name == "compgen") && strings.HasPrefix(w.Text, "-W") && i+1 < len(args) && strings.ContainsAny(args[i+1].Text, "$`"):
			r.unknown(name + " -W expands its words")
		case name == "history" && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "awrn"):
			c := r.list(st, reeve.CommandWritesFile, "history "+w.Text+" writes or reads a file")
			if i+1 < len(args) {
				r.touch(args[i+1], 'w', false, r.scope.dir, c, r.scope.alts)
			} else {
				r.path(spot{why: "the history file"}, 'w', false, c)
			}
			return
		case name == "history" && (strings.HasPrefix(w.Text, "-p") || strings.HasPrefix(w.Text, "-s")):
		case name == "fc", name == "bind":
			r.unknown(name + " may run text of its own")
		}
	}
	if name == "fc" && len(args) == 0 {
		r.unknown("fc runs an editor and what it gives back")
	}
	r.list(st, reeve.CommandBuiltin, "")
}

// letWords: let where the parser saw plain words.
func (r *reader) letWords(st *start) {
	for _, w := range st.ws[1:] {
		expr, err := syntax.NewParser().Arithmetic(strings.NewReader(w.Text))
		if !w.Known || err != nil {
			r.unknown("arithmetic that is not certain: " + w.Text)
			continue
		}
		saved := r.words
		r.words.Src = w.Text
		r.arith(expr)
		r.words = saved
	}
	r.simple(st, reeve.CommandReadOnly)
}

// completion is the command that complete or compgen runs for its option -C:
// glued to it, also behind other letters, or the next word.
func completion(name string, w words.Word, rest []words.Word) (words.Word, bool) {
	if name != "complete" && name != "compgen" || !strings.HasPrefix(w.Text, "-") {
		return w, false
	}
	_, glued, ok := strings.Cut(w.Text, "C")
	switch {
	case !ok:
		return w, false
	case glued != "":
		w.Text = glued
		return w, true
	case len(rest) > 0:
		return rest[0], true
	}
	return w, false
}
