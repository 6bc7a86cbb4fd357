package reeve

// Verdict is the answer to an invocation. The zero value denies; a smaller
// value is the stricter one.
type Verdict uint8

const (
	Deny Verdict = iota
	Ask
	Allow
)

var verdictNames = [...]string{"deny", "ask", "allow"}

func (v Verdict) String() string { return name(verdictNames[:], int(v)) }

// ParseVerdict reads the name of a verdict.
func ParseVerdict(s string) (Verdict, error) {
	i, err := parse("verdict", verdictNames[:], s)
	return Verdict(i), err
}

// Step names the step of the kernel that settled an invocation.
type Step string

const (
	StepShape   Step = "shape"   // 1: known tool, well-formed arguments
	StepGuard   Step = "guard"   // 2: what no rule can lift
	StepHook    Step = "hook"    // 3: pre_tool_use
	StepOrigin  Step = "origin"  // 4: authority of the caller
	StepPolicy  Step = "policy"  // 5: rules, catalog, tier, default
	StepTool    Step = "tool"    // 6: the tool's own escalation
	StepFlow    Step = "flow"    // 7: untrusted text and private data in one session
	StepMode    Step = "mode"    // 7a: the matrix
	StepConfirm Step = "confirm" // 8: a person's word
	StepBudget  Step = "budget"  // 8a: rounds, calls, time, nesting
	StepIntent  Step = "intent"  // 9: durable before the hand moves
	StepExecute Step = "execute" // 10: in the jail
	StepRedact  Step = "redact"  // 11: nothing secret leaves
	StepOutcome Step = "outcome" // 12: written after
)

// Decision is what the kernel settled, and why. The zero Decision denies.
type Decision struct {
	Verdict  Verdict
	Step     Step
	Rule     string // the rule's text, or the built-in cell, e.g. "default/ready/ordinary"
	Source   string // where the rule stands: file:line, or "built-in"
	Reason   string // one sentence for the person, redacted
	Effects  []Effect
	Column   Column // the matrix column that applied
	Explicit bool   // a rule a person wrote, or their catalog setting, gave the verdict
	Warn     bool   // a question about it carries the destructive warning
	Tainted  bool   // step 7 raised it: never offered as a standing grant
	Host     bool   // runs outside the sandbox although one is ready
	Named    bool   // for a connection that we make: a rule that names its host allows it; for an MCP tool: one that names it or its server
	Port     bool   // for a connection: the rule that allows it names its port, so that anything may be spoken there
	Approval string // id of the approval that settled it
	Trace    []Trace
}

// Standing reports whether a yes to this question may be offered for the whole
// session or as a rule: never for destructive, escalated, host or tainted
// calls.
func (d *Decision) Standing() bool {
	return !d.Warn && !d.Tainted && !d.Host && d.Step != StepTool && d.Step != StepFlow &&
		d.Column != ColumnDestructive && d.Column != ColumnHost
}

// Trace is one line of an explanation: what a step found.
type Trace struct {
	Step    Step
	Verdict Verdict
	Decides bool   // this line gave the final verdict
	Subject string // which part of the call: a command, a path, a host
	Rule    string
	Source  string
	Note    string
}

// Column names the column of the mode matrix a call falls in; the strictest
// column of its effects counts.
type Column uint8

const (
	ColumnUnset       Column = iota
	ColumnRead               // read-tier: runs in every mode
	ColumnOrdinary           // ordinary command
	ColumnReadCommand        // classified read-only command (amendment 10)
	ColumnWrite              // write tool
	ColumnTool               // the tool itself asks, or nothing is known of it
	ColumnExternal           // annotated external effect
	ColumnProtected          // protected metadata, mutating git
	ColumnHost               // explicit host command
	ColumnDestructive        // deletes, drops work
)

var columnNames = [...]string{"unset", "read", "ordinary", "read_command", "write", "tool", "external", "protected", "host", "destructive"}

func (c Column) String() string { return name(columnNames[:], int(c)) }

// String is the line for people and scripts.
func (t *Trace) String() string {
	s := string(t.Step) + ": " + t.Verdict.String()
	for _, part := range [...]struct{ label, text string }{{"", t.Subject}, {"rule ", t.Rule}, {"at ", t.Source}, {"", t.Note}} {
		if part.text != "" {
			s += " · " + part.label + part.text
		}
	}
	if t.Decides {
		s += " (decides)"
	}
	return s
}
