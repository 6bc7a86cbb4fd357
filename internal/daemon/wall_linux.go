package daemon

import (
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/landlock"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Wall is the wall of this name as sandbox.engine has it, not tried yet. auto
// is never a reduced one.
func Wall(engine string) (probe.Prober, error) {
	switch engine {
	case "auto", "bwrap":
		return &bwrap.Wall{}, nil
	case "landlock":
		return &landlock.Wall{}, nil
	}
	return nil, fmt.Errorf("%w: sandbox.engine is %q, which is none of Linux", reeve.ErrUsage, engine)
}
