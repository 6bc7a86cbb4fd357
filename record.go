package reeve

import (
	"context"
	"time"
)

// Phase tells the two rows of one call apart.
type Phase string

const (
	PhaseIntent  Phase = "intent"  // durable before the hand moves
	PhaseOutcome Phase = "outcome" // what came of it; a denial has only this one
)

// Record is one row of the audit (contract G28 to G30, amendments 17 and 5).
// Every string in it has been redacted before the Record is made.
type Record struct {
	CallID    string
	Phase     Phase
	Time      time.Time
	Session   string
	Tool      string
	Source    string // native, mcp:SERVER, skill:NAME, addon:ID, foreign:CLIENT
	Tier      Tier
	Args      string // JSON
	Status    Status // empty for an intent
	Summary   string // at most 500 characters
	Confirmed bool   // a person said yes to this call
	Duration  time.Duration
	Channel   Channel
	Actor     Actor
	Origin    Origin
	Mode      Mode
	Decision  Verdict
	Step      Step
	Rule      string
	RuleAt    string // where the rule stands
	Approval  string
	Dangerous bool
	Sandbox   Sandbox
	Contained bool // ran, or was to run, inside the boundary
	Parent    string
}

// unhurried is the key of [Unhurried].
type unhurried struct{}

// Unhurried marks what is recorded under it as something that nobody waits
// for: it may be made durable together with a later record, within
// milliseconds. Intents are never marked.
func Unhurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurried{}, true)
}

// IsUnhurried reports whether ctx is marked by [Unhurried].
func IsUnhurried(ctx context.Context) bool { return ctx.Value(unhurried{}) != nil }
