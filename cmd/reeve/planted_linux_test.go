package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/mcptest"
)

// planted are secrets, each put through one place where something comes in, so
// that one that is found says where it got through.
type planted struct {
	t    *testing.T
	rng  *rand.Rand
	all  map[string]string // secret to place
	held string            // a value that the settings name; it goes through every place
}

// line is a text for a place with three secrets in it: by its form, by its
// name and by its value.
func (p *planted) line(place string) string {
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[p.rng.IntN(62)]
		}
		return string(b)
	}
	token, password := word(36), "pw"+word(14)+"9"
	p.all[token], p.all[password] = place+", by its form", place+", by its name"
	return fmt.Sprintf("use ghp_%s, DB_PASSWORD=%s, and %s now", token, password, p.held)
}

// forms are the spellings in which a secret could be read.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	all := []string{secret, strings.ToLower(secret), string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for offset := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:offset] + secret))
		all = append(all, text[offset+1:len(text)-2])
	}
	return append(all, secret[:len(secret)/2], secret[len(secret)/2:]) // cut by a page or a chunk
}

// none fails where any secret can be read in a text.
func (p *planted) none(where string, text []byte) {
	p.t.Helper()
	for secret, place := range p.all {
		for _, form := range forms(secret) {
			if i := bytes.Index(text, []byte(form)); i >= 0 {
				p.t.Errorf("%s holds what came in by %s: %q", where, place, text[max(0, i-80):min(len(text), i+80)])
				break
			}
		}
	}
}

