package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/tool"
)

// host judges one connection. No tier opens a host: what no rule speaks of
// goes to the default (amendment 23).
func (j *judge) host(e *reeve.Effect) {
	subject := "connect to " + hostOf(e)
	column := reeve.ColumnTool
	switch {
	case j.in.Class == tool.ClassBash:
		column = reeve.ColumnOrdinary
	case j.in.Class == tool.ClassWeb:
		column = reeve.ColumnRead
	}
	host, clean := match.CleanHost(e.Host)
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		r := j.find(j.set.lists[v].hosts, subject, func(r *rule.Rule) bool { return r.Site.Wide(host, e.Port) })
		if r != nil {
			j.add(j.by(r, subject, column))
			return
		}
	}
	if !clean {
		f := finding{verdict: reeve.Ask, column: column, subject: subject, rule: "unclear host", source: builtIn, explicit: true,
			reason: "it cannot be told which host is meant by \"" + e.Host + "\""}
		if e.Host == "" {
			f.subject, f.reason = "connect to a host that is not known before it runs", "it cannot be told which host is meant"
		}
		j.add(f)
		return
	}
	if e.Dial != nil && e.Dial.Closed != "" {
		j.closedHost(e, host, subject, column)
		return
	}
	covers := func(r *rule.Rule) bool { return r.Site.Narrow(host, e.Port, e.Dial != nil) }
	if r := j.find(j.set.lists[reeve.Allow].hosts, subject, covers); r != nil {
		f := j.by(r, subject, column)
		if e.Dial != nil {
			f.named = j.any(covers, func(r *rule.Rule) bool { return !r.Site.All() })
			f.port = j.any(covers, func(r *rule.Rule) bool { return r.Site.Port() != 0 })
		}
		j.add(f)
		return
	}
	if f, ok := j.covered(subject, column); ok {
		j.add(f)
		return
	}
	j.add(j.byDefault(subject, column, true))
}

// any reports whether an allow of hosts that holds is both.
func (j *judge) any(covers, is func(*rule.Rule) bool) bool {
	return slices.ContainsFunc(j.set.lists[reeve.Allow].hosts, func(r *rule.Rule) bool { return covers(r) && is(r) && r.Holds(&j.scene) })
}

// closedHost judges a connection to an address of this machine, of its network
// or of none: only a rule that spells the address and its port opens it, no
// pattern, no tool's own rule and no default (amendment 23).
func (j *judge) closedHost(e *reeve.Effect, host, subject string, column reeve.Column) {
	r := j.find(j.set.lists[reeve.Allow].hosts, subject, func(r *rule.Rule) bool { return r.Site.Spells(host, e.Port) })
	if r != nil {
		f := j.by(r, subject, column)
		f.named, f.port = true, true
		j.add(f)
		return
	}
	j.add(finding{verdict: reeve.Deny, column: column, subject: subject, rule: "closed address", source: builtIn, explicit: true,
		reason: e.Host + " is " + e.Dial.Closed + ": only a rule that spells it with its port opens it"})
}

// hostOf is a host with its port, where we know what is dialled.
func hostOf(e *reeve.Effect) string {
	if e.Dial == nil {
		return e.Host
	}
	host := e.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(e.Port)
}

// other judges an effect that is neither a path, a command nor a host. The
// tier read speaks for an unknown effect only where a person, or the class of
// tools whose effects nobody knows, puts the tool there: a reader of ours or of
// a client has its tier for the effects it names.
func (j *judge) other(e *reeve.Effect) {
	subject, column := e.Kind.String(), reeve.ColumnTool
	_, named := j.set.Tier(j.in.Tool)
	reads := e.Kind == reeve.EffectUnknown && j.tier == reeve.TierRead && (named || j.in.Class == tool.ClassMCP)
	switch {
	case reads:
		column = reeve.ColumnRead
	case e.Kind == reeve.EffectUnknown && j.tier == reeve.TierDestructive:
		column = reeve.ColumnDestructive // an allow must say that it means this
	}
	because := e.Why
	if because == "" {
		because = "the call would " + subject
	}
	fixed := func(v reeve.Verdict, rule string) {
		j.add(finding{verdict: v, column: column, subject: subject, rule: rule, source: builtIn, reason: because, explicit: true})
	}
	switch e.Kind {
	case reeve.EffectChangeSelf:
		if j.in.Facts.Origin != reeve.OriginHost {
			fixed(reeve.Deny, "guard")
			return
		}
		fixed(reeve.Ask, "change of Reeve")
		return
	case reeve.EffectExternal:
		column = reeve.ColumnExternal
	case reeve.EffectUnknown:
		if j.in.Class == tool.ClassBash {
			fixed(reeve.Ask, "cannot be told")
			return
		}
	}
	if j.argument(reeve.Deny, subject, column) || j.argument(reeve.Ask, subject, column) {
		return
	}
	if f, ok := j.covered(subject, column); ok {
		// A rule by the tool's own name says too that data may go to its server.
		f.named = e.Kind == reeve.EffectUnknown && j.whole != nil && strings.HasPrefix(j.whole.Word, "mcp__")
		j.add(f)
		return
	}
	if reads || j.tier == reeve.TierDestructive {
		j.add(j.byTier(subject, column))
		return
	}
	f := j.byDefault(subject, column, false)
	f.reason = because
	j.add(f)
}
