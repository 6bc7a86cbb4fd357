package shellread

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// builtin reads a builtin of bash; false means that the name is none. Those
// that only look carry the read-only mark; those that run text are read on.
func (r *reader) builtin(st *start) bool {
	name := st.ws[0].Text
	switch name {
	case "cd", "pushd", "popd":
		r.cd(st)
	case "test", "[":
		r.testBuiltin(st)
	case "printf":
		r.printf(st)
	case "read", "mapfile", "readarray", "getopts":
		r.readBuiltin(st)
	case "eval":
		r.eval(st)
	case "source", ".":
		r.source(st)
	case "command", "builtin":
		r.commandBuiltin(st)
	case "exec":
		r.exec(st)
	case "trap":
		r.trap(st)
	case "alias", "unalias":
		r.alias(st)
	case "set":
		r.setBuiltin(st)
	case "shopt":
		r.shopt(st)
	case "unset":
		r.unset(st)
	case "hash", "enable":
		r.hash(st)
	case "export", "declare", "typeset", "local", "readonly":
		r.declareWords(st)
	case "complete", "compgen", "compopt", "history", "fc", "bind":
		r.interactive(st)
	case "let":
		r.letWords(st)
	case "kill":
		r.simple(st, reeve.CommandBuiltin)
	case "jobs":
		r.jobs(st)
	case "wait":
		r.wait(st)
	default:
		if !table.ReadOnlyBuiltins[name] {
			return false
		}
		if name == "break" || name == "continue" || name == "return" {
			r.jump()
		}
		r.simple(st, reeve.CommandReadOnly)
	}
	return true
}

// jobs -x runs what follows.
func (r *reader) jobs(st *start) {
	for i, w := range st.ws[1:] {
		if !w.Certain() && w.MayBeFlag() {
			r.unknown("jobs with the word " + w.Text + " may run a command")
		}
		if !strings.HasPrefix(w.Text, "-") || !strings.Contains(w.Text, "x") || i+2 >= len(st.ws) {
			continue
		}
		r.list(st, reeve.CommandRunsProgram, "jobs -x starts the command in its words")
		inner := *st
		inner.ws = st.ws[i+2:]
		r.within(reeve.Wrapper{Name: "jobs", Text: textOf(st.ws[:i+2])}, false, func() { r.start(inner) })
		return
	}
	r.simple(st, reeve.CommandReadOnly)
}

// wait -p NAME sets a variable, and evaluates a subscript in its name.
func (r *reader) wait(st *start) {
	args, ok := st.ws[1:], true
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch at := strings.IndexByte(w.Text, 'p'); {
		case !w.Known && !w.Digit && strings.HasPrefix(w.Lead, "-"):
			r.unknown("wait with the word " + w.Text + " may set a variable and evaluate its subscript")
			ok = false
		case !w.Certain() || !strings.HasPrefix(w.Text, "-") || at < 0:
		case at < len(w.Text)-1:
			ok = r.setRead(w.From(at+1), "wait -p") && ok
		case i+1 < len(args):
			i++
			ok = r.setRead(args[i], "wait -p") && ok
		}
	}
	r.simple(st, readOnlyIf(ok))
}

// simple lists a builtin whose words have no effect of their own.
func (r *reader) simple(st *start, mark reeve.CommandMark) {
	r.list(st, mark, "")
}

func (r *reader) list(st *start, marks reeve.CommandMark, why string) *reeve.Command {
	c := r.command(*st, marks, why)
	if c.Marks&reeve.CommandReadOnly == 0 {
		c.Marks |= reeve.CommandBuiltin
	}
	r.emit(reeve.Effect{Kind: reeve.EffectRun, Command: c})
	return c
}

// builtinEffect lists a builtin that the parser knows as syntax.
func (r *reader) builtinEffect(name, text string, mark reeve.CommandMark) {
	st := start{ws: []words.Word{words.Plain(name)}, text: text, dir: r.scope.dir, assigns: r.exported()}
	for _, f := range strings.Fields(strings.TrimPrefix(text, name)) {
		w := words.Plain(f)
		if strings.ContainsAny(f, "$`'\"\\") {
			w = words.Unknown(f)
		}
		st.ws = append(st.ws, w)
	}
	r.list(&st, mark, "")
}

