// Package receipt says what happened in a run, in lines for a person.
package receipt

import (
	"fmt"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/plant"
	"github.com/reeve-gate/reeve/internal/session"
)

// decided says how the gate decided. Most programs ask it nothing; the boundary
// contains them all the same, and a zero would read as if it had refused.
func decided(t session.Tally) string {
	if t.Allowed+t.Asked+t.Denied == 0 {
		return "no calls were decided by the gate: nothing inside used the hook"
	}
	return fmt.Sprintf("decided: %d allowed, %d asked, %d denied", t.Allowed, t.Asked, t.Denied)
}

// Lines says what happened, in lines for a person.
func Lines(took time.Duration, plan jail.Plan, exit jail.Exit, after plant.Changes, t session.Tally, network []string) []string {
	lines := []string{
		fmt.Sprintf("%s in profile %s, exit %d", took.Round(10*time.Millisecond), plan.Profile, exit.Code),
		decided(t),
	}
	if plan.View == "" { // else the view says it
		lines = append(lines, "files changed: "+after.String())
	}
	if plan.Net == jail.UnrestrictedNetwork {
		network = []string{"network: open, as this machine's own; nothing in it was decided or recorded"}
	}
	lines = append(lines, network...)
	for _, r := range t.Refusals {
		lines = append(lines, "refused: "+r)
	}
	lines = append(lines, after.Lines(plan.Workspace)...)
	if l := plan.Limits; l.Memory > 0 || l.Processes > 0 || l.Processors > 0 {
		lines = append(lines, "limits held: "+strings.Join(exit.Held, ", "))
	}
	if len(exit.Unheld) > 0 {
		lines = append(lines, "limits not held here: "+strings.Join(exit.Unheld, ", "))
	}
	return append(lines, plan.Notes...)
}
