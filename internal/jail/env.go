package jail

import (
	"path/filepath"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail/environ"

	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// maxSettings bounds a settings file that is read for a word or two.
const maxSettings = 256 << 10

// environment is the whole environment of the process.
func (p Profile) environment(at Place, opts Options, r roots) []string {
	env := p.passed(at, opts, r)
	r.places(env)
	environ.Copy(env, at.Env, opts.Pass)
	environ.Set(env, opts.Set)
	return environ.List(env)
}

// passed is what passes of the person's environment, with what Reeve sets.
func (p Profile) passed(at Place, opts Options, r roots) map[string]string {
	env := environ.Passing(at.Env)
	if cli := cliOf(opts.Argv); cli != nil && p.KeepEnv {
		environ.Copy(env, at.Env, cli.pass)
		environ.Set(env, cli.set)
	}
	environ.Copy(env, at.Env, opts.Pass)
	environ.Set(env, opts.Set)
	env["HOME"] = r.home
	if env["PATH"] == "" {
		env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	return env
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
	text, err := tree.ReadSmall(file, maxSettings)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.TrimSpace(value)
		if strings.TrimSpace(name) == "registry" && !environ.Secret("", value) && environ.Plain(value) && !strings.Contains(value, "$") {
			return value
		}
	}
	return ""
}
