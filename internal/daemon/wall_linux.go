package daemon

import (
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Wall is this system's wall, not tried yet.
func Wall() probe.Prober { return &bwrap.Wall{} }
