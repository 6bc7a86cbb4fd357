package jail

import "slices"

// agentHosts are the hosts that an agent's command line program is made of: its
// model, and what signs it in. What reports on its use (statistics, crash
// reports) and what updates it is left out, since it works without. Sources, as
// read in 2026: code.claude.com/docs/en/network-config for claude; the traffic of
// codex with both of its log-ins (the public threads openai/codex #6344 and
// github/gh-aw-firewall #2098); the enterprise set-up of Gemini Code Assist
// (developers.google.com/gemini-code-assist) and its log-in for gemini. Of aider,
// which works with any model, those of the keys that pass to it.
var agentHosts = map[string][]string{
	"claude": {"api.anthropic.com", "claude.ai", "platform.claude.com", "console.anthropic.com"},
	"codex":  {"api.openai.com", "chatgpt.com", "auth.openai.com"},
	"gemini": {"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com"},
	"aider":  {"api.anthropic.com", "api.openai.com", "openrouter.ai", "generativelanguage.googleapis.com", "api.deepseek.com"},
}

// registries are where the common package managers fetch from, for the profile
// build. Each takes requests from everybody, and github.com also takes what
// is pushed to it: what a build can read it can send there.
var registries = []string{
	"registry.npmjs.org",                 // npm, pnpm, yarn
	"pypi.org", "files.pythonhosted.org", // pip, uv, poetry
	"proxy.golang.org", "sum.golang.org", // go
	"index.crates.io", "static.crates.io", "crates.io", // cargo
	"repo.maven.apache.org",                                              // maven, gradle
	"github.com", "codeload.github.com", "objects.githubusercontent.com", // sources and releases that the others refer to
}

// AgentHosts are the hosts of the service that the started agent CLI is made
// of, in a profile that knows the agents; none for another program.
func (p Profile) AgentHosts(argv []string) (program string, hosts []string) {
	cli := cliOf(argv)
	if cli == nil || !p.AgentState {
		return "", nil
	}
	return cli.program, slices.Clone(agentHosts[cli.program])
}
