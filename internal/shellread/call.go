package shellread

import (
	"reflect"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/use"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// start is one command that would start.
type start struct {
	ws      []words.Word
	assigns []reeve.Assign
	text    string // source, for people
	dir     string
	alts    []string
	program bool // never a function or builtin: started by another program
	noFunc  bool // never a function: after command or builtin
	appends bool // the last word stands for words from elsewhere and is not listed
}

// call reads a simple command.
func (r *reader) call(c *syntax.CallExpr) {
	if !r.step() {
		return
	}
	ws := r.arguments(c.Args)
	if len(ws) == 0 {
		return
	}
	before := r.scope
	var own []reeve.Assign
	for _, a := range c.Assigns {
		name, v := r.assignment(a, false)
		if name == "IFS" && ws[0].Certain() && ws[0].Text == "read" {
			continue // splits what read reads, and no more
		}
		own = upsert(own, assign(name, v.text, v.known))
	}
	st := start{ws: ws, text: r.words.Source(c), dir: r.scope.dir, alts: r.scope.alts}
	if len(own) == 0 {
		st.assigns = r.exported()
		r.start(st)
		return
	}
	// for the time of the command its variables are set and exported
	for _, a := range own {
		r.set(a.Name, value{text: a.Value, known: a.Known, export: true})
	}
	st.assigns = r.exported()
	r.start(st)
	if r.posix && specialBuiltins[ws[0].Text] {
		return // there they stay
	}
	r.restore(&before, own)
}

// specialBuiltins keep the variables set for them, in a shell that follows
// POSIX to the letter.
var specialBuiltins = map[string]bool{
	":": true, ".": true, "eval": true, "exec": true, "exit": true, "export": true, "readonly": true, "return": true, "set": true, "shift": true, "source": true, "times": true, "trap": true, "unset": true, "break": true, "continue": true,
}

// restore takes back the variables that were set for one command, and keeps
// what else the command changed.
func (r *reader) restore(before *scope, own []reeve.Assign) {
	s := &r.scope
	for _, a := range own {
		old := before.lookup(a.Name)
		s.bind(binding{name: a.Name, number: old != nil && old.number, integer: old != nil && old.integer, keyed: old != nil && old.keyed})
		kept := s.env[:0:0]
		for _, e := range s.env {
			if e.Name != a.Name {
				kept = append(kept, e)
			}
		}
		for _, e := range before.env {
			if e.Name == a.Name {
				kept = append(kept, e)
			}
		}
		s.env = kept
	}
	s.code, s.split, s.homeMoved, s.cdpath = before.code, before.split, before.homeMoved, before.cdpath
}

// exported are the variables that a program is given because of this text.
func (r *reader) exported() []reeve.Assign {
	if len(r.inherit) == 0 {
		return r.scope.env
	}
	all := r.inherit
	for _, a := range r.scope.env {
		all = upsert(all, a)
	}
	return all
}

// start decides what the first word is: a function, a builtin, a program.
func (r *reader) start(st start) {
	if !r.enter() {
		r.leave()
		return
	}
	defer r.leave()
	if r.steps += len(st.ws); r.steps > maxSteps {
		r.spend(tooLong)
		return
	}
	name := st.ws[0]
	if !name.Known || name.Glob || name.Text == "" {
		r.unknownProgram(st)
		return
	}
	if !st.program && !strings.Contains(name.Text, "/") {
		if !st.noFunc && r.callFunc(st) {
			return
		}
		if r.builtin(&st) {
			return
		}
	}
	r.program(st)
}

func (r *reader) unknownProgram(st start) {
	c := r.command(st, reeve.CommandUnknownProgram, "the program's name is not certain")
	r.emit(reeve.Effect{Kind: reeve.EffectRun, Command: c})
	r.unknown("which program " + st.ws[0].Text + " is cannot be told")
}

// command makes the noun for a start.
func (r *reader) command(st start, marks reeve.CommandMark, why string) *reeve.Command {
	ws := st.ws
	if st.appends {
		ws = ws[:len(ws)-1]
	}
	c := &reeve.Command{Words: make([]reeve.Word, len(ws)), Wrappers: r.wrappers, Assigns: st.assigns, Dir: st.dir, Else: st.alts, Text: st.text, Marks: marks, Why: why}
	for i := range ws {
		c.Words[i] = ws[i].Word
	}
	if r.away {
		c.Dir, c.Else = "", nil
	}
	set := func(m reeve.CommandMark, why string) {
		c.Marks |= m
		if c.Why == "" {
			c.Why = why
		}
	}
	if r.scope.code != "" {
		set(reeve.CommandCodeEnv, r.scope.code)
	}
	for i := range st.assigns {
		if !st.assigns[i].Harmless {
			set(reeve.CommandCodeEnv, st.assigns[i].Name+" is not known to be harmless")
		}
	}
	if r.leaves {
		set(reeve.CommandLeaves, "runs as another user, in another container or on another machine")
	}
	if c.Marks&^(reeve.CommandReadOnly|reeve.CommandGitConfig) != 0 {
		c.Marks &^= reeve.CommandReadOnly
	}
	return c
}

// program reads a command that starts a program.
func (r *reader) program(st start) {
	facts := use.Of(st.ws)
	marks := facts.Marks
	if facts.ReadOnly && marks&^reeve.CommandGitConfig == 0 {
		marks |= reeve.CommandReadOnly
	}
	if facts.Fed {
		marks |= reeve.CommandFedScript
		facts.Why = firstOf(facts.Why, "reads what it runs from its input")
	}
	dir, alts := st.dir, st.alts
	if facts.Dir != nil {
		st.dir, st.alts = r.into(*facts.Dir, dir), nil
		for _, alt := range alts {
			if d := r.into(*facts.Dir, alt); d != st.dir {
				st.alts = append(st.alts, d)
			}
		}
	}
	c := r.command(st, marks, facts.Why)
	for _, w := range facts.Also {
		c.Also = append(c.Also, w.Word)
	}
	if !facts.Unlisted {
		r.emit(reeve.Effect{Kind: reeve.EffectRun, Command: c})
	}
	r.effects(&facts, &st, c, dir, alts)
	if facts.Fed {
		r.fed(&st)
	}
	for i := range facts.Inner {
		r.inner(&facts.Inner[i], &st)
	}
}

// into is the directory that a program changes to. The kernel goes up from
// where links lead, so that ".." stays in it; "" where it is not certain.
func (r *reader) into(w words.Word, from string) string {
	s := r.resolve(w, from)
	if s.deep {
		return ""
	}
	return firstOf(s.spelled, s.path)
}

// effects emits what a program does besides starting others.
func (r *reader) effects(facts *use.Facts, st *start, c *reeve.Command, dir string, alts []string) {
	if facts.Dir != nil && !r.away {
		r.touch(*facts.Dir, 'r', false, dir, c, alts)
	}
	for _, f := range facts.Files {
		if f.Here {
			r.touch(f.Path, f.Role, f.Deep, dir, c, alts)
		} else {
			r.touch(f.Path, f.Role, f.Deep, st.dir, c, st.alts)
		}
	}
	for _, l := range facts.Links { // what they lead to counts from now on
		r.link(l, st.dir)
	}
	for _, h := range facts.Hosts {
		e := reeve.Effect{Kind: reeve.EffectConnect, Host: h.Name, Port: h.Port, Command: c}
		if h.Name == "" {
			e.Why = "the host that " + c.Words[0].Text + " connects to is not certain"
		}
		r.emit(e)
	}
	if facts.External != "" {
		r.emit(reeve.Effect{Kind: reeve.EffectExternal, Command: c, Why: facts.External})
	}
	if facts.Self != "" {
		r.emit(reeve.Effect{Kind: reeve.EffectChangeSelf, Command: c, Why: facts.Self})
	}
	for _, why := range facts.Unknown {
		r.unknown(why)
	}
}

// findFunc is the newest function or alias of a name.
func (r *reader) findFunc(name string) *function {
	for f := r.scope.funcs; f != nil; f = f.next {
		if f.name == name {
			return f
		}
	}
	return nil
}

// callFunc reads a call of a function that the text declares. It answers
// false where a program may be meant instead.
func (r *reader) callFunc(st start) bool {
	name := st.ws[0].Text
	first := r.findFunc(name)
	if first == nil {
		return false
	}
	known := table.Lookup(name) != nil || table.OtherBuiltins[name] || table.ReadOnlyBuiltins[name] || name == "reeve" || first.alias
	if known {
		c := r.command(st, reeve.CommandUnknownProgram, name+" is a function or an alias here")
		r.emit(reeve.Effect{Kind: reeve.EffectRun, Command: c})
	}
	for f := first; f != nil; f = f.next {
		if f.name != name {
			continue
		}
		if f.body != nil {
			r.inline(f)
		}
		if f.certain {
			if f.body == nil && !f.alias {
				return known // taken away again
			}
			return true
		}
	}
	return known
}

// inline reads the body of a function where it is called.
func (r *reader) inline(f *function) {
	for _, active := range r.calls {
		if active.name == f.name {
			r.unknown("the function " + f.name + " calls itself")
			return
		}
	}
	saved := r.words
	r.words.Src = f.src
	from := len(r.out)
	r.calls = append(r.calls, f)
	r.maybe++
	in := r.in
	r.shared()
	r.catch(func() { r.stmt(f.body) })
	r.in = in
	r.maybe--
	r.calls = r.calls[:len(r.calls)-1]
	r.words = saved
	if !r.spent && reflect.DeepEqual(r.out[from:], f.listed) {
		r.out = r.out[:from] // said where it was declared
	}
}
