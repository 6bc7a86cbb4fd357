package packages

import (
	"reflect"
	"strings"
	"testing"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestCommandLinesOfPackageRunnersAreRead(t *testing.T) {
	for _, c := range []struct {
		line string
		want Launch
	}{
		{"npx -y @modelcontextprotocol/server-filesystem .", Launch{Runner: "npx", Registry: NPM, Name: "@modelcontextprotocol/server-filesystem", Args: []string{"."}, Scripts: true}},
		{"npx -y --ignore-scripts @playwright/mcp@0.0.83 --headless -y", Launch{Runner: "npx", Registry: NPM, Name: "@playwright/mcp", Version: "0.0.83", Exact: true, Args: []string{"--headless", "-y"}}},
		{"/usr/bin/npx server@latest", Launch{Runner: "npx", Registry: NPM, Name: "server", Version: "latest", Scripts: true, Args: []string{}}},
		{"npx.cmd -y x@^1.2.3", Launch{Runner: "npx", Registry: NPM, Name: "x", Version: "^1.2.3", Scripts: true, Args: []string{}}},
		{"cmd /c npx -y x", Launch{Runner: "npx", Registry: NPM, Name: "x", Scripts: true, Args: []string{}}},
		{"env A=1 B=2 npx x", Launch{Runner: "npx", Registry: NPM, Name: "x", Scripts: true, Args: []string{}}},
		{"npx --package=@a/b@1.0.0 -p c prog --flag", Launch{Runner: "npx", Registry: NPM, Name: "@a/b", Version: "1.0.0", Exact: true, More: []string{"c"}, Program: "prog", Args: []string{"--flag"}, Scripts: true}},
		{"npm exec --yes -- @a/b@1.0.0 x", Launch{Runner: "npm exec", Registry: NPM, Name: "@a/b", Version: "1.0.0", Exact: true, Args: []string{"x"}, Scripts: true}},
		{"npm x a", Launch{Runner: "npm exec", Registry: NPM, Name: "a", Args: []string{}, Scripts: true}},
		{"npx a@npm:evil@1.0.0", Launch{Runner: "npx", Registry: NPM, Name: "evil", Version: "1.0.0", Exact: true, Scripts: true, Args: []string{}, Notes: []string{"a is another name for evil@1.0.0"}}},
		{"npx github:user/repo", Launch{Runner: "npx", Registry: Other, Name: "github:user/repo", Scripts: true, Args: []string{}}},
		{"npx user/repo", Launch{Runner: "npx", Registry: Other, Name: "user/repo", Scripts: true, Args: []string{}}},
		{"npx ./dir", Launch{Runner: "npx", Registry: Other, Name: "./dir", Scripts: true, Args: []string{}}},
		{"npx x@https://evil.example/x.tgz", Launch{Runner: "npx", Registry: Other, Name: "x@https://evil.example/x.tgz", Scripts: true, Args: []string{}}},
		{"npx --registry https://evil.example @modelcontextprotocol/server-memory", Launch{Runner: "npx", Registry: NPM, Name: "@modelcontextprotocol/server-memory", Scripts: true, Args: []string{}, Notes: []string{"--registry: it is installed from a registry of its own choice"}}},
		{"pnpm dlx a@1.0.0", Launch{Runner: "pnpm dlx", Registry: NPM, Name: "a", Version: "1.0.0", Exact: true, Args: []string{}}},
		{"yarn dlx a", Launch{Runner: "yarn dlx", Registry: NPM, Name: "a", Args: []string{}, Scripts: true}},
		{"bunx --bun a", Launch{Runner: "bunx", Registry: NPM, Name: "a", Args: []string{}}},
		{"bun x a", Launch{Runner: "bun x", Registry: NPM, Name: "a", Args: []string{}}},
		{"uvx mcp-server-git --repository .", Launch{Runner: "uvx", Registry: PyPI, Name: "mcp-server-git", Args: []string{"--repository", "."}, Scripts: true}},
		{"uvx Mcp_Server.Fetch==2025.4.7", Launch{Runner: "uvx", Registry: PyPI, Name: "mcp-server-fetch", Version: "2025.4.7", Exact: true, Args: []string{}, Scripts: true}},
		{"uvx a@1.2", Launch{Runner: "uvx", Registry: PyPI, Name: "a", Version: "1.2", Exact: true, Args: []string{}, Scripts: true}},
		{"uvx a@latest", Launch{Runner: "uvx", Registry: PyPI, Name: "a", Version: "latest", Args: []string{}, Scripts: true}},
		{"uvx --from a[x]>=1.0 --with b prog -v", Launch{Runner: "uvx", Registry: PyPI, Name: "a", Version: ">=1.0", Program: "prog", More: []string{"b"}, Args: []string{"-v"}, Scripts: true}},
		{"uvx --from git+https://x.example/r prog", Launch{Runner: "uvx", Registry: Other, Name: "git+https://x.example/r", Program: "prog", Args: []string{}, Scripts: true}},
		{"uv tool run a", Launch{Runner: "uv tool run", Registry: PyPI, Name: "a", Args: []string{}, Scripts: true}},
		{"pipx run --spec a==1.0 prog", Launch{Runner: "pipx run", Registry: PyPI, Name: "a", Version: "1.0", Exact: true, Program: "prog", Args: []string{}, Scripts: true}},
		{"docker run -i --rm -e TOKEN mcp/github:1.2 stdio", Launch{Runner: "docker run", Registry: OCI, Name: "mcp/github", Version: "1.2", Args: []string{"stdio"}, Notes: []string{noSandbox}}},
		{"podman run --rm -i ghcr.io/a/b@" + digest, Launch{Runner: "podman run", Registry: OCI, Name: "ghcr.io/a/b", Digest: digest, Exact: true, Args: []string{}, Notes: []string{noSandbox}}},
		{"docker run localhost:5000/a", Launch{Runner: "docker run", Registry: OCI, Name: "localhost:5000/a", Args: []string{}, Notes: []string{noSandbox}}},
		{"docker run -v /var/run/docker.sock:/s --network=host --privileged a", Launch{Runner: "docker run", Registry: OCI, Name: "a", Args: []string{}, Notes: []string{noSandbox, "it is handed the socket of the engine, and with it this machine", "--network host: it is not kept apart from this machine", "--privileged: its container holds nothing back"}}},
		{"deno run -A npm:@a/b@1.0.0 x", Launch{Runner: "deno run", Registry: NPM, Name: "@a/b", Version: "1.0.0", Exact: true, Args: []string{"x"}}},
		{"deno run --allow-net=x jsr:@a/b", Launch{Runner: "deno run", Registry: JSR, Name: "@a/b", Args: []string{}}},
		{"deno run https://x.example/m.ts", Launch{Runner: "deno run", Registry: Other, Name: "https://x.example/m.ts", Args: []string{}}},
		{"node server.js", Launch{Args: []string{"server.js"}}},
		{"/opt/server --x", Launch{Args: []string{"--x"}}},
		{"npm run start", Launch{Args: []string{"run", "start"}}},
		{"npm -y --silent exec a", Launch{Runner: "npm exec", Registry: NPM, Name: "a", Args: []string{}, Scripts: true}},
		{"npm --loglevel error x a", Launch{Runner: "npm exec", Registry: NPM, Name: "a", Args: []string{}, Scripts: true}},
		{"bun --bun x a", Launch{Runner: "bun x", Registry: NPM, Name: "a", Args: []string{}}},
		{"uv --quiet tool run a", Launch{Runner: "uv tool run", Registry: PyPI, Name: "a", Args: []string{}, Scripts: true}},
		{"deno --quiet run npm:a", Launch{Runner: "deno run", Registry: NPM, Name: "a", Args: []string{}}},
		{"uv --directory /x run weather.py", Launch{Args: []string{"--directory", "/x", "run", "weather.py"}}},
		{"bun run server.ts", Launch{Args: []string{"run", "server.ts"}}},
		{"go run ./server", Launch{Args: []string{"run", "./server"}}},
		{"python3 -m server", Launch{Args: []string{"-m", "server"}}},
	} {
		words := strings.Fields(c.line)
		if got := Of(words[0], words[1:]); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.line, got, c.want)
		}
	}
}

