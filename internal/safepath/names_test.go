package safepath

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
)

func TestCredentialNamesFailClosedWhereverTheyStand(t *testing.T) {
	for _, name := range []string{
		".env", "services/api/.env.production", "/w/.ENV", ".env.local", ".ssh", "/home/u/.ssh/known_hosts", "/root/.SSH/id",
		"a/id_rsa", "id_ed25519", "tls/server.pem", "tls/server.key", ".git/config", "vendor/lib/.git/config",
		".git/modules/x/config", "/home/u/.aws/credentials", "/home/u/.config/gcloud/x", "/home/u/.config/gh/hosts.yml", ".npmrc", ".netrc", ".pypirc",
		".git-credentials", "/h/.cargo/credentials.toml", "/h/.cargo/credentials", "/h/.docker/config.json", "/h/.config/google-chrome-beta/Default/Cookies",
		"/h/.mozilla/firefox/x/logins.json", "/h/.claude/.credentials.json", "/h/.codex/auth.json", "/etc/shadow", "/etc/ssh/ssh_host_rsa_key", "/etc/kubernetes/admin.conf", "/h/.m2/settings.xml", ".e\u200cnv", "id_r\u017fa", "\u212aeys/x.\u212aey",
	} {
		if !Credential(name) {
			t.Errorf("Credential(%q) = false, want true", name)
		}
	}
	for _, name := range []string{
		"", "/", "main.go", "env", ".envrc.md", ".env.example", ".env.production.sample", ".env.template", "id_rsa.pub", "config", "sub/config",
		".github/config", ".git/HEAD", ".docker/Dockerfile", ".config/nvim/init.lua", "certifi/cacert.pem", "credentials.go", ".cargo/config.toml", "keys/readme", "/etc/passwd", "etc/shadow", "/etc/shadowy", "/etc/ssh/ssh_config", ".docker/compose.yml",
	} {
		if Credential(name) {
			t.Errorf("Credential(%q) = true, want false", name)
		}
	}
}

func TestProtectedNamesHoldAtAnyDepthAndInAnyCase(t *testing.T) {
	for _, name := range []string{
		".git", ".git/hooks/pre-commit", "vendor/a/.git/config", ".claude/settings.json", ".CLAUDE/x", ".vscode/tasks.json", ".idea", ".mcp.json",
		".a3s/permissions.acl", ".agents/x", ".codex/config.toml", "a/.bashrc", ".gitmodules", ".g\u200cit/config", "/w/.Git",
	} {
		if !Protected(name) {
			t.Errorf("Protected(%q) = false, want true", name)
		}
	}
	for _, name := range []string{"", ".", "git", ".github/workflows/ci.yml", ".gitignore", ".gitattributes", "claude", "a.git/x", "src/vscode"} {
		if Protected(name) {
			t.Errorf("Protected(%q) = true, want false", name)
		}
	}
}

func TestGateConfigIsWhatInstallsTheGate(t *testing.T) {
	for _, name := range []string{
		"/h/.claude", "/h/.claude/settings.json", "/h/.claude/settings.local.json", "w/.claude/hooks/x.sh", ".codex/config.toml", ".gemini/settings.json",
		".claude/plugins/a/b", ".CLAUDE/Settings.json", "/h/.claude/managed-settings.d/x",
	} {
		if !GateConfig(name) {
			t.Errorf("GateConfig(%q) = false, want true", name)
		}
	}
	for _, name := range []string{"/h/.claude/projects/x.jsonl", ".claude/commands/x.md", ".claude/agents/x.md", ".mcp.json", ".claude/todos/1.json", "settings.json", ".vscode/settings.json", "hooks/x"} {
		if GateConfig(name) {
			t.Errorf("GateConfig(%q) = true, want false", name)
		}
	}
}

func TestAWorkspaceInsideAnAgentsFolderIsNotProtectedWhole(t *testing.T) {
	const agents, secret = reeve.PathProtected | reeve.PathGateConfig, reeve.PathCredential
	for place, tests := range map[string]map[string]reeve.PathMark{
		"/.claude/worktrees/w": {"/main.go": 0, "/.claude/settings.json": agents, "/.claude/notes.md": reeve.PathProtected, "/.env": secret},
		"/.ssh/w":              {"/main.go": secret},
	} {
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(top+place, 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := NewResolver(Options{Workspace: top + place, Home: top})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range tests {
			if got := r.Facts(top + place + name); got.Marks != want {
				t.Errorf("%s%s has marks %b, want %b", place, name, got.Marks, want)
			}
		}
	}
}

func TestWhatIsPinnedInAnAgentsFolderIsProtectedInAWorkspace(t *testing.T) {
	for _, dir := range AgentStateDirs {
		for _, name := range append(AgentStatePinned, gateEntries...) {
			if path := dir + "/" + name; !Protected(path) {
				t.Errorf("%s is not protected", path)
			}
		}
	}
}

func TestToolsProtectWhatWallsProtect(t *testing.T) {
	for _, name := range jail.ProtectedNames() {
		if !Protected(name) {
			t.Errorf("a wall protects %s and the tools do not", name)
		}
	}
}
