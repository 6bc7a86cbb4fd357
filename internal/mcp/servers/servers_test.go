package servers

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/upstream"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

func TestTheCommonFormIsRead(t *testing.T) {
	set, err := Parse("mcp.json", []byte(`{
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "autoApprove": ["read_file"],
      "x-guard": {"sandbox": {"read": ["."], "write": ["~/notes"], "net": "none"}, "protocol": "2025-11-25"}},
    "web": {"command": "web", "env": {"A": "b"}, "x-guard": {"stateful": true, "sandbox": {"net": ["docs.example.org"]},
      "limits": {"call": "60s", "output": 100000, "memory": "2GiB", "processors": "1.5"}, "asks": {"roots": "client", "sampling": "client", "elicitation": "none"}}},
    "tracker": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "disabled": true}
  },
  "globalShortcut": "Ctrl+Q"
}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Server{
		{Name: "files", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."},
			Guard: Guard{Read: []string{"."}, Write: []string{"~/notes"}, Protocol: upstream.EraLegacy, Roots: Granted, Elicitation: Client}},
		{Name: "tracker", URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}, Disabled: true,
			Guard: Guard{Roots: Granted, Elicitation: Client}},
		{Name: "web", Command: "web", Env: map[string]string{"A": "b"},
			Guard: Guard{Net: NetHosts, Hosts: []string{"docs.example.org"}, Idle: -1, Call: time.Minute, Output: 100000, Memory: 2 << 30, Processors: 1500, Roots: Client, Sampling: Client}},
	}
	if !reflect.DeepEqual(set.All, want) {
		t.Errorf("got %+v\nwant %+v", set.All, want)
	}
	if notes := strings.Join(set.Notes, "\n"); notes != "mcp.json: \"globalShortcut\" is not used\nmcp.json: server files: \"autoApprove\" is not used" {
		t.Errorf("notes %q", notes)
	}
	if s, ok := set.Of("web"); !ok || s.Command != "web" {
		t.Errorf("found %+v, %v", s, ok)
	}
	if _, ok := set.Of("we"); ok {
		t.Error("found a server that is not there")
	}
}

func TestWhatIsNotMeantIsRefusedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`:                        "mcp.json:1:",
		"{\n \"mcpServers\": {,}}":                                                              "mcp.json:2:17",
		`{"mcpServers": {"A B": {"command": "x"}}}`:                                             "no name of a server",
		`{"mcpServers": {"a__b": {"command": "x"}}}`:                                            "no name of a server",
		`{"mcpServers": {"a": {"url": "https://me:word@example.com/mcp"}}}`:                     `url holds a user or a password; put it into headers`,
		`{"mcpServers": {"a": {"url": "ftp://x"}}}`:                                             `url is "ftp://x"; write an address`,
		`{"mcpServers": {"a": {"command": 3}}}`:                                                 "server a: at /command there is a number, which does not belong there",
		"{\n\"mcpServers\": {":                                                                  "mcp.json:2:16: the file ends before its JSON does",
		`{"mcpServers": {"nul": {"command": "x"}}}`:                                             "device on Windows",
		`{"mcpServers": {"a": {}}}`:                                                             "neither a command nor a url",
		`{"mcpServers": {"a": {"command": "x", "url": "https://x"}}}`:                           "one of them",
		`{"mcpServers": {"a": {"url": "https://x", "type": "sse"}}}`:                            "streamable HTTP",
		`{"mcpServers": {"a": {"command": "x", "type": "http"}}}`:                               "leave it out",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"sandbx": {}}}}}`:                    "sandbx",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"sandbox": {"net": "opne"}}}}}`:      "neither none nor open",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"sandbox": {"read": ["src"]}}}}}`:    "neither absolute nor below",
		`{"mcpServers": {"a": {"url": "https://x", "x-guard": {"sandbox": {"read": ["."]}}}}}`:  "has a url",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"limits": {"call": "never"}}}}}`:     "call is",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"limits": {"memory": "much"}}}}}`:    "memory",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"asks": {"sampling": "granted"}}}}}`: "sampling",
		`{"mcpServers": {"a": {"command": "x", "x-guard": {"protocol": "3"}}}}`:                 "protocol",
		`{"mcpServers": {"a": {"command": "x", "env": {"A B": "x"}}}}`:                          "no name of a variable",
		`{"mcpServers": {"a": {"url": "https://x", "headers": {"A": "x\r\nB: y"}}}}`:            "no header",
		`{"mcpServers": {"a": {"command": "x", "headers": {"A": "x"}}}}`:                        "an address's",
	} {
		set, err := Parse("mcp.json", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %+v, %v, want %q", text, set, err, want)
		}
	}
}

