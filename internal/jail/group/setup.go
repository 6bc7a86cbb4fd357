package group

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// Environment is a plan's environment for a wall that mounts nothing: the
// places that a mount would have put elsewhere are named where they are. temp
// is the tree's own temporary directory, proxy where its proxy listens; empty
// = as the plan says.
func Environment(plan jail.Plan, temp, proxy string) []string {
	out := make([]string, 0, len(plan.Env))
	for _, kv := range plan.Env {
		name, value, _ := strings.Cut(kv, "=")
		for _, e := range plan.Expose {
			if e.To != e.From && tree.Within(e.To, value) {
				value = e.From + value[len(e.To):]
			}
		}
		switch {
		case name == "TMPDIR" && value == "/tmp":
			value = temp
		case tree.Within("/tmp/.cache", value):
			value = temp + strings.TrimPrefix(value, "/tmp")
		}
		if proxy != "" {
			value = strings.ReplaceAll(value, jail.ProxyAddr, proxy)
		}
		out = append(out, name+"="+value)
	}
	return out
}

// Setup is what a shell does in its own process before it becomes the program
// that its arguments name: limits and umask are inherited. The arguments are
// never part of its text. Where a limit cannot be set nothing runs.
func Setup(l jail.Limits, umask uint32) string { return Limit(l, umask) + ` && exec "$@"` }

// Limit is the part of [Setup] that sets limits and umask, in POSIX sh.
func Limit(l jail.Limits, umask uint32) string {
	steps := []string{"ulimit -c 0"}
	if l.CPU > 0 {
		steps = append(steps, "ulimit -t "+strconv.FormatInt(int64((l.CPU+time.Second-1)/time.Second), 10))
	}
	if l.FileSize > 0 {
		steps = append(steps, "ulimit -f "+strconv.FormatInt((l.FileSize+511)/512, 10)) // in blocks (POSIX, ulimit)
	}
	if l.Files > 0 {
		steps = append(steps, "ulimit -n "+strconv.FormatUint(l.Files, 10))
	}
	if umask != 0 {
		steps = append(steps, "umask "+strconv.FormatUint(uint64(umask&0o777), 8))
	}
	return strings.Join(steps, " && ")
}

// Held are the limits that [Setup] set, for the receipt.
func Held(l jail.Limits) []string {
	all := []string{"no core files"}
	if l.CPU > 0 {
		all = append(all, "cpu "+l.CPU.String()+" a process")
	}
	if l.FileSize > 0 {
		all = append(all, fmt.Sprintf("files up to %d bytes", l.FileSize))
	}
	if l.Files > 0 {
		all = append(all, fmt.Sprintf("%d open files a process", l.Files))
	}
	if l.Wall > 0 {
		all = append(all, "wall time "+l.Wall.String())
	}
	return all
}