// cd follows the directory.
func (r *reader) cd(st *start) {
	s := &r.scope
	name, args := st.ws[0].Text, st.ws[1:]
	physical := s.physical
	for len(args) > 0 && args[0].Certain() && len(args[0].Text) > 1 && args[0].Text[0] == '-' && !isDigits(args[0].Text) {
		last := args[0].Text == "--"
		if !last {
			physical = physical && !strings.Contains(args[0].Text, "L") || strings.Contains(args[0].Text, "P")
		}
		args = args[1:]
		if last {
			break
		}
	}
	target := spot{}
	var relative *words.Word
	switch {
	case name == "popd", name == "pushd" && (len(args) != 1 || args[0].Text == "" || args[0].Text[0] == '+' || args[0].Text[0] == '-'):
		target.why = name + " goes back to a directory that is not followed"
	case len(args) == 0:
		if r.at.Home != "" && !s.homeMoved {
			target.path = r.at.Home
		}
	case len(args) == 1 && args[0].Certain() && args[0].Text == "-":
		target.path = s.prev
	case len(args) == 1 && args[0].Known && !args[0].Glob && args[0].Text != "":
		w := args[0]
		if s.cdpath && !strings.HasPrefix(w.Text, "/") && !strings.HasPrefix(w.Text, ".") && !w.Tilde {
			break
		}
		target = r.resolve(w, s.dir)
		if !strings.HasPrefix(w.Text, "/") && !w.Tilde {
			relative = &w
		}
	}
	if physical && target.path != "" {
		target, relative = spot{why: name + " -P goes where links lead"}, nil
	}
	mark := reeve.CommandBuiltin
	if target.path != "" && r.inWorkspace(target.path) {
		mark = reeve.CommandReadOnly
	}
	c := r.list(st, mark, "")
	if target.path != "" {
		r.path(spot{path: target.path}, 'r', false, c)
	}
	r.moved(target, relative)
}

// maxPlaces bounds the directories that are followed at once.
const maxPlaces = 6

// moved is the state after a cd to target, which may have failed, as each cd
// before it may have: relative is its word where it goes on from there.
func (r *reader) moved(target spot, relative *words.Word) {
	s := &r.scope
	var alts []string
	add := func(dir string) {
		if dir != target.path && !slices.Contains(alts, dir) {
			alts = append(alts, dir)
		}
	}
	for _, dir := range append(s.alts[:len(s.alts):len(s.alts)], s.dir) {
		if dir != "" {
			add(dir)
		}
	}
	if relative != nil {
		for _, dir := range s.alts {
			add(r.resolve(*relative, dir).path)
		}
	}
	if len(alts) > maxPlaces || slices.Contains(alts, "") {
		target.path, alts = "", nil
	}
	s.prev, s.dir, s.alts = s.dir, target.path, alts
}

func (r *reader) inWorkspace(dir string) bool {
	ws := r.at.Workspace
	return ws != "" && (dir == ws || strings.HasPrefix(dir, strings.TrimSuffix(ws, "/")+"/"))
}

// testBuiltin: -v and -R take the name of a variable, and evaluate a
// subscript in it.
func (r *reader) testBuiltin(st *start) {
	args := st.ws[1:]
	ok := true
	for i, w := range args {
		if w.Certain() && (w.Text == "-v" || w.Text == "-R") && i+1 < len(args) {
			ok = r.variableName(args[i+1], st.ws[0].Text+" "+w.Text) && ok
		}
		if !w.Known && !w.Digit && i+1 < len(args) && couldBe(w, "-v") && !(i > 0 && isTestOperator(args[i-1])) && !(i+1 < len(args) && isTestOperator(args[i+1])) {
			// the word could be -v, and the next one a name with a subscript
			if next := args[i+1]; !next.Known || strings.Contains(next.Text, "[") {
				r.unknown(st.ws[0].Text + " with the words " + w.Text + " " + next.Text + " may evaluate a subscript")
				ok = false
			}
		}
	}
	r.simple(st, readOnlyIf(ok))
}

func readOnlyIf(ok bool) reeve.CommandMark {
	if ok {
		return reeve.CommandReadOnly
	}
	return reeve.CommandBuiltin
}

func couldBe(w words.Word, text string) bool {
	return strings.HasPrefix(text, w.Lead)
}

// isTestOperator: = != -eq -f and so on, and the closing bracket.
func isTestOperator(w words.Word) bool {
	return w.Certain() && (w.Text == "=" || w.Text == "==" || w.Text == "!=" || w.Text == "]" || w.Text == "!" || w.Text == "(" || w.Text == ")" || w.Text == "<" || w.Text == ">" ||
		len(w.Text) > 1 && w.Text[0] == '-' && w.Text != "-v" && w.Text != "-R" && !isDigits(w.Text))
}

