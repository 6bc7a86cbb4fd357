//go:build linux

package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/cell"
	"github.com/reeve-gate/reeve/internal/jail/ruleset"
	"github.com/reeve-gate/reeve/internal/testuser"
)

// TestAForgottenMountIsCaughtByTheSecondLayer starts a program in a boundary
// whose first mount was left writable: Landlock still holds the roots.
func TestAForgottenMountIsCaughtByTheSecondLayer(t *testing.T) {
	if ruleset.Version() < ruleset.MinVersion {
		t.Skip("no Landlock here")
	}
	testuser.Both(t, func(t *testing.T) {
		base, err := os.MkdirTemp("/var/tmp", "reeve-layer-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		ws, outside := filepath.Join(base, "ws"), filepath.Join(base, "out")
		for _, dir := range []string{ws, outside} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		plan := jail.Plan{Profile: "agent", Workspace: ws, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}}
		script := "(echo x > ../out/made) 2>&1; echo x > made && cat made; echo x > /tmp/made && cat /tmp/made; mkdir d && mv made d/ && ln d/made again && ls; echo x > /dev/null"
		c, err := jail.Capture(t.Context(), func(out, errs *os.File) (jail.Process, error) {
			tree := cell.NewTree(jail.Limits{})
			cmd := jail.Cmd{Argv: []string{"/bin/sh", "-c", script}, Stdout: out, Stderr: errs}
			o, err := command(tree, plan, cmd)
			if err != nil {
				return nil, err
			}
			o.Mounts[0].Write = true // the whole machine
			if err := start(t.Context(), tree, o, jail.Limits{}, cmd); err != nil {
				return nil, err
			}
			tree.Watch(t.Context())
			return tree, nil
		})
		if err != nil {
			t.Fatalf("%v %s", err, c.Stderr.Text)
		}
		if !strings.Contains(c.Stdout.Text, "Permission denied") || strings.Join(strings.Fields(c.Stdout.Text[strings.Index(c.Stdout.Text, "\n")+1:]), " ") != "x x again d" {
			t.Errorf("got %q %q", c.Stdout.Text, c.Stderr.Text)
		}
		if _, err := os.Stat(filepath.Join(outside, "made")); err == nil {
			t.Error("written outside")
		}
	})
}
