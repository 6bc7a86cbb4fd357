package trial

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
)

// Explanation is a decision as "reeve policy explain --json" prints it.
type Explanation struct {
	Decision reeve.Verdict `json:"-"`
	Verdict  string        `json:"decision"`
	Step     string        `json:"step"`
	Rule     string        `json:"rule"`
	Source   string        `json:"source"`
	Reason   string        `json:"reason"`
	Column   string        `json:"column"`
	Effects  []Part        `json:"effects"`
	Trace    []Line        `json:"trace"`
}

// Part is one effect, for people and scripts.
type Part struct {
	Kind     string   `json:"kind"`
	Path     string   `json:"path,omitempty"`
	Target   string   `json:"target,omitempty"` // where links lead, if elsewhere
	Command  string   `json:"command,omitempty"`
	Wrappers []string `json:"wrappers,omitempty"`
	Host     string   `json:"host,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// Line is one line of the trace.
type Line struct {
	Verdict string `json:"verdict"`
	Decides bool   `json:"decides,omitempty"`
	Subject string `json:"subject"`
	Rule    string `json:"rule"`
	Source  string `json:"source"`
	Note    string `json:"note,omitempty"`
}

// Explain tells what a set would answer to a call, and why. A call that cannot
// be read is a denial, as in the kernel's first step.
func (b *Bench) Explain(set *policy.Set, name string, args []byte, mode reeve.Mode, sandbox reeve.Sandbox) Explanation {
	in, err := b.Input(name, args, "")
	if err != nil {
		return Explanation{Decision: reeve.Deny, Verdict: reeve.Deny.String(), Step: string(reeve.StepShape), Rule: "arguments",
			Source: "built-in", Reason: err.Error(), Column: reeve.ColumnUnset.String(), Effects: []Part{}, Trace: []Line{}}
	}
	in.Facts.Mode, in.Facts.Sandbox = mode, sandbox
	d := policy.Turn(set.Explain(&in), in.Facts)
	x := Explanation{Decision: d.Verdict, Verdict: d.Verdict.String(), Step: string(d.Step), Rule: d.Rule, Source: d.Source, Reason: d.Reason,
		Column: d.Column.String(), Effects: []Part{}, Trace: []Line{}}
	for i := range d.Effects {
		x.Effects = append(x.Effects, part(&d.Effects[i]))
	}
	for _, t := range d.Trace {
		x.Trace = append(x.Trace, Line{t.Verdict.String(), t.Decides, t.Subject, t.Rule, t.Source, t.Note})
	}
	return x
}

func part(e *reeve.Effect) Part {
	p := Part{Kind: e.Kind.String(), Path: e.Path, Host: e.Host, Why: e.Why}
	if e.Facts.Target != e.Path {
		p.Target = e.Facts.Target
	}
	if c := e.Command; c != nil && e.Kind == reeve.EffectRun {
		p.Command, p.Why = c.Line(), c.Why
		for _, w := range c.Wrappers {
			p.Wrappers = append(p.Wrappers, w.Text)
		}
	}
	return p
}

// Print writes the explanation for people, with what cannot be seen made
// visible.
func (x *Explanation) Print(to io.Writer) {
	w := visible{to}
	fmt.Fprintf(w, "%s: %s\n  by %s (%s), step %s, column %s\n", x.Verdict, x.Reason, x.Rule, x.Source, x.Step, x.Column)
	if len(x.Effects) > 0 {
		fmt.Fprintln(w, "it would:")
	}
	for _, p := range x.Effects {
		what := p.Path + p.Command + p.Host
		if p.Target != "" {
			what += " -> " + p.Target
		}
		for i := len(p.Wrappers) - 1; i >= 0; i-- {
			what += " (by " + p.Wrappers[i] + ")"
		}
		if p.Why != "" {
			what += " [" + p.Why + "]"
		}
		fmt.Fprintf(w, "  %s %s\n", p.Kind, what)
	}
	if len(x.Trace) > 0 {
		fmt.Fprintln(w, "what spoke:")
	}
	for _, l := range x.Trace {
		mark := " "
		if l.Decides {
			mark = ">"
		}
		fmt.Fprintf(w, "%s %-5s %s: %s (%s) %s\n", mark, l.Verdict, l.Subject, l.Rule, l.Source, l.Note)
	}
}

// visible writes text in which control characters other than line ends, and
// characters that turn or hide text, are spelled out.
type visible struct{ to io.Writer }

func (v visible) Write(p []byte) (int, error) {
	_, err := io.WriteString(v.to, Visible(string(p)))
	return len(p), err
}

// Visible spells out what a terminal would obey or hide.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == ' ' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
