package boundary

import (
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/jail/seatbelt"
)

// Walls are the walls that sandbox.engine names, not tried yet.
func Walls(engine string) ([]probe.Prober, error) {
	switch engine {
	case "auto", "seatbelt":
		return []probe.Prober{&seatbelt.Wall{}}, nil
	}
	return nil, fmt.Errorf("%w: sandbox.engine is %q, which is none of macOS", reeve.ErrUsage, engine)
}
