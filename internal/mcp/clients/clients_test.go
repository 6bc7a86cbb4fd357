package clients

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/jsonc"
)

// told is a server in one line.
func told(f Found) string {
	raw, _ := json.Marshal(f.Entry, json.Deterministic(true))
	s := f.As + " -> " + f.Name + " " + string(raw)
	if f.Own {
		s += " OWN"
	}
	if f.Not != "" {
		s += " NOT " + f.Not
	}
	for _, n := range f.Notes {
		s += " | " + n
	}
	return s
}

func TestEachClientsFormIsRead(t *testing.T) {
	const oauth = " | where it asks for a sign-in in a browser (OAuth), give it a header in its place: that is not done here"
	for _, c := range []struct {
		client *Client
		inside []string
		src    string
		want   []string
	}{
		{Claude, nil, `{"numStartups": 4, "mcpServers": {
			"files": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "env": {}},
			"My Tracker": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}},
			"old": {"type": "sse", "url": "https://old.example.com/sse"},
			"reeve": {"command": "/opt/bin/reeve", "args": ["mcp", "serve", "--client", "claude"]},
			"odd": "npx"}, "projects": {"/w": {"mcpServers": {"local": {"command": "x"}}}}}`, []string{
			`My Tracker -> my-tracker {"type":"http","url":"https://mcp.example.com/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}} | it is called my-tracker here | a reference with a preset value in its headers is taken over without that value`,
			`files -> files {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","."]}`,
			`odd ->  {} NOT it is written in a way that is not known here`,
			`old ->  {"type":"sse","url":"https://old.example.com/sse"} NOT it speaks the transport of 2024-11-05 (sse), which is not spoken here; ask for its streamable HTTP address` + oauth,
			`reeve -> reeve {"command":"/opt/bin/reeve","args":["mcp","serve","--client","claude"]} OWN`,
		}},
		{Claude, []string{"projects", "/w"}, `{"projects": {"/w": {"mcpServers": {"local": {"command": "x"}}}}}`, []string{`local -> local {"command":"x"}`}},
		{Claude, []string{"projects", "/other"}, `{"projects": {"/w": {}}}`, nil},
		{Cursor, nil, "{\n // mine\n \"mcpServers\": {\"a\": {\"command\": \"node\", \"args\": [\"${workspaceFolder}/s.js\", \"${workspaceFolder}\"], \"env\": {\"K\": \"${env:K}\", \"N\": 5, \"X\": null}, \"envFile\": \".env\",},},\n}", []string{
			`a -> a {"command":"node","args":["./s.js","."],"env":{"K":"${K}","N":"5"}} | "envFile" is not taken over | the variable X, which it takes away, is not there in any case`}},
		{VSCode, nil, `{"inputs": [], "servers": {"a": {"type": "stdio", "command": "x", "cwd": "${workspaceFolder}"}, "b": {"type": "http", "url": "https://x", "headers": {"K": "${input:key}"}}, "A!": {"command": "y"}}}`, []string{
			`A! -> a {"command":"y"} | it is called a here`,
			`a -> a {"command":"x"} NOT it would be called a here, as "A!" is`,
			`b ->  {"type":"http","url":"https://x","headers":{"K":"${input:key}"}} NOT its headers holds ${input:key}, which has no meaning here; write it out, or name a variable as ${NAME}`,
		}},
		{VSCode, nil, `{"mcpServers": {"a": {"command": "x"}}}`, []string{`a -> a {"command":"x"}`}},
		{Gemini, nil, `{"theme": "x", "mcpServers": {"a": {"command": "x", "env": {"T": "$TOKEN"}, "trust": true, "timeout": 30000}, "h": {"httpUrl": "https://x", "headers": {"A": "b"}}, "s": {"url": "https://x/sse"}}}`, []string{
			`a -> a {"command":"x","env":{"T":"${TOKEN}"},"x-guard":{"limits":{"call":"30s"}}} | "trust" is not taken over`,
			`h -> h {"type":"http","url":"https://x","headers":{"A":"b"}}`,
			`s ->  {"type":"sse","url":"https://x/sse"} NOT it speaks the transport of 2024-11-05 (sse), which is not spoken here; ask for its streamable HTTP address` + oauth,
		}},
		{Codex, nil, "model = \"x\"\n[mcp_servers.a]\ncommand = \"npx\"\nargs = ['-y', \"b\"]\nenv_vars = [\"TOKEN\"]\nstartup_timeout_sec = 20\ntool_timeout_sec = 1.5\nenabled = false\nenabled_tools = [\"x\"]\n[mcp_servers.a.env]\nK = \"v\"\n[mcp_servers.\"h t\"]\nurl = \"https://x\"\nbearer_token_env_var = \"T\"\nhttp_headers = {A = \"b\"}\nenv_http_headers = {C = \"D\"}\n", []string{
			`a -> a {"command":"npx","args":["-y","b"],"env":{"K":"v","TOKEN":"${TOKEN}"},"disabled":true,"x-guard":{"limits":{"start":"20s","call":"1.5s"}}} | "enabled_tools" is not taken over`,
			`h t -> h-t {"type":"http","url":"https://x","headers":{"A":"b","Authorization":"Bearer ${T}","C":"${D}"}} | it is called h-t here`,
		}},
		{Desktop, nil, "", nil},
		{Codex, nil, "", nil},
	} {
		all, err := c.client.Read(Place{Inside: c.inside}, []byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.client.Name, err)
		}
		if len(all) != len(c.want) {
			t.Errorf("%s: %d servers, want %d", c.client.Name, len(all), len(c.want))
		}
		for i := range min(len(all), len(c.want)) {
			if got := told(all[i]); got != c.want[i] {
				t.Errorf("%s:\n got %s\nwant %s", c.client.Name, got, c.want[i])
			}
		}
	}
}

