package policy

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/rule"
)

// Marks that an allow with a star never covers, and the fewer that an allow
// of exact words does not cover either: what the words themselves do not say.
const (
	beyondStar  = reeve.CommandRunsProgram | reeve.CommandWritesFile | reeve.CommandLeaves | beyondWords
	beyondWords = reeve.CommandUnknownProgram | reeve.CommandUnknownWords | reeve.CommandCodeEnv | reeve.CommandFedScript
)

// line is a command, prepared for comparison: every text that a deny or ask
// could mean, with all of its wrappers, with fewer, and by the program's base
// name.
type line struct {
	command *reeve.Command
	own     string // the words alone
	texts   []text
	room    [4]text
}

type text struct {
	s     string
	first string // program
	sig   match.Sig
}

func (j *judge) line(c *reeve.Command) *line {
	l := &line{command: c, own: c.Line()}
	l.texts = l.room[:0]
	add := func(s string) {
		if j.fold {
			s = lower(s)
		}
		first, _, _ := strings.Cut(s, " ")
		l.texts = append(l.texts, text{s, first, match.SigOf(s)})
		if i := strings.LastIndexByte(first, '/'); i >= 0 {
			l.texts = append(l.texts, text{s[i+1:], first[i+1:], match.SigOf(s[i+1:])})
		}
	}
	each := func(words string) {
		add(words)
		if len(c.Wrappers) == 0 {
			return
		}
		first, _, _ := strings.Cut(words, " ")
		s := words[strings.LastIndexByte(first, '/')+1:]
		for i := len(c.Wrappers) - 1; i >= 0; i-- {
			s = c.Wrappers[i].Text + " " + s
			add(s)
		}
	}
	each(l.own)
	if len(c.Also) > 0 {
		each((&reeve.Command{Words: c.Also}).Line())
	}
	return l
}

// command judges one program that would start.
func (j *judge) command(e *reeve.Effect) {
	c := e.Command
	if c == nil || len(c.Words) == 0 {
		j.add(finding{verdict: reeve.Ask, column: reeve.ColumnTool, subject: "a command", rule: "cannot be told", source: builtIn,
			reason: "a program would start that is not named", explicit: true})
		return
	}
	l := j.line(c)
	f := j.commandFinding(l)
	f.warn = f.warn || c.Marks.Has(reeve.CommandDestructive)
	f.git = c.Marks.Has(reeve.CommandGitWrites)
	j.add(f)
}

// commandColumn says where a command stands in the matrix.
func commandColumn(c *reeve.Command) reeve.Column {
	switch m := c.Marks; {
	case m.Has(reeve.CommandHost):
		return reeve.ColumnHost
	case m.Any(reeve.CommandExternal | reeve.CommandLeaves):
		return reeve.ColumnExternal
	case m.Has(reeve.CommandDestructive):
		return reeve.ColumnDestructive
	case m.Has(reeve.CommandGitWrites):
		return reeve.ColumnProtected
	case m.Has(reeve.CommandReadOnly):
		return reeve.ColumnReadCommand
	}
	return reeve.ColumnOrdinary
}

func (j *judge) commandFinding(l *line) finding {
	c, subject, column := l.command, l.own, commandColumn(l.command)
	if c.Marks.Has(reeve.CommandSelf) && j.in.Facts.Origin != reeve.OriginHost {
		return finding{verdict: reeve.Deny, column: column, subject: subject, rule: "guard", source: builtIn,
			reason: "only a person may run " + subject, explicit: true}
	}
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		if r := j.findCommand(v, l, subject); r != nil {
			return j.by(r, subject, column)
		}
	}
	if f, ok := j.couldCommand(l, subject, column); ok {
		return f
	}
	if r := j.allowCommand(l, subject); r != nil {
		j.grants = append(j.grants, grant{c, r})
		return j.by(r, subject, column)
	}
	if c.Marks.Has(reeve.CommandReadOnly) && !j.repoRuns(c) {
		return finding{verdict: reeve.Allow, column: column, subject: subject, rule: "read-only table", source: builtIn, reason: subject + " only reads"}
	}
	ordinary := j.ordinary(c)
	if j.auto && ordinary {
		if f, ok := j.covered(subject, column); ok {
			return f
		}
	}
	f := j.byDefault(subject, column, ordinary)
	if ordinary && f.verdict == reeve.Allow && f.rule == "default" {
		j.grants = append(j.grants, grant{c, &rule.Rule{Verdict: reeve.Allow, Text: "default", At: j.set.defAt}})
	}
	j.explainDefault(&f, c, subject)
	return f
}

// repoRuns reports whether the command is git reading a configuration that
// starts a program.
func (j *judge) repoRuns(c *reeve.Command) bool {
	return c.Marks.Any(reeve.CommandGitConfig|reeve.CommandGitWrites) && j.in.Facts.RepoRuns != ""
}

