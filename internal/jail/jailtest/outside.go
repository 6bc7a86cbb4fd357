//go:build linux

package jailtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail"
)

// ReadOnly writes where nothing of a plan lies: not in
// the home directory, not in a private one, and open to everybody outside.
func ReadOnly(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	dir, err := os.MkdirTemp("/var/tmp", "reeve-outside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"agent", "strict"} {
		c := b.Shell(t, b.Plan(t, profile, jail.Options{}), jail.Limits{}, "echo x > "+dir+"/new; echo x > "+victim+"; rm -f "+victim)
		if n := strings.Count(c.Stderr.Text, "Read-only file system"); n != 3 {
			t.Errorf("%s: %d of 3 writes met a read-only file system: %s", profile, n, c.Stderr.Text)
		}
		if text, err := os.ReadFile(victim); string(text) != "kept" {
			t.Errorf("%s: the file outside holds %q, %v", profile, text, err)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 {
			t.Errorf("%s: something was made outside: %v", profile, names)
		}
	}
}

// Namespaces: no process, no message queue or shared
// memory, no mount, no name of the machine is shared with the outside.
func Namespaces(t *testing.T, wall jail.Wall) {
	b := NewBench(t, wall)
	for profile, kinds := range map[string][]string{"agent": {"user", "pid", "ipc", "uts", "mnt"}, "strict": {"user", "pid", "ipc", "uts", "mnt", "net"}} {
		open := jail.UnrestrictedNetwork
		opts := jail.Options{}
		if profile == "agent" {
			opts.Net = &open
		}
		plan := b.Plan(t, profile, opts)
		for _, kind := range kinds {
			outside, err := os.Readlink("/proc/self/ns/" + kind)
			if err != nil {
				t.Fatal(err)
			}
			c := b.Shell(t, plan, jail.Limits{}, "readlink /proc/self/ns/"+kind)
			if inside := strings.TrimSpace(c.Stdout.Text); !strings.HasPrefix(inside, kind+":[") || inside == outside {
				t.Errorf("%s: the %s namespace inside is %q, outside %q %s", profile, kind, inside, outside, c.Stderr.Text)
			}
		}
	}
}
