//go:build !linux

package bwrap

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
)

// Wall builds boundaries with bubblewrap, which exists on Linux only: here it
// is always missing and starts nothing.
type Wall struct{}

var _ jail.Wall = (*Wall)(nil)

// Name is the name by which profiles and receipts call this wall.
func (w *Wall) Name() string { return "bwrap" }

// Ready is always missing.
func (w *Wall) Ready(context.Context) jail.Readiness {
	return jail.Readiness{State: reeve.SandboxMissing, Fix: unsupported().Error()}
}

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

// Scopes reports whether abstract names of sockets can be closed: there are
// none here.
func Scopes() bool { return false }

// Gate says that nothing is started here.
func Gate() error { return unsupported() }

func unsupported() error {
	return fmt.Errorf("%w: bubblewrap builds sandboxes on Linux only; this is %s", reeve.ErrBoundary, runtime.GOOS)
}
