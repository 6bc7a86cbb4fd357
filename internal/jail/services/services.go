// Package services lists the hosts that a boundary's profiles know by name.
package services

// OfAgents are the hosts that an agent's command line program is made of: its
// model, and what signs it in. What reports on its use (statistics, crash
// reports) and what updates it is left out, since it works without. Sources, as
// read in 2026: code.claude.com/docs/en/network-config for claude; the traffic of
// codex with both of its log-ins (the public threads openai/codex #6344 and
// github/gh-aw-firewall #2098); the enterprise set-up of Gemini Code Assist
// (developers.google.com/gemini-code-assist) and its log-in for gemini. Of aider,
// which works with any model, those of the keys that pass to it.
var OfAgents = map[string][]string{
	"claude": {"api.anthropic.com", "claude.ai", "platform.claude.com", "console.anthropic.com"},
	"codex":  {"api.openai.com", "chatgpt.com", "auth.openai.com"},
	"gemini": {"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com"},
	"aider":  {"api.anthropic.com", "api.openai.com", "openrouter.ai", "generativelanguage.googleapis.com", "api.deepseek.com"},
}

// Registries are where the common package managers fetch from, for the profile
// build. Each takes requests from everybody, and github.com also takes what
// is pushed to it: what a build can read it can send there.
var Registries = []string{
	"registry.npmjs.org",                 // npm, pnpm, yarn
	"pypi.org", "files.pythonhosted.org", // pip, uv, poetry
	"proxy.golang.org", "sum.golang.org", // go
	"index.crates.io", "static.crates.io", "crates.io", // cargo
	"repo.maven.apache.org",                                              // maven, gradle
	"github.com", "codeload.github.com", "objects.githubusercontent.com", // sources and releases that the others refer to
}

// BaseURLs are the variables by which a person gives an agent another service.
var BaseURLs = map[string][]string{
	"claude": {"ANTHROPIC_BASE_URL"},
	"codex":  {"OPENAI_BASE_URL"},
	"gemini": {"GOOGLE_GEMINI_BASE_URL"},
	"aider":  {"OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"},
}
