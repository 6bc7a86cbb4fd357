//go:build !linux

package limit

import (
	"fmt"
	"runtime"
)

// No other system sets the limits of a process from outside.
func prlimit(int, int, uint64) error {
	return fmt.Errorf("the limits of another process cannot be set on %s", runtime.GOOS)
}