// TestWhatCannotBeReadIsUnclear: the next word after an unknown flag may be
// its value, so that no package is named wrongly.
func TestWhatCannotBeReadIsUnclear(t *testing.T) {
	for _, words := range [][]string{
		{"npx", "--new-flag", "@modelcontextprotocol/server-memory", "evil"}, {"npx"}, {"npx", "-y"}, {"npx", "-p"}, {"npx", "-c", "evil"}, {"npx", "--call=evil"},
		{"sh", "-c", "npx -y x"}, {"bash", "-lc", "npx x"}, {"env", "-i", "npx", "x"}, {"env", "A=1"}, {"docker", "run", "-z", "a", "b"}, {"docker", "run", "A B"},
		{"docker", "run", "a@sha256:12"}, {"uvx", "bad name!"}, {"uvx", "--", "-x"}, {"cmd", "/c", "cmd", "/c", "cmd", "/c", "cmd", "/c", "npx", "x"},
		{"npm", "init", "evil"}, {"npm", "--what", "exec", "evil"}, {"pnpm", "create", "evil"}, {"yarn", "create", "evil"}, {"bun", "create", "evil"}, {"uv", "run", "--with", "evil", "python"}, {"uv", "tool", "install", "evil"}, {"pipx", "install", "evil"},
		{"docker", "compose", "up"}, {"docker", "--context", "x", "run", "evil"}, {"nerdctl", "run", "evil"}, {"deno", "npm:evil"}, {"deno", "x", "npm:evil"}, {"go", "run", "evil.example/x@latest"}, {"dnx", "evil"}, {"nix", "run", "x#y"},
		{"corepack", "pnpm", "dlx", "evil"}, {"nice", "npx", "evil"}, {"timeout", "10", "npx", "evil"}, {"sudo", "npx", "evil"}, {"busybox", "sh", "-c", "npx evil"}, {"ksh", "-c", "npx evil"}, {"python3", "-m", "uv", "tool", "run", "evil"}, {"python", "-mpipx", "run", "evil"},
		{"node", "/usr/share/nodejs/npm/bin/npx-cli.js", "evil"}, {"./npx", "@anthropic/x"}, {"bin/uvx", "x"},
	} {
		l := Of(words[0], words[1:])
		if l.Unclear == "" {
			t.Errorf("%q is read as %+v", words, l)
		}
		if l.Publisher() != Unverified || l.ID() != "" || l.Verified(Lock{Name: l.Name, Version: "1.0.0", Integrity: "x"}) {
			t.Errorf("%q: what is not clear is vouched for", words)
		}
	}
}

