package roster

import (
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// TestItIsAChangeOfReeve covers Y77: what the kernel lets nobody but a person do.
func TestItIsAChangeOfReeve(t *testing.T) {
	effects, err := New().Effects([]byte(`{"do":"add","server":"x"}`), tool.Place{})
	if err != nil || len(effects) != 1 || effects[0].Kind != reeve.EffectChangeSelf {
		t.Errorf("%v, %v", effects, err)
	}
}

func TestNothingIsDoneWithoutItsAct(t *testing.T) {
	tl := New()
	forget := tl.Give("a", func() (string, error) { t.Error("it was done"); return "", nil })
	if r := tl.Run(t.Context(), tool.Call{ID: "b"}); r.Status != reeve.StatusDenied {
		t.Errorf("another call: %+v", r)
	}
	if r := tl.Run(t.Context(), tool.Call{ID: "a"}); r.Status != reeve.StatusError { // no permit
		t.Errorf("without a permit: %+v", r)
	}
	if r := tl.Run(t.Context(), tool.Call{ID: "a"}); r.Status != reeve.StatusDenied {
		t.Errorf("a second time: %+v", r)
	}
	forget()
}
