//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/anthropictest"
	"github.com/reeve-gate/reeve/internal/openaitest"
)

// toldScripts are what an agent runs in a run: each meets the boundary.
func toldScripts(t *testing.T, put func(name, text string)) {
	t.Helper()
	outside, err := os.MkdirTemp("/var/tmp", "reeve-outside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(outside) })
	put("net.sh", "curl -sS -m 30 https://refused.example/; curl -sS -m 30 https://refused.example/again; exit 0\n")
	put("escape.sh", "echo out > "+filepath.Join(outside, "shell.out")+"\n")
}

const toldPolicy = `
deny = ["web(domain:refused.example)"]
allow = ["bash(sh ./*)"]
`

// wantTold wants each fact once in what the model was told, and nothing of what
// no call named.
func wantTold(t *testing.T, body string, facts ...string) {
	t.Helper()
	for _, fact := range facts {
		if n := strings.Count(body, fact); n != 1 {
			t.Errorf("the model was told %d times of %q, want once, in\n%s", n, fact, body[max(0, len(body)-6000):])
		}
	}
}

func TestClaudeCodeIsToldWhatItsRunWasRefused(t *testing.T) {
	d := newDesk(t, toldPolicy, "")
	if _, err := d.person(d.bin, "doctor"); err != nil {
		t.Skipf("no boundary here: %v", err)
	}
	toldScripts(t, func(name, text string) {
		if err := os.WriteFile(filepath.Join(d.work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	d.reeve("install", "claude")
	p := d.start(anthropictest.Turns(bash("toolu_net", "sh ./net.sh"), bash("toolu_escape", "sh ./escape.sh"), bash("toolu_again", "sh ./escape.sh; sh ./net.sh")), d.bin, "run", "--")
	d.wait(p)
	all := p.model.Requests()
	body := string(all[len(all)-1].Body)
	wantTold(t, body, `The connection to \"refused.example:443\" was refused by `, "A read-only file system was met: a run writes only the workspace")
	if !strings.Contains(p.out.String(), "refused: refused.example:443") {
		t.Errorf("the person is not told any more:\n%s", p.out)
	}
}

func TestCodexIsToldWhatItsRunWasRefused(t *testing.T) {
	d := newCodexDesk(t, toldPolicy, "")
	if _, err := d.person(d.bin, "doctor"); err != nil {
		t.Skipf("no boundary here: %v", err)
	}
	toldScripts(t, func(name, text string) {
		if err := os.WriteFile(filepath.Join(d.work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	d.reeve("install", "codex")
	r := d.start(openaitest.Turns(shellCall("call_net", "sh ./net.sh"), shellCall("call_escape", "sh ./escape.sh"), shellCall("call_again", "sh ./escape.sh; sh ./net.sh")), []string{d.bin, "run", "--"})
	d.wait(r)
	all := r.model.Requests()
	wantTold(t, string(all[len(all)-1].Body), `The connection to \"refused.example:443\" was refused by `, "A read-only file system was met: a run writes only the workspace")
}
