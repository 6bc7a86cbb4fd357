package server

import (
	"context"
	"errors"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

func TestAToolIsFoundByItsServerAndItsNameAndBeginsDenied(t *testing.T) {
	facts := map[string]Facts{
		"files read":           {Tier: reeve.TierRead, Private: true},
		"files _odd__name":     {Tier: reeve.TierWrite, Unknown: true, Why: "nobody knows"},
		"web resources/read":   {Tier: reeve.TierRead, Sends: true},
		"files nothing_is_set": {},
		"web far":              {Tier: reeve.TierRead, Places: func([]byte) ([]reeve.Effect, error) { return nil, errors.New("no such place") }},
	}
	tools := New(func(server, name string) (Facts, bool) { f, ok := facts[server+" "+name]; return f, ok })
	for name, want := range map[string]reeve.Tier{
		Name("files", "Read"): reeve.TierRead, "MCP__files__READ": reeve.TierRead, "mcp__files___odd__name": reeve.TierWrite,
		"mcp__web__resources/read": reeve.TierRead, "mcp__files__nothing_is_set": reeve.TierDenied, Start: reeve.TierRead,
	} {
		one, ok := tools.Find(name)
		if !ok || one.Spec().Tier != want {
			t.Errorf("%s: found %v, %+v", name, ok, one)
		}
	}
	for _, name := range []string{"mcp__files__other", "mcp__files__", "mcp____read", "mcp__files", "read", ""} {
		if _, ok := tools.Find(name); ok {
			t.Errorf("%q is a tool", name)
		}
	}
	one, _ := tools.Find("mcp__files__read")
	if s := one.Spec(); s.Source != "mcp:files" || s.Class != tool.ClassMCP {
		t.Errorf("its spec is %+v", s)
	}
	effects, err := one.Effects([]byte("{}"), tool.Place{})
	if err != nil || len(effects) != 1 || effects[0].Kind != reeve.EffectUnknown || !effects[0].Private || effects[0].Sends {
		t.Errorf("its effects are %+v %v", effects, err)
	}
	far, _ := tools.Find("mcp__web__far")
	if _, err := far.Effects([]byte("{}"), tool.Place{}); err == nil {
		t.Error("a call to no place is taken")
	}
}

func TestAnActIsCarriedOutOnceForItsInvocation(t *testing.T) {
	tools := New(func(string, string) (Facts, bool) { return Facts{Tier: reeve.TierRead}, true })
	one, _ := tools.Find("mcp__a__b")
	done := 0
	forget := tools.Give("1", func(context.Context, tool.Call) reeve.Result {
		done++
		return reeve.Result{Status: reeve.StatusSuccess}
	})
	run := func(id string) reeve.Status {
		return one.(tool.Runner).Run(t.Context(), tool.Call{ID: id}).Status
	}
	if run("2") != reeve.StatusError || run("1") != reeve.StatusSuccess || run("1") != reeve.StatusError || done != 1 {
		t.Errorf("carried out %d times", done)
	}
	forget()
	tools.Give("3", nil)()
	if run("3") != reeve.StatusError {
		t.Error("what was taken back is carried out")
	}
}