// ordinary reports whether the command is one that an allow of every command
// covers.
func (j *judge) ordinary(c *reeve.Command) bool {
	if c.Marks.Any(beyondStar|reeve.CommandHost|reeve.CommandDestructive|reeve.CommandGitWrites|reeve.CommandExternal) || j.repoRuns(c) {
		return false
	}
	for i := range c.Wrappers {
		if !c.Wrappers[i].Harmless {
			return false
		}
	}
	return true
}

// explainDefault says why a command came to the default, and whether even a
// ready sandbox is no answer: a program that is not known could be a denied
// one (issue: what cannot be read for certain is never allowed by a rule).
func (j *judge) explainDefault(f *finding, c *reeve.Command, subject string) {
	switch m := c.Marks; {
	case m.Has(reeve.CommandUnknownProgram):
		f.explicit, f.reason = true, "it cannot be told which program "+subject+" starts"
	case m.Has(reeve.CommandFedScript) && shells[c.Program()]:
		f.explicit, f.reason = true, "it cannot be told what script "+subject+" would run"
	case j.repoRuns(c):
		f.reason = "the repository's configuration (" + j.in.Facts.RepoRuns + ") makes git start a program"
	case m.Has(reeve.CommandHost):
		f.reason = subject + " asks to run outside the sandbox"
	case c.Why != "":
		f.reason = subject + ": " + c.Why
	}
}

// shells read text as commands.
var shells = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "ash": true, "ksh": true, "mksh": true, "fish": true, "csh": true, "tcsh": true,
	"busybox": true, "pwsh": true, "nu": true, "rbash": true,
}

// findCommand looks for the first deny or ask that means any text of the
// command.
func (j *judge) findCommand(v reeve.Verdict, l *line, subject string) *rule.Rule {
	lists := &j.set.lists[v]
	if j.fold || j.explain {
		if r := j.find(lists.line, subject, func(r *rule.Rule) bool { return j.means(r, l) }); r != nil {
			return r
		}
	} else {
		best := j.find(lists.loose, subject, func(r *rule.Rule) bool { return j.means(r, l) })
		for i := range l.texts {
			t := &l.texts[i]
			r := j.find(lists.program[t.first], subject, func(r *rule.Rule) bool {
				return (!r.Host || l.command.Marks.Has(reeve.CommandHost)) && r.Line.Sig().Within(t.sig) && r.Line.Wide(t.s, false)
			})
			if r != nil && (best == nil || r.Order < best.Order) {
				best = r
			}
		}
		if best != nil {
			return best
		}
	}
	return j.find(lists.calls, subject, func(r *rule.Rule) bool { return !r.All && r.Line != nil && r.Names(j.in.Tool) && j.means(r, l) })
}

func (j *judge) means(r *rule.Rule, l *line) bool {
	if r.Host && !l.command.Marks.Has(reeve.CommandHost) {
		return false
	}
	for i := range l.texts {
		if t := &l.texts[i]; r.Line.Sig().Within(t.sig) && r.Line.Wide(t.s, j.fold) {
			return true
		}
	}
	return false
}

// couldCommand asks where a word that is not known before it runs could make
// a deny or ask match.
func (j *judge) couldCommand(l *line, subject string, column reeve.Column) (finding, bool) {
	c := l.command
	if !uncertain(c) {
		return finding{}, false
	}
	readings := templates(c)
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		r := j.find(j.set.lists[v].line, subject, func(r *rule.Rule) bool {
			if r.Host && !c.Marks.Has(reeve.CommandHost) {
				return false
			}
			for _, t := range readings {
				if r.Line.Could(t, j.fold) {
					return true
				}
			}
			return false
		})
		if r != nil {
			return finding{verdict: reeve.Ask, column: column, subject: subject, rule: r.Text, source: r.At, explicit: true,
				reason: "what is not known of " + subject + " before it runs could make it what " + r.Text + " speaks of"}, true
		}
	}
	return finding{}, false
}

// uncertain reports whether some word is not known, or more words come from
// elsewhere (xargs, find -exec).
func uncertain(c *reeve.Command) bool {
	for i := range c.Words {
		if !c.Words[i].Known || c.Words[i].Glob {
			return true
		}
	}
	for i := range c.Wrappers {
		if appends[c.Wrappers[i].Name] {
			return true
		}
	}
	return false
}

// appends are wrappers that add words of their own to the command.
var appends = map[string]bool{"xargs": true, "parallel": true, "find": true, "fd": true, "fdfind": true}

