package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/ingress/codex"
)

func TestCodexsHooksGoInAndComeOutByteForByte(t *testing.T) {
	command, err := Codex.Command("/usr/local/bin/reeve", home("/h/r"))
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range settings(t) {
		with, err := Codex.Add([]byte(src), true, command)
		if err != nil || string(with) == src {
			t.Fatalf("%s: %v\n%s", name, err, with)
		}
		if twice, err := Codex.Add(with, true, command); err != nil || string(twice) != string(with) {
			t.Errorf("%s: a second time %v\n%s", name, err, twice)
		}
		if after, exists, err := Codex.Remove(with); err != nil || !exists || string(after) != src {
			t.Errorf("%s: add, then remove\n got %q (exists %v, %v)\nwant %q", name, after, exists, err, src)
		}
		// One client's hooks are nothing to the other.
		if after, _, err := Claude.Remove(with); err != nil || string(after) != string(with) {
			t.Errorf("%s: Claude Code's uninstall changed it: %v\n%s", name, err, after)
		}
		if got := len(Codex.Trusts("/h/hooks.json", with)); got != len(Codex.Events) {
			t.Errorf("%s: %d entries of trust, want %d", name, got, len(Codex.Events))
		}
	}
}

func TestTrustNamesEachHookByItsPlaceAndItsText(t *testing.T) {
	src := `{"hooks":{"PreToolUse":[{"matcher":"^Bash$","hooks":[{"type":"command","command":"x"},{"type":"command","command":"'/r' hook claude || exit 2"}]}]}}`
	command, _ := Codex.Command("/r", home(""))
	with, err := Codex.Add([]byte(src), true, command)
	if err != nil {
		t.Fatal(err)
	}
	all := "*"
	want := []codex.Trust{
		{Key: "/c/hooks.json:pre_tool_use:1:0", Digest: codex.Digest("PreToolUse", &all, command, 600)},
		{Key: "/c/hooks.json:permission_request:0:0", Digest: codex.Digest("PermissionRequest", &all, command, 60)},
		{Key: "/c/hooks.json:post_tool_use:0:0", Digest: codex.Digest("PostToolUse", &all, command, 60)},
		{Key: "/c/hooks.json:session_end:0:0", Digest: codex.Digest("SessionEnd", nil, command, 3)},
	}
	if got := Codex.Trusts("/c/hooks.json", with); !slices.Equal(got, want) {
		t.Errorf("trust\n got %+v\nwant %+v", got, want)
	}
	weak := strings.Replace(string(with), `"timeout": 600`, `"timeout": 1`, 1)
	if got := Codex.Trusts("/c/hooks.json", []byte(weak)); got[0].Digest == want[0].Digest {
		t.Error("a hook that was changed has the digest of the one that was trusted")
	}
	if got := Claude.Trusts("/c/settings.json", []byte(src)); got != nil {
		t.Errorf("Claude Code has entries of trust: %v", got)
	}
}

// Codex lets a call through on exit code 2 with nothing on standard error, and
// on every other code but 0.
func TestTheCommandOfCodexDeniesAloudWhateverBecomesOfReeve(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "re'eve x")
	command, err := Codex.Command(program, home(""))
	if err != nil {
		t.Fatal(err)
	}
	shells := []string{"/bin/sh", "bash", "dash", "zsh"}
	for _, tt := range []struct {
		name, script string
		code         int
		says         string
	}{
		{"allowed", "exit 0", 0, ""},
		{"denied", "echo 'for a reason' >&2; exit 2", 2, "for a reason\n"},
		{"failed", "exit 1", 2, "Reeve's hook did not work, so this call is denied"},
		{"killed", "kill -9 $$", 2, "Reeve's hook did not work, so this call is denied"},
		{"gone", "", 2, "Reeve's hook did not work, so this call is denied"},
	} {
		os.Remove(program)
		if tt.script != "" {
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, shell := range shells {
			at, err := exec.LookPath(shell)
			if err != nil {
				continue // not every system has every shell
			}
			cmd := exec.Command(at, "-c", command)
			var says strings.Builder
			cmd.Stderr = &says
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || len(out) != 0 || !strings.Contains(says.String(), tt.says) || tt.code == 0 && says.Len() != 0 {
				t.Errorf("%s in %s: exit code %d, %q, %q (%v); want %d and %q", tt.name, shell, code, out, says.String(), err, tt.code, tt.says)
			}
		}
	}
}

