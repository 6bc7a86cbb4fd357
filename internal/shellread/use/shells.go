package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// shells read commands from a text, a file or their input.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "ash": true, "zsh": true, "ksh": true, "ksh93": true, "mksh": true, "pdksh": true, "lksh": true, "yash": true, "posh": true,
	"rbash": true, "rzsh": true, "fish": true, "csh": true, "tcsh": true, "elvish": true, "nu": true, "xonsh": true,
}

// IsShell reports whether a program reads shell commands.
func IsShell(name string) bool { return isShell(name) }

func isShell(name string) bool { return shells[strings.TrimPrefix(name, "-")] }

// foreignShells have options of their own.
var foreignShells = map[string]bool{"fish": true, "csh": true, "tcsh": true, "elvish": true, "nu": true, "xonsh": true}

// quietLetters are options of one letter that change neither how a text is
// read nor what a start file adds to it.
const quietLetters = "cefhlmnprsuvxbCEPToO"

// quietOptions are those of -o and -O.
var quietOptions = map[string]bool{"errexit": true, "nounset": true, "pipefail": true, "xtrace": true, "verbose": true, "noglob": true, "noclobber": true, "errtrace": true, "functrace": true, "noexec": true,
	"nullglob": true, "globstar": true, "dotglob": true, "failglob": true, "nocaseglob": true, "inherit_errexit": true, "extglob": true}

// shellLetters checks one word of options; i is its index.
func (r *reading) shellLetters(name, word string, i int) {
	for _, letter := range word[1:] {
		if !strings.ContainsRune(quietLetters, letter) {
			r.unknown(word + " changes how " + name + " reads")
			return
		}
	}
	if last := word[len(word)-1]; (last == 'o' || last == 'O') && i+1 < len(r.ws) {
		if v := r.ws[i+1]; !v.Certain() || !quietOptions[v.Text] {
			r.unknown(word + " " + v.Text + " changes how " + name + " reads")
		}
	}
}

// shell reads the words of a shell: -c TEXT, a script file, or commands from
// its input.
func (r *reading) shell() {
	name := strings.TrimPrefix(r.name, "-")
	if len(r.ws) == 2 && r.ws[1].Certain() && (r.ws[1].Text == "--version" || r.ws[1].Text == "--help") {
		r.ReadOnly = r.trusted
		return
	}
	i, text, stdin := r.shellOptions(name)
	switch {
	case text:
		r.shellText(name, i)
	case i < len(r.ws) && r.ws[i].MayBeFlag() && !r.ws[i].Certain():
		r.because(reeve.CommandUnknownWords, "a word of "+name+" could become an option")
		r.unknown("cannot tell what " + name + " would run: " + r.ws[i].Text)
	case foreignShells[name] && i > 1:
		r.unknown("the options of " + name + " are not read")
	case i < len(r.ws) && !stdin:
		r.scriptFile(r.ws[i])
		r.loose(r.ws[i:])
	default:
		r.Fed = true
	}
}

// shellOptions gives the index of the first word after a shell's options, and
// whether -c and -s are among them.
func (r *reading) shellOptions(name string) (i int, text, stdin bool) {
	for i = 1; i < len(r.ws); i++ {
		w := r.ws[i]
		switch {
		case !w.Certain():
			return i, text, stdin
		case w.Text == "--" || w.Text == "-":
			return i + 1, text, stdin
		case strings.HasPrefix(w.Text, "--"):
			switch w.Text {
			case "--rcfile", "--init-file":
				r.because(reeve.CommandRunsProgram, w.Text+" loads a start file")
				i++
			case "--norc", "--noprofile", "--login", "--noediting", "--verbose", "--restricted":
			default:
				r.unknown(w.Text + " changes how " + name + " reads")
			}
		case len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+'):
			r.shellLetters(name, w.Text, i)
			text = text || w.Text[0] == '-' && strings.Contains(w.Text, "c")
			stdin = stdin || w.Text[0] == '-' && strings.Contains(w.Text, "s")
			if last := w.Text[len(w.Text)-1]; last == 'o' || last == 'O' {
				i++
			}
		default:
			return i, text, stdin
		}
	}
	return i, text, stdin
}

// shellText: the word at i is a text that the shell runs.
func (r *reading) shellText(name string, i int) {
	r.because(reeve.CommandRunsProgram, name+" -c runs the text it is given")
	if i >= len(r.ws) {
		r.unknown(name + " -c without a text")
		return
	}
	if !r.ws[i].Known {
		r.because(reeve.CommandFedScript, "the text that "+name+" runs is not certain")
	}
	r.Inner = append(r.Inner, Inner{Text: r.ws[i], Shell: name, Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:i])}})
}

