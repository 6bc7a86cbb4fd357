package tree

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func dump(n *Node) string {
	at := fmt.Sprintf("@%d:%d", n.Line, n.Col)
	switch n.Kind {
	case String:
		return fmt.Sprintf("%q%s", n.Str, at)
	case Bool:
		return fmt.Sprintf("%v%s", n.Bool, at)
	case List:
		var items []string
		for _, i := range n.List {
			items = append(items, dump(i))
		}
		return "[" + strings.Join(items, " ") + "]"
	case Table:
		var items []string
		for _, k := range n.Keys {
			items = append(items, fmt.Sprintf("%s@%d:%d=%s", k.Name, k.Line, k.Col, dump(k.Value)))
		}
		return "{" + strings.Join(items, " ") + "}"
	}
	return "other" + at
}

func TestEveryKeyAndValueKnowsItsPlaceInBothSyntaxes(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"json", "p.json", "{\"deny\": [\"a\",\n  {\"rule\":\"b\"}],\"default\":\"ask\", \"x\": 1}",
			`{deny@1:2=["a"@1:11 {rule@2:4="b"@2:11}] default@2:17="ask"@2:27 x@2:34=other@2:39}`},
		{"toml", "p.toml", "default = \"ask\"\ndeny = [\n  \"a\", # why\n  {rule = \"b\", destructive = true},\n]\n[when]\nmode = [\"auto\"]\n[[allow]]\nrule = 'c'\n[[allow]]\nrule = \"d\"\nn = 1",
			`{default@1:1="ask"@1:11 deny@2:1=["a"@3:3 {rule@4:4="b"@4:11 destructive@4:16=true@4:30}] when@6:2={mode@7:1=["auto"@7:9]} allow@8:3=[{rule@9:1="c"@9:8} {rule@11:1="d"@11:8 n@12:1=other@12:5}]}`},
		{"toml dotted", "p.toml", "when.mode = \"auto\"\nwhen.actor = \"user\"", `{when@1:1={mode@1:6="auto"@1:13 actor@2:6="user"@2:14}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := Read(c.file, []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(n); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAFaultIsNamedAtItsLineAndColumn(t *testing.T) {
	for _, c := range []struct{ name, file, src, want string }{
		{"json twice", "p.json", "{\"deny\":[],\n \"deny\":[]}", "p.json:2:2: "},
		{"json cut", "p.json", "{\"deny\":[\"a\"", "p.json:1:"},
		{"json after", "p.json", "{}\n{}", "p.json:2:"},
		{"json list", "p.json", "[]", "p.json:1:1: a policy is a table"},
		{"toml twice", "p.toml", "deny = []\ndeny = []", "p.toml:2:1: "},
		{"toml table twice", "p.toml", "[when]\n[when]\n", "p.toml:2:"},
		{"toml open", "p.toml", "deny = [\n\"a\"\n", "p.toml:"},
		{"toml word", "p.toml", "deny = x", "p.toml:1:8: "},
		{"nul", "p.toml", "deny = [\n\"\x00\"]", "p.toml:2:2: "},
		{"bad utf-8", "p.toml", "# \xff", "p.toml:1:3: "},
		{"deep json", "p.json", "{\"a\":" + strings.Repeat("[", 1<<19), "p.json:1:37: "},
		{"deep toml", "p.toml", "a = " + strings.Repeat("[", 1<<19), "p.toml:1:37: "},
		{"long", "p.toml", strings.Repeat(" ", MaxBytes+1), "p.toml:1:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.file, []byte(c.src))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want it to start with %q", err, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("p.json", `{"deny":["bash(rm *)"],"default":"ask"}`)
	f.Add("p.toml", "deny = [\"a\"]\n[[allow]]\nrule = 'x'")
	f.Add("p.toml", "a.b.c = [{x = true}, [[], '']]\n[a.b.d]")
	f.Fuzz(func(t *testing.T, file, src string) {
		n, err := Read(file, []byte(src))
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Line < 1 || at.Col < 1 || at.File != file {
				t.Fatalf("an error without a place: %#v", err)
			}
			return
		}
		lines := strings.Split(src, "\n")
		var walk func(*Node)
		walk = func(n *Node) {
			if n.Line < 1 || n.Line > len(lines) || n.Col < 1 || n.Col > len(lines[n.Line-1])+1 {
				t.Fatalf("a value outside the file at %v", n.Pos)
			}
			seen := map[string]bool{}
			for _, k := range n.Keys {
				if seen[k.Name] {
					t.Fatalf("key %q twice", k.Name)
				}
				seen[k.Name] = true
				walk(k.Value)
			}
			for _, i := range n.List {
				walk(i)
			}
		}
		walk(n)
	})
}
