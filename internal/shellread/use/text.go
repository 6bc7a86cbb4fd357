package use

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/script"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// scripts joins the texts given by options with the first operand where no
// option gives one. ok is false where a text is not certain.
func (r *reading) scripts(flags ...string) (text string, given, ok bool) {
	ok = true
	for i := range r.u.Flags {
		f := &r.u.Flags[i]
		for _, n := range flags {
			if f.Name == n && f.Has {
				if given {
					text += "\n"
				}
				text, given, ok = text+f.Value.Text, true, ok && f.Value.Known && !f.Value.Glob
			}
		}
	}
	if !given && !r.u.Effects().Has(table.First) && len(r.u.Operands) > 0 {
		w := r.u.Operands[0]
		return w.Text, true, w.Known && !w.Glob
	}
	return text, given, ok
}

// judged applies what a script could do; reads says that it is otherwise
// read-only.
func (r *reading) judged(f script.Facts, certain, reads bool) {
	switch {
	case !certain:
		r.because(reeve.CommandFedScript, "the script given to "+r.name+" is not certain")
	case f.Unclear != "":
		r.because(reeve.CommandRunsProgram, f.Unclear)
	case f.Runs:
		r.because(reeve.CommandRunsProgram, "the script given to "+r.name+" starts a program")
	}
	if len(f.Writes) > 0 {
		r.because(reeve.CommandWritesFile, "the script given to "+r.name+" writes a file")
	}
	for _, p := range f.Writes {
		r.Files = append(r.Files, File{Path: named(p), Role: 'w'})
	}
	for _, p := range f.Reads {
		r.Files = append(r.Files, File{Path: named(p), Role: 'r'})
	}
	harm := r.u.Effects()&table.Harm != 0 || r.u.Strange != "" || r.u.Loose
	clean := certain && f.Unclear == "" && !f.Runs && len(f.Writes) == 0
	r.ReadOnly = reads && r.trusted && clean && !harm && r.Marks == 0 && r.sure(f)
}

// sure reports whether every operand that names a file is known.
func (r *reading) sure(f script.Facts) bool {
	for _, p := range f.Reads {
		if p == "" {
			return false
		}
	}
	for _, w := range r.u.Operands {
		if !w.Known || w.MayBeFlag() {
			return false
		}
	}
	return true
}

func named(path string) words.Word {
	if path == "" {
		return words.Unknown("a file that the script names")
	}
	return words.Plain(path)
}

// sed: the script is read, and --sandbox forbids what is dangerous in it.
func (r *reading) sed() {
	text, given, certain := r.scripts("-e", "--expression")
	_, safe := r.u.Flag("--sandbox")
	_, file := r.u.Flag("-f", "--file")
	if !given && !file {
		return
	}
	if safe {
		r.judged(script.Facts{}, true, true)
		return
	}
	r.judged(script.Sed(text), certain, true)
}

// awk: the program is read.
func (r *reading) awk() {
	text, given, certain := r.scripts("-e", "--source")
	if _, file := r.u.Flag("-f", "--file", "-E", "--exec"); !given && !file {
		return
	}
	r.judged(script.Awk(text), certain, true)
}

func (r *reading) jq() {
	r.query(script.Jq, 2, "--arg", "--argjson", "--slurpfile", "--rawfile")
}

func (r *reading) yq() { r.query(script.Yq, 1, "--from-file") }

// query reads the expression of jq and yq, past options of n values.
func (r *reading) query(read func(string) script.Facts, n int, pairs ...string) {
	var kept, files []words.Word
	args, data := r.args(), false
	for i := 0; i < len(args); i++ {
		pair := false
		for _, p := range pairs {
			pair = pair || args[i].Certain() && args[i].Text == p && n == 2
		}
		if !pair {
			data = data || args[i].Text == "--args" || args[i].Text == "--jsonargs"
			kept = append(kept, args[i])
			continue
		}
		if (args[i].Text == "--slurpfile" || args[i].Text == "--rawfile") && i+2 < len(args) {
			files = append(files, args[i+2])
		}
		if i+2 < len(args) && (!args[i+1].Known && !args[i+1].Quoted || !args[i+2].Known && !args[i+2].Quoted) {
			r.because(reeve.CommandUnknownWords, "a word could become an option or several words")
		}
		i += n
	}
	again := reading{ws: append(append([]words.Word{}, r.ws[:r.at]...), kept...), at: r.at, name: r.name, trusted: r.trusted, p: r.p}
	again.u = r.p.Parse(kept)
	again.apply()
	for _, w := range files {
		again.file(w, 'r', false)
	}
	if data { // what follows is no file
		again.Files = readAll(files)
	}
	marks, why := r.Marks&reeve.CommandUnknownWords, r.Why
	*r = reading{Facts: again.Facts, ws: r.ws, at: r.at, name: r.name, trusted: r.trusted, p: r.p, u: again.u}
	if len(kept) != len(args) && marks != 0 {
		r.because(marks, why)
	}
	text, given, certain := r.scripts()
	if !given || r.u.Effects().Has(table.First) {
		r.ReadOnly = false
		return
	}
	certain = certain || r.name != "yq" // a jq program starts and writes nothing, whatever it holds
	r.judgedQuery(read(text), certain)
}

func readAll(ws []words.Word) (all []File) {
	for _, w := range ws {
		all = append(all, File{Path: w, Role: 'r'})
	}
	return all
}

// judgedQuery is judged, where the expression itself may hold anything.
func (r *reading) judgedQuery(f script.Facts, certain bool) {
	ops := r.u.Operands
	expression := ops[0]
	if r.name != "yq" && (expression.Known || expression.Quoted && !expression.MayBeFlag()) {
		r.u.Operands = ops[1:]
	}
	r.judged(f, certain, true)
	r.u.Operands = ops
}
