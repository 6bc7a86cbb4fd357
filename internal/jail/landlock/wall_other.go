//go:build !linux

package landlock

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Command is the hidden argument of the process that goes under the rules.
const Command = "__landlock"

// Main is that process, which is not to be had here.
func Main() int { fmt.Fprintln(os.Stderr, unsupported()); return 2 }

// Wall contains a program with Landlock, which exists on Linux only: here it
// is always missing and starts nothing.
type Wall struct{}

var _ jail.Wall = (*Wall)(nil)

// Name is the name by which settings and receipts call this wall.
func (w *Wall) Name() string { return "landlock" }

// Ready is always missing.
func (w *Wall) Ready(context.Context) jail.Readiness {
	return jail.Readiness{State: reeve.SandboxMissing, Fix: unsupported().Error()}
}

// Version is 0: there is no Landlock.
func Version() int { return 0 }

// Profiles are the profiles that this wall can hold: none here.
func (w *Wall) Profiles() []string { return nil }

// Promises reports whether an act is refused: nothing is promised here.
func (w *Wall) Promises(string) bool { return false }

// Unheld says that nothing is held.
func Unheld() []string { return []string{unsupported().Error()} }

// Start spends the permit and starts nothing (Y70).
func (w *Wall) Start(_ context.Context, p permit.Permit, digest [32]byte, _ jail.Plan, _ jail.Cmd) (jail.Process, error) {
	if err := p.Spend(digest); err != nil {
		return nil, fmt.Errorf("start in sandbox: %w", err)
	}
	return nil, unsupported()
}

// StartProbe starts nothing.
func (w *Wall) StartProbe(context.Context, jail.Plan, string, string, *os.File, *os.File) (jail.Process, error) {
	return nil, unsupported()
}

func unsupported() error {
	return fmt.Errorf("%w: Landlock is a part of Linux; this is %s", reeve.ErrBoundary, runtime.GOOS)
}
