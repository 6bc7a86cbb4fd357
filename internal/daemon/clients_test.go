package daemon

import (
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/ingress/api"
	"github.com/reeve-gate/reeve/internal/ingress/install"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
	"github.com/reeve-gate/reeve/internal/wire"
)

// TestEveryClientIsKnownInEveryRoom: a client that can be installed has a door,
// its tools are described, and its processes are known for an agent's.
func TestEveryClientIsKnownInEveryRoom(t *testing.T) {
	b := newBench(t, plainVector())
	clients := api.Clients()
	if len(clients) < 2 {
		t.Fatalf("clients are %q", clients)
	}
	for _, client := range clients {
		if install.Named(client) == nil {
			t.Errorf("%s cannot be installed", client)
		}
		tools := foreign.Tools(client)
		if len(tools) == 0 {
			t.Errorf("no tool of %s is described", client)
		}
		for _, tool := range tools {
			if _, ok := b.d.tools.Find(tool.Spec().Name); !ok {
				t.Errorf("%s is not in the registry", tool.Spec().Name)
			}
		}
		a := b.d.api.Hook.Hook(t.Context(), wire.Hook{Client: client, Event: []byte(`{"hook_event_name":"SessionStart"}`), Dir: b.ws}, "")
		if a.Exit != 0 || strings.Contains(a.Stderr, "no door") {
			t.Errorf("%s has no door: %+v", client, a)
		}
	}
	if a := b.d.api.Hook.Hook(t.Context(), wire.Hook{Client: "nobody", Event: []byte(`{"hook_event_name":"SessionStart"}`), Dir: b.ws}, ""); a.Exit != 2 {
		t.Errorf("a client that nobody knows is answered with %+v", a)
	}
}
