//go:build !linux

// Package held takes hold of a process, so that what is waited for or ended is that one
// and not another that got its number.
package held

import (
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// Process is told from another of its number by when it started. It
// is looked at right before it is signalled, which leaves the moment between.
type Process struct{ Who localsock.Process }

// Take takes hold of the process that has a number now.
func Take(pid int) (Process, error) {
	who, _, _, err := localsock.Look(pid)
	return Process{who}, err
}

// Ended looks for the end of the process within a time.
func (h Process) Ended(within time.Duration) bool {
	for until := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if now, _, _, err := localsock.Look(h.Who.PID); err != nil || now != h.Who {
			return true
		}
		if time.Now().After(until) {
			return false
		}
	}
}

// Kill sends SIGKILL; to one that has ended nothing happens.
func (h Process) Kill() {
	if now, _, _, err := localsock.Look(h.Who.PID); err == nil && now == h.Who {
		syscall.Kill(h.Who.PID, syscall.SIGKILL)
	}
}

// Close lets go of it.
func (Process) Close() {}
