package secrets

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/wire"
)

func TestALineIsReadWithTheKeysOfATerminal(t *testing.T) {
	for in, want := range map[string]string{"abc\r": "abc", "abx\x7fc\n": "abc", "wrong\x15right\r": "right", "a\u00e9\x7fb\r": "ab", "\x7f\x7fa\r": "a", " a b \r": " a b ", "\r": ""} {
		if got, err := typed(strings.NewReader(in)); err != nil || string(got) != want {
			t.Errorf("%q is read as %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"abc", "abc\x03", "\x04", strings.Repeat("a", maxLine+1) + "\r"} {
		if got, err := typed(strings.NewReader(in)); err == nil || got != nil {
			t.Errorf("%.20q: %.20q, %v", in, got, err)
		}
	}
}

// told is a daemon that notes what it is asked.
type told struct {
	state wire.VaultState
	holds []wire.VaultEntry
	asked []wire.Vault
	given []string
}

func (k *told) Vault(_ context.Context, w wire.Vault, in []byte, _ bool) (wire.Vaulted, []byte, error) {
	switch w.Do {
	case "status":
		return wire.Vaulted{State: k.state}, nil, nil
	case "ls":
		return wire.Vaulted{Entries: k.holds}, nil, nil
	}
	k.asked, k.given = append(k.asked, w), append(k.given, string(in))
	if w.Do == "init" {
		k.state.Exists = true
	}
	return wire.Vaulted{}, []byte("shown value"), nil
}

func desk(t *testing.T, k *told, in string) (*Desk, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &Desk{Stdin: strings.NewReader(in), Stdout: out, Stderr: out, Dir: t.TempDir(), Home: t.TempDir(), Client: func() (Keeper, error) { return k, nil },
		Present: func(string, string) error { return nil },
		Exit: func(err error) int {
			if errors.Is(err, reeve.ErrUsage) {
				return 2
			} else if err != nil {
				return 1
			}
			return 0
		}, Program: func(args []string) int { return len(args) }}, out
}

// TestAValueNeverComesFromAnArgument: standard input alone, and one line end is no part of it.
func TestAValueNeverComesFromAnArgument(t *testing.T) {
	for in, want := range map[string]string{"value\n": "value", "value\r\n": "value", "two\nlines\n": "two\nlines", "value": "value"} {
		k := &told{}
		d, _ := desk(t, k, in)
		if code := d.Run([]string{"set", "a/b"}); code != 0 || len(k.asked) != 2 || k.asked[0].Do != "init" || k.asked[0].Holder != "keychain" || k.given[1] != want {
			t.Errorf("%q: exit %d, asked %+v, given %q", in, code, k.asked, k.given)
		}
	}
	for _, args := range [][]string{{"set", "a/b", "value"}, {"set"}, {"set", "a"}, {"get", "a/b", "c"}, {"unlock", "pass"}, {"what"}, {"rekey", "--passphrase", "pass"}, {"set", "a/b"}} {
		d, out := desk(t, &told{state: wire.VaultState{Exists: true}}, "")
		if code := d.Run(args); code != 2 {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
	}
}

// TestGetAsksForPresenceFirst: without it nothing is asked of the daemon.
func TestGetAsksForPresenceFirst(t *testing.T) {
	k := &told{state: wire.VaultState{Exists: true}, holds: []wire.VaultEntry{{Name: "a/b"}}}
	d, out := desk(t, k, "")
	d.Present = func(what, word string) error { return reeve.ErrPresence }
	for _, args := range [][]string{{"get", "a/b"}, {"export", "copy"}} {
		if code := d.Run(args); code == 0 || len(k.asked) != 0 || strings.Contains(out.String(), "shown") {
			t.Errorf("%q: exit %d, asked %+v: %s", args, code, k.asked, out)
		}
	}
	d.Present = func(what, word string) error { return nil }
	if code := d.Run([]string{"get", "a/b"}); code != 0 || out.String()[len(out.String())-11:] != "shown value" {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestTheEnvironmentIsTakenOverByName covers G35, G38: what looks like a
// secret, or is named, and where each is set.
func TestTheEnvironmentIsTakenOverByName(t *testing.T) {
	k := &told{state: wire.VaultState{Exists: true}}
	d, out := desk(t, k, "")
	d.Environ = []string{"HOME=/x", "JIRA_API_TOKEN=j1", "GITHUB_TOKEN=", "SLACK_BOT_TOKEN=s1", "PLAIN=ghp_abcdefghijklmnop", "SSH_AUTH_SOCK=" + d.Home, "SHELL=/bin/sh", "BASH_FUNC_TOKEN%%=() { :; }"}
	files := map[string]string{
		filepath.Join(d.Home, ".bashrc"):                      "x\nexport JIRA_API_TOKEN=a; export OTHER=b\n# SLACK_BOT_TOKEN=c\n",
		filepath.Join(d.Home, ".config/fish/config.fish"):     "set -gx SLACK_BOT_TOKEN abc\nset -gx MY_SLACK_BOT_TOKEN_2 abc\n",
		filepath.Join(d.Dir, ".env"):                          "JIRA_API_TOKEN=a\nNOT_JIRA_API_TOKEN=b\n",
		filepath.Join(d.Home, ".config/environment.d/a.conf"): "PLAIN=a\n",
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if code := d.Run([]string{"import-env"}); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	var names []string
	for _, w := range k.asked {
		names = append(names, w.Do+" "+w.Name+" "+w.Origin)
	}
	if got := strings.Join(names, ", "); got != "set env/JIRA_API_TOKEN env JIRA_API_TOKEN, set env/PLAIN env PLAIN, set env/SLACK_BOT_TOKEN env SLACK_BOT_TOKEN" || strings.Join(k.given, " ") != "j1 ghp_abcdefghijklmnop s1" {
		t.Errorf("asked %s, given %q", got, k.given)
	}
	for _, want := range []string{".bashrc:2\n", "config.fish:1\n", ".env:1\n", "a.conf:1\n", "reeve vault run --env PLAIN=env/PLAIN -- CMD"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Count(out.String(), "remove it from") != 4 || strings.Contains(out.String(), "ghp_") {
		t.Errorf("it says\n%s", out)
	}
}

// TestNothingIsTypedInVain: what cannot be done is said before a value, a word or a
// passphrase is asked for.
func TestNothingIsTypedInVain(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{"set", "a/b"}, "holds a/b already", 2}, {[]string{"rotate", "c/d"}, "holds no c/d", 1}, {[]string{"get", "c/d"}, "holds no c/d", 1}, {[]string{"get", "../d"}, "names no secret", 2},
		{[]string{"rm", "c/d"}, "holds no c/d", 1}, {[]string{"import", "gone"}, "gone: no such file", 2}, {[]string{"import", "."}, "is no file", 2}, {[]string{"export", "."}, "is there already", 2},
	} {
		k := &told{state: wire.VaultState{Exists: true, Locked: true, Holder: passphrase}, holds: []wire.VaultEntry{{Name: "a/b"}}}
		d, out := desk(t, k, "")
		d.Hidden = func(prompt string) ([]byte, error) {
			if !strings.HasPrefix(prompt, "passphrase of the vault") {
				t.Errorf("%q asks: %s", c.args, prompt)
			}
			return []byte("five words are long enough"), nil
		}
		d.Present = func(what, word string) error { t.Errorf("%q asks for presence", c.args); return nil }
		if code := d.Run(c.args); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: exit %d: %s", c.args, code, out)
		}
	}
}

func TestRunIsLeftToReeveRun(t *testing.T) {
	d, _ := desk(t, &told{}, "")
	if code := d.Run([]string{"run", "--env", "A=b/c", "--", "x"}); code != 4 {
		t.Errorf("exit %d", code)
	}
}
