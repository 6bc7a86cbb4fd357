package secret

import (
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// TestEveryActIsAPersonsAlone covers M25: every act has an effect that the
// kernel lets nobody but a person have.
func TestEveryActIsAPersonsAlone(t *testing.T) {
	for do, want := range map[string]reeve.EffectKind{"get": reeve.EffectReadSecret, "set": reeve.EffectChangeSelf, "rotate": reeve.EffectChangeSelf, "remove": reeve.EffectChangeSelf,
		"rekey": reeve.EffectChangeSelf, "export": reeve.EffectChangeSelf, "import": reeve.EffectChangeSelf, "init": reeve.EffectChangeSelf, "unlock": reeve.EffectChangeSelf, "lock": reeve.EffectChangeSelf} {
		effects, err := New().Effects([]byte(`{"do":"`+do+`","name":"a/b","path":"/x"}`), tool.Place{})
		if err != nil || len(effects) == 0 || effects[0].Kind != want {
			t.Errorf("%s: %v, %v", do, effects, err)
		}
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
	forget()
}
