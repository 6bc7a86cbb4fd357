package trial

import (
	"fmt"
	"io"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/rule"
)

// Case is one line of a file of cases.
type Case struct {
	Line    int // in the file, from 1
	Rules   string
	Tool    string
	Input   string
	Context string
	Want    []reeve.Verdict // the first is the one that is meant
	Why     string
}

// maxCases bounds one file.
const maxCases = 100_000

// ReadCases reads a file of cases; faults name the file and the line.
func ReadCases(file string, text []byte) ([]Case, error) {
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	columns := map[string]int{}
	for i, name := range strings.Split(strings.TrimSuffix(lines[0], "\r"), "\t") {
		columns[strings.TrimSpace(name)] = i
	}
	for _, must := range []string{"rules-json", "tool", "input-json", "verdict"} {
		if _, ok := columns[must]; !ok {
			return nil, fmt.Errorf("%s:1:1: the first line names the columns; %s is missing", file, must)
		}
	}
	var cases []Case
	for i, line := range lines[1:] {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Split(line, "\t")
		get := func(name string) string {
			if at, ok := columns[name]; ok && at < len(fields) {
				return fields[at]
			}
			return ""
		}
		c := Case{Line: i + 2, Rules: get("rules-json"), Tool: strings.TrimSpace(get("tool")), Input: get("input-json"),
			Context: get("context-json"), Why: get("why")}
		for _, s := range append([]string{get("verdict")}, strings.FieldsFunc(get("also-ok"), separator)...) {
			v, err := reeve.ParseVerdict(strings.TrimSpace(s))
			if err != nil {
				return nil, fmt.Errorf("%s:%d:1: %v", file, c.Line, err)
			}
			c.Want = append(c.Want, v)
		}
		if cases = append(cases, c); len(cases) > maxCases {
			return nil, fmt.Errorf("%s:%d:1: more than %d cases", file, c.Line, maxCases)
		}
	}
	return cases, nil
}

func separator(r rune) bool { return r == ',' || r == ' ' || r == '|' || r == '/' || r == ';' }

// Outcome is how an answer compares with the one that is right.
type Outcome string

const (
	Right  Outcome = "right"
	Unsafe Outcome = "unsafe" // allowed what must be asked or denied
	Noisy  Outcome = "noisy"  // asked or denied what is fine, denied what may be asked
	Weak   Outcome = "weak"   // asked what must be denied
)

// Compare says how got compares with the verdicts that are right.
func (c *Case) Compare(got reeve.Verdict) Outcome {
	for _, v := range c.Want {
		if v == got {
			return Right
		}
	}
	switch {
	case got == reeve.Allow:
		return Unsafe
	case got == reeve.Ask && c.Want[0] == reeve.Deny:
		return Weak
	}
	return Noisy
}

// Try answers one case. An error is a fault of the case itself.
func (b *Bench) Try(c *Case) (reeve.Decision, error) {
	place := strings.NewReplacer("@W@", b.Workspace, "@H@", b.Home)
	ctx, err := parseContext(place.Replace(c.Context))
	if err != nil {
		return reeve.Decision{}, err
	}
	sets, answer, err := ctx.sets(place.Replace(c.Rules))
	if err != nil {
		return reeve.Decision{}, err
	}
	input := []byte(place.Replace(c.Input))
	in, err := b.Input(c.Tool, input, ctx.dir(b.Workspace))
	if err != nil {
		return reeve.Decision{Step: reeve.StepShape, Rule: "arguments", Reason: err.Error()}, nil
	}
	in.Facts.Interactive = answer
	if err := ctx.apply(&in); err != nil {
		return reeve.Decision{}, err
	}
	d := judge(sets, &in)
	switch {
	case ctx.Hook == "deny" || ctx.Hook == "error":
		d.Verdict, d.Step, d.Rule, d.Reason = reeve.Deny, reeve.StepHook, "hook", "a hook denies, or did not answer"
	case d.Verdict == reeve.Ask && ctx.approved(input):
		d.Verdict, d.Step, d.Reason = reeve.Allow, reeve.StepConfirm, "a person approved exactly this call"
	case d.Verdict == reeve.Ask && !in.Facts.Interactive:
		d.Verdict, d.Step, d.Reason = reeve.Deny, reeve.StepConfirm, "nobody can answer: "+d.Reason
	}
	return d, nil
}

// judge is the strictest answer of all sets, each turned by the mode: a child
// may do what it and its parent both allow (A2).
func judge(sets []*policy.Set, in *policy.Input) reeve.Decision {
	d := policy.Turn(sets[0].Judge(in), in.Facts)
	for _, s := range sets[1:] {
		if other := policy.Turn(s.Judge(in), in.Facts); other.Verdict < d.Verdict {
			d = other
		}
	}
	return d
}

// sets are the policies that must agree, and whether somebody can answer. A
// layer that cannot be read counts as the session's would (DESIGN 3a).
func (ctx *Context) sets(rules string) (sets []*policy.Set, interactive bool, err error) {
	interactive = true
	add := func(name, text string) {
		l, err := policy.Parse(rule.LayerTest, name+".json", []byte(text))
		if err != nil {
			l = policy.Broken(rule.LayerTest, name, err)
		}
		if l.Interactive != nil {
			interactive = interactive && *l.Interactive
		}
		sets = append(sets, policy.Join(l))
	}
	both := len(ctx.Parent) > 0 && len(ctx.Child) > 0
	if bare := strings.TrimSpace(rules); !both || bare != "" && bare != "{}" {
		add("rules-json", rules)
	}
	if len(ctx.Parent) > 0 {
		add("parent", string(ctx.Parent))
	}
	if len(ctx.Child) > 0 {
		add("child", string(ctx.Child))
	}
	return sets, interactive, nil
}

// Score counts outcomes.
type Score struct{ Right, Unsafe, Noisy, Weak int }

func (s Score) String() string {
	return fmt.Sprintf("%d right, %d unsafe, %d noisy, %d weak", s.Right, s.Unsafe, s.Noisy, s.Weak)
}

// Run tries every case, writes each miss, and counts. An
// error names the case that is itself at fault.
func (b *Bench) Run(to io.Writer, file string, cases []Case) (Score, error) {
	var s Score
	w := visible{to}
	for i := range cases {
		c := &cases[i]
		d, err := b.Try(c)
		if err != nil {
			return s, fmt.Errorf("%s:%d:1: %w", file, c.Line, err)
		}
		o := c.Compare(d.Verdict)
		switch o {
		case Right:
			s.Right++
			continue
		case Unsafe:
			s.Unsafe++
		case Noisy:
			s.Noisy++
		case Weak:
			s.Weak++
		}
		fmt.Fprintf(w, "%s:%d: %s: %s, not %s: %s %s\n\t%s: %s (%s)\n", file, c.Line, o, d.Verdict, c.Want[0], c.Tool, c.Input, d.Step, d.Reason, d.Rule)
		if c.Why != "" {
			fmt.Fprintf(w, "\t%s\n", c.Why)
		}
	}
	return s, nil
}
