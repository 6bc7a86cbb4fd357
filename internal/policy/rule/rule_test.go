package rule

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/tree"
)

func TestEveryFaultOfAFileIsNamedAtItsPlace(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"unknown key", "p.toml", "deny = []\nalow = []", `p.toml:2:1: unknown key "alow"`},
		{"unknown key, JSON", "p.json", "{\"deny\":[],\n  \"denny\":[]}", `p.json:2:3: unknown key "denny"`},
		{"unknown key of a rule", "p.toml", "deny = [\n  {rule = \"bash(x)\", why = \"y\"}]", `p.toml:2:22: unknown key "why" in a rule`},
		{"no rule", "p.toml", `deny = [{reason = "x"}]`, "p.toml:1:9: this rule has no key rule"},
		{"not a list", "p.toml", `deny = "bash(x)"`, "p.toml:1:8: deny must be a list, not a string"},
		{"not a rule", "p.toml", "deny = [\n true]", "p.toml:2:2: a rule is a string or a table"},
		{"a number", "p.json", `{"deny":[1]}`, "p.json:1:10: a rule is a string or a table"},
		{"open parenthesis", "p.toml", `deny = ["bash(rm *"]`, "p.toml:1:9: rule \"bash(rm *\": the parenthesis is not closed"},
		{"empty parentheses", "p.toml", `deny = ["bash()"]`, "p.toml:1:9: rule"},
		{"empty rule", "p.toml", `deny = [""]`, "p.toml:1:9: rule"},
		{"allow for everything", "p.toml", `allow = ["*"]`, "p.toml:1:10: rule \"*\": an allow for every tool"},
		{"a star first", "p.toml", `allow = ["*(x)"]`, "p.toml:1:10: rule"},
		{"host without a command", "p.toml", `allow = ["host(read(x))"]`, "p.toml:1:10: rule"},
		{"bare host", "p.toml", `allow = ["host"]`, "p.toml:1:10: rule"},
		{"web without domain", "p.toml", `allow = ["web(example.com)"]`, "p.toml:1:10: rule"},
		{"public suffix", "p.toml", `deny = ["web(domain:*.co.uk)"]`, "p.toml:1:9: rule"},
		{"path with dots", "p.toml", `deny = ["read(../x)"]`, "p.toml:1:9: rule"},
		{"allow by arguments", "p.toml", `allow = ["mcp__a__b(x:1)"]`, "p.toml:1:10: rule"},
		{"bad default", "p.toml", `default = "maybe"`, "p.toml:1:11: default: unknown verdict"},
		{"two defaults", "p.toml", "default = \"ask\"\ndefaultDecision = \"ask\"", "p.toml:2:19: default and defaultDecision"},
		{"bad enabled", "p.toml", `enabled = "no"`, "p.toml:1:11: enabled must be true or false"},
		{"bad tier", "p.toml", `tiers = {x = "harmless"}`, "p.toml:1:14: unknown tier"},
		{"bad import", "p.toml", `import = "codex"`, "p.toml:1:10: import"},
		{"unknown condition", "p.toml", `deny = [{rule = "bash(x)", when = {time = "noon"}}]`, "p.toml:1:43: unknown condition"},
		{"bad mode", "p.toml", `deny = [{rule = "bash(x)", when = {mode = "fast"}}]`, "p.toml:1:43: unknown mode"},
		{"bad actor", "p.toml", `deny = [{rule = "bash(x)", when = {actor = "robot"}}]`, "p.toml:1:44: unknown kind of actor"},
		{"empty condition", "p.toml", `deny = [{rule = "bash(x)", when = {mode = []}}]`, "p.toml:1:43: mode lists nothing"},
		{"destructive deny", "p.toml", `deny = [{rule = "bash(x)", destructive = true}]`, "p.toml:1:28: destructive only"},
		{"interactive", "p.toml", `interactive = false`, "p.toml:1:1: interactive belongs into test cases"},
		{"unknown permission", "p.json", `{"permissions":{"denied":[]}}`, `p.json:1:17: unknown key "denied" in permissions`},
		{"failing match", "p.toml", `deny = [{rule = "bash(rm -rf *)", tests = {match = ["rm -fr x"]}}]`, "p.toml:1:53: rule bash(rm -rf *) does not match"},
		{"failing not_match", "p.toml", `allow = [{rule = "bash(git push*)", tests = {not_match = ["git pull", "git push-all"]}}]`, "p.toml:1:71: rule bash(git push*) matches"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Parse(LayerUser, c.file, []byte(c.src))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want it to start with %q", err, c.want)
			}
			if l != nil {
				t.Error("a file with a fault gives a layer")
			}
		})
	}
}

