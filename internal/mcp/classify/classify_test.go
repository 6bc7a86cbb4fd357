package classify

import (
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

const (
	readOnly = `{"readOnlyHint":true}`
	safe     = `{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}`
)

// TestTheOrderOfWhatDecidesATool covers G13 to G15, G24, A32 and vector P18.
func TestTheOrderOfWhatDecidesATool(t *testing.T) {
	for _, c := range []struct {
		name, tool, notes string
		known             Identity
		untrusted         bool
		held              string
		word              *Word
		want              Class
		by                By
	}{
		{name: "a trusted reader", tool: "search", notes: readOnly, want: Read, by: ByHints},
		{name: "camel case", tool: "readFile", notes: readOnly, want: Read, by: ByHints},
		{name: "before trust a hint is a claim", tool: "search", notes: readOnly, untrusted: true, want: Unknown, by: ByHints},
		{name: "a verb against the hint", tool: "write_file", notes: readOnly, want: Unknown, by: ByName},
		{name: "a removing verb against the hint", tool: "deleteBranch", notes: readOnly, want: Destructive, by: ByName},
		{name: "the same, untrusted", tool: "deleteBranch", notes: readOnly, untrusted: true, want: Destructive, by: ByName},
		{name: "no hints", tool: "search", want: Unknown, by: ByNothing},
		{name: "false", tool: "search", notes: `{"readOnlyHint":false}`, want: Unknown, by: ByHints},
		{name: "no boolean", tool: "search", notes: `{"readOnlyHint":"true"}`, want: Unknown, by: ByNothing},
		{name: "a number", tool: "search", notes: `{"readOnlyHint":1}`, want: Unknown, by: ByNothing},
		{name: "other case of the name", tool: "search", notes: `{"ReadOnlyHint":true}`, want: Unknown, by: ByNothing},
		{name: "both hints", tool: "search", notes: `{"readOnlyHint":true,"destructiveHint":true}`, want: Unknown, by: ByHints},
		{name: "destructive", tool: "search", notes: `{"destructiveHint":true}`, untrusted: true, want: Destructive, by: ByHints},
		{name: "annotations that are no object", tool: "search", notes: `[true]`, want: Unknown, by: ByNothing},
		{name: "a hint twice", tool: "search", notes: `{"readOnlyHint":false,"readOnlyHint":true}`, want: Unknown, by: ByNothing},

		{name: "listed", tool: "browser_snapshot", known: Playwright, untrusted: true, want: Read, by: ByList},
		{name: "evaluate writes", tool: "browser_evaluate", known: Playwright, notes: readOnly, want: Write, by: ByList},
		{name: "listed write", tool: "browser_click", known: Playwright, notes: `{"destructiveHint":true}`, want: Write, by: ByList},
		{name: "a hint raises a listed reader", tool: "browser_navigate", known: Playwright, notes: `{"destructiveHint":true}`, want: Write, by: ByHints},
		{name: "not listed", tool: "browser_resize", known: Playwright, want: Unknown, by: ByName},
		{name: "runs code in the server", tool: "browser_run_code_unsafe", known: Playwright, want: Destructive, by: ByList},
		{name: "a list is for its own server", tool: "fetch", known: BraveSearch, want: Unknown, by: ByNothing},
		{name: "a listed name from anywhere", tool: "fetch", want: Unknown, by: ByNothing},
		{name: "brave", tool: "brave_web_search", known: BraveSearch, want: Read, by: ByList},
		{name: "fetch", tool: "fetch", known: Fetch, want: Read, by: ByList},

		{name: "promoted", tool: "write_file", word: &Word{Read, "d1"}, untrusted: true, want: Read, by: ByWord},
		{name: "promoted over a list", tool: "browser_click", known: Playwright, word: &Word{Read, "d1"}, want: Read, by: ByWord},
		{name: "the promoted definition changed", tool: "search", notes: safe, word: &Word{Read, "d0"}, want: Unknown, by: ByWord},
		{name: "changed, and listed", tool: "browser_snapshot", known: Playwright, word: &Word{Read, "d0"}, want: Unknown, by: ByWord},
		{name: "promoted unseen", tool: "search", word: &Word{Read, ""}, want: Unknown, by: ByWord},
		{name: "denied", tool: "search", notes: safe, word: &Word{Denied, "d1"}, want: Denied, by: ByWord},
		{name: "denied, of another definition", tool: "search", notes: safe, word: &Word{Denied, "d0"}, want: Denied, by: ByWord},
		{name: "destructive, of another definition", tool: "search", notes: safe, word: &Word{Destructive, "d0"}, want: Destructive, by: ByWord},
		{name: "a word without a class", tool: "search", notes: safe, word: &Word{Unknown, "d1"}, want: Unknown, by: ByWord},
		{name: "held", tool: "search", notes: safe, word: &Word{Read, "d1"}, held: "its description changed", want: Denied, by: ByQuarantine},
	} {
		def := `{"name":"` + c.tool + `","inputSchema":{}}`
		if c.notes != "" {
			def = `{"name":"` + c.tool + `","annotations":` + c.notes + `}`
		}
		v := Of(Tool{Server: "s", Name: c.tool, Digest: "d1", Hints: HintsOf([]byte(def)), Known: c.known, Trusted: !c.untrusted, Held: c.held, Word: c.word})
		if v.Class != c.want || v.By != c.by || v.Why == "" {
			t.Errorf("%s: %s by %s (%s), want %s by %s", c.name, v.Class, v.By, v.Why, c.want, c.by)
		}
	}
}

// TestNoUntrustedServerLowersAnything: without trust, an identity and a word,
// nothing that a server says makes a reader or a plain writer of its tool.
func TestNoUntrustedServerLowersAnything(t *testing.T) {
	for _, name := range []string{"search", "get_x", "browser_snapshot", "fetch", "brave_web_search", "write", "x", ""} {
		for _, hints := range []string{"", readOnly, safe, `{"destructiveHint":false}`, `{"readOnlyHint":false,"destructiveHint":false}`} {
			def := `{"annotations":` + hints + `}`
			v := Of(Tool{Server: "s", Name: name, Digest: "d", Hints: HintsOf([]byte(def))})
			if v.Class != Unknown && v.Class != Destructive {
				t.Errorf("%q with %s is %s", name, hints, v.Class)
			}
		}
	}
	if v := Of(Tool{}); v.Class != Unknown {
		t.Errorf("the zero tool is %s", v.Class)
	}
}

func TestVerbsInNames(t *testing.T) {
	for name, want := range map[string]string{
		"search": "", "readFile": "", "read_text_file": "", "list_directory_with_sizes": "", "get_commit": "", "list_commits": "", "list_pull_requests": "",
		"search_code": "", "get_file_contents": "", "directory_tree": "", "echo": "", "getTinyImage": "", "sequentialthinking": "", "read_graph": "", "open_nodes": "open",
		"list_updated_files": "", "get_installed": "", "find_created_issues": "", "browser_console_messages": "", "browser_network_requests": "", "browser_network_request": "request", "list_and_send_messages": "send", "browser_snapshot": "", "maps_geocode": "", "get_settings": "", "resolve-library-id": "resolve",
		"get_and_set": "set", "search_and_replace": "replace", "commit_files": "commit", "git_commit": "commit", "write_file": "write", "writeFile": "write",
		"createIssue": "create", "createissue": "create", "HTTPPost": "post", "addComment": "add", "merge_pull_request": "merge", "fork_repository": "fork",
		"send-message": "send", "slack_post_message": "post", "run": "run", "query": "", "execute_sql": "execute", "executesql": "execute", "UPDATE": "update",
		"list_then_upload": "upload", "browser_click": "click", "browser_evaluate": "evaluate", "push_files": "push", "set": "set", "evalCode": "eval", "get_value_then_run": "run",
	} {
		d := verbOf(name)
		if d.verb != want || d.destroys {
			t.Errorf("%s: %q, destroys %v, want %q", name, d.verb, d.destroys, want)
		}
	}
	for name, want := range map[string]string{
		"deleteBranch": "delete", "delete_entities": "delete", "deletefile": "delete", "removeAll": "remove", "get_and_delete": "delete", "create_or_delete": "delete",
		"drop-table": "drop", "kill_process": "kill", "clear_cache": "clear", "Truncate.Table": "truncate", "list_deleteall": "delete", "rm": "rm", "purgeQueue": "purge",
	} {
		if d := verbOf(name); d.verb != want || !d.destroys {
			t.Errorf("%s: %q, destroys %v, want %q that destroys", name, d.verb, d.destroys, want)
		}
	}
}

// TestADestinationComesBeforeTheClass covers G13 and G41: what a browser is
// sent to is judged as a connection or a read, whatever the tool's class.
func TestADestinationComesBeforeTheClass(t *testing.T) {
	nav := Tool{Server: "web", Name: "browser_navigate", Known: Playwright}
	for args, want := range map[string]string{
		`{"url":"https://Docs.Example.org/x?y"}`:          "connect docs.example.org:443",
		`{"url":"http://example.org.:8080"}`:              "connect example.org:8080",
		`{"url":"docs.example.org/x"}`:                    "connect docs.example.org:443",
		`{"url":"http://169.254.169.254/latest"}`:         "connect 169.254.169.254:80",
		`{"url":"http://[::1]:9222/"}`:                    "connect ::1:9222",
		`{"url":"file:///home/x/../y/.ssh/id_rsa"}`:       "read /home/y/.ssh/id_rsa",
		`{"url":"FILE:/etc/passwd"}`:                      "read /etc/passwd",
		`{"url":"https://good.example@evil.example/"}`:    "connect ",
		`{"url":"https:\/\/evil.example\\@good.example"}`: "connect ",
		`{"url":"javascript:alert(1)"}`:                   "connect ",
		`{"url":"view-source:https://x"}`:                 "connect ",
		`{"url":"data:text/html,x"}`:                      "connect ",
		`{"url":" https://x"}`:                            "connect ",
		`{"url":"ht\ntps://x"}`:                           "connect ",
		`{"url":"https:x"}`:                               "connect ",
		`{"url":"file://host/share"}`:                     "connect ",
		`{"url":"https://x:99999"}`:                       "connect ",
		`{"url":"about:blank"}`:                           "",
		`{"url":null}`:                                    "",
		`{}`:                                              "",
	} {
		all, err := Places(nav, []byte(args))
		got := ""
		for _, e := range all {
			got += e.String()
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", args, got, err, want)
		}
	}
	for _, args := range []string{`{"url":1}`, `{"url":["https://x"]}`, `[]`, `{"url":"a","url":"b"}`, `{`} {
		if all, err := Places(nav, []byte(args)); err == nil {
			t.Errorf("%s: %v, want a refusal", args, all)
		}
	}
	if all, err := Places(Tool{Name: "browser_navigate"}, []byte(`{"url":"https://x"}`)); all != nil || err != nil {
		t.Errorf("of a server that is not known: %v, %v", all, err)
	}
	if all, _ := Places(Tool{Name: "fetch", Known: Fetch}, []byte(`{"url":"https://x"}`)); len(all) != 1 || all[0].Host != "x" {
		t.Errorf("fetch: %v", all)
	}
	if all, _ := Places(Tool{Name: "browser_tabs", Known: Playwright}, []byte(`{"action":"new","url":"https://x"}`)); len(all) != 1 || all[0].Host != "x" {
		t.Errorf("a new tab: %v", all)
	}
}

func TestClassesHaveNamesAndTiers(t *testing.T) {
	for c, want := range map[Class]reeve.Tier{Unknown: reeve.TierWrite, Denied: reeve.TierDenied, Destructive: reeve.TierDestructive, Write: reeve.TierWrite, Read: reeve.TierRead, 99: reeve.TierWrite} {
		if c.Tier() != want {
			t.Errorf("%s has tier %s", c, c.Tier())
		}
		if again, err := Parse(c.String()); c != Unknown && c != 99 && (err != nil || again != c) {
			t.Errorf("%s reads as %s, %v", c, again, err)
		}
	}
	for _, s := range []string{"unknown", "Read", ""} {
		if c, err := Parse(s); err == nil {
			t.Errorf("%q is %s", s, c)
		}
	}
	if IdentityOf("npm:@playwright/mcp") != Playwright || IdentityOf("npm:playwright-mcp") != Nobody || IdentityOf("pypi:@playwright/mcp") != Nobody {
		t.Error("identities are not of the exact package")
	}
}

// FuzzOf: only trust, an identity or a person's word makes a reader, and what
// is read is never turned into a panic.
func FuzzOf(f *testing.F) {
	f.Add("search", `{"annotations":{"readOnlyHint":true}}`, true)
	f.Add("delete_x", `{"annotations":{}}`, false)
	f.Add("browser_navigate", `{"url":"https://x"}`, true)
	f.Fuzz(func(t *testing.T, name, text string, trusted bool) {
		h := HintsOf([]byte(text))
		v := Of(Tool{Server: "s", Name: name, Digest: "d", Hints: h, Trusted: trusted})
		if v.Class == Read && (!trusted || h.ReadOnly != Yes || h.Destructive == Yes || verbOf(name).verb != "") {
			t.Errorf("%q %q reads", name, text)
		}
		if v.Class == Write || v.Class == Denied || v.Why == "" {
			t.Errorf("%q %q: %+v", name, text, v)
		}
		all, err := Places(Tool{Name: "browser_navigate", Known: Playwright}, []byte(text))
		for _, e := range all {
			if err != nil || e.Kind != reeve.EffectConnect && e.Kind != reeve.EffectRead || strings.ContainsAny(e.Host, " /\\@") {
				t.Errorf("%q goes to %+v, %v", text, e, err)
			}
		}
	})
}
