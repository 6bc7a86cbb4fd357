package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
)

// rules200 is a policy of two hundred rules of all kinds.
func rules200() string {
	var b strings.Builder
	for _, list := range []string{"deny", "ask", "allow"} {
		fmt.Fprintf(&b, "%s = [\n", list)
		for i := range 66 {
			switch i % 3 {
			case 0:
				fmt.Fprintf(&b, "  \"bash(%s%d sub *)\",\n", list, i)
			case 1:
				fmt.Fprintf(&b, "  \"read(**/%s%d/**)\",\n", list, i)
			case 2:
				fmt.Fprintf(&b, "  \"write(%s%d/*.go)\",\n", list, i)
			}
		}
		if list == "allow" {
			b.WriteString("  \"read(src/**)\",\n  \"bash(go test *)\",\n")
		}
		b.WriteString("]\n")
	}
	return b.String()
}

// BenchmarkJudgement is what the kernel adds to a file read with the facts of
// the disk given: steps 2 to 7a. Budget: 5 µs, 10 allocations.
func BenchmarkJudgement(b *testing.B) {
	w := newBenchKit(b)
	c := &call{inv: *w.call("look", "read /w/src/a.go")}
	w.k.shape(b.Context(), c)
	effects, views := c.in.Effects, c.views
	b.ReportAllocs()
	for b.Loop() {
		c.d, c.over = reeve.Decision{}, false
		c.in.Effects, c.views = effects, views
		for i := 1; i < explained; i++ {
			steps[i].do(w.k, b.Context(), c)
		}
		if c.d.Verdict != reeve.Allow {
			b.Fatalf("%+v", c.d)
		}
	}
}

func newBenchKit(b *testing.B) *kit {
	b.Helper()
	l, err := policy.Parse(policy.LayerUser, "policy.toml", []byte(rules200()))
	if err != nil {
		b.Fatal(err)
	}
	w := newKit(&testing.T{}, "")
	w.sessions["s"] = Session{ID: "s", Workspace: "/w", Home: "/home/p", Mode: reeve.ModeDefault, Sandbox: reeve.SandboxReady, Policy: policy.Join(l)}
	return w
}
