package outbound

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/egress"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// said is a refusal as the client is told of it: what the kernel gave as the
// reason, by which rule, and what would change it.
func (s *Session) said(at site, d reeve.Decision, r reeve.Result) *egress.Refusal {
	no := &egress.Refusal{Host: at.host, Port: at.port, Why: r.Error, Rule: d.Rule}
	if no.Why == "" {
		no.Why = d.Reason
	}
	if d.Source != "" && d.Rule != "" {
		no.Rule += ", " + d.Source
	}
	switch {
	case d.Step == reeve.StepPolicy && d.Rule != "default" && d.Rule != "closed address":
		no.Help = "A deny wins over every allow; it is changed where it stands."
	case d.Step == reeve.StepShape || d.Step == reeve.StepGuard || d.Step == reeve.StepBudget || d.Step == reeve.StepIntent:
	default:
		no.Help = help(at)
	}
	return no
}

// help says what would allow a host.
func help(at site) string {
	host := at.host
	if at.port != 80 && at.port != 443 || literal(host) {
		host = at.String()
	}
	return fmt.Sprintf("To allow it for one run: reeve run --allow-host %s -- CMD. To allow it always, the rule: web(domain:%[1]s)", host)
}

func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// inward is the refusal of a name that leads where no connection goes.
func (s *Session) inward(at site, r *netguard.Refused) *egress.Refusal {
	no := &egress.Refusal{Host: at.host, Port: at.port, Why: r.Error(), Rule: "closed address, built-in"}
	if r.Addr.IsValid() && !literal(at.host) && netguard.Never(r.Addr) == "" {
		no.Help = fmt.Sprintf("Where that is meant: pin the name in config.toml, [egress] hosts.\"%s\" = \"%s\"", at.host, r.Addr)
	}
	return no
}

// counts is what a receipt says of the network.
type counts struct {
	sites          int
	sent, received int64
	refusals       []counted
	faults         map[string]int
	moreFaults     int
}

type counted struct {
	site
	why  string
	n    int
	no   *egress.Refusal // nil of those that are counted together
	told bool            // the agent has been told
}

// maxCounted bounds the different hosts that a receipt may name.
const maxCounted = 1000

func (c *counts) refuse(at site, no *egress.Refusal) {
	for i := range c.refusals {
		if c.refusals[i].site == at {
			c.refusals[i].n++
			return
		}
	}
	if len(c.refusals) >= maxCounted {
		at, no = site{host: "further hosts"}, nil
		if last := &c.refusals[len(c.refusals)-1]; last.site == at {
			last.n++
			return
		}
	}
	one := counted{site: at, n: 1, no: no}
	if no != nil {
		one.why = no.Why
	}
	c.refusals = append(c.refusals, one)
}

// Told is a refusal for the agent of the session.
type Told struct {
	At string // host and port
	egress.Refusal
}

// Untold gives at most most refusals that it has not given before, each host
// and port once.
func (s *Session) Untold(most int) []Told {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Told
	for i := range s.counts.refusals {
		r := &s.counts.refusals[i]
		if len(out) == most {
			break
		}
		if r.no != nil && !r.told {
			r.told = true
			out = append(out, Told{r.site.String(), *r.no})
		}
	}
	return out
}

// shown is how many refused hosts a receipt lists.
const shown = 20

// Receipt says what went out and what was refused, in lines for a person.
func (s *Session) Receipt() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	lines := []string{fmt.Sprintf("network by rule: %s, %s sent, %s received", plural(c.sites, "host"), size(c.sent), size(c.received))}
	all := slices.Clone(c.refusals)
	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(b.n, a.n) })
	for i, r := range all {
		if i == shown {
			lines = append(lines, fmt.Sprintf("refused: %d hosts more; reeve audit ls lists them", len(all)-shown))
			break
		}
		line := "refused: " + s.d.Clean(r.site.String())
		if r.n > 1 {
			line += fmt.Sprintf(", %d times", r.n)
		}
		if r.why != "" {
			line += ": " + s.d.Clean(r.why)
		}
		lines = append(lines, line)
	}
	faults := make([]string, 0, len(c.faults))
	for key := range c.faults {
		faults = append(faults, key)
	}
	slices.SortFunc(faults, func(a, b string) int { return cmp.Or(cmp.Compare(c.faults[b], c.faults[a]), strings.Compare(a, b)) })
	for i, key := range faults {
		if i == shown {
			lines = append(lines, fmt.Sprintf("refused: %d kinds of requests more", len(faults)-shown+c.moreFaults))
			break
		}
		line := "refused a request: " + s.d.Clean(key)
		if n := c.faults[key]; n > 1 {
			line += fmt.Sprintf(" (%d times)", n)
		}
		lines = append(lines, line)
	}
	return lines
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size is a number of bytes for a person.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	case n < 10_000_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	return fmt.Sprintf("%d GB", n/1_000_000_000)
}
