package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail/services"
)

// TestAPackageIsLockedAndStartsWithoutANetwork: npm installs a released server
// inside the boundary, from its own registry, and the server starts from the
// copy with no network at all (contract G26).
func TestAPackageIsLockedAndStartsWithoutANetwork(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	registry := services.Registries[0] // npm's
	conn, err := net.DialTimeout("tcp", registry+":443", 10*time.Second)
	if err != nil {
		t.Skipf("npm's registry does not answer: %v", err)
	}
	at := conn.RemoteAddr().String()
	conn.Close()
	dir := t.TempDir()
	ws, home := filepath.Join(dir, "ws"), filepath.Join(dir, "rh")
	for _, d := range []string{ws, filepath.Join(dir, "home"), filepath.Join(home, "config")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Where a mirror stands in for the registry, its name leads to this network.
	if err := os.WriteFile(filepath.Join(home, "config", "config.toml"), []byte("[egress]\nhosts.\""+registry+"\" = \""+at+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reeve := func(args ...string) (string, error) {
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = ws, append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "REEVE_HOME="+home)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := reeve(args...)
		if err != nil {
			t.Fatalf("reeve %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	defer reeve("down", "--stop-sessions")
	must("mcp", "add", "think", "--", "npx", "-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31")
	out := must("mcp", "pin", "think", "--yes")
	if !strings.Contains(out, "each held to its digest") || !strings.Contains(out, "starts from @modelcontextprotocol/server-sequential-thinking 2026.8.31 now") {
		t.Errorf("pinned with\n%s", out)
	}
	out = must("mcp", "inspect", "think")
	for _, want := range []string{"version   2026.8.31, locked with everything below it; integrity sha512-", "network   none", "tool sequentialthinking"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	left, _ := filepath.Glob(filepath.Join(home, "checkouts", "pin-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	must("mcp", "pin", "think", "--forget")
	if out := must("mcp", "inspect", "--offline", "think"); strings.Contains(out, "locked with") {
		t.Errorf("forgotten, and\n%s", out)
	}
	if left, err := os.ReadDir(filepath.Join(home, "data", "mcp-packages")); err == nil && len(left) > 0 {
		t.Errorf("%d packages are kept still", len(left))
	}
}