// TestNoFileOfAClientNamesASecretOfTheVault: who wrote such a file means to be
// given it.
func TestNoFileOfAClientNamesASecretOfTheVault(t *testing.T) {
	for _, one := range []string{`{"command":"x","env":{"K":"reeve://bank/token"}}`, `{"command":"x","env":{"K":"a${reeve://bank/token}"}}`,
		`{"type":"http","url":"https://x","headers":{"Authorization":"Bearer ${reeve://bank/token}"}}`} {
		all, err := Claude.Read(Place{}, []byte(`{"mcpServers":{"a":`+one+`}}`))
		if err != nil || len(all) != 1 || !strings.Contains(all[0].Not, "bank/token") || all[0].Name != "" {
			t.Errorf("%s is read as %+v, %v", one, all, err)
		}
	}
}

func TestATextThatIsWrongIsRefusedWithItsPlace(t *testing.T) {
	for src, want := range map[string]string{
		"{\n \"mcpServers\": [] }": "line 2, column 16", "{": "line 1", `{"mcpServers": {"a": {}, "a": {}}}`: "stands twice",
	} {
		if all, err := Cursor.Read(Place{}, []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", src, all, err)
		}
	}
	for src, want := range map[string]string{"a = \n": "line 1", "mcp_servers = 1\n": "no table"} {
		if all, err := Codex.Read(Place{}, []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", src, all, err)
		}
	}
}

var own = &Own{Command: "/opt/reeve", Args: []string{"mcp", "serve", "--client", "x"}, Env: [][2]string{{"REEVE_HOME", "/r"}}}

func TestServersGiveWayToOneEntryAndComeBack(t *testing.T) {
	for _, c := range []struct {
		client      *Client
		src, moved  string
		later, back string // a change that a person makes to moved, and what comes of it
	}{
		{Cursor, "{\n  // all of mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    \"keep\": {\"url\": \"https://x\"}, // stays\n    \"b\": {\n      \"command\": \"y\" // why\n    }\n  },\n  \"other\": [1,  2]\n}\n",
			"{\n  // all of mine\n  \"mcpServers\": {\n    \"keep\": {\"url\": \"https://x\"}, // stays\n    \"reeve\": {\n      \"command\": \"/opt/reeve\",\n      \"args\": [\n        \"mcp\",\n        \"serve\",\n        \"--client\",\n        \"x\"\n      ],\n      \"env\": {\n        \"REEVE_HOME\": \"/r\"\n      }\n    }\n  },\n  \"other\": [1,  2]\n}\n",
			`"other": [1,  2]`, "{\n  // all of mine\n  \"mcpServers\": {\n    \"keep\": {\"url\": \"https://x\"}, // stays\n    \"a\": {\"command\": \"x\"},\n    \"b\": {\n      \"command\": \"y\" // why\n    }\n  },\n  \"more\": true\n}\n"},
		{Codex, "model = \"m\" # mine\n\n[mcp_servers.a] # one\ncommand = \"x\"\n\n[mcp_servers.a.env]\nK = \"v\"\n\n# of keep\n[mcp_servers.keep]\nurl = \"https://x\"\n\n[mcp_servers.b]\ncommand = \"y\"\n\n[other]\nx = 1\n",
			"model = \"m\" # mine\n\n# of keep\n[mcp_servers.keep]\nurl = \"https://x\"\n\n[other]\nx = 1\n\n[mcp_servers.reeve]\ncommand = \"/opt/reeve\"\nargs = [\"mcp\", \"serve\", \"--client\", \"x\"]\n\n[mcp_servers.reeve.env]\nREEVE_HOME = \"/r\"\n",
			"x = 1\n", "model = \"m\" # mine\n\n# of keep\n[mcp_servers.keep]\nurl = \"https://x\"\n\n[other]\nmore = true\n\n[mcp_servers.a] # one\ncommand = \"x\"\n\n[mcp_servers.a.env]\nK = \"v\"\n\n[mcp_servers.b]\ncommand = \"y\"\n\n"},
	} {
		after, taken, err := c.client.Move(Place{}, []byte(c.src), []string{"a", "b"}, own)
		if err != nil || string(after) != c.moved || len(taken) != 2 {
			t.Errorf("%s: moved to\n%s (%v, %q)\nwant\n%s", c.client.Name, after, err, taken, c.moved)
		}
		again, none, err := c.client.Move(Place{}, after, nil, own)
		if err != nil || string(again) != string(after) || len(none) != 0 {
			t.Errorf("%s: a second time it becomes\n%s (%v)", c.client.Name, again, err)
		}
		all, err := c.client.Read(Place{}, after)
		if err != nil || len(all) != 2 || !all[1].Own {
			t.Errorf("%s: read again as %v, %v", c.client.Name, all, err)
		}
		changed := strings.Replace(string(after), c.later, map[bool]string{true: "more = true\n", false: `"more": true`}[c.client.TOML], 1)
		back, notes, err := c.client.Back(Place{}, []byte(changed), taken)
		if err != nil || string(back) != c.back || len(notes) != 0 {
			t.Errorf("%s: came back as\n%q (%v, %q)\nwant\n%q", c.client.Name, back, err, notes, c.back)
		}
	}
}