func TestCodexsFilesAreFound(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, moved, repo := filepath.Join(root, "home"), filepath.Join(root, "moved"), filepath.Join(root, "repo")
	for _, dir := range []string{filepath.Join(home, ".codex"), moved, filepath.Join(repo, ".git"), filepath.Join(repo, "a", "b")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(home, ".codex", "work.config.toml"), "", 0o600)
	link := filepath.Join(root, "link")
	if err := os.Symlink(moved, link); err != nil {
		t.Fatal(err)
	}
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	target, others, err := Codex.Locate(env(map[string]string{"HOME": home}), filepath.Join(repo, "a", "b"), false)
	if err != nil || target != filepath.Join(home, ".codex", "hooks.json") || Codex.TrustFile(target) != filepath.Join(home, ".codex", "config.toml") {
		t.Fatalf("%q, %v", target, err)
	}
	for _, want := range []Source{
		{Path: filepath.Join(home, ".codex", "work.config.toml")}, {Path: filepath.Join(repo, ".codex", "config.toml"), Project: true},
		{Path: filepath.Join(repo, "a", "b", ".codex", "config.toml"), Project: true}, {Path: "/etc/codex/requirements.toml", Managed: true},
	} {
		if !slices.Contains(others, want) {
			t.Errorf("%+v is not looked at: %+v", want, others)
		}
	}
	if slices.Contains(others, Source{Path: filepath.Join(root, ".codex", "config.toml"), Project: true}) {
		t.Error("the way up does not end at the project's root")
	}
	// Codex spells a folder that is named for it without links.
	if target, _, err = Codex.Locate(env(map[string]string{"HOME": home, "CODEX_HOME": link}), repo, false); err != nil || target != filepath.Join(moved, "hooks.json") {
		t.Errorf("%q, %v", target, err)
	}
	for _, bad := range []map[string]string{nil, {"HOME": "h"}, {"CODEX_HOME": filepath.Join(root, "none")}} {
		if target, _, err := Codex.Locate(env(bad), repo, false); err == nil {
			t.Errorf("%v gives %q", bad, target)
		}
	}
	if target, _, err := Codex.Locate(env(map[string]string{"HOME": home}), repo, true); err == nil {
		t.Errorf("a project's file: %q", target)
	}
}

func TestWhatCodexPassesByIsSaid(t *testing.T) {
	command, _ := Codex.Command("/r", home(""))
	after, err := Codex.Add([]byte("{\n  \"hooks\": {},\n  \"model\": 1\n}"), true, command)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	project, pins := filepath.Join(dir, "config.toml"), filepath.Join(dir, "requirements.toml")
	put(t, project, "[features]\nhooks = false\n", 0o600)
	off := "[features]\nhooks = false\n"
	notes := strings.Join(Codex.ExamineAll("/c/hooks.json", after, []byte(off), []Source{{Path: project, Project: true}, {Path: filepath.Join(dir, "none.toml")}}), "\n")
	for _, want := range []string{
		`/c/hooks.json:3:3: "model"; Codex loads nothing of a file with a name that it does not know`, "/c/config.toml:2: features.hooks: no hook runs",
		project + ":2: features.hooks: once you trust this project", "write_stdin", "600 s", "--ignore-user-config", "requirements.toml with [features] hooks = true forbids it",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	put(t, pins, "[features]\nhooks = true\n", 0o600)
	if notes := strings.Join(Codex.ExamineAll("/c/hooks.json", after, nil, []Source{{Path: pins, Managed: true}}), "\n"); strings.Contains(notes, "forbids it") {
		t.Errorf("hooks are pinned, and yet:\n%s", notes)
	}
	for src, want := range map[string]string{
		"\xef\xbb\xbf{}": "f:1:1: a byte order mark; Codex loads nothing",
		"{\n// x\n}":     "f:2:1: a comment; Codex loads nothing",
		`{"hooks":{"PermissionRequest":[{"hooks":[{"command":"x"}]}]}}`: `f:1:42: another hook runs at PermissionRequest ("x"): it may answer Codex's own questions`,
		`{"disableAllHooks":true,"hooks":{}}`:                           `f:1:2: "disableAllHooks"; Codex loads nothing`,
	} {
		if got := Codex.Examine("f", []byte(src), false); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
