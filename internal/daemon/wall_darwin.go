package daemon

import (
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/jail/seatbelt"
)

// Wall is this system's wall, not tried yet.
func Wall() probe.Prober { return &seatbelt.Wall{} }
