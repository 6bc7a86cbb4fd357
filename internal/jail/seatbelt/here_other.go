//go:build !darwin

package seatbelt

import (
	"runtime"

	"github.com/reeve-gate/reeve/internal/jail"
)

const (
	here   = false
	system = runtime.GOOS
)

// spelled is the plan as it is: names of this system have one spelling.
func spelled(plan jail.Plan) (jail.Plan, error) { return plan, nil }

func release() string { return system }
