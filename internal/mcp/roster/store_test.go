package roster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve/internal/mcp/classify"
	"github.com/reeve-gate/reeve/internal/mcp/standing"
	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/wire"
)

// installed lays a directory out as npm leaves it.
func installed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(path, text string, perm os.FileMode) {
		t.Helper()
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), perm); err != nil {
			t.Fatal(err)
		}
	}
	write("package-lock.json", `{"lockfileVersion":3,"packages":{"":{},"node_modules/@playwright/mcp":{"version":"1.2.3","resolved":"https://registry.example/x.tgz","integrity":"sha512-x"}}}`, 0o644)
	write("node_modules/@playwright/mcp/package.json", `{"name":"@playwright/mcp","bin":{"mcp":"cli.js"}}`, 0o644)
	write("node_modules/@playwright/mcp/cli.js", "#!/usr/bin/env node\n", 0o755)
	if err := os.MkdirAll(filepath.Join(dir, "node_modules/.bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../@playwright/mcp/cli.js", filepath.Join(dir, "node_modules/.bin/mcp")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAServerStartsFromThePackageThatWasLocked covers G26.
func TestAServerStartsFromThePackageThatWasLocked(t *testing.T) {
	testuser.Both(t, startsFromThePackage)
}

func startsFromThePackage(t *testing.T) {
	k := newKit(t)
	k.Store = filepath.Join(t.TempDir(), "store")
	k.do(t, wire.Servers{Do: "add", Server: "web", Entry: jsontext.Value(`{"command":"npx","args":["-y","@playwright/mcp","--headless"]}`)})
	s, _ := k.server("web")
	if dir, _, err := k.Installed("web"); dir != "" || err != nil {
		t.Errorf("before: %s, %v", dir, err)
	}
	told, err := k.Do(wire.Servers{Do: "pin", Server: "web", Dir: installed(t)})
	if err != nil || !strings.Contains(told, "starts from @playwright/mcp 1.2.3 now") {
		t.Fatalf("%q, %v", told, err)
	}
	dir, program, err := k.Installed("web")
	if b, rerr := os.ReadFile(filepath.Join(dir, program)); err != nil || rerr != nil || !strings.Contains(string(b), "node") {
		t.Errorf("installed in %s, %s: %v, %v", dir, program, err, rerr)
	}
	p, _ := k.Judge.Pins.Pin("web")
	if standing.Identity(&s, p) != classify.Playwright {
		t.Error("a locked package is not known for what it is")
	}
	k.offer(t, "web", "browser_snapshot", "browser_evaluate")
	if got := k.told(t, "web"); got != "browser_evaluate write, browser_snapshot read" {
		t.Errorf("its listed tools: %s", got)
	}
	shown, _ := k.Look("web")
	k.do(t, wire.Servers{Do: "trust", Server: "web", Seen: shown.Seen})
	if dir, _, err := k.Installed("web"); dir == "" || err != nil {
		t.Errorf("after trust: %q, %v", dir, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Installed("web"); err == nil {
		t.Error("a package that is gone is started from somewhere else")
	}
	k.do(t, wire.Servers{Do: "pin", Server: "web", Dir: installed(t)})
	k.do(t, wire.Servers{Do: "unpin", Server: "web"})
	if dir, _, err := k.Installed("web"); dir != "" || err != nil {
		t.Errorf("after it was unpinned: %s, %v", dir, err)
	}
	if p, _ := k.Judge.Pins.Pin("web"); standing.Identity(&s, p) != classify.Nobody {
		t.Error("without its package it is known still")
	}
}

func TestATreeThatIsNoPackagesIsRefused(t *testing.T) {
	for what, spoil := range map[string]func(dir string) error{
		"another version": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(`{"lockfileVersion":3,"packages":{"node_modules/@playwright/mcp":{"version":"9.9.9","integrity":"sha512-x"}}}`), 0o644)
		},
		"no integrity": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(`{"lockfileVersion":3,"packages":{"node_modules/@playwright/mcp":{"version":"1.2.3"}}}`), 0o644)
		},
		"no lock": func(dir string) error { return os.Remove(filepath.Join(dir, "package-lock.json")) },
		"no manifest": func(dir string) error {
			return os.Remove(filepath.Join(dir, "node_modules/@playwright/mcp/package.json"))
		},
		"a link out":  func(dir string) error { return os.Symlink("../../../etc/passwd", filepath.Join(dir, "node_modules/x")) },
		"a link away": func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "node_modules/x")) },
		"no program": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "node_modules/@playwright/mcp/package.json"), []byte(`{"bin":{"../../x":"y"}}`), 0o644)
		},
	} {
		k := newKit(t)
		k.Store = filepath.Join(t.TempDir(), "store")
		k.do(t, wire.Servers{Do: "add", Server: "web", Entry: jsontext.Value(`{"command":"npx","args":["-y","@playwright/mcp@1.2.3"]}`)})
		dir := installed(t)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if told, err := k.Do(wire.Servers{Do: "pin", Server: "web", Dir: dir}); err == nil {
			t.Errorf("%s: %s", what, told)
		}
		if at, _, err := k.Installed("web"); at != "" || err != nil {
			t.Errorf("%s: installed in %s, %v", what, at, err)
		}
	}
}
