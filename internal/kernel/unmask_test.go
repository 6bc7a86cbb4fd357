package kernel

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// TestAMarkNeverTakesThePlaceOfWhatItHides: an agent that was shown a file
// with a masked value cannot write the file back as it was shown (G33).
func TestAMarkNeverTakesThePlaceOfWhatItHides(t *testing.T) {
	const conf, doc = "/w/conf", "/w/doc"
	for _, tt := range []struct {
		name, tool, text string
		do               []string
		origin           reeve.Origin
		denied           bool
	}{
		{"written back", "act", "password=[REDACTED]", []string{"write " + conf}, reeve.OriginAgent, true},
		{"of two files the second", "act", "[REDACTED]", []string{"write " + doc, "write " + conf}, reeve.OriginAgent, true},
		{"without the mark", "act", "host=b", []string{"write " + conf}, reeve.OriginAgent, false},
		{"documentation", "act", "reads [REDACTED]", []string{"write " + doc}, reeve.OriginAgent, false},
		{"a name with the mark", "act", "[REDACTED]", []string{"write /w/[REDACTED]"}, reeve.OriginAgent, false},
		{"a person", "act", "password=[REDACTED]", []string{"write " + conf}, reeve.OriginHost, false},
		{"an MCP tool that may change", "changer", "[REDACTED]", []string{conf}, reeve.OriginAgent, true},
		{"one that names no file", "changer", "[REDACTED]", []string{"/w/none"}, reeve.OriginAgent, false},
		{"one that only reads", "outside", "[REDACTED]", []string{conf}, reeve.OriginAgent, false},
	} {
		w := newKit(t, `allow = ["act", "changer", "outside"]`)
		w.tools["changer"] = &act{spec: tool.Spec{Name: "changer", Source: "mcp:fs", Tier: reeve.TierWrite, Class: tool.ClassMCP}, moved: &w.moved}
		w.files = map[string]string{conf: "password=" + secret, doc: "reads [REDACTED]"}
		call := w.call(tt.tool)
		call.Origin = tt.origin
		if tt.origin == reeve.OriginHost {
			call.Actor = reeve.ActorUser
		}
		var err error
		if call.Args, err = json.Marshal(actArgs{Do: tt.do, Text: tt.text}); err != nil {
			t.Fatal(err)
		}
		w.answer = yes
		d, r := w.k.Do(t.Context(), call)
		if denied := d.Step == reeve.StepGuard && d.Rule == "masked values"; denied != tt.denied || denied == (r.Status == reeve.StatusSuccess) {
			t.Errorf("%s: %s in step %s by %q, %s", tt.name, d.Verdict, d.Step, d.Rule, r.Error)
		}
		if tt.denied && (len(w.moved) > 0 || !strings.Contains(r.Error, "reeve://") || strings.Contains(r.Error, secret)) {
			t.Errorf("%s: the caller is told %q", tt.name, r.Error)
		}
	}
}

func TestAHookBringsNoMarkEither(t *testing.T) {
	w := newKit(t, `allow = ["act"]`, func(c *Config) {
		c.Hooks = []Hook{spy{name: "rewriter", pre: func(context.Context, reeve.Invocation) (HookAnswer, error) {
			return HookAnswer{Verdict: reeve.Allow, Args: []byte(`{"do":["write /w/conf"],"text":"[REDACTED]"}`)}, nil
		}}}
	})
	d, _ := w.k.Do(t.Context(), w.call("act", "write /w/conf"))
	w.check("a hook's rewrite", d, reeve.Deny, reeve.StepGuard, 0, 0)
}
