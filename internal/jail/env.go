package jail

import (
	"path/filepath"
	"slices"
	"strings"
)

// The environment inside is an allow-list, then a scrub (A18): what is not
// named here does not pass, and what looks like a secret does not pass even
// where its name is on the list. A person may pass one by name.
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

// environment is the whole environment of the process.
func (p Profile) environment(at Place, opts Options, r roots) []string {
	env := p.passed(at, opts, r)
	r.places(env)
	copyNamed(env, at.Env, opts.Pass)
	set(env, opts.Set)
	return list(env)
}

// passed is what passes of the person's environment, with what Reeve sets.
func (p Profile) passed(at Place, opts Options, r roots) map[string]string {
	env := map[string]string{}
	for _, kv := range at.Env {
		name, value, ok := strings.Cut(kv, "=")
		if ok && matchesAny(passing, name) && !secret(name, value) && plainValue(value) {
			env[name] = value
		}
	}
	if cli := cliOf(opts.Argv); cli != nil && p.KeepEnv {
		copyNamed(env, at.Env, cli.pass)
		set(env, cli.set)
	}
	copyNamed(env, at.Env, opts.Pass)
	set(env, opts.Set)
	env["HOME"] = r.home
	if env["PATH"] == "" {
		env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	return env
}

func set(env map[string]string, entries []string) {
	for _, kv := range entries {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" && plainValue(kv) {
			env[name] = value
		}
	}
}

// list writes an environment in a fixed order.
func list(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// places points the process at its private directories. Caches go to the
// session's own cache directory: the person's are read-only, and what an
// agent leaves there would be run outside (research note, section 2).
func (r roots) places(env map[string]string) {
	env["TMPDIR"] = "/tmp"
	env["REEVE_SANDBOX"] = "1"
	cache := "/tmp/.cache"
	if r.cache != "" {
		cache = insideCache
	}
	env["XDG_CACHE_HOME"] = cache
	env["GOCACHE"] = filepath.Join(cache, "go-build")
	env["npm_config_cache"] = filepath.Join(cache, "npm")
	env["PIP_CACHE_DIR"] = filepath.Join(cache, "pip")
	env["npm_config_update_notifier"] = "false"
	if at := npmRegistry(filepath.Join(r.home, ".npmrc")); at != "" && env["npm_config_registry"] == "" {
		env["npm_config_registry"] = at
	}
}

// npmRegistry reads the registry's address out of a settings file that is
// hidden inside because it may hold tokens.
func npmRegistry(file string) string {
	text, err := readSmall(file, maxGitConfig)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.TrimSpace(value)
		if strings.TrimSpace(name) == "registry" && !secret("", value) && plainValue(value) && !strings.Contains(value, "$") {
			return value
		}
	}
	return ""
}

func copyNamed(env map[string]string, from, names []string) {
	for _, kv := range from {
		if name, value, ok := strings.Cut(kv, "="); ok && matchesAny(names, name) {
			env[name] = value
		}
	}
}

// matchesAny compares a name with names of which the last character may be *.
func matchesAny(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		head, wild := strings.CutSuffix(n, "*")
		return n == name || wild && strings.HasPrefix(name, head)
	})
}

// secret reports whether a variable holds a secret by its name, by a known
// shape of its value, or because the value is an address with a password.
func secret(name, value string) bool {
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

// plainValue refuses values that cannot be an argument and those that bash
// once took for functions.
func plainValue(value string) bool {
	return !strings.Contains(value, "\x00") && !strings.HasPrefix(value, "()")
}

// lookup finds a variable in a list; the last one counts, as in os.Environ.
func lookup(env []string, name string) string {
	found := ""
	for _, kv := range env {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			found = v
		}
	}
	return found
}
