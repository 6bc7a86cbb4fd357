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
func (p Profile) environment(at Place, opts Options, r roots, net NetMode) []string {
	env := p.passed(at, opts, r)
	r.places(env)
	if p.Caches {
		r.caches(env)
	}
	if net == ProxiedNetwork {
		proxied(env, opts.Loopback)
	}
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

// caches keeps what package managers fetch between runs, beside the person's own
// stores, which are read-only: what a build puts there would be used outside.
func (r roots) caches(env map[string]string) {
	cache := env["XDG_CACHE_HOME"]
	env["GOMODCACHE"] = filepath.Join(cache, "go-mod")
	env["CARGO_HOME"] = filepath.Join(cache, "cargo")
	env["GRADLE_USER_HOME"] = filepath.Join(cache, "gradle")
	env["MAVEN_OPTS"] = "-Dmaven.repo.local=" + filepath.Join(cache, "m2")
	env["YARN_CACHE_FOLDER"] = filepath.Join(cache, "yarn")
	env["npm_config_store_dir"] = filepath.Join(cache, "pnpm")
}

// proxied points the process at the one way out. The listener speaks HTTP and
// SOCKS alike; ALL_PROXY names HTTP too, because Python's httpx, on which the
// clients of several models stand, does not start where it names SOCKS and a
// further package is missing. What connects to the sandbox's own loopback does
// not go by the proxy. With loopback, 127.0.0.1 is the machine's, by the proxy,
// and the sandbox's own is localhost.
func proxied(env map[string]string, loopback bool) {
	host, port, _ := strings.Cut(ProxyAddr, ":")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "grpc_proxy"} {
		env[name] = "http://" + ProxyAddr
	}
	own, java := "localhost,127.0.0.1,::1", "localhost|127.*|[::1]"
	if loopback {
		own, java = "localhost,::1", "localhost|[::1]"
	}
	env["NO_PROXY"], env["no_proxy"] = own, own
	env["NODE_USE_ENV_PROXY"] = "1" // Node 22.21 and 24
	env["JAVA_TOOL_OPTIONS"] = strings.TrimSpace(env["JAVA_TOOL_OPTIONS"] + " -Dhttp.proxyHost=" + host + " -Dhttp.proxyPort=" + port +
		" -Dhttps.proxyHost=" + host + " -Dhttps.proxyPort=" + port + " -Dhttp.nonProxyHosts=" + java)
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
