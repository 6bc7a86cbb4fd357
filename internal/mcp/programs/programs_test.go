package programs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/permit"
)

// paper is a wall that notes the plan and starts nothing.
type paper struct {
	plan jail.Plan
	cmd  jail.Cmd
}

var errPaper = errors.New("paper")

func (p *paper) Name() string                         { return "paper" }
func (p *paper) Ready(context.Context) jail.Readiness { return jail.Readiness{} }
func (p *paper) Start(_ context.Context, key permit.Permit, digest [32]byte, plan jail.Plan, cmd jail.Cmd) (jail.Process, error) {
	if err := key.Spend(digest); err != nil {
		return nil, err
	}
	p.plan, p.cmd = plan, cmd
	return nil, errPaper
}

// TestAServerHasItsOwnFolderItsLimitsAndNothingOfThePersons (G20, G21, G22).
func TestAServerHasItsOwnFolderItsLimitsAndNothingOfThePersons(t *testing.T) {
	root := t.TempDir()
	home, ws, state := filepath.Join(root, "home"), filepath.Join(root, "home", "project"), filepath.Join(root, "state")
	for _, dir := range []string{ws, state} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	wall := &paper{}
	place := func() jail.Place {
		return jail.Place{Home: home, State: []string{state}, Quarantine: filepath.Join(state, "q"), Env: []string{"SECRET=x", "PATH=/opt"}}
	}
	y := &Yard{Wall: wall, Place: place,
		State: state, Limits: jail.Limits{Memory: 1 << 30, Processes: 100}, Show: func(s string) string { return s }, Installed: func(string) (string, string, error) { return "", "", nil }}
	digest := [32]byte{1}
	start := func(s servers.Server, key permit.Permit) error {
		_, err := y.Start(t.Context(), &s, ws, key, digest, nil)
		return err
	}
	mint := func() permit.Permit { return permit.NewIssuer(time.Now).Mint(digest, time.Minute) }
	s := servers.Server{Name: "files", Command: "/bin/sh", Args: []string{"-c", "true"}, Env: map[string]string{"A": "b"},
		Guard: servers.Guard{Read: []string{"."}, Memory: 64 << 20}}
	if err := start(s, mint()); !errors.Is(err, errPaper) {
		t.Fatal(err)
	}
	p := wall.plan
	if p.Limits.Memory != 64<<20 || p.Limits.Processes != 100 {
		t.Errorf("its limits are %+v", p.Limits)
	}
	if own := filepath.Join(state, "mcp", "files"); len(p.Expose) != 1 || p.Expose[0].From != own || !p.Expose[0].Write || len(p.Write) != 0 {
		t.Errorf("it may write %q and is shown %+v", p.Write, p.Expose)
	}
	if p.Net != jail.NetNone || !p.NoUnix || p.Dir != ws || !slices.Contains(p.Read, ws) {
		t.Errorf("net %s, directory %s, reads %q", p.Net, p.Dir, p.Read)
	}
	if env := strings.Join(p.Env, " "); strings.Contains(env, "SECRET") || strings.Contains(env, "/opt") || !strings.Contains(env, "A=b") {
		t.Errorf("its environment is %s", env)
	}
	if len(wall.cmd.Argv) != 3 || !slices.Equal(wall.cmd.Argv[1:], s.Args) || wall.cmd.Umask != 0o077 {
		t.Errorf("started as %q, umask %o", wall.cmd.Argv, wall.cmd.Umask)
	}
	key := mint()
	if err := key.Spend(digest); err != nil {
		t.Fatal(err)
	}
	if err := start(s, key); !errors.Is(err, permit.ErrSpent) {
		t.Errorf("a start without a permit: %v", err)
	}
	s.Guard.Read = []string{state}
	if err := start(s, mint()); err == nil || errors.Is(err, errPaper) {
		t.Errorf("a server is shown Reeve's own state: %v", err)
	}
}

func TestWhatAServerPrintsIsKeptMaskedAndBounded(t *testing.T) {
	y := &Yard{State: t.TempDir(), Show: func(s string) string { return strings.ReplaceAll(s, "secret", "*") }}
	write := y.journal("s")
	write("the secret is out")
	file := filepath.Join(y.State, "mcp-log", "s.log")
	b, err := os.ReadFile(file)
	if err != nil || !strings.HasSuffix(string(b), " the * is out\n") {
		t.Fatalf("the log holds %q %v", b, err)
	}
	if err := os.Truncate(file, maxJournal+1); err != nil {
		t.Fatal(err)
	}
	write("anew")
	if b, err := os.ReadFile(file); err != nil || len(b) > 100 {
		t.Errorf("the log has %d bytes %v", len(b), err)
	}
	if info, err := os.Stat(file + ".1"); err != nil || info.Size() != maxJournal+1 {
		t.Errorf("the one before: %v %v", info, err)
	}
}
