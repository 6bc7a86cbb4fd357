package policy

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/tool"
)

// host judges one connection. No tier opens a host: what no rule speaks of
// goes to the default (amendment 23).
func (j *judge) host(e *reeve.Effect) {
	subject := "connect to " + e.Host
	column := reeve.ColumnTool
	switch {
	case j.in.Class == tool.ClassBash:
		column = reeve.ColumnOrdinary
	case j.in.Class == tool.ClassWeb:
		column = reeve.ColumnRead
	}
	host, clean := match.CleanHost(e.Host)
	for _, v := range [...]reeve.Verdict{reeve.Deny, reeve.Ask} {
		r := j.find(j.set.lists[v].hosts, subject, func(r *rule.Rule) bool { return r.Site.Wide(host) })
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
	if r := j.find(j.set.lists[reeve.Allow].hosts, subject, func(r *rule.Rule) bool { return r.Site.Narrow(host) }); r != nil {
		j.add(j.by(r, subject, column))
		return
	}
	if f, ok := j.covered(subject, column); ok {
		j.add(f)
		return
	}
	j.add(j.byDefault(subject, column, true))
}

// other judges an effect that is neither a path, a command nor a host. The
// tier read speaks for an unknown effect only where a person, or the class of
// tools whose effects nobody knows, puts the tool there: a reader of ours or of
// a client has its tier for the effects it names.
func (j *judge) other(e *reeve.Effect) {
	subject, column := e.Kind.String(), reeve.ColumnTool
	_, named := j.set.Tier(j.in.Tool)
	reads := e.Kind == reeve.EffectUnknown && j.tier == reeve.TierRead && (named || j.in.Class == tool.ClassMCP)
	if reads {
		column = reeve.ColumnRead
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
