package lint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/load"
)

func findings(t *testing.T, rules string) string {
	t.Helper()
	l, err := policy.Parse(policy.LayerUser, "p.toml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range Layers(l) {
		all = append(all, fmt.Sprintf("%s %s", f.Kind, f.Rule))
		if f.Message == "" || !strings.HasPrefix(f.At, "p.toml:") {
			t.Errorf("a finding says where and what: %+v", f)
		}
	}
	return strings.Join(all, "; ")
}

func TestRulesThatDoNotDoWhatTheySeemToAreFound(t *testing.T) {
	for _, c := range []struct{ name, rules, want string }{
		{"shadowed by deny", `deny = ["bash(git *)"]
allow = ["bash(git status *)"]`, "shadowed bash(git status *)"},
		{"shadowed by ask", `ask = ["bash(npm*)"]
allow = ["bash(npm test)"]`, "shadowed bash(npm test)"},
		{"ask shadowed by deny", `deny = ["write(/lib/**)"]
ask = ["write(/lib/a.go)"]`, "shadowed write(/lib/a.go)"},
		{"a host", `deny = ["web(domain:*.example.com)"]
allow = ["web(domain:example.com)"]`, "shadowed web(domain:example.com)"},
		{"not shadowed", `deny = ["bash(git push*)"]
allow = ["bash(git status *)"]`, ""},
		{"not shadowed under a condition", `deny = [{rule = "bash(make *)", when = {mode = "auto"}}]
allow = ["bash(make test *)"]`, ""},
		{"said twice", `allow = ["bash(make *)", "bash(make test)"]`, "repeated bash(make test)"},
		{"said twice in the same words", `deny = ["bash(make *)", "bash(make *)"]`, "repeated bash(make *)"},
		{"every command", `allow = ["bash(*)"]`, "too-wide bash(*)"},
		{"star in the name", `allow = ["bash(ls*)"]`, "too-wide bash(ls*)"},
		{"a program of many uses", `allow = ["bash(git *)"]`, "too-wide bash(git *)"},
		{"every write", `allow = ["write(*)"]`, "too-wide write(*)"},
		{"writes everywhere", `allow = ["write(//**)"]`, "too-wide write(//**)"},
		{"every host", `allow = ["web(domain:*)"]`, "too-wide web(domain:*)"},
		{"every MCP tool", `allow = ["mcp"]`, "too-wide mcp"},
		{"every MCP server", `allow = ["mcp__*__get"]`, "too-wide mcp__*__get"},
		{"leave the sandbox", `allow = ["host(bash(*))"]`, "too-wide host(bash(*))"},
		{"destructive with a star", `allow = [{rule = "bash(rm -r *)", destructive = true}]`, "too-wide bash(rm -r *)"},
		{"an interpreter", `allow = ["bash(python3 *)"]`, "opaque bash(python3 *)"},
		{"an interpreter, exactly", `allow = ["bash(python3 -m build)"]`, ""},
		{"a wrapper", `allow = ["bash(env *)"]`, "opaque bash(env *)"},
		{"a shell", `allow = ["bash(bash -c *)"]`, "opaque bash(bash -c *)"},
		{"the order of flags", `deny = ["bash(rm -rf*)"]`, "evaded bash(rm -rf*)"},
		{"a flag after the sub-command", `deny = ["bash(git push --force*)"]`, "evaded bash(git push --force*)"},
		{"a flag after the sub-command, anywhere too", `deny = ["bash(git push --force*)", "bash(git push * --force*)"]`, ""},
		{"a flag anywhere, but only asked", `deny = ["bash(git push --force*)"]
ask = ["bash(git push * --force*)"]`, "evaded bash(git push --force*)"},
		{"a star before the flag", `deny = ["bash(git push * --force*)"]`, ""},
		{"the bare word", `deny = ["bash(sudo)"]`, "evaded bash(sudo)"},
		{"edit for write", `deny = ["edit(/lib/**)"]`, "evaded edit(/lib/**)"},
		{"a variable for a program", `allow = ["bash(GOFLAGS=-mod=mod go vet)"]`, "no-effect bash(GOFLAGS=-mod=mod go vet)"},
		{"no such tool", `deny = ["bsh(rm *)"]`, "unknown bsh(rm *)"},
		{"clean", `deny = ["bash(sudo *)", "read(**/private/**)"]
ask = ["bash(git push *)"]
allow = ["bash(pytest *)", "write(/lib/**)", "mcp__github__get_*", "grep"]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := findings(t, c.rules); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestABrokenLayerIsAFinding(t *testing.T) {
	f := Layers(policy.Broken(policy.LayerUser, "p.toml", errors.New("p.toml:1:1: x")))
	if len(f) != 1 || f[0].Kind != Broken || f[0].At != "p.toml" {
		t.Errorf("%+v", f)
	}
}

func TestTheBuiltInLayerHasNoIdleRule(t *testing.T) {
	for _, f := range Layers(load.BuiltIn()) {
		if f.Kind == Shadowed || f.Kind == Repeated || f.Kind == Unknown || f.Kind == Wide {
			t.Errorf("%+v", f)
		}
	}
}