// nowhere reads every file below dir as raw bytes, whatever it is.
func (p *planted) nowhere(when, dir string) (files int) {
	p.t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		p.none(when+", the name of a file", []byte(path))
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		p.none(when+", "+strings.TrimPrefix(path, dir), text)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

// TestAPlantedSecretIsNowhereUnderTheState puts secrets through arguments,
// results, errors, denials, questions, hooks of both agents, MCP servers and
// their standard error, a kept session's screen and the daemon's own log, and
// reads every byte below the state directory, the pages of databases and their
// write-ahead logs included, while the daemon runs and after it has ended.
func TestAPlantedSecretIsNowhereUnderTheState(t *testing.T) {
	p := &planted{t: t, rng: rand.New(rand.NewPCG(rand.Uint64(), 1)), all: map[string]string{}}
	p.held = "correct/horse+\"battery\"-" + fmt.Sprint(p.rng.Uint64())
	p.all[p.held] = "somewhere, by its value"
	stderrOf, mcpText := p.line("a server's standard error"), p.line("a server's result")
	d := bareDesk(t, ".none", "allow = [\"bash\", \"mcp__legacy\"]\nask = [\"bash(make *)\"]\ndeny = [\"bash(sudo *)\"]", "[redact]\nsecrets = [\"HELD_WORD\"]\n[approval]\nunattended = \"deny\"\n")
	d.env = append(d.env, "HELD_WORD="+p.held)
	(&rig{bin: d.bin, ws: d.work, env: d.env}).needsSandbox(t)
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	sh := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	// A server of these tests says on its standard error how it was started.
	d.servers(fmt.Sprintf(`{"mcpServers":{"legacy":{"command":%q,"args":["-test.run=^$"],"env":{%q:%s}}}}`, os.Args[0], mcptest.Env, quote("legacy,"+stderrOf)))

	// A kept session, whose screen is its log.
	if err := os.WriteFile(filepath.Join(d.work, "shown"), []byte(p.line("a session's screen")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(d.reeve("run", "--detach", "--", "sh", "-c", "cat shown; dd if=shown bs=7 2>/dev/null; cat shown >&2; echo the end"))
	logs := d.reeve("sessions", "logs", "-f", id)
	has(t, "the session's log", logs, "the end", "[REDACTED")
	p.none("the session's log", []byte(logs))

	// The commands' own door, with what it shows.
	for place, args := range map[string][]string{
		"arguments and result": {"exec", "bash", `{"command":%s}`, "echo %s"},
		"a command that fails": {"exec", "bash", `{"command":%s}`, "echo %s >&2; exit 3"},
		"a missing file":       {"exec", "read_file", `{"path":%s}`, "%s.txt"},
		"a file's content":     {"exec", "write_file", `{"path":"new.txt","content":%s}`, "%s"},
		"a denied command":     {"exec", "--as", "agent:a", "bash", `{"command":%s}`, "sudo echo %s"},
		"an asked command":     {"exec", "--as", "agent:a", "bash", `{"command":%s}`, "make %s"},
		"bad arguments":        {"exec", "bash", `{"command":7,"x":%s}`, "%s"},
		"an unknown tool":      {"exec", "no_such_%s", `{"command":%s}`, "%s"},
		"a description":        {"exec", "bash", `{"command":"true","description":%s}`, "%s"},
	} {
		text := p.line(place)
		last := len(args) - 1
		what := args[last]
		if strings.Contains(what, "echo") || strings.Contains(what, "make") {
			what = fmt.Sprintf(what, sh(text))
		} else {
			what = strings.Replace(what, "%s", text, 1)
		}
		args = append([]string{}, args[:last]...)
		args[last-1] = strings.Replace(args[last-1], "%s", quote(what), 1)
		args[last-2] = strings.Replace(args[last-2], "%s", text, 1)
		out, err := d.person(d.bin, args...)
		p.none("what exec shows of "+place, []byte(out))
		if err != nil { // what was typed stands in front
			_, said, _ := strings.Cut(err.Error(), "\n")
			p.none("what exec says of "+place, []byte(said))
		}
	}

	// The hooks of both agents, whole and cut off.
	hook := func(agent, place, event string) {
		cmd := exec.Command(d.bin, "hook", agent)
		cmd.Dir, cmd.Env, cmd.Stdin = d.work, d.env, strings.NewReader(strings.ReplaceAll(event, "@W@", d.work))
		out, _ := cmd.CombinedOutput()
		p.none("the answer of "+place, out)
	}
	for _, agent := range []string{"claude", "codex"} {
		at := func(what string) (string, string) {
			place := what + " of the hook of " + agent
			return place, p.line(place)
		}
		head := `{"session_id":"s1","cwd":"@W@","permission_mode":"default","tool_name":"Bash","tool_use_id":"t1",`
		place, text := at("a call")
		hook(agent, place, head+`"hook_event_name":"PreToolUse","tool_input":{"command":`+quote("echo "+sh(text))+`}}`)
		place, text = at("a result")
		hook(agent, place, head+`"hook_event_name":"PostToolUse","tool_input":{"command":"true"},"tool_response":{"stdout":`+quote(text)+`}}`)
		place, text = at("a denied call")
		hook(agent, place, head+`"hook_event_name":"PreToolUse","tool_input":{"command":`+quote("sudo echo "+sh(text))+`}}`)
		place, text = at("a tool's name")
		hook(agent, place, `{"session_id":"s1","cwd":"@W@","tool_use_id":"t1","hook_event_name":"PreToolUse","tool_name":`+quote(text)+`,"tool_input":{}}`)
		place, text = at("a cut event")
		hook(agent, place, head+`"hook_event_name":"PreToolUse","tool_input":{"command":`+quote(text))
	}

	// An MCP server: its standard error, arguments, results, errors.
	c := d.client("--client", "tester")
	has(t, "the server", c.use("legacy__echo", `{"text":"hello"}`), "hello")
	p.none("a server's result", []byte(c.use("legacy__echo", `{"text":`+quote(mcpText)+`}`)))
	p.none("a tool that is not there", []byte(c.use("legacy__none", `{"text":`+quote(p.line("a call of no tool"))+`}`)))
	p.none("an error", []byte(c.use("legacy__crash", `{"text":`+quote(p.line("a call that ends the server"))+`}`)))
	c.end()

	p.plantDoors(d) // every door of the socket, with what its requests hold

	// What can be read of it all afterwards.
	for _, args := range [][]string{{"audit"}, {"audit", "--json"}, {"audit", "export"}, {"audit", "export", "--format", "csv"}, {"sessions", "--json"}, {"approvals", "ls", "--json"}} {
		p.none("reeve "+strings.Join(args, " "), []byte(d.reeve(args...)))
	}
	has(t, "the record", d.reeve("audit", "--json", "--limit", "0"), "[REDACTED:github-token#", "DB_PASSWORD=[REDACTED]", "hook:claude", "hook:codex", "mcp:tester")
	if n := p.nowhere("while the daemon runs", d.state); n < 5 {
		t.Errorf("only %d files stand in the state directory", n)
	}
	d.down()
	p.nowhere("after its end", d.state)
	t.Logf("%d secrets were planted", len(p.all))
}

// TestThePlantedSecretsAreSearchedFor: a file that holds one in any form is
// noticed, so that the test above can fail.
func TestThePlantedSecretsAreSearchedFor(t *testing.T) {
	const secret = "Zq7xK2mP9vL4tR8wBn3c"
	for _, text := range []string{secret, "x" + secret + "y", base64.StdEncoding.EncodeToString([]byte("ab" + secret + "cd")), base64.StdEncoding.EncodeToString([]byte("a" + secret)), hex.EncodeToString([]byte(secret)), secret[:10], secret[10:]} {
		found := false
		for _, form := range forms(secret) {
			found = found || strings.Contains(text, form)
		}
		if !found {
			t.Errorf("%q is not noticed", text)
		}
	}
}