// scriptFile: a shell is given a file. /dev/stdin is its input; a process
// substitution is another pipe, whatever its input is.
func (r *reading) scriptFile(w words.Word) {
	switch {
	case w.Certain() && (w.Text == "/dev/stdin" || w.Text == "/dev/fd/0" || w.Text == "/proc/self/fd/0"):
		r.Fed = true
	case strings.HasPrefix(w.Lead, "/dev/") || strings.HasPrefix(w.Lead, "/proc/"):
		r.because(reeve.CommandFedScript, r.name+" runs what a pipe gives it")
		r.unknown(r.name + " runs what a pipe gives it")
	default:
		r.Files = append(r.Files, File{Path: w, Role: 'r'})
	}
}

// interpreter: without a script operand, or with a dash, the program comes
// from the input.
func (r *reading) interpreter() {
	if !r.p.Is(table.Interpreter) || r.u.Effects().Has(table.Stops|table.Version) {
		return
	}
	for _, f := range r.u.Flags {
		if f.Effect.Has(table.Runs) || f.Name == "-f" || f.Name == "-m" {
			return
		}
	}
	if len(r.u.Operands) == 0 {
		r.Fed = !r.p.Is(table.HasSubs)
		return
	}
	first := r.u.Operands[0]
	r.Fed = first.Certain() && (first.Text == "-" || first.Text == "/dev/stdin") || strings.HasPrefix(first.Lead, "/dev/fd/")
}

// python -m MODULE is also that module's own command.
func (r *reading) python() {
	m, given := r.u.Flag("-m")
	if !given || !m.Has || !m.Value.Certain() {
		return
	}
	module := append([]words.Word{m.Value}, r.args()[r.u.Rest:]...)
	r.Also = module
	inner := Of(module)
	r.because(inner.Marks&^reeve.CommandUnknownWords, inner.Why)
	if inner.External != "" {
		r.External = inner.External
	}
	r.Files, r.Inner = append(r.Files, inner.Files...), append(r.Inner, inner.Inner...)
}

// editor: vim takes commands as +COMMAND too.
func (r *reading) editor() {
	for _, w := range r.u.Operands {
		if strings.HasPrefix(w.Lead, "+") {
			r.because(reeve.CommandRunsProgram, "+COMMAND runs a command of the editor")
		}
	}
}

// database: a client that is given no statement reads them from its input;
// some statements start programs.
func (r *reading) database() {
	given := false
	for _, f := range r.u.Flags {
		switch f.Name {
		case "-c", "--command", "-e", "--execute":
			given = true
			s := strings.ToLower(f.Value.Text)
			if !f.Value.Known || strings.Contains(s, `\`) && !strings.HasPrefix(s, `\d`) || strings.Contains(s, "program") || strings.Contains(s, "system") || strings.Contains(s, "source") {
				r.because(reeve.CommandRunsProgram, "a statement for "+r.name+" may start a program")
			}
		case "-f", "--file", "-l", "--list":
			given = true
		}
	}
	if !given {
		r.because(reeve.CommandFedScript, r.name+" reads its statements from its input")
	}
}

// looks are dot-commands of sqlite that only look.
var looks = map[string]bool{".tables": true, ".schema": true, ".databases": true, ".indexes": true, ".indices": true, ".headers": true, ".mode": true, ".help": true, ".show": true, ".stats": true, ".dump": true, ".fullschema": true, ".width": true}

// sqlite: dot-commands start programs and write files, functions load code.
func (r *reading) sqlite() {
	for i, w := range r.u.Operands {
		s := strings.ToLower(w.Text)
		switch {
		case i == 0:
		case w.Known && looks[firstWord(s)] && !strings.Contains(s, "\n"):
		case !w.Known, strings.HasPrefix(strings.TrimSpace(s), "."), strings.Contains(s, "\n."), strings.Contains(s, "load_extension"), strings.Contains(s, "edit("):
			r.because(reeve.CommandRunsProgram, "the text given to "+r.name+" may start programs")
		case strings.Contains(s, "writefile"), strings.Contains(s, "attach"), strings.Contains(s, "into"), strings.Contains(s, "copy"):
			r.because(reeve.CommandWritesFile, "the text given to "+r.name+" may write files")
		}
	}
	if len(r.u.Operands) < 2 {
		r.because(reeve.CommandFedScript, r.name+" reads what it does from its input")
	}
}

func firstWord(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

// self: reeve with anything but status, version and hook is a person's.
func (r *reading) self() {
	args := r.args()
	if len(args) > 0 && args[0].Certain() {
		switch args[0].Text {
		case "status", "version", "hook":
			r.loose(args)
			if r.Marks == 0 {
				return
			}
		}
	}
	if len(args) == 0 {
		return
	}
	r.because(reeve.CommandSelf, "only a person may use reeve this way")
	r.Self = "starts " + strings.Join(texts(r.ws[:2]), " ")
}
