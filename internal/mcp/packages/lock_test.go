package packages

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

const good = `{"name":"x","lockfileVersion":3,"requires":true,"packages":{
	"":{"dependencies":{"@a/b":"1.0.0"}},
	"node_modules/@a/b":{"version":"1.0.0","resolved":"https://registry.example/b.tgz","integrity":"sha512-x==","bin":{"b":"b.js"}},
	"node_modules/c":{"version":"2.0.0","resolved":"https://registry.example/c.tgz","integrity":"sha512-y==","hasInstallScript":true},
	"node_modules/c/node_modules/d":{"version":"3.0.0","inBundle":true}}}`

func TestALockFileTellsOfEveryPackageOfTheTree(t *testing.T) {
	got, err := ReadLock([]byte(good), "@a/b")
	want := Tree{Lock: Lock{Name: "@a/b", Version: "1.0.0", Integrity: "sha512-x==", Tree: got.Tree}, Packages: 3, Scripts: []string{"c"}}
	if err != nil || !reflect.DeepEqual(got, want) || len(got.Tree) != 64 {
		t.Errorf("got %+v, %v", got, err)
	}
	for what, change := range map[string][2]string{
		"no integrity":     {`"integrity":"sha512-y==",`, ``},
		"a weak integrity": {"sha512-y==", "sha1-y="},
		"a repository":     {"https://registry.example/c.tgz", "git+ssh://git@x.example/c.git"},
		"plain http":       {"https://registry.example/c.tgz", "http://registry.example/c.tgz"},
		"a link":           {`"hasInstallScript":true`, `"link":true`},
		"outside":          {`"node_modules/c"`, `"../c"`},
		"above":            {`"node_modules/c"`, `"node_modules/../../c"`},
		"no version":       {`"version":"2.0.0",`, ``},
		"another package":  {`"node_modules/@a/b"`, `"node_modules/@a/c"`},
		"old":              {`"lockfileVersion":3`, `"lockfileVersion":1`},
		"cut off":          {`"inBundle":true}}}`, `"inBundle":true}`},
		"twice":            {`"node_modules/c/node_modules/d"`, `"node_modules/c"`},
	} {
		if got, err := ReadLock([]byte(strings.Replace(good, change[0], change[1], 1)), "@a/b"); err == nil {
			t.Errorf("%s: it is read as %+v", what, got)
		}
	}
}

// TestTheLockFileOfTheRealServersIsRead reads what npm wrote.
func TestTheLockFileOfTheRealServersIsRead(t *testing.T) {
	src, err := os.ReadFile("../../../script/mcp.peers/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadLock(src, "@modelcontextprotocol/server-filesystem")
	if err != nil || got.Packages < 100 || !strings.HasPrefix(got.Integrity, "sha512-") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzReadLock(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := ReadLock(src, "@a/b")
		if err == nil && (got.Integrity == "" || got.Version == "" || got.Packages == 0) {
			t.Errorf("%q is read as %+v", src, got)
		}
	})
}

func TestTheProgramOfAPackageIsTheOneThatIsMeant(t *testing.T) {
	for _, c := range []struct{ line, manifest, want string }{
		{"npx @a/b", `{"bin":"x.js"}`, "b"}, {"npx @a/b", `{"bin":{"b":"x.js","c":"y.js"}}`, "b"}, {"npx @a/b", `{"bin":{"only":"x.js"}}`, "only"},
		{"npx -p @a/b c", `{"bin":{"b":"x.js","c":"y.js"}}`, "c"}, {"npx -p @a/b d", `{"bin":{"b":"x.js"}}`, ""}, {"npx @a/b", `{"bin":{"c":"x","d":"y"}}`, ""},
		{"npx @a/b", `{}`, ""}, {"npx @a/b", `{"bin":{"..":"x"}}`, ""}, {"npx @a/b", `{"bin":{"../x":"x"}}`, ""}, {"npx @a/b", `{`, ""}, {"npx @a/b", `{"bin":{}}`, ""},
	} {
		words := strings.Fields(c.line)
		l := Of(words[0], words[1:])
		if got, err := l.ProgramOf([]byte(c.manifest)); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s, %s: %q, %v", c.line, c.manifest, got, err)
		}
	}
}

func TestWhatCannotBeLockedIsSaid(t *testing.T) {
	for line, can := range map[string]bool{
		"npx x": true, "npm exec x@1.0.0": true, "pnpm dlx x": true, "bunx x": true, "uvx x": false, "docker run x": false, "deno run npm:x": false, "node x": false,
		"npx -p x -p y z": false, "npx --registry=https://evil.example x": false, "npx github:a/b": false, "sh -c x": false,
	} {
		words := strings.Fields(line)
		l := Of(words[0], words[1:])
		if why := l.Lockable(); (why == "") != can {
			t.Errorf("%s: %q", line, why)
		}
	}
}
