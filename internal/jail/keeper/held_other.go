//go:build !linux

package keeper

import (
	"os"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// held is a process, told from another of its number by when it started. It
// is looked at right before it is signalled, which leaves the moment between.
type held struct{ who localsock.Process }

func hold(pid int) (held, error) {
	who, _, _, err := localsock.Look(pid)
	return held{who}, err
}

// ended looks for the end of the process within a time.
func (h held) ended(within time.Duration) bool {
	for until := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if now, _, _, err := localsock.Look(h.who.PID); err != nil || now != h.who {
			return true
		}
		if time.Now().After(until) {
			return false
		}
	}
}

func (h held) kill() {
	if now, _, _, err := localsock.Look(h.who.PID); err == nil && now == h.who {
		syscall.Kill(h.who.PID, syscall.SIGKILL)
	}
}

func (held) close() {}

func program() (string, error) { return os.Executable() }