// printf -v NAME sets a variable, and evaluates a subscript in its name.
func (r *reader) printf(st *start) {
	args := st.ws[1:]
	ok := true
	for len(args) > 0 {
		w := args[0]
		switch {
		case w.Certain() && w.Text == "-v" && len(args) > 1:
			if ok = r.variableName(args[1], "printf -v"); ok {
				r.set(base(args[1].Text), value{})
			}
		case w.Certain() && strings.HasPrefix(w.Text, "-v"):
			w = w.From(2)
			if ok = r.variableName(w, "printf -v"); ok {
				r.set(base(w.Text), value{})
			}
		case !w.Known && !w.Digit && (couldBe(w, "-v") || strings.HasPrefix(w.Lead, "-v")):
			r.unknown("printf with the word " + w.Text + " may set a variable and evaluate its subscript")
			ok = false
		}
		break
	}
	r.simple(st, readOnlyIf(ok))
}

// base is a variable's name without a subscript.
func base(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

// readTakes are the options of read, mapfile and getopts that take a value.
const readTakes = "adinNptuCcOs"

// readBuiltin: the words that are no options are names of variables.
func (r *reader) readBuiltin(st *start) {
	name, args := st.ws[0].Text, st.ws[1:]
	ok := true
	mapfile := name == "mapfile" || name == "readarray"
	i := 0
	for ; i < len(args) && name != "getopts"; i++ {
		w := args[i]
		if !w.Certain() || len(w.Text) < 2 || w.Text[0] != '-' || w.Text == "--" {
			if w.Certain() && w.Text == "--" {
				i++
			}
			break
		}
		letter := w.Text[len(w.Text)-1]
		takes := strings.IndexByte(readTakes, letter) >= 0 && !(mapfile && letter == 't') && !(!mapfile && letter == 's')
		if takes && i+1 < len(args) {
			i++
			if letter == 'a' {
				ok = r.setRead(args[i], name) && ok
			}
			if letter == 'C' && mapfile {
				ok = false
				r.callback(args[i], "mapfile", st)
			}
		}
	}
	if name == "getopts" {
		i = min(1, len(args))
	}
	for ; i < len(args); i++ {
		ok = r.setRead(args[i], name) && ok
		if name == "getopts" {
			break
		}
	}
	if !mapfile && name != "getopts" {
		r.set("REPLY", value{})
	}
	if mapfile {
		r.set("MAPFILE", value{})
	}
	r.simple(st, readOnlyIf(ok))
}

func (r *reader) setRead(w words.Word, who string) bool {
	if !r.variableName(w, who) {
		return false
	}
	name := base(w.Text)
	r.set(name, value{})
	return table.Variable(name, "", false) != table.VarCode
}

// callback is text that a builtin runs with words added to it.
func (r *reader) callback(w words.Word, who string, st *start) {
	if !w.Certain() {
		r.unknown("the text that " + who + " runs is not certain")
		return
	}
	r.within(reeve.Wrapper{Name: who, Text: who}, false, func() { r.text(w.Text+` "$_"`, "the text that "+who+" runs") })
}

// eval runs its words, joined, in this shell.
func (r *reader) eval(st *start) {
	r.list(st, reeve.CommandRunsProgram, "eval runs the text it is given")
	args := st.ws[1:]
	if len(args) > 0 && args[0].Certain() && args[0].Text == "--" {
		args = args[1:]
	}
	text := textOf(args)
	for i := range args {
		if w := &args[i]; !w.Known || w.Glob {
			r.unknown("the text that eval runs is not certain")
			r.anyState()
			if len(args) == 1 && w.Lead != "" {
				from := len(r.out)
				r.subshell(func() {
					r.within(reeve.Wrapper{Name: "eval", Text: "eval"}, false, func() { r.text(unquote(text), "the text that eval runs") })
				})
				r.clean(from)
			}
			return
		}
	}
	if why := refuse(text); why != "" {
		r.unknown("the text that eval runs " + why)
		return
	}
	r.shared()
	r.within(reeve.Wrapper{Name: "eval", Text: "eval"}, false, func() { r.text(text, "the text that eval runs") })
}

// anyState: text that is not known has run in this shell, so that nothing is
// certain after it.
func (r *reader) anyState() {
	s := &r.scope
	s.dir, s.alts, s.prev, s.vars = "", nil, "", nil
	s.split, s.homeMoved, s.cdpath = true, true, true
	s.code = firstOf(s.code, "text that is not known ran in this shell")
}

// source runs a file in this shell.
func (r *reader) source(st *start) {
	c := r.list(st, reeve.CommandRunsProgram, "runs a file in this shell")
	if len(st.ws) > 1 {
		w := st.ws[1]
		if !w.Certain() || strings.HasPrefix(w.Lead, "/dev/") || strings.HasPrefix(w.Lead, "/proc/") {
			r.unknown("the text that " + st.ws[0].Text + " runs is not certain")
		}
		r.touch(w, 'r', false, r.scope.dir, c, r.scope.alts)
	}
	r.anyState()
}

// commandBuiltin: command and builtin run what follows, past functions.
func (r *reader) commandBuiltin(st *start) {
	name, i := st.ws[0].Text, 1
	for ; i < len(st.ws) && st.ws[i].Certain() && strings.HasPrefix(st.ws[i].Text, "-") && len(st.ws[i].Text) > 1; i++ {
		if st.ws[i].Text == "--" {
			i++
			break
		}
		if strings.ContainsAny(st.ws[i].Text, "vV") {
			r.simple(st, reeve.CommandReadOnly)
			return
		}
	}
	if i >= len(st.ws) {
		r.simple(st, reeve.CommandReadOnly)
		return
	}
	inner := *st
	inner.ws, inner.noFunc = st.ws[i:], true
	if st.ws[i].MayBeFlag() {
		r.unknown("which command " + name + " runs cannot be told: " + st.ws[i].Text)
	}
	r.within(reeve.Wrapper{Name: name, Text: textOf(st.ws[:i]), Harmless: true}, false, func() { r.start(inner) })
}

// exec replaces the shell with a program; alone it keeps redirections.
func (r *reader) exec(st *start) {
	i := 1
	for ; i < len(st.ws) && st.ws[i].Certain() && strings.HasPrefix(st.ws[i].Text, "-") && len(st.ws[i].Text) > 1; i++ {
		if st.ws[i].Text == "--" {
			i++
			break
		}
		if strings.HasSuffix(st.ws[i].Text, "a") {
			i++
		}
	}
	if i >= len(st.ws) {
		r.simple(st, reeve.CommandReadOnly)
		return
	}
	r.list(st, reeve.CommandRunsProgram, "exec starts the command in its words")
	if st.ws[i].MayBeFlag() {
		r.unknown("which program exec starts cannot be told: " + st.ws[i].Text)
	}
	inner := *st
	inner.ws, inner.program = st.ws[i:], true
	inner.text = textOf(inner.ws)
	r.within(reeve.Wrapper{Name: "exec", Text: textOf(st.ws[:i])}, false, func() { r.start(inner) })
}

// isExecAlone: exec without a command, whose redirections stay in force.
func (r *reader) isExecAlone(c *syntax.CallExpr) bool {
	return len(c.Args) == 1 && c.Args[0].Lit() == "exec"
}

// trap runs text later, in a state that is not known.
func (r *reader) trap(st *start) {
	args := st.ws[1:]
	if len(args) > 0 && args[0].Certain() && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) < 2 || args[0].Certain() && (args[0].Text == "" || args[0].Text == "-" || args[0].Text == "-l" || args[0].Text == "-p") {
		r.simple(st, readOnlyIf(len(args) == 0 || args[0].Known))
		return
	}
	if !args[0].Known {
		r.list(st, reeve.CommandRunsProgram|reeve.CommandFedScript, "the text of a trap is not certain")
		r.unknown("the text that trap runs is not certain")
		if from := len(r.out); args[0].Lead != "" {
			r.later("trap", unquote(args[0].Text))
			r.clean(from)
		}
		return
	}
	r.list(st, reeve.CommandReadOnly, "")
	if why := refuse(args[0].Text); why != "" {
		r.unknown("the text that trap runs " + why)
		return
	}
	r.later("trap", args[0].Text)
}