// templates are the readings of a command with unknown words: alone, by its
// base name, and after its wrappers.
func templates(c *reeve.Command) []match.Template {
	more := false
	for i := range c.Wrappers {
		more = more || appends[c.Wrappers[i].Name]
	}
	alone := match.TemplateOf(c.Words, more)
	out := []match.Template{alone}
	if len(c.Also) > 0 {
		out = append(out, match.TemplateOf(c.Also, more))
	}
	if i := strings.LastIndexByte(c.Words[0].Text, '/'); i >= 0 && c.Words[0].Known {
		words := append([]reeve.Word{}, c.Words...)
		words[0].Text = words[0].Text[i+1:]
		out = append(out, match.TemplateOf(words, more))
	}
	prefix := ""
	for i := len(c.Wrappers) - 1; i >= 0; i-- {
		prefix = c.Wrappers[i].Text + " " + prefix
		t := append(match.Template{}, alone...)
		t[0] = prefix + t[0]
		if at := strings.IndexAny(prefix, "$`"); at >= 0 {
			t = append(match.Template{prefix[:at], ""}, alone[1:]...)
		}
		out = append(out, t)
	}
	return out
}

// allowCommand looks for a rule that covers the command.
func (j *judge) allowCommand(l *line, subject string) *rule.Rule {
	c := l.command
	if c.Marks.Any(beyondWords) || j.repoRuns(c) {
		return nil
	}
	texts := narrowTexts(c)
	covers := func(r *rule.Rule) bool { return r.Line != nil && j.permits(r, c) && coversAny(r, c, texts) }
	lists := &j.set.lists[reeve.Allow]
	var best *rule.Rule
	take := func(r *rule.Rule) {
		if r != nil && (best == nil || r.Order < best.Order) {
			best = r
		}
	}
	take(j.find(lists.loose, subject, covers))
	take(j.find(lists.program[c.Words[0].Text], subject, covers))
	for i := range c.Wrappers {
		first, _, _ := strings.Cut(c.Wrappers[i].Text, " ")
		take(j.find(lists.program[first], subject, covers))
	}
	if best == nil {
		best = j.find(lists.calls, subject, func(r *rule.Rule) bool { return !r.All && r.Names(j.in.Tool) && covers(r) })
	}
	return best
}

// permits reports whether a rule may cover a command of such marks at all.
func (j *judge) permits(r *rule.Rule, c *reeve.Command) bool {
	m := c.Marks
	switch {
	case m.Has(reeve.CommandHost) && !r.Host, m.Has(reeve.CommandDestructive) && !r.Destructive:
		return false
	case r.Line.Exact():
		return true
	case m.Any(beyondStar):
		return false
	}
	return !m.Any(reeve.CommandExternal|reeve.CommandGitWrites) || namesSubcommand(r.Line)
}

// namesSubcommand reports whether a pattern says more than the program before
// its first star: git commit*, not git *.
func namesSubcommand(l *match.Line) bool {
	words, _ := l.Head()
	return len(words) > 1 && words[1] != "" && words[1][0] != '-'
}

// narrowText is the command after the wrappers from one on; harmless where an
// allow may look through all of them.
type narrowText struct {
	s        string
	upto     string // the wrappers and the program's name
	harmless bool   // of the wrappers in the text
}

// narrowTexts are the readings that an allow may cover: with all wrappers, and
// without the outer ones as long as those are harmless.
func narrowTexts(c *reeve.Command) []narrowText {
	own := match.NarrowText(c.Words)
	n := len(c.Wrappers)
	if n == 0 {
		return []narrowText{{own, c.Words[0].Text, true}}
	}
	outer := 0 // how many outer wrappers an allow looks through
	for outer < n && c.Wrappers[outer].Harmless {
		outer++
	}
	var all []narrowText
	for from := 0; from <= outer; from++ {
		t := narrowText{own, c.Words[0].Text, true}
		for i := n - 1; i >= from; i-- {
			w := match.NarrowWords(c.Wrappers[i].Text)
			t.s, t.upto = match.Join(w, t.s), match.Join(w, t.upto)
			t.harmless = t.harmless && c.Wrappers[i].Harmless
		}
		all = append(all, t)
	}
	return all
}

// coversAny: past wrappers that are not harmless only a pattern that spells
// them out, and the program, covers the command.
func coversAny(r *rule.Rule, c *reeve.Command, texts []narrowText) bool {
	exact := r.Line.Exact()
	for _, t := range texts {
		if !r.Line.Narrow(t.s) {
			continue
		}
		if t.harmless || exact || r.Line.HeadCovers(t.upto) {
			return !exact || allKnown(c)
		}
	}
	return false
}

func allKnown(c *reeve.Command) bool {
	for i := range c.Words {
		if !c.Words[i].Known {
			return false
		}
	}
	return true
}
