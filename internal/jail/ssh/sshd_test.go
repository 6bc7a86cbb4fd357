//go:build linux

package ssh

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/sshdtest"
)

var (
	digest = [32]byte{5}
	issuer = permit.NewIssuer(time.Now)
)

type machine struct {
	*sshdtest.Machine
	before []string // private directories that others left
}

func newMachine(t *testing.T) machine {
	t.Helper()
	if _, err := os.Stat(Bubblewrap); err != nil {
		t.Skip("bubblewrap is not installed")
	}
	return machine{sshdtest.New(t), runDirs(t)}
}

// starter lays a profile over the machine's workspace.
func (m machine) starter(t *testing.T, profile string, argv ...string) *Starter {
	t.Helper()
	p, err := jail.ProfileNamed(profile)
	if err != nil {
		t.Fatal(err)
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	none := jail.NetNone
	return &Starter{Host: u.Username + "@127.0.0.1", Dir: m.Workspace, Options: m.Options, Profile: p, Opts: jail.Options{Argv: argv, Net: &none}, Env: []string{"HOME=" + m.Base, "TERM=dumb", "ANTHROPIC_API_KEY=abc", "GITHUB_TOKEN=abc"}}
}

// run runs a script there to its end.
func (m machine) run(t *testing.T, s *Starter, script string) jail.Captured {
	t.Helper()
	argv := []string{"/bin/sh", "-c", script}
	c, err := jail.Capture(t.Context(), func(out, errs *os.File) (jail.Process, error) {
		return s.Start(t.Context(), issuer.Mint(digest, time.Minute), digest, jail.Plan{}, jail.Cmd{Argv: argv, Stdout: out, Stderr: errs})
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, c.Stdout.Text, c.Stderr.Text)
	}
	return c
}

// leftovers are the private directories of runs that were not there before.
func (m machine) leftovers(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(runDirs(t), func(p string) bool { return slices.Contains(m.before, p) })
}

func runDirs(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/tmp/reeve-*/empty")
	if err != nil {
		t.Fatal(err)
	}
	return all
}
