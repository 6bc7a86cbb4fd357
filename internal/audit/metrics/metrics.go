// Package metrics counts calls for Prometheus, in the text form that it scrapes
// (version 0.0.4, prometheus.io/docs/instrumenting/exposition_formats).
//
// A [Counter] is given each record as it is written, or each call of a record
// that is read ([Counter.Add]), and writes what it counted ([Counter.Write]). A
// daemon counts from its start, as Prometheus expects of a process; the one-shot
// command counts the whole record, for the textfile collector of a node. [Server]
// is the daemon's address that is scraped.
//
// The number of series is bounded: the first [MaxTools] tools are told apart and
// all further ones are "other", since a client may give a tool any name; every
// other label has a closed set of values. No label holds an argument, a path, a
// host, an actor or a session.
package metrics

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
)

// MaxTools bounds how many tools are told apart.
const MaxTools = 100

// Other stands for every further tool.
const Other = "other"

// maxName bounds a tool's name in a label, in bytes; a longer one is other.
const maxName = 100

// bounds are those of the buckets of durations, in milliseconds: from a file that
// is read to a build.
var bounds = [...]int64{1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 600_000}

// call is what calls are counted by.
type call struct {
	tool     string
	tier     reeve.Tier
	decision reeve.Verdict
	status   reeve.Status
}

// times is a histogram.
type times struct {
	buckets [len(bounds) + 1]int64 // the last holds what is longer than every bound
	sum     time.Duration
}

// Counter counts calls. The zero Counter is ready; its methods may be called by
// any number of goroutines.
type Counter struct {
	mu      sync.Mutex // guards what follows
	tools   map[string]bool
	calls   map[call]int64
	answers map[bool]int64 // of a person: yes and no
	times   map[reeve.Tier]*times
}

// Add counts the outcome of one call; an intent is none yet. It takes less than a
// microsecond and waits for nothing.
func (c *Counter) Add(r *reeve.Record) {
	if r.Phase != reeve.PhaseOutcome {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.tools, c.calls, c.answers, c.times = map[string]bool{}, map[call]int64{}, map[bool]int64{}, map[reeve.Tier]*times{}
	}
	status := known(r.Status)
	c.calls[call{c.tool(r.Tool), r.Tier, r.Decision, status}]++
	if r.Approval != "" {
		c.answers[r.Confirmed]++
	}
	if status == reeve.StatusDenied || status == reeve.StatusUnknown {
		return // it did not run, or nobody knows for how long
	}
	t := c.times[r.Tier]
	if t == nil {
		t = new(times)
		c.times[r.Tier] = t
	}
	took := max(r.Duration, 0)
	at, _ := slices.BinarySearchFunc(bounds[:], took, func(ms int64, took time.Duration) int {
		return cmp.Compare(time.Duration(ms)*time.Millisecond, took)
	})
	t.buckets[at]++
	t.sum += took
}

// tool is the tool's name in a label.
func (c *Counter) tool(name string) string {
	if c.tools[name] {
		return name
	}
	if len(name) > maxName || len(c.tools) >= MaxTools {
		return Other
	}
	c.tools[name] = true
	return name
}

// known keeps the set of statuses closed: a record that is read may hold any text.
func known(s reeve.Status) reeve.Status {
	switch s {
	case reeve.StatusSuccess, reeve.StatusError, reeve.StatusDenied, reeve.StatusTimeout:
		return s
	}
	return reeve.StatusUnknown
}

// Gauge is one number as it is now. Labels are pairs of name and value.
type Gauge struct {
	Name, Help string
	Labels     [][2]string
	Value      float64
}

// Write writes everything that was counted, and the gauges. Gauges of one name
// stand together.
func (c *Counter) Write(w io.Writer, gauges ...Gauge) error {
	out := bufio.NewWriter(w)
	c.mu.Lock()
	c.writeCalls(out)
	c.writeAnswers(out)
	c.writeTimes(out)
	c.mu.Unlock()
	last := ""
	for _, g := range gauges {
		if g.Name != last {
			head(out, g.Name, "gauge", g.Help)
			last = g.Name
		}
		fmt.Fprintf(out, "%s%s %v\n", g.Name, labels(g.Labels...), g.Value)
	}
	return out.Flush()
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// labels writes pairs; what a value holds is escaped as the form has it, and text
// that is no UTF-8 is made so.
func labels(pairs ...[2]string) string {
	if len(pairs) == 0 {
		return ""
	}
	var b strings.Builder
	for i, p := range pairs {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(p[0] + `="` + escape.Replace(strings.ToValidUTF8(p[1], "\uFFFD")) + `"`)
	}
	return b.String() + "}"
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (c *Counter) writeCalls(w io.Writer) {
	const name = "reeve_calls_total"
	head(w, name, "counter", "Calls that ended, by tool, tier, decision and status.")
	all := make([]call, 0, len(c.calls))
	for k := range c.calls {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b call) int {
		return cmp.Or(strings.Compare(a.tool, b.tool), cmp.Compare(a.tier, b.tier), cmp.Compare(a.decision, b.decision), strings.Compare(string(a.status), string(b.status)))
	})
	for _, k := range all {
		fmt.Fprintf(w, "%s%s %d\n", name, labels([2]string{"tool", k.tool}, [2]string{"tier", k.tier.String()},
			[2]string{"decision", k.decision.String()}, [2]string{"status", string(k.status)}), c.calls[k])
	}
}

func (c *Counter) writeAnswers(w io.Writer) {
	const name = "reeve_questions_total"
	head(w, name, "counter", "Calls that a person was asked about, by whether the answer was yes.")
	for _, yes := range []bool{true, false} {
		fmt.Fprintf(w, "%s%s %d\n", name, labels([2]string{"answer", map[bool]string{true: "yes", false: "no"}[yes]}), c.answers[yes])
	}
}

func (c *Counter) writeTimes(w io.Writer) {
	const name = "reeve_call_duration_seconds"
	head(w, name, "histogram", "How long calls ran, by tier.")
	for _, tier := range []reeve.Tier{reeve.TierRead, reeve.TierWrite, reeve.TierDestructive, reeve.TierDenied} {
		t := c.times[tier]
		if t == nil {
			continue
		}
		of := [2]string{"tier", tier.String()}
		n := int64(0)
		for i, count := range t.buckets {
			le := "+Inf"
			if i < len(bounds) {
				le = fmt.Sprint(float64(bounds[i]) / 1000)
			}
			n += count
			fmt.Fprintf(w, "%s_bucket%s %d\n", name, labels(of, [2]string{"le", le}), n)
		}
		fmt.Fprintf(w, "%s_sum%s %v\n%s_count%s %d\n", name, labels(of), t.sum.Seconds(), name, labels(of), n)
	}
}