// TestPublishersAreExactlyThoseOfTheContract covers G26 and amendment 31.
func TestPublishersAreExactlyThoseOfTheContract(t *testing.T) {
	for line, want := range map[string]Publisher{
		"npx @modelcontextprotocol/server-filesystem": Known, "npx -y @anthropic/x@1.0.0": Known, "deno run npm:@modelcontextprotocol/server-memory": Known,
		"npx @modelcontextprotocol/inspector": Unverified, "npx @modelcontextprotocol/sdk": Unverified, "npx @playwright/mcp": Unverified, "npx server-filesystem": Unverified,
		"npx @anthropic-ai/x": Unverified, "npx @modelcontextprotoco1/server-x": Unverified, "npx -p @anthropic/x -p evil prog": Unverified,
		"npx --registry=https://evil.example @anthropic/x": Unverified, "npx @anthropic/x@npm:evil": Unverified, "npx @anthropic/x@https://evil.example/x.tgz": Unverified,
		"npx --userconfig /tmp/x @anthropic/x": Unverified, "npx --prefix=/tmp/x @anthropic/x": Unverified, "npx --@anthropic:registry=https://evil.example @anthropic/x": Unverified,
		"npx --node-options=--require=/tmp/x @anthropic/x": Unverified, "env npm_config_registry=https://evil.example npx @anthropic/x": Unverified, "npm --silent exec @anthropic/x": Known,
		"uvx mcp-server-git": Unverified, "docker run mcp/x": Unverified, "/opt/server": Yours, "deno run ./x.ts": Yours, "npx ./x": Unverified,
	} {
		words := strings.Fields(line)
		if l := Of(words[0], words[1:]); l.Publisher() != want {
			t.Errorf("%s: %d, want %d", line, l.Publisher(), want)
		}
	}
}

// TestVariablesThatSteerWhatIsInstalledVouchForNobody.
func TestVariablesThatSteerWhatIsInstalledVouchForNobody(t *testing.T) {
	for name, want := range map[string]Publisher{"TOKEN": Known, "npm_config_registry": Unverified, "NPM_CONFIG_USERCONFIG": Unverified, "NODE_OPTIONS": Unverified, "PATH": Unverified} {
		l := Of("npx", []string{"-y", "@modelcontextprotocol/server-memory"}).Given(map[string]string{name: "x"})
		if l.Publisher() != want {
			t.Errorf("with %s: %d, want %d", name, l.Publisher(), want)
		}
	}
}

