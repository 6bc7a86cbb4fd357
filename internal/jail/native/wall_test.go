//go:build linux

package native_test

import (
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/jailtest"
	"github.com/reeve-gate/reeve/internal/jail/native"
	"github.com/reeve-gate/reeve/internal/testuser"
)

func TestMain(m *testing.M) { jailtest.Main(m) }

// wall skips on a machine that the first process was not built for.
func wall(t *testing.T) *native.Wall {
	t.Helper()
	w := &native.Wall{}
	if r := w.Ready(t.Context()); r.State == reeve.SandboxMissing {
		t.Skip(r.Fix)
	}
	return w
}

func TestNothingEscapes(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Escape(t, wall(t)) })
}

func TestWhatNoProfileNamesIsReadOnly(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.ReadOnly(t, wall(t)) })
}

func TestATreeHasNamespacesOfItsOwn(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Namespaces(t, wall(t)) })
}

func TestProcessesAndLimitsHold(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Hold(t, wall(t)) })
}

func TestWhatARunPlantsIsQuarantined(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Quarantine(t, wall(t)) })
}

func TestWhatPeopleDoAllDayGoesOnInside(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Chores(t, wall(t)) })
}

func TestHonestWorkSucceedsInside(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Work(t, wall(t)) })
}

func TestAContainedShellHasATerminalOfItsOwn(t *testing.T) {
	testuser.Both(t, func(t *testing.T) { jailtest.Terminal(t, wall(t)) })
}

func TestRealProjectsPassTheirOwnTestsInside(t *testing.T) { jailtest.RealWork(t, wall(t)) }
