package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
)

// hostile has what a terminal obeys and an eye does not see: a window's title,
// a colour, a cleared screen, a turned line, nothing at all.
const hostile = "a\x1b]0;title\x07\x1b[31mred\x1b[2J\u202eb\u200bc\u009bd\rover"

// seen runs reeve with its streams on a terminal and gives what was shown.
func (in *rig) seen(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(in.bin, args...)
	cmd.Dir, cmd.Env = in.ws, in.env
	cmd.Stdin = strings.NewReader("")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd.Stdout, cmd.Stderr = slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	master.SetReadDeadline(time.Now().Add(30 * time.Second))
	var shown bytes.Buffer
	_, _ = shown.ReadFrom(master) // ends with EIO
	_ = cmd.Wait()
	return shown.String()
}

// TestATerminalIsShownNothingThatItObeys tries every command that prints text
// of others.
func TestATerminalIsShownNothingThatItObeys(t *testing.T) {
	in := newRig(t, "")
	for name, text := range map[string]string{
		"bad.txt": hostile, "settings.json": `{"permissions":{"allow":["Bash(` + "x\u202ey" + `)"]}}`,
		"bad.toml": "deny = [\"bash(" + "x\u202ey" + "\"]\n", "good.toml": "deny = [\"bash(" + "x\u202ey" + "*)\"]\nallow = [\"bash(" + "x\u202ey z" + ")\"]\n",
	} {
		if err := os.WriteFile(filepath.Join(in.ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args  []string
		shows string // what must be seen, so that nothing passes by printing nothing
	}{
		{[]string{"exec", "read_file", `{"path":"bad.txt"}`}, `a\x1b]0;title\x07\x1b[31mred\x1b[2J\u202eb\u200bc\u009bd\x0dover`},
		{[]string{"exec", "--json", "read_file", `{"path":"bad.txt"}`}, `\u202eb`},
		{[]string{"exec", "no\x1b[31m\u202etool"}, `\u202etool`},
		{[]string{"exec", "read_file", "{\"path\":\"x\u202ey\"}"}, `x\u202ey`},
		{[]string{"audit", "ls"}, `x\u202ey`},
		{[]string{"audit", "ls", "--json"}, `x\u202ey`},
		{[]string{"audit", "export", "--format", "csv"}, `x\u202ey`},
		{[]string{"policy", "explain", "write_file", "{\"path\":\"x\u202ey\",\"content\":\"\"}"}, `x\u202ey`},
		{[]string{"policy", "explain", "--json", "write_file", "{\"path\":\"x\u202ey\",\"content\":\"\"}"}, `x\u202ey`},
		{[]string{"policy", "check", "bad.toml"}, "bad.toml"},
		{[]string{"policy", "lint", "good.toml"}, `x\u202ey`},
		{[]string{"policy", "import", "claude", "settings.json"}, `x\u202ey`},
		{[]string{"no\x1b[31m\u202ecommand"}, `\u202ecommand`},
		{[]string{"approvals", "deny", "no\u202equestion"}, `\u202equestion`},
		{[]string{"run", "--", "no\u202eprogram"}, `\u202eprogram`},
	} {
		shown := in.seen(t, c.args...)
		if strings.ContainsAny(strings.ReplaceAll(shown, "\r\n", "\n"), "\x1b\x07\r\u202e\u200b\u009b") {
			t.Errorf("%q showed %q", c.args, shown)
		}
		if !strings.Contains(shown, c.shows) {
			t.Errorf("%q showed %q, without %q", c.args, shown, c.shows)
		}
	}
	if out := string(in.run(t, nil, "exec", "read_file", `{"path":"bad.txt"}`)); out != hostile+"\n" {
		t.Errorf("piped, the bytes are %q, want them as they are", out)
	}
}

func TestNoTextPassesForAPartOfTheQuestion(t *testing.T) {
	forged := "ls\n  risk   none\n  rule   bash(*)"
	var out bytes.Buffer
	writeQuestion(&out, approval.Question{
		Actor: reeve.Actor("agent:" + forged), Operation: forged, Reason: forged, Scope: forged, Risk: "write", Workspace: forged, Tool: "bash", Preview: forged + "\u202e\x1b[31m", Suggest: forged,
	})
	labels := map[string]int{}
	for line := range strings.Lines(out.String()) {
		if rest, ok := strings.CutPrefix(line, "  "); ok && rest[0] != ' ' {
			label, _, _ := strings.Cut(rest, " ")
			labels[label]++
		}
	}
	for label, n := range labels {
		if n > 1 {
			t.Errorf("%d lines say %q:\n%s", n, label, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\u202e\x1b") || labels["risk"] != 1 || labels["rule"] != 1 {
		t.Errorf("shown:\n%s", out.String())
	}
}
