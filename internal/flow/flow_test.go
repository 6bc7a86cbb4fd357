package flow

import (
	"testing"

	"github.com/reeve-gate/reeve"
)

func TestSendingOutIsAskedForOnlyAfterBothKindsOfReading(t *testing.T) {
	read := []reeve.Effect{{Kind: reeve.EffectRead, Path: "/w/a"}}
	fetch := []reeve.Effect{{Kind: reeve.EffectConnect, Host: "example.com"}}
	push := []reeve.Effect{{Kind: reeve.EffectRun, Command: &reeve.Command{
		Words: []reeve.Word{{Text: "git", Known: true}, {Text: "push", Known: true}}, Marks: reeve.CommandExternal}}}
	service := []reeve.Effect{{Kind: reeve.EffectConnect, Host: "api.example", Port: 443, Dial: &reeve.Dial{Own: true}}}
	dialled := []reeve.Effect{{Kind: reeve.EffectConnect, Host: "x.example", Port: 443, Dial: &reeve.Dial{}}}
	null := []reeve.Effect{{Kind: reeve.EffectRead, Path: "/dev/null", Facts: reeve.PathFacts{Marks: reeve.PathDevice}}}

	for _, c := range []struct {
		name    string
		history []Taint
		next    []reeve.Effect
		asks    bool
	}{
		{"fresh", nil, push, false},
		{"only private", []Taint{From("native", read)}, push, false},
		{"only untrusted", []Taint{From("native", fetch)}, push, false},
		{"untrusted by source", []Taint{From("mcp:web", nil), From("native", read)}, push, true},
		{"both, then push", []Taint{From("native", fetch), From("native", read)}, push, true},
		{"both, then fetch", []Taint{From("native", read), From("native", fetch)}, fetch, true},
		{"both, then read", []Taint{From("native", read), From("native", fetch)}, read, false},
		{"the agent's own service brings nothing from outside", []Taint{From("native", service), From("native", read)}, push, false},
		{"another connection of ours", []Taint{From("native", dialled), From("native", read)}, dialled, true},
		{"a server that reaches the network, after both", []Taint{From("mcp:web", nil), From("native", read)}, []reeve.Effect{{Kind: reeve.EffectUnknown, Sends: true}}, true},
		{"a server that reaches nothing, after both", []Taint{From("mcp:web", nil), From("native", read)}, []reeve.Effect{{Kind: reeve.EffectUnknown}}, false},
		{"a server that is shown files brings both", []Taint{From("mcp:files", []reeve.Effect{{Kind: reeve.EffectUnknown, Private: true}})}, push, true},
		{"a device is not private", []Taint{From("native", null), From("native", fetch)}, push, false},
		{"a secret is private", []Taint{From("native", []reeve.Effect{{Kind: reeve.EffectUseSecret}}), From("native", fetch)}, []reeve.Effect{{Kind: reeve.EffectExternal}}, true},
	} {
		var taint Taint
		for _, h := range c.history {
			taint = taint.Join(h)
		}
		if got := Check(taint, c.next) != ""; got != c.asks {
			t.Errorf("%s: asks = %v, want %v", c.name, got, c.asks)
		}
	}
}
