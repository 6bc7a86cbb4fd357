package safepath

import (
	"path"
	"strings"
	"sync"
	"unicode"
)

// ProtectedNames are the files and folders of a workspace, or of any
// repository or package below it, that steer programs: what runs on the next
// commit, on opening an editor, on starting an agent or a shell (contract
// A17, Y67). The entries are single names.
var ProtectedNames = []string{
	".git", // whole for tools and the strict profile; see GitExecuting for the agent profile

	// agents and their gates
	".a3s", ".agents", ".aider.conf.yml", ".claude", ".claude.json", ".codex", ".continue", ".cursor", ".gemini", ".mcp.json",
	".opencode", ".reeve", ".roo", ".windsurf",

	// editors and hooks that run by themselves
	".devcontainer", ".envrc", ".husky", ".idea", ".vscode", ".zed",

	// files that git, shells and package managers obey
	".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".gitconfig", ".gitmodules", ".inputrc", ".pnpmfile.cjs",
	".profile", ".ripgreprc", ".yarnrc", ".yarnrc.yml", ".zlogin", ".zlogout", ".zprofile", ".zshenv", ".zshrc", "bunfig.toml",
}

// GitExecuting are the entries of a git directory that make git start a
// program, or that say where else to look for such entries (contract Y67;
// commondir: CVE-2026-40068). A star stands for one name. A wall whose
// profile leaves .git writable keeps these read-only.
var GitExecuting = []string{
	"config", "config.worktree", "hooks", "commondir", "info/attributes",
	"modules/*/config", "modules/*/config.worktree", "modules/*/hooks", "modules/*/commondir", "modules/*/info/attributes",
	"worktrees/*/config.worktree", "worktrees/*/commondir", "worktrees/*/gitdir",
}

// CredentialPaths are credential stores, written relative to a home
// directory (contract A18). They count wherever they stand, since homes can
// be anywhere. One star stands for any part of one name.
var CredentialPaths = []string{
	// keys, agents, password managers
	".ssh", ".gnupg", ".password-store", ".age", ".config/age", ".config/sops", ".local/share/keyrings", ".local/share/kwalletd",
	".config/op", ".config/1Password", ".1password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc", ".config/keybase",
	".vault-token", ".pki", ".Xauthority", ".ICEauthority", "Library/Keychains",

	// clouds, clusters, services
	".aws", ".azure", ".boto", ".config/gcloud", ".config/doctl", ".config/gh", ".config/netlify", ".config/glab-cli", ".config/hub", ".config/heroku",
	".config/rclone", ".config/stripe", ".config/fly", ".fly", ".databrickscfg", ".kube", ".oci", ".passwd-s3fs", ".s3cfg", ".snowflake",
	".terraform.d", ".terraformrc", ".docker/config.json", ".config/containers", ".huggingface", ".cache/huggingface/token",

	// package registries, databases, plain protocols
	".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".cargo/credentials*", ".gem/credentials",
	".composer/auth.json", ".config/composer/auth.json", ".config/pypoetry/auth.toml", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".config/configstore", ".nuget/NuGet/NuGet.Config",
	".my.cnf", ".mylogin.cnf", ".pgpass", ".htpasswd",

	// browsers and mail
	".mozilla", ".thunderbird", ".config/BraveSoftware", ".config/chromium", ".config/google-chrome*", ".config/microsoft-edge*", ".config/opera*",
	".config/vivaldi", "snap/firefox", "snap/chromium", ".var/app",
	"Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Application Support/BraveSoftware",
	"Library/Application Support/Microsoft Edge", "Library/Safari", "Library/Cookies",
}

// MachineSecrets are credentials of the machine, by absolute path. A star
// stands for any part of one name.
var MachineSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/ssh/ssh_host_*_key", "/etc/docker/key.json",
	"/etc/kubernetes", "/etc/rancher", "/etc/wireguard", "/etc/NetworkManager/system-connections", "/var/lib/kubelet",
}