// TestOnlyAnIntegrityVerifies: neither a scope nor a version alone is proof.
func TestOnlyAnIntegrityVerifies(t *testing.T) {
	lock := Lock{Name: "@playwright/mcp", Version: "0.0.83", Integrity: "sha512-x"}
	for line, want := range map[string]bool{
		"npx @playwright/mcp@0.0.83": true, "npx @playwright/mcp": true, "npx @playwright/mcp@latest": true, "npx @playwright/mcp@0.0.84": false, "npx playwright": false,
		"npx -p @playwright/mcp -p evil mcp": false, "docker run a:1": false, "docker run a@" + digest: true, "node x": false,
	} {
		words := strings.Fields(line)
		l := Of(words[0], words[1:])
		if l.Verified(lock) != want {
			t.Errorf("%s: %v", line, !want)
		}
		if l.Registry == NPM && l.Verified(Lock{Name: l.Name, Version: "0.0.83"}) {
			t.Errorf("%s is verified without an integrity", line)
		}
		told := strings.Join(l.Tell(&lock), "\n")
		if want && l.Registry == NPM && !strings.Contains(told, "integrity sha512-x") || !want && strings.Contains(told, "integrity sha512-x") {
			t.Errorf("%s is told as\n%s", line, told)
		}
	}
}

func TestWhatIsKnownIsToldInWords(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y x":                     "package: x of npm, by npx\npublisher: unverified\nversion: the latest, which is whatever the registry has at that moment: reeve mcp pin locks one\nscripts: the package may run scripts of its own while it is installed",
		"npx --ignore-scripts x@1.0.0": "package: x@1.0.0 of npm, by npx\npublisher: unverified\nversion: 1.0.0, exactly; what is installed is compared with nothing: reeve mcp pin locks it",
		"docker run a":                 "package: a of oci, by docker run\npublisher: unverified\nversion: the tag latest, which may be another image tomorrow; name a digest (@sha256:...)\nnote: " + noSandbox,
		"node x.js":                    "package: none; a program of this machine",
		"npx github:a/b":               "package: github:a/b, by npx, from no registry: nothing can be compared\npublisher: unverified\nscripts: the package may run scripts of its own while it is installed",
		"sh -c x":                      "package: cannot be told: a line of a shell is not read; name the program itself\npublisher: unverified",
	} {
		words := strings.Fields(line)
		l := Of(words[0], words[1:])
		if got := strings.Join(l.Tell(nil), "\n"); got != want {
			t.Errorf("%s is told as\n%s\nwant\n%s", line, got, want)
		}
	}
	l := Of("npx", []string{"mcp-remote@0.1.15", "https://x.example"})
	if !strings.Contains(strings.Join(l.Tell(nil), "\n"), "CVE-2025-6514") {
		t.Error("mcp-remote is not warned of")
	}
}

func TestNamesThatResembleOthersAreNoticed(t *testing.T) {
	for name, want := range map[string]string{
		"@modelcontextprotocol/server-filesystem": "", "@playwright/mcp": "", "my-own-server": "", "left-pad": "", "mcp": "", "@acme/mcp": "",
		"@modelcontextprotocol/server-filesystme": "@modelcontextprotocol/server-filesystem", "@modelcontextprotoco1/server-memory": "@modelcontextprotocol/server-memory",
		"server-filesystem": "@modelcontextprotocol/server-filesystem", "modelcontextprotocol-server-memory": "@modelcontextprotocol/server-memory",
		"@modelcontextprotocl/server-anything": "@modelcontextprotocol/server-everything", "mcp-rem0te": "mcp-remote", "@playwrihgt/mcp": "@playwright/mcp",
	} {
		if got := Resembles(name); got != want {
			t.Errorf("%s resembles %q, want %q", name, got, want)
		}
	}
}

// FuzzOf: whatever a command line is, it is read to an end, and nothing that
// is not a plain name of the registry is vouched for.
func FuzzOf(f *testing.F) {
	f.Add("npx\x00-y\x00@modelcontextprotocol/server-x@1.0.0\x00.")
	f.Add("docker\x00run\x00-i\x00a@" + digest)
	f.Add("uvx\x00--from\x00a==1\x00b")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		l := Of(words[0], words[1:])
		l.Tell(&Lock{Name: l.Name, Version: "1.0.0", Integrity: "x"})
		if l.Publisher() == Known && (!npmName.MatchString(l.Name) || l.Unclear != "" || len(l.More) > 0 || l.Registry != NPM) {
			t.Errorf("%q is known: %+v", words, l)
		}
	})
}
