//go:build !linux

package safepath

import "github.com/reeve-gate/reeve"

// lookFast has no system call to stand on here; every path goes the slow way.
func (r *Resolver) lookFast(string) (f reeve.PathFacts, ok bool) { return f, false }
