package main

import (
	"errors"

	"github.com/reeve-gate/reeve"
)

// exitCode turns an error's kind into the exit code of the command line.
func exitCode(err error) int {
	switch {
	case err == nil:
		return reeve.ExitOK
	case errors.Is(err, reeve.ErrUsage):
		return reeve.ExitUsage
	case errors.Is(err, reeve.ErrNeedsPerson):
		return reeve.ExitNeedsPerson
	case errors.Is(err, reeve.ErrDenied), errors.Is(err, reeve.ErrPresence), errors.Is(err, reeve.ErrBroken):
		return reeve.ExitDenied
	case errors.Is(err, reeve.ErrBoundary):
		return reeve.ExitBoundary
	}
	return reeve.ExitFailed
}