// AgentCredentials are the login files of agent programs, relative to a home
// directory. No tool reads them; the program that owns them does, so that a
// wall leaves them open to it.
var AgentCredentials = []string{
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".aider/oauth-keys.env",
}

// CredentialNames are patterns for one file's name, wherever it stands
// (contract A20). See [Credential] for the few exceptions.
var CredentialNames = []string{
	".env", ".env.*",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.agekey",
	"client_secret*.json",
}

// credentialExceptions are names that CredentialNames would catch and that
// hold nothing secret by custom.
var credentialExceptions = []string{".env*.example", ".env*.sample", ".env*.template", "cacert.pem", "ca-bundle.pem"}

// gitCredentialNames are files of a git directory that may hold an address
// with a token in it. Git itself reads them, so no wall masks them; a tool
// does not show them (the public case "cat .git/config").
var gitCredentialNames = []string{"config", "config.worktree", "credentials"}

// AgentStateDirs are the state folders of agent programs, relative to home,
// which a program under its own session may write (contract Y59).
var AgentStateDirs = []string{".claude", ".codex", ".gemini", ".aider"}

// AgentStatePinned are the entries of an agent's state folder, or of its
// folder in a workspace, that start programs or configure the gate. They are
// read-only in every profile, present or not (amendment 13). A star stands
// for any part of one name.
var AgentStatePinned = []string{
	"settings*.json", "managed-settings*", "hooks", "hooks.json", "plugins", "commands", "agents", "skills", "local",
	"config.toml", "config*.toml", "*.config.toml", "environments.toml", "managed_config.toml", "requirements.toml", "rules", "mcp*.json", ".mcp.json",
	"extensions", "policies", "trustedFolders.json", "aider.conf.yml", ".aider.conf.yml",
}

// gateEntries are the entries of an agent's folder in which a client keeps the
// hook that puts it behind the gate, or what loads further hooks. The other
// pinned entries steer programs and are protected, which a person may allow.
var gateEntries = []string{
	"settings*.json", "managed-settings*", "hooks", "hooks.json", "plugins", "config.toml", "config*.toml", "*.config.toml", "managed_config.toml", "requirements.toml",
}

// Protected reports whether any part of a slash-separated path, absolute or
// relative, is one of ProtectedNames, without regard to case.
func Protected(name string) bool {
	return scanNames(fold(name)).protected
}

// Credential reports whether a slash-separated path, absolute or relative, is
// or lies below a credential store or a credential of the machine, is an agent's login file, is named as a
// credential, or is a file of a git directory that may hold a token. Case
// does not count. The names .env.example, .env.sample, .env.template (with
// anything between), and the usual bundles of public certificates are not
// credentials.
func Credential(name string) bool {
	return scanNames(fold(name)).credential
}

// GateConfig reports whether a slash-separated path is an agent's folder, or
// what installs the gate in it: its settings, hooks and plugins, and what lies
// below them.
func GateConfig(name string) bool {
	return scanNames(fold(name)).gate
}

// nameMarks is what the names of a path say.
type nameMarks struct {
	protected, credential, gate bool
}

// and joins what two parts of a path say.
func (m nameMarks) and(n nameMarks) nameMarks {
	return nameMarks{m.protected || n.protected, m.credential || n.credential, m.gate || n.gate}
}

// scanNames judges a folded path by its names alone.
func scanNames(folded string) (m nameMarks) {
	m.credential = ofMachine(folded)
	for rest := folded; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		if tables().protected[part] {
			m.protected = true
			m.gate = m.gate || gateEntry(part, after)
			m.credential = m.credential || part == ".git" && gitCredential(after)
		}
		if part != "" {
			m.credential = m.credential || storeAt(part, after) || after == "" && credentialName(part)
		}
		rest = after
	}
	return m
}