func TestRulesKnowWhereTheyStand(t *testing.T) {
	l, err := Parse(LayerUser, "/etc/p.toml", []byte(`deny = [
  "bash(a)",
  {rule = "bash(b)", reason = "why"},
]
[[ask]]
rule = "bash(c)"
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range l.Rules {
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Verdict, r.Text, r.At, r.Reason))
	}
	want := []string{"deny bash(a) /etc/p.toml:2 ", "deny bash(b) /etc/p.toml:3 why", "ask bash(c) /etc/p.toml:5 "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestClaudeCodesFormsAreReadAsTheyAreMeantThere(t *testing.T) {
	for _, c := range []struct{ text, word, inside string }{
		{"Bash(npm run test:*)", "bash", "npm run test:*"},
		{"Bash", "bash", ""},
		{"Read(//etc/hosts)", "read", "//etc/hosts"},
		{"Read(~/x)", "read", "~/x"},
		{"Edit(/src/**)", "write", "/src/**"},
		{"MultiEdit(x)", "write", "x"},
		{"NotebookEdit(x)", "write", "x"},
		{"WebFetch(domain:docs.rs)", "web", "domain:docs.rs"},
		{"edit(x)", "edit", "x"}, // ours: a change
		{"EXEC(ls)", "exec", "ls"},
		{"mcp__a__b", "mcp__a__b", ""},
		{"Task", "task", ""},
	} {
		r, err := Compile(reeve.Deny, c.text)
		if err != nil || r.Word != c.word || r.Inside != c.inside {
			t.Errorf("%s: %+v, %v", c.text, r, err)
		}
	}
	l, err := Parse(LayerUser, "p.json", []byte(`{"import":"claude","allow":["edit(/src/**)"]}`))
	if err != nil || l.Rules[0].Word != "write" {
		t.Errorf("%v, %v", l, err)
	}
}

// print writes a layer as TOML: what a reader of the file would need to write
// to get the same layer.
func print(l *Layer) string {
	var b strings.Builder
	if l.Stated {
		fmt.Fprintf(&b, "default = %q\n", l.Default)
	}
	if l.Disabled {
		b.WriteString("enabled = false\n")
	}
	if l.Interactive != nil {
		fmt.Fprintf(&b, "interactive = %v\n", *l.Interactive)
	}
	for _, r := range l.Rules {
		text := r.Text
		if r.Kind && r.Word == "write" && !strings.HasPrefix(strings.TrimSpace(strings.ToLower(text)), "write") {
			text = "Edit" + text[strings.IndexAny(text+"(", "("):] // read as Claude's word
		}
		fmt.Fprintf(&b, "[[%s]]\nrule = %s\n", r.Verdict, tree.Quote(text))
		if r.Reason != "" {
			fmt.Fprintf(&b, "reason = %s\n", tree.Quote(r.Reason))
		}
		if r.Destructive {
			b.WriteString("destructive = true\n")
		}
	}
	if len(l.Tiers) > 0 {
		b.WriteString("[tiers]\n")
		for _, t := range l.Tiers {
			fmt.Fprintf(&b, "%s = %q\n", tree.Quote(t.Tool), t.Tier)
		}
	}
	return b.String()
}

// same compares layers apart from places and conditions.
func same(a, b *Layer) string {
	if len(a.Rules) != len(b.Rules) || len(a.Tiers) != len(b.Tiers) || a.Default != b.Default || a.Stated != b.Stated || a.Disabled != b.Disabled {
		return "another shape"
	}
	byVerdict := func(l *Layer) map[reeve.Verdict][]Rule {
		m := map[reeve.Verdict][]Rule{}
		for _, r := range l.Rules {
			c := *r
			c.At, c.own, c.file, c.Text = "", nil, nil, ""
			m[r.Verdict] = append(m[r.Verdict], c)
		}
		return m
	}
	if x, y := byVerdict(a), byVerdict(b); !reflect.DeepEqual(x, y) {
		return fmt.Sprintf("%+v\n%+v", x, y)
	}
	return ""
}

func FuzzParse(f *testing.F) {
	f.Add("p.json", `{"deny":["bash(rm -rf*)","write(**/.env*)"],"ask":[{"rule":"bash(git push*)","reason":"leaves"}],"allow":["read(*)"],"default":"ask"}`)
	f.Add("p.toml", "allow = ['bash(make *)', \"web(domain:*.example.com)\"]\n[tiers]\nmcp__a = \"read\"")
	f.Add("p.toml", "import = 'claude'\n[permissions]\nallow = ['Edit(/x)', 'Bash(a:*)', 'mcp__s']\n[when]\nmode = 'auto'")
	f.Add("p.toml", "[[allow]]\nrule = 'host(bash(x))'\ndestructive = true\nwhen = {cwd = '/x', actor = ['child', 'user']}\ntests = {match = ['x']}")
	f.Fuzz(func(t *testing.T, file, src string) {
		l, err := Parse(LayerTest, file, []byte(src))
		if err != nil {
			var at *tree.Error
			if l != nil || !errors.As(err, &at) || at.Line < 1 || at.Col < 1 || !strings.HasPrefix(err.Error(), fmt.Sprintf("%s:%d:%d: ", file, at.Line, at.Col)) {
				t.Fatalf("a layer or no place: %v, %v", l, err)
			}
			return
		}
		again, err := Parse(LayerTest, "again.toml", []byte(print(l)))
		if err != nil {
			t.Fatalf("does not come back: %v\n%s", err, print(l))
		}
		if diff := same(l, again); diff != "" {
			t.Fatalf("comes back as another: %s\n%s", diff, print(l))
		}
		for _, r := range l.Untrusted().Rules {
			if r.Verdict == reeve.Allow {
				t.Fatalf("untrusted and allows: %s", r.Text)
			}
		}
	})
}
