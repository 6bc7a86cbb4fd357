package load

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/tool"
)

// bench is a place with a user's file and a project.
type bench struct {
	user, workspace string
	loader          *Loader
}

func newBench(t *testing.T) bench {
	dir := t.TempDir()
	b := bench{user: filepath.Join(dir, "policy.toml"), workspace: filepath.Join(dir, "ws")}
	if err := os.MkdirAll(filepath.Join(b.workspace, ".reeve"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.loader = New(Source{Managed: filepath.Join(dir, "managed.toml"), User: b.user})
	return b
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // under any umask
		t.Fatal(err)
	}
}

// makeTest is the verdict on "make test" under the layers.
func (b bench) makeTest(trusted bool) reeve.Decision {
	set := policy.Join(b.loader.Layers(b.workspace, func([32]byte) bool { return trusted })...)
	return set.Judge(&policy.Input{Tool: "bash", Class: tool.ClassBash, Tier: reeve.TierWrite,
		Effects: []reeve.Effect{{Kind: reeve.EffectRun, Command: &reeve.Command{Words: []reeve.Word{{Text: "make", Known: true}, {Text: "test", Known: true}}}}},
		Facts:   policy.Facts{Workspace: b.workspace, Mode: reeve.ModeDefault}})
}

func TestAChangeOfAFileHoldsFromTheNextCallOn(t *testing.T) {
	b := newBench(t)
	check := func(want reeve.Verdict) {
		t.Helper()
		if got := b.makeTest(false); got.Verdict != want {
			t.Errorf("got %s (%s), want %s", got.Verdict, got.Reason, want)
		}
	}
	check(reeve.Ask)
	write(t, b.user, `allow = ["bash(make *)"]`, 0o644)
	check(reeve.Allow)
	write(t, b.user, `deny  = ["bash(make *)"]`, 0o644) // same size, same tick
	check(reeve.Deny)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(b.user, old, old); err != nil {
		t.Fatal(err)
	}
	check(reeve.Deny)
	write(t, b.user, `allow = ["bash(make *)"]`, 0o644)
	if err := os.Chtimes(b.user, old, old); err != nil { // an edit that hides its time
		t.Fatal(err)
	}
	check(reeve.Allow)
	os.Remove(b.user)
	check(reeve.Ask)
}

func TestUnchangedFilesAreTheSameLayers(t *testing.T) {
	b := newBench(t)
	write(t, b.user, `allow = ["bash(make *)"]`, 0o644)
	write(t, ProjectFile(b.workspace), `deny = ["bash(rm *)"]`, 0o644)
	for range 50 { // until the files' times are settled
		first, second := b.loader.Layers(b.workspace, nil), b.loader.Layers(b.workspace, nil)
		if len(first) != 3 {
			t.Fatalf("%d layers", len(first))
		}
		same := true
		for i := range first {
			same = same && first[i] == second[i]
		}
		if same {
			return
		}
		old := time.Now()
		for time.Since(old) < settled { // the loader compares with the clock; nothing to wait on
		}
	}
	t.Error("the layers are read anew each time")
}

func TestAFileThatOthersMayWriteIsABrokenLayer(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, b bench)
		reason string
	}{
		{"group may write", func(t *testing.T, b bench) { write(t, b.user, `allow = ["bash(make *)"]`, 0o664) }, "others may write it"},
		{"everybody may write", func(t *testing.T, b bench) { write(t, b.user, `allow = ["bash(make *)"]`, 0o646) }, "others may write it"},
		{"a project's too", func(t *testing.T, b bench) { write(t, ProjectFile(b.workspace), `deny = []`, 0o666) }, "others may write it"},
		{"does not parse", func(t *testing.T, b bench) { write(t, b.user, "allow = [\n\"bash(make *)\"\nx", 0o644) }, "policy.toml:"},
		{"unknown key", func(t *testing.T, b bench) { write(t, b.user, "alow = []", 0o644) }, `policy.toml:1:1: unknown key "alow"`},
		{"a folder", func(t *testing.T, b bench) { os.Mkdir(b.user, 0o755) }, "not a regular file"},
		{"a link to nothing", func(t *testing.T, b bench) { os.Symlink("/nonexistent/x", b.user) }, "link to nothing"},
		{"someone else's", func(t *testing.T, b bench) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			write(t, b.user, `allow = ["bash(make *)"]`, 0o644)
			os.Chown(b.user, 4711, 4711)
		}, "belongs to user 4711"},
		{"not to be read", func(t *testing.T, b bench) {
			if os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			write(t, b.user, `allow = ["bash(make *)"]`, 0o000)
		}, "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			c.spoil(t, b)
			d := b.makeTest(true)
			if d.Verdict != reeve.Ask || !d.Explicit || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("got %s: %s", d.Verdict, d.Reason)
			}
		})
	}
}

func TestAProjectOnlyTightensUntilItsExactContentIsTrusted(t *testing.T) {
	b := newBench(t)
	content := `allow = ["bash(make *)"]`
	write(t, ProjectFile(b.workspace), content, 0o644)
	if got := b.makeTest(false); got.Verdict != reeve.Ask {
		t.Errorf("untrusted: %s", got.Verdict)
	}
	if got := b.makeTest(true); got.Verdict != reeve.Allow {
		t.Errorf("trusted: %s", got.Verdict)
	}
	digest := sha256.Sum256([]byte(content))
	asked := false
	b.loader.Layers(b.workspace, func(d [32]byte) bool { asked = true; return d == digest && !asked })
	if !asked {
		t.Error("nobody was asked whether the content is trusted")
	}
	write(t, ProjectFile(b.workspace), `deny = ["bash(make *)"]`, 0o644)
	if got := b.makeTest(false); got.Verdict != reeve.Deny {
		t.Errorf("an untrusted deny: %s", got.Verdict)
	}
}

func TestTheBuiltInLayerAsksForReleasesInEveryLayersCompany(t *testing.T) {
	b := newBench(t)
	write(t, b.user, `allow = ["bash(npm *)", "bash(npm publish *)"]`, 0o644)
	set := policy.Join(b.loader.Layers(b.workspace, nil)...)
	d := set.Judge(&policy.Input{Tool: "bash", Class: tool.ClassBash, Tier: reeve.TierWrite,
		Effects: []reeve.Effect{{Kind: reeve.EffectRun, Command: &reeve.Command{Words: []reeve.Word{{Text: "npm", Known: true}, {Text: "publish", Known: true}}}}},
		Facts:   policy.Facts{Workspace: b.workspace, Mode: reeve.ModeDefault, Sandbox: reeve.SandboxReady}})
	if d.Verdict != reeve.Ask || d.Rule != "bash(npm publish*)" || !strings.HasPrefix(d.Source, "builtin.toml:") {
		t.Errorf("got %s by %s at %s", d.Verdict, d.Rule, d.Source)
	}
}

func BenchmarkLayersUnchanged(b *testing.B) {
	dir := b.TempDir()
	user := filepath.Join(dir, "policy.toml")
	os.WriteFile(user, []byte(`deny = ["bash(rm *)"]`), 0o644)
	l := New(Source{Managed: filepath.Join(dir, "managed.toml"), User: user})
	b.ReportAllocs()
	for b.Loop() {
		l.Layers(dir, nil)
	}
}
