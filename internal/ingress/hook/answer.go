package hook

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
)

// Bounds on text that others wrote inside a sentence of ours, in bytes before
// quoting.
const (
	maxReason = 240
	maxRule   = 120
	maxSource = 120
)

// refuse is the answer to what could not be decided: the client must not run
// the call.
func refuse(why string) Answer {
	return Answer{Stderr: "Reeve denies this call, since it could not decide it: " + why + ".\n", Exit: exitRefused}
}

// verdict is the answer to a decided call.
func (d *Door) verdict(c *client, eventName string, dec reeve.Decision) Answer {
	switch dec.Verdict {
	case reeve.Allow:
		return c.allow(eventName, "Reeve allows this call. "+d.ruling(dec))
	case reeve.Ask:
		return refuse("the gate left its own question open")
	}
	return c.deny(eventName, d.denial(dec))
}

// denial is one line for the model: what was decided, by what, why, and how a
// person could change it. What others wrote stands in quotation marks, where
// it cannot end the quotation or start a line.
func (d *Door) denial(dec reeve.Decision) string {
	s := "Reeve denied this call; it was not run. " + d.ruling(dec)
	if dec.Reason != "" {
		s += " Reason: " + d.quote(dec.Reason, maxReason) + "."
	}
	return s + " " + remedy(dec)
}

// ruling names the step, the rule and where it stands.
func (d *Door) ruling(dec reeve.Decision) string {
	var s string
	if dec.Rule == "" {
		s = fmt.Sprintf("Decided at step %s", d.word(string(dec.Step)))
	} else {
		s = fmt.Sprintf("Decided at step %s by %s", d.word(string(dec.Step)), d.quote(dec.Rule, maxRule))
	}
	if dec.Source != "" {
		s += " from " + d.quote(dec.Source, maxSource)
	}
	return s + "."
}

// word is a step's name as it is, and anything else quoted.
func (d *Door) word(s string) string {
	if _, known := remedies[reeve.Step(s)]; known {
		return s
	}
	return d.quote(s, maxRule)
}

// remedies says for each step what would have to change.
var remedies = map[reeve.Step]string{
	reeve.StepShape:   "The call itself is malformed; correct its arguments.",
	reeve.StepGuard:   "No rule lifts this guard; do it another way.",
	reeve.StepHook:    "A person can change that hook in Reeve's configuration.",
	reeve.StepOrigin:  "A person would have to do this themselves.",
	reeve.StepTool:    "A person can answer when it is asked again, or write a rule for it.",
	reeve.StepFlow:    "A person can answer when it is asked again, or start a new session.",
	reeve.StepMode:    "A person can choose another mode for the session, or write a rule for it.",
	reeve.StepConfirm: "A person can answer while the question stands, or write a rule for it in Reeve's policy.toml.",
	reeve.StepBudget:  "A person can raise the limit in Reeve's config.toml.",
	reeve.StepIntent:  "A person must repair Reeve's record first: reeve status says what is wrong.",
	reeve.StepPolicy:  "A person can write a rule for it in Reeve's policy.toml.",
	reeve.StepExecute: "A person can see with reeve doctor what is wrong.",
	reeve.StepRedact:  "A person can see with reeve status what is wrong.",
	reeve.StepOutcome: "A person can see with reeve status what is wrong.",
}

func remedy(dec reeve.Decision) string {
	if dec.Step == reeve.StepPolicy && dec.Explicit {
		return "A person can change that rule where it stands."
	}
	if how, ok := remedies[dec.Step]; ok {
		return how
	}
	return "A person can see with reeve status what is wrong."
}

// quote puts text that others wrote into quotation marks: masked, at most max
// bytes of it, with quotation marks, line ends, control, bidirectional and
// invisible characters escaped.
func (d *Door) quote(s string, max int) string {
	s = strings.ToValidUTF8(d.opt.Redact(s), "\uFFFD")
	if len(s) > max {
		for max > 0 && !utf8.RuneStart(s[max]) {
			max--
		}
		s = s[:max] + "…"
	}
	return strconv.Quote(s)
}