func TestWhatCannotBeTakenOutIsRefused(t *testing.T) {
	for _, src := range []string{"mcp_servers = {a = {command = \"x\"}}\n", "[mcp_servers]\na = {command = \"x\"}\n", "mcp_servers.a.command = \"x\"\n"} {
		if after, _, err := Codex.Move(Place{}, []byte(src), []string{"a"}, own); err == nil {
			t.Errorf("%q becomes %q", src, after)
		}
	}
	src := []byte(`{"mcpServers": {"reeve": {"command": "/x/reeve", "args": ["mcp", "serve"]}, "a": {"command": "new"}}}`)
	back, notes, err := Cursor.Back(Place{}, src, map[string]string{"a": `{"command": "old"}`, "b": `{"command": "y"}`})
	if err != nil || len(notes) != 1 || !strings.Contains(string(back), `"new"`) || !strings.Contains(string(back), `"b"`) || strings.Contains(string(back), "reeve") {
		t.Errorf("%s, %q, %v", back, notes, err)
	}
}

func TestFilesOfEachClient(t *testing.T) {
	env := map[string]string{"HOME": "/h"}
	get := func(n string) string { return env[n] }
	for _, c := range All {
		all, err := c.Files(get, "/w", false)
		if err != nil || len(all) == 0 || all[0].Project {
			t.Errorf("%s: %v, %v", c.Name, all, err)
		}
		if Named(c.Name) != c {
			t.Errorf("%s is not found", c.Name)
		}
		for _, p := range all {
			if p.Project != strings.HasPrefix(p.Path, "/w/") {
				t.Errorf("%s: %+v", c.Name, p)
			}
		}
	}
	env["CODEX_HOME"], env["CLAUDE_CONFIG_DIR"] = "/c", "/d"
	if all, _ := Codex.Files(get, "/w", false); all[0].Path != "/c/config.toml" {
		t.Errorf("codex: %v", all)
	}
	if all, _ := Claude.Files(get, "/w", false); all[0].Path != "/d/.claude.json" || all[1].Inside[1] != "/w" {
		t.Errorf("claude: %v", all)
	}
	delete(env, "HOME")
	if all, err := Cursor.Files(get, "/w", false); err == nil {
		t.Errorf("without a home: %v", all)
	}
}

// FuzzRead: what is read of any client's text can be written into mcp.json,
// and moving it leaves a text that holds it no more.
func FuzzRead(f *testing.F) {
	f.Add(byte(0), `{"mcpServers": {"a": {"command": "x", "args": ["${workspaceFolder}"]}}}`)
	f.Add(byte(2), "[mcp_servers.a]\ncommand = \"x\"\n")
	f.Add(byte(5), "{\"servers\": {\"a\": {\"url\": \"https://x\"} /* c */,}}")
	f.Fuzz(func(t *testing.T, which byte, src string) {
		c := All[int(which)%len(All)]
		all, err := c.Read(Place{}, []byte(src))
		if err != nil {
			return
		}
		var take []string
		for _, one := range all {
			if one.Not != "" || one.Own {
				continue
			}
			if _, err := one.Entry.Check(one.Name); err != nil {
				t.Errorf("%q gives %+v: %v", src, one, err)
			}
			if one.As != Entry {
				take = append(take, one.As)
			}
		}
		after, taken, err := c.Move(Place{}, []byte(src), take, own)
		if err != nil {
			return
		}
		left, err := c.Read(Place{}, after)
		if err != nil {
			t.Fatalf("%q becomes %q: %v", src, after, err)
		}
		for _, one := range left {
			if _, gone := taken[one.As]; gone {
				t.Errorf("%q becomes %q, which has %s", src, after, one.As)
			}
		}
		if !c.TOML {
			if _, err := jsonc.Read(after); err != nil {
				t.Error(err)
			}
		}
		if _, _, err := c.Back(Place{}, after, taken); err != nil {
			t.Errorf("%q becomes %q and not back: %v", src, after, err)
		}
	})
}
