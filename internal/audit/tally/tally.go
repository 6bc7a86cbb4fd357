// Package tally counts the calls of a record by what they have in common: how
// many, how many were asked about, refused and failed, and how long they took.
//
// [Count] goes once over the record and keeps one counter for each group, at
// most [MaxGroups] of them, so that its memory does not grow with the record.
// The calls of further groups are counted together, under [Others]. Times are
// kept as [Spread]s, whose quantiles are within 1.6 %.
package tally

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
)

// MaxGroups bounds how many groups are told apart.
const MaxGroups = 10_000

// Others is the group of what came after that.
const Others = "(others)"

// Keys are what calls can be grouped by, and how each is read from one.
var keys = []struct {
	name string
	of   func(*reeve.Record) string
}{
	{"tool", func(r *reeve.Record) string { return r.Tool }},
	{"actor", func(r *reeve.Record) string { return string(r.Actor) }},
	{"decision", func(r *reeve.Record) string { return r.Decision.String() }},
	{"status", func(r *reeve.Record) string { return string(r.Status) }},
	{"tier", func(r *reeve.Record) string { return r.Tier.String() }},
	{"day", func(r *reeve.Record) string { return r.Time.UTC().Format(time.DateOnly) }},
	{"session", func(r *reeve.Record) string { return r.Session }},
}

// Keys names what calls can be grouped by.
func Keys() []string {
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

// Group is what the calls of one group come to.
type Group struct {
	Key     []string `json:"key"`     // the values, in the order they were asked for
	Calls   int64    `json:"calls"`   // all of them
	Refused int64    `json:"refused"` // by a rule, by the gate or by a person
	Asked   int64    `json:"asked"`   // of a person
	Agreed  int64    `json:"agreed"`  // to which a person said yes
	Failed  int64    `json:"failed"`  // ran, and ended in an error or out of time
	Unknown int64    `json:"unknown"` // whose outcome nobody reported
	Total   int64    `json:"total_ms"`
	Median  int64    `json:"median_ms"` // of those that ran
	P95     int64    `json:"p95_ms"`
}

// Tally is the whole.
type Tally struct {
	By     []string `json:"by"`
	Groups []Group  `json:"groups"` // those with the most calls first; days in their order
	All    Group    `json:"all"`
	Cut    bool     `json:"cut"` // there were more groups than are told apart
}

// counter is a group while it is counted.
type counter struct {
	Group
	times Spread
}

func (c *counter) add(r *reeve.Record) {
	c.Calls++
	if r.Approval != "" {
		c.Asked++
		if r.Confirmed {
			c.Agreed++
		}
	}
	switch r.Status {
	case reeve.StatusDenied:
		c.Refused++
		return // it did not run: its time is that of an answer
	case reeve.StatusUnknown:
		c.Unknown++
		return
	case reeve.StatusError, reeve.StatusTimeout:
		c.Failed++
	}
	ms := max(r.Duration.Milliseconds(), 0)
	c.Total += ms
	c.times.Add(ms)
}

func (c *counter) done() Group {
	c.Median, c.P95 = c.times.Quantile(0.5), c.times.Quantile(0.95)
	return c.Group
}

// Count counts the calls that the filter chooses, grouped by names of [Keys].
func Count(ctx context.Context, r *audit.Reader, f audit.Filter, by []string) (Tally, error) {
	var of []func(*reeve.Record) string
	for _, name := range by {
		i := slices.Index(Keys(), name)
		if i < 0 {
			return Tally{}, fmt.Errorf("%w: calls are not counted by %q; it is one of %s", reeve.ErrUsage, name, strings.Join(Keys(), ", "))
		}
		of = append(of, keys[i].of)
	}
	t := Tally{By: by, Groups: []Group{}}
	all := counter{Group: Group{Key: []string{}}}
	groups := map[string]*counter{}
	key := make([]string, len(of))
	var joined []byte
	err := r.Brief(ctx, f, func(rec *reeve.Record) error {
		all.add(rec)
		joined = joined[:0]
		for i, get := range of {
			key[i] = get(rec)
			joined = append(append(joined, key[i]...), 0) // no column holds NUL
		}
		c := groups[string(joined)]
		if c == nil {
			if len(groups) >= MaxGroups {
				t.Cut = true
				for i := range key {
					key[i] = Others
				}
				joined = append(joined[:0], Others...)
				c = groups[Others]
			}
			if c == nil {
				c = &counter{Group: Group{Key: slices.Clone(key)}}
				groups[string(joined)] = c
			}
		}
		c.add(rec)
		return nil
	})
	if err != nil {
		return Tally{}, err
	}
	for _, c := range groups {
		t.Groups = append(t.Groups, c.done())
	}
	t.All = all.done()
	sort(t)
	return t, nil
}

// sort puts the groups in the order in which a person reads them.
func sort(t Tally) {
	day := slices.Index(t.By, "day")
	slices.SortFunc(t.Groups, func(a, b Group) int {
		if day >= 0 {
			if c := strings.Compare(a.Key[day], b.Key[day]); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(b.Calls, a.Calls); c != 0 {
			return c
		}
		return slices.Compare(a.Key, b.Key)
	})
}