// later reads text that runs in this shell, but not now.
func (r *reader) later(who, text string) {
	changes := false
	r.subshell(func() {
		r.scope.dir, r.scope.alts, r.scope.prev, r.scope.vars = "", nil, "", nil
		before := r.scope
		r.in = input{kind: inputUnknown}
		r.within(reeve.Wrapper{Name: who, Text: who}, false, func() { r.text(text, "the text that "+who+" runs") })
		changes = r.scope.vars != nil || !r.scope.settles(&before) || strings.Contains(text, "cd")
	})
	if changes && who == "trap" { // and that at any moment
		r.anyState()
	}
}

// alias: what it stands for is read, and later uses of its name are unknown.
func (r *reader) alias(st *start) {
	if st.ws[0].Text == "unalias" {
		r.simple(st, reeve.CommandReadOnly)
		return
	}
	ok := true
	for _, w := range st.ws[1:] {
		name, text, is := strings.Cut(w.Text, "=")
		switch {
		case !w.Known:
			r.unknown("alias with the word " + w.Text + " may rename any program")
			ok = false
		case is:
			ok = false
			r.scope.funcs = &function{name: name, alias: true, certain: r.maybe == 0, next: r.scope.funcs}
			r.later("alias", text)
		}
	}
	r.simple(st, readOnlyIf(ok))
}
