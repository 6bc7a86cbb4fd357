//go:build linux

package jailtest

import (
	"os"
	"syscall"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// Main is for TestMain of a wall: it makes the test binary the contained
// program of the escape suite.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probe.Command {
		// Not os.Exit: with the race detector that sleeps for a second.
		syscall.Exit(probe.MainWith(os.Args[2:], Attempts()))
	}
	os.Exit(m.Run())
}
