package record

import (
	"context"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// TestItIsAPersonsAlone: the kernel lets nobody but a person change Reeve, and
// without the act of a person nothing is done.
func TestItIsAPersonsAlone(t *testing.T) {
	tl := New()
	effects, err := tl.Effects([]byte(`{"do":"prune"}`), tool.Place{})
	if err != nil || len(effects) != 1 || effects[0].Kind != reeve.EffectChangeSelf {
		t.Errorf("effects: %v, %v; want a change of Reeve", effects, err)
	}
	forget := tl.Give("a", func(context.Context) (string, error) { t.Error("it was done"); return "", nil })
	defer forget()
	if r := tl.Run(t.Context(), tool.Call{ID: "b"}); r.Status != reeve.StatusDenied {
		t.Errorf("another call: %+v, want denied", r)
	}
	if r := tl.Run(t.Context(), tool.Call{ID: "a"}); r.Status != reeve.StatusError { // no permit
		t.Errorf("without a permit: %+v, want an error", r)
	}
}