// ofMachine reports whether an absolute path is or lies below a credential of
// the machine.
func ofMachine(folded string) bool {
	if !strings.HasPrefix(folded, "/etc/") && !strings.HasPrefix(folded, "/var/lib/") {
		return false
	}
	for _, secret := range tables().machine {
		if hasPath(folded[1:], secret) {
			return true
		}
	}
	return false
}

// gateEntry reports whether a path that goes on with after below an agent's
// folder configures the gate. The folder itself does: moving it away takes
// the gate with it.
func gateEntry(folder, after string) bool {
	if !tables().agentFolder[folder] {
		return false
	}
	entry, _, _ := strings.Cut(after, "/")
	return entry == "" || matchAny(tables().gate, entry)
}

// gitCredential reports whether a path that goes on with after below .git may
// hold a token: those of the repository itself, of its submodules and of its
// worktrees.
func gitCredential(after string) bool {
	dir, base := path.Split(after)
	if !matchAny(tables().gitCredential, base) {
		return false
	}
	return dir == "" || strings.HasPrefix(dir, "modules/") || strings.HasPrefix(dir, "worktrees/")
}

// storeAt reports whether a credential store begins at part.
func storeAt(part, after string) bool {
	for _, tail := range tables().stores[part] {
		if hasPath(after, tail) {
			return true
		}
	}
	return matchAny(tables().starStores, part)
}

// hasPath reports whether rest begins with the names of tail, where a name of
// tail may hold stars.
func hasPath(rest, tail string) bool {
	for tail != "" {
		var want, have string
		want, tail, _ = strings.Cut(tail, "/")
		have, rest, _ = strings.Cut(rest, "/")
		if have == "" || !match(want, have) {
			return false
		}
	}
	return true
}

func credentialName(base string) bool {
	return matchAny(tables().names, base) && !matchAny(tables().exceptions, base)
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return false
}

// match matches one name against a pattern of the lists above, which holds at
// most one star.
func match(pattern, name string) bool {
	head, tail, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == name
	}
	return len(name) >= len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// tables are the lists above, folded and keyed once.
var tables = sync.OnceValue(func() (t struct {
	protected, agentFolder                          map[string]bool
	stores                                          map[string][]string // first name → the further names
	starStores                                      []string            // stores of one name with a star in it
	names, exceptions, gitCredential, gate, machine []string
}) {
	t.protected, t.agentFolder, t.stores = map[string]bool{}, map[string]bool{}, map[string][]string{}
	for _, n := range ProtectedNames {
		t.protected[fold(n)] = true
	}
	for _, n := range AgentStateDirs {
		t.agentFolder[fold(n)] = true
		t.protected[fold(n)] = true
	}
	for _, list := range [][]string{CredentialPaths, AgentCredentials} {
		for _, n := range list {
			first, tail, _ := strings.Cut(fold(n), "/")
			if strings.ContainsRune(first, '*') {
				t.starStores = append(t.starStores, first)
				continue
			}
			t.stores[first] = append(t.stores[first], tail)
		}
	}
	t.names, t.exceptions = foldAll(CredentialNames), foldAll(credentialExceptions)
	t.gitCredential, t.gate = foldAll(gitCredentialNames), foldAll(gateEntries)
	for _, p := range MachineSecrets {
		t.machine = append(t.machine, fold(p[1:]))
	}
	return t
})

func foldAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fold(s)
	}
	return out
}

// fold brings a name to the form under which a file system without regard to
// case would compare it: lower case, and without the characters that such a
// file system skips (the list git keeps against ".g\u200cit" on HFS+). Names
// are judged folded on every file system, since a workspace can be mounted
// from any. A name of plain lower-case ASCII is returned as it is.
func fold(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return strings.Map(foldRune, name)
		}
	}
	return name
}

func foldRune(r rune) rune {
	switch {
	case r < 0x80:
		return unicode.ToLower(r)
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	// The smallest rune of the folding orbit: the long s folds to s, the
	// Kelvin sign to k.
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}
