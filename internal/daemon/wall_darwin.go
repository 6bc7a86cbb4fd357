package daemon

import (
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/jail/seatbelt"
)

// Wall is the wall of this name as sandbox.engine has it, not tried yet.
func Wall(engine string) (probe.Prober, error) {
	switch engine {
	case "auto", "seatbelt":
		return &seatbelt.Wall{}, nil
	}
	return nil, fmt.Errorf("%w: sandbox.engine is %q, which is none of macOS", reeve.ErrUsage, engine)
}
