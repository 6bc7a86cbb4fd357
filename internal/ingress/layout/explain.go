package layout

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/services"
)

// Explained is what config explain sandbox tells: the profiles of the boundary,
// and the hosts that they reach by themselves.
type Explained struct {
	Profiles []Explanation       `json:"profiles"`
	Agents   map[string][]string `json:"agents"`
}

// Explanation is one profile in words.
type Explanation struct {
	Name      string   `json:"name"`
	Workspace string   `json:"workspace"`
	Agents    string   `json:"agents"` // the agents' state folders
	Git       string   `json:"git"`
	Network   string   `json:"network"`
	Unix      string   `json:"unix_sockets"`
	Hosts     []string `json:"hosts,omitzero"`
	Like      string   `json:"like,omitzero"`
	Write     []string `json:"write,omitzero"` // beside the workspace
	Pass      []string `json:"pass_env,omitzero"`
	Limits    string   `json:"limits,omitzero"`
}

// Explain puts the built-in profiles and the person's own into words. like names
// the profile that one of their own is made like.
func Explain(own []jail.Profile, like func(name string) string) Explained {
	word := func(yes bool, a, b string) string {
		if yes {
			return a
		}
		return b
	}
	e := Explained{Agents: services.OfAgents}
	for _, p := range append(jail.Profiles(), own...) {
		e.Profiles = append(e.Profiles, Explanation{p.Name, word(p.ReadOnly, "read-only", "writable"), word(p.AgentState, "writable", "read-only"),
			word(p.WholeGit, "read-only", "writable but for what it executes"), p.Net.String(), word(p.NoUnix, "none", "those not hidden"), p.Hosts,
			like(p.Name), p.Write, p.Pass, bounds(p.Limits)})
	}
	return e
}

// Write prints it for a person.
func (e Explained) Write(w io.Writer) {
	for _, p := range e.Profiles {
		if p.Like != "" {
			p.Name += ", of your own, like " + p.Like
		}
		fmt.Fprintf(w, "%s\n  workspace %s, agents' folders %s, .git %s\n  network: %s; unix sockets: %s\n", p.Name, p.Workspace, p.Agents, p.Git, p.Network, p.Unix)
		if len(p.Hosts) > 0 {
			fmt.Fprintf(w, "  reaches %s\n", strings.Join(p.Hosts, " "))
		}
		if len(p.Write) > 0 {
			fmt.Fprintf(w, "  may write %s\n", strings.Join(p.Write, " "))
		}
		if len(p.Pass) > 0 {
			fmt.Fprintf(w, "  passes %s\n", strings.Join(p.Pass, " "))
		}
		if p.Limits != "" {
			fmt.Fprintf(w, "  bounds: %s\n", p.Limits)
		}
	}
	fmt.Fprint(w, "\nWith the network by rules, the profiles agent and build reach the service of the agent that is started:\n")
	for _, name := range slices.Sorted(maps.Keys(e.Agents)) {
		fmt.Fprintf(w, "  %-7s %s\n", name, strings.Join(e.Agents[name], " "))
	}
}

// bounds says what a profile bounds.
func bounds(l jail.Limits) string {
	var all []string
	if l.Memory > 0 {
		all = append(all, fmt.Sprintf("%d MiB of memory", l.Memory>>20))
	}
	if l.Processes > 0 {
		all = append(all, fmt.Sprintf("%d processes", l.Processes))
	}
	if l.Processors > 0 {
		all = append(all, fmt.Sprintf("%g processors", float64(l.Processors)/1000))
	}
	return strings.Join(all, ", ")
}
