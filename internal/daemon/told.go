package daemon

import (
	"slices"

	"github.com/reeve-gate/reeve/internal/ingress/hook"
	"github.com/reeve-gate/reeve/internal/jail"
	paths "github.com/reeve-gate/reeve/internal/jail/tree"
)

// untold are connections that the boundary of a session refused and its agent
// was not told of, each once.
func (d *Daemon) untold(id string, most int) []hook.Refusal {
	d.mu.Lock()
	n := d.trees[id].network
	d.mu.Unlock()
	if n == nil {
		return nil
	}
	var out []hook.Refusal
	for _, no := range n.gate.Untold(most) {
		out = append(out, hook.Refusal{Host: no.At, Why: no.Why, Rule: no.Rule, Help: no.Help})
	}
	return out
}

// reach says what a session's run may do with a path that its agent named.
func (d *Daemon) reach(id, path string) hook.Reach {
	d.mu.Lock()
	plan := d.trees[id].plan
	d.mu.Unlock()
	if plan.Workspace == "" {
		return hook.ReachUnknown
	}
	if f := d.disk.Facts(plan.Workspace, path); f.Known {
		path = f.Target
	}
	return reachIn(plan, path)
}

// reachIn judges one path, free of links, by a plan: the masks stand over
// everything, and what is protected over what is writable (jail.Plan.Mounts).
func reachIn(plan jail.Plan, path string) hook.Reach {
	in := func(dir string) bool { return paths.Within(dir, path) }
	roots := slices.Concat(plan.Write, plan.Private, []string{"/tmp", "/run", "/dev", "/proc"})
	if !plan.ReadOnly {
		roots = append(roots, plan.Workspace)
	}
	exposed := slices.ContainsFunc(plan.Expose, func(e jail.Expose) bool { return paths.Within(e.To, path) })
	switch {
	case exposed:
		return hook.ReachUnknown
	case slices.ContainsFunc(plan.Mask, in):
		return hook.ReachHidden
	case slices.ContainsFunc(plan.Protect, in):
		return hook.ReachKept
	case !slices.ContainsFunc(roots, in):
		return hook.ReachOutside
	}
	return hook.ReachUnknown
}