func TestTheHashIsOfWhatWasConfigured(t *testing.T) {
	base := Server{Name: "a", Command: "x", Args: []string{"1", "2"}, Env: map[string]string{"K": "v"}}
	seen := map[string]string{base.Hash(): "base"}
	for name, change := range map[string]func(*Server){
		"name":    func(s *Server) { s.Name = "b" },
		"command": func(s *Server) { s.Command = "y" },
		"args":    func(s *Server) { s.Args = []string{"12"} },
		"order":   func(s *Server) { s.Args = []string{"2", "1"} },
		"env":     func(s *Server) { s.Env = map[string]string{"K": "w"} },
		"cwd":     func(s *Server) { s.Dir = "/" },
		"url":     func(s *Server) { s.URL = "https://x" },
		"headers": func(s *Server) { s.Headers = map[string]string{"K": "v"} },
		"read":    func(s *Server) { s.Guard.Read = []string{"."} },
		"write":   func(s *Server) { s.Guard.Write = []string{"."} },
		"net":     func(s *Server) { s.Guard.Net = NetOpen },
		"sockets": func(s *Server) { s.Guard.Sockets = true },
		"asks":    func(s *Server) { s.Guard.Sampling = Client },
	} {
		other := base
		change(&other)
		h := other.Hash()
		if before := seen[h]; before != "" {
			t.Errorf("a change of %s has the hash of %s", name, before)
		}
		seen[h] = name
	}
	again := Server{Name: "a", Command: "x", Args: []string{"1", "2"}, Env: map[string]string{"K": "v"}, Disabled: true}
	if again.Hash() != base.Hash() {
		t.Error("switching a server off makes another of it")
	}
}

func TestReferencesStandForTheEnvironment(t *testing.T) {
	s := Server{Name: "a", Command: "x", Args: []string{"--token=${T}", "$T ${} ${not a name} ${T"}, Env: map[string]string{"K": "${A}-${B}"}, Headers: map[string]string{"H": "Bearer ${A}"}}
	if got := strings.Join(s.References(), " "); got != "A B T" {
		t.Errorf("references %q", got)
	}
	env := map[string]string{"A": "1", "B": "${A}", "T": "3"}
	r, values, err := s.Resolved(func(n string) string { return env[n] }, nil)
	if err != nil || r.Env["K"] != "1-${A}" || r.Headers["H"] != "Bearer 1" || r.Args[0] != "--token=3" || r.Args[1] != s.Args[1] || len(values) != 4 {
		t.Errorf("resolved to %+v, %q, %v", r, values, err)
	}
	if s.Args[0] != "--token=${T}" || s.Env["K"] != "${A}-${B}" {
		t.Errorf("the original became %+v", s)
	}
	delete(env, "B")
	if _, _, err := s.Resolved(func(n string) string { return env[n] }, nil); err == nil || !strings.Contains(err.Error(), "variable B is not set") {
		t.Errorf("without B: %v", err)
	}
}

