// Package environ decides which variables of a person's environment pass into
// a boundary. It is pure. The rule is an allow-list, then a scrub (A18): what
// is not named does not pass, and what looks like a secret does not pass even
// where its name is on the list. A person may pass one by name.
package environ

import (
	"slices"
	"strings"
)

// passing may pass; the last character may be a star.
var passing = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION",
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CI", "EDITOR", "VISUAL",
	"GOPATH", "GOROOT", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GOPRIVATE", "GOTOOLCHAIN", "GOMAXPROCS", "GOAMD64", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "MAVEN_HOME", "NVM_DIR", "NODE_ENV", "PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX",
	"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUTF8", "RBENV_ROOT", "GEM_HOME", "DOTNET_ROOT",
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "npm_config_registry", "PIP_INDEX_URL",
	"NODE_USE_ENV_PROXY", "SOURCE_DATE_EPOCH", "MAKEFLAGS", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
}

// secretWords mark a name as one that holds a secret.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "SESSION_KEY", "AUTH"}

// secretPrefixes mark values that are secrets whatever the variable is called.
var secretPrefixes = []string{"sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "npm_", "pypi-", "-----BEGIN"}

// Passing is the part of an environment that passes.
func Passing(from []string) map[string]string {
	env := map[string]string{}
	for _, kv := range from {
		name, value, ok := strings.Cut(kv, "=")
		if ok && matchesAny(passing, name) && !Secret(name, value) && Plain(value) {
			env[name] = value
		}
	}
	return env
}

// Copy adds the variables of the given names, secret or not.
func Copy(env map[string]string, from, names []string) {
	for _, kv := range from {
		if name, value, ok := strings.Cut(kv, "="); ok && matchesAny(names, name) {
			env[name] = value
		}
	}
}

// Set adds entries of the form NAME=value.
func Set(env map[string]string, entries []string) {
	for _, kv := range entries {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" && Plain(kv) {
			env[name] = value
		}
	}
}

// List writes an environment in a fixed order.
func List(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// matchesAny compares a name with names of which the last character may be *.
func matchesAny(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		head, wild := strings.CutSuffix(n, "*")
		return n == name || wild && strings.HasPrefix(name, head)
	})
}

// Secret reports whether a variable holds a secret by its name, by a known
// shape of its value, or because the value is an address with a password.
func Secret(name, value string) bool {
	upper := strings.ToUpper(name)
	if slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(upper, w) }) {
		return true
	}
	if slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(value, p) }) {
		return true
	}
	_, rest, isURL := strings.Cut(value, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return isURL && strings.Contains(authority, "@")
}

// Plain refuses values that cannot be an argument and those that bash
// once took for functions.
func Plain(value string) bool {
	return !strings.Contains(value, "\x00") && !strings.HasPrefix(value, "()")
}

// Lookup finds a variable in a list; the last one counts, as in os.Environ.
func Lookup(env []string, name string) string {
	found := ""
	for _, kv := range env {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			found = v
		}
	}
	return found
}
