package boundary

import (
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/landlock"
	"github.com/reeve-gate/reeve/internal/jail/native"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Walls are the walls that sandbox.engine names, not tried yet: of several the
// first is taken that is usable. auto is never a reduced one.
func Walls(engine string) ([]probe.Prober, error) {
	switch engine {
	case "auto":
		return []probe.Prober{&native.Wall{}, &bwrap.Wall{}}, nil
	case "native":
		return []probe.Prober{&native.Wall{}}, nil
	case "bwrap":
		return []probe.Prober{&bwrap.Wall{}}, nil
	case "landlock":
		return []probe.Prober{&landlock.Wall{}}, nil
	}
	return nil, fmt.Errorf("%w: sandbox.engine is %q, which is none of Linux", reeve.ErrUsage, engine)
}