// TestReferencesToTheVaultAreResolvedAtTheStart: whole values and parts of env
// and headers, and nothing else.
func TestReferencesToTheVaultAreResolvedAtTheStart(t *testing.T) {
	asked := 0
	vault := ref.ResolverFunc(func(n ref.Name) ([]byte, error) {
		if asked++; n.Service == "none" {
			return nil, errors.New("there is none")
		}
		return []byte("<" + n.String() + ">"), nil
	})
	set, err := Parse("f", []byte(`{"mcpServers":{
		"a":{"command":"x","env":{"K":"reeve://github/token","P":"a ${reeve://db/pass}, ${V}"}},
		"b":{"url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${reeve://github/token}"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := set.All[0], set.All[1]
	if got := strings.Join(a.Secrets(), " "); got != "db/pass github/token" || strings.Join(a.References(), " ") != "V" || strings.Join(a.FromEnvironment(), " ") != "V" {
		t.Errorf("stands on %q, %q", got, a.References())
	}
	env := func(string) string { return "v" }
	ra, values, err := a.Resolved(env, vault)
	if err != nil || ra.Env["K"] != "<github/token>" || ra.Env["P"] != "a <db/pass>, v" || len(values) != 3 || a.Env["K"] != "reeve://github/token" {
		t.Errorf("%+v, %q, %v", ra, values, err)
	}
	if rb, _, err := b.Resolved(env, vault); err != nil || rb.Headers["Authorization"] != "Bearer <github/token>" {
		t.Errorf("%+v, %v", rb, err)
	}
	if _, _, err := a.Resolved(env, vault); err != nil || asked != 5 {
		t.Errorf("a second start asked %d times in all: %v", asked, err)
	}
	for what, text := range map[string]string{
		"in an argument":    `{"command":"x","args":["--token=${reeve://a/b}"]}`,
		"as an argument":    `{"command":"x","args":["reeve://a/b"]}`,
		"in an address":     `{"url":"https://x.example/${reeve://a/b}"}`,
		"of no secret":      `{"command":"x","env":{"K":"reeve://a"}}`,
		"of another shape":  `{"command":"x","env":{"K":"${reeve://a/b/c}"}}`,
		"out of its folder": `{"command":"x","env":{"K":"reeve://../b"}}`,
	} {
		if _, err := Parse("f", []byte(`{"mcpServers":{"a":`+text+`}}`)); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
	for what, s := range map[string]Server{
		"none there":            {Name: "a", Command: "x", Env: map[string]string{"K": "reeve://none/b"}},
		"a header with a break": {Name: "a", URL: "https://x", Headers: map[string]string{"H": "${V}"}},
		"past the reader":       {Name: "a", Command: "x", Args: []string{"reeve://a/b"}},
	} {
		if _, _, err := s.Resolved(func(string) string { return "a\nb" }, vault); err == nil || !strings.Contains(err.Error(), "server a") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTheBookFollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	b := NewBook(dir)
	if set, err := b.Servers(); err != nil || len(set.All) != 0 {
		t.Errorf("no file: %+v, %v", set, err)
	}
	file := filepath.Join(dir, File)
	write := func(text string, mode os.FileMode) {
		t.Helper()
		os.Remove(file)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"mcpServers":{"a":{"command":"x"}}}`, 0o600)
	first, err := b.Servers()
	if err != nil || len(first.All) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, _ := b.Servers(); again != first {
		t.Error("an unchanged file was read again")
	}
	write(`{"mcpServers":{"a":{"command":"y"},"b":{"command":"z"}}}`, 0o600)
	if set, err := b.Servers(); err != nil || len(set.All) != 2 || set.All[0].Command != "y" {
		t.Errorf("after a change: %+v, %v", set, err)
	}
	write(`{"mcpServers":{"a":{"command":"evil"}}}`, 0o666)
	if set, err := b.Servers(); err == nil || set != nil || !strings.Contains(err.Error(), "may be written by others") {
		t.Errorf("written by others: %+v, %v", set, err)
	}
	write(`{"mcpServers":`, 0o600)
	if set, err := b.Servers(); err == nil || set != nil {
		t.Errorf("cut off: %+v, %v", set, err)
	}
}

// FuzzParse: what is taken has good names and exactly one way to be reached.
func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x","args":["${T}"],"x-guard":{"sandbox":{"net":["h"]}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse("f", []byte(text))
		if err != nil {
			return
		}
		for _, s := range set.All {
			if CheckName(s.Name) != nil || (s.Command == "") == (s.URL == "") {
				t.Errorf("took %+v", s)
			}
			if _, _, err := s.Resolved(func(string) string { return "v" }, ref.ResolverFunc(func(ref.Name) ([]byte, error) { return []byte("s"), nil })); err != nil {
				t.Error(err)
			}
		}
	})
}
