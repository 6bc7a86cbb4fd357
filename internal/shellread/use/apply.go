package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// harmMarks say which mark each effect of an option sets.
var harmMarks = []struct {
	effect table.Effect
	mark   reeve.CommandMark
	why    string
}{
	{table.Runs | table.RunsValue | table.Text | table.Split, reeve.CommandRunsProgram, " starts a program"},
	{table.LoadsCode, reeve.CommandRunsProgram, " loads code or settings from a named place"},
	{table.Writes | table.InPlace, reeve.CommandWritesFile, " writes a file"},
	{table.Destroys, reeve.CommandDestructive, " deletes without a way back"},
	{table.Outside, reeve.CommandExternal, " changes something outside this machine"},
	{table.Git, reeve.CommandGitWrites, " changes the repository"},
	{table.Leaves, reeve.CommandLeaves, " runs on another machine or as another user"},
}

// nowhere are values of an output option that keep nothing.
var nowhere = map[string]bool{"-": true, "/dev/null": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/tty": true}

// apply turns the parsed options and operands into facts by the table.
func (r *reading) apply() {
	p, u := r.p, &r.u
	if p.Marks != 0 {
		r.because(p.Marks, r.title()+" "+whyOf(p.Marks))
	}
	if p.Marks.Has(reeve.CommandExternal) && r.External == "" {
		r.External = r.title()
	}
	if p.Is(table.OtherUser) {
		r.because(reeve.CommandLeaves, r.title()+" runs as another user, in another container or on another machine")
	}
	harm := table.Effect(0)
	for i := range u.Flags {
		harm |= r.flag(&u.Flags[i])
	}
	if u.Loose && !p.Is(table.Mild) && !p.Is(table.Any) {
		r.because(reeve.CommandUnknownWords, "a word could become an option or several words")
	}
	if p.Is(table.Wraps) && !p.Is(table.ReadOnly) {
		return
	}
	if p.Is(table.FirstEnds) && p.By != "awk" {
		r.loose(u.Operands) // they may be options of what the first one names
	}
	certain := r.operands(harm)
	r.ReadOnly = p.Is(table.ReadOnly) && r.trusted && !r.tainted && certain && (p.Is(table.Any) || u.Strange == "") && harm&table.Harm == 0 &&
		(!u.Loose || p.Is(table.Mild) || p.Is(table.Any)) && r.Marks&^reeve.CommandGitConfig == 0
	if p.Is(table.One) && len(u.Operands) > 1 || p.Is(table.Bare) && len(u.Operands) > 0 && !harm.Has(table.Lists) {
		r.ReadOnly = false
	}
}

// title is the program and its sub-commands.
func (r *reading) title() string { return strings.Join(texts(r.ws[:r.at]), " ") }

func whyOf(m reeve.CommandMark) string {
	switch {
	case m.Has(reeve.CommandDestructive):
		return "deletes or drops without a way back"
	case m.Has(reeve.CommandExternal):
		return "changes something outside this machine"
	case m.Has(reeve.CommandRunsProgram):
		return "starts programs"
	case m.Has(reeve.CommandFedScript):
		return "reads what it does from its input"
	case m.Has(reeve.CommandGitWrites):
		return "changes the repository"
	case m.Has(reeve.CommandWritesFile):
		return "writes files that it does not name"
	}
	return "reads the repository's configuration"
}

// flag applies one option and gives what it does.
func (r *reading) flag(f *table.Given) table.Effect {
	e := f.Effect
	if e.Has(table.Writes) && f.Has && f.Value.Certain() && nowhere[f.Value.Text] {
		return e&^table.Writes | table.NotReading
	}
	for _, h := range harmMarks {
		if e.Has(h.effect) {
			r.because(h.mark, f.Name+h.why)
		}
	}
	if e.Has(table.Outside) && r.External == "" {
		r.External = r.name + " " + f.Name
	}
	if !f.Has {
		return e
	}
	v := f.Value
	switch {
	case e.Has(table.Writes):
		r.file(v, 'w', false)
	case e.Has(table.Reads | table.LoadsCode):
		r.file(v, 'r', false)
	case e.Has(table.Chooses):
		r.chosen(v)
	case e.Has(table.Chdir):
		r.Dir = &v
	case e.Has(table.Host):
		r.host(v)
	case e.Has(table.RunsValue | table.Text):
		r.Inner = append(r.Inner, Inner{Text: v, Wrapper: reeve.Wrapper{Name: r.name, Text: strings.Join(texts(r.ws[:r.at]), " ") + " " + f.Name}, Lost: true})
	}
	return e
}

// operands applies the operands' roles. It reports whether every operand is
// certain enough for the read-only table.
func (r *reading) operands(harm table.Effect) (certain bool) {
	p, ops := r.p, r.u.Operands
	shift, certain := 0, true
	if harm.Has(table.First) {
		shift = 1
	}
	recursive := p.Is(table.ReadsDir) || harm.Has(table.Dir)
	read := 0
	for i := range ops {
		w := ops[i]
		role := p.Role(i+shift, len(ops)+shift)
		if harm.Has(table.InPlace) && role == 'r' {
			role = 'w'
		}
		if harm.Has(table.Keeps) && role == 'm' {
			role = 'r'
		}
		switch role {
		case '-':
			certain = certain && (w.Known || w.Quoted || w.Digit || p.Is(table.Any))
			continue
		case '+':
			certain = certain && len(w.Lead) > 0 && w.Lead[0] == '+'
			continue
		case 'h':
			r.host(w)
			certain = false
			continue
		case 'c':
			role = 'r'
		}
		if role == 'r' {
			read++
		}
		certain = certain && (w.Known || w.Pipe) && (!w.Glob || p.Is(table.Mild) || !w.MayBeFlag())
		r.file(w, role, recursive && role == 'r' || role == 'd' && harm.Has(table.Destroys) || r.deepFlag())
	}
	if read == 0 && recursive {
		r.Files = append(r.Files, File{Path: words.Plain("."), Role: 'r', Deep: true})
	}
	return certain
}

// deepFlag reports whether the program was told to go below directories.
func (r *reading) deepFlag() bool {
	switch r.name {
	case "cp", "chmod", "chown", "chgrp", "diff", "mv":
		_, given := r.u.Flag("-r", "-R", "-a", "--recursive", "--archive")
		return given || r.name == "mv"
	}
	return false
}

// file notes a path. A lone dash is the program's own input or output.
func (r *reading) file(w words.Word, role byte, deep bool) {
	if w.Certain() && (w.Text == "-" || w.Text == "") {
		return
	}
	r.Files = append(r.Files, File{Path: w, Role: role, Deep: deep})
}

// version grants a program that only prints facts about itself.
func (r *reading) version() {
	if !r.trusted || r.Marks != 0 || r.u.Strange != "" || r.u.Loose || len(r.u.Flags) == 0 || len(r.u.Operands) > 0 || len(r.Inner) > 0 {
		return
	}
	for i := range r.u.Flags {
		if !r.u.Flags[i].Effect.Has(table.Version) {
			return
		}
	}
	r.ReadOnly, r.Fed, r.Files = true, false, nil
}

func texts(ws []words.Word) []string {
	all := make([]string, len(ws))
	for i := range ws {
		all[i] = ws[i].Text
	}
	return all
}

func joined(ws []words.Word) string { return strings.Join(texts(ws), " ") }

// joinWords makes one shell text of several words, as watch and ssh do.
func joinWords(ws []words.Word) words.Word {
	w := words.Plain(joined(ws))
	for i := range ws {
		if !ws[i].Known || ws[i].Glob {
			w.Known, w.Lead = false, ""
		}
	}
	return w
}
