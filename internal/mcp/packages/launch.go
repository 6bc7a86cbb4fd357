package packages

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/late"
)

// Registry is where a package comes from.
type Registry string

const (
	Local Registry = ""       // a program of this machine
	NPM   Registry = "npm"    // also through pnpm, yarn, bun and deno
	PyPI  Registry = "pypi"   // through uv and pipx
	OCI   Registry = "oci"    // an image, through docker and podman
	JSR   Registry = "jsr"    // through deno
	Other Registry = "source" // a repository, an archive or an address of its own
)

// Launch is how a server is started.
type Launch struct {
	Runner   string // as people call it: npx, npm exec, docker run; "" = none
	Registry Registry
	Name     string // of the package, in full; of an image without tag and digest; of a source as written
	Version  string // as written: a version, a range or a tag; "" = none
	Digest   string // of an image: sha256:...
	Exact    bool   // Version is one version, or Digest is there
	Program  string // the one of the package's programs that is named; "" = its own
	More     []string
	Args     []string // of the server itself
	Scripts  bool     // scripts of the package may run while it is installed
	Unclear  string   // why the package cannot be told; "" = it can
	Notes    []string // what else a person should know
}

// Of reads a command line.
func Of(command string, args []string) Launch {
	return of(command, args, 0)
}

func of(command string, args []string, depth int) Launch {
	base := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.ReplaceAll(command, `\`, "/")), ".exe"), ".cmd"))
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case depth > 3:
		return Launch{Runner: base, Unclear: "programs that start programs are not read further"}
	case base == "cmd" && strings.EqualFold(first, "/c") && len(args) > 1:
		return of(args[1], args[2:], depth+1)
	case base == "env":
		return environment(args, depth)
	case passesOn[base]:
		return Launch{Runner: base, Unclear: "what " + base + " starts is not read; name the program itself"}
	case !strings.HasPrefix(command, "/") && strings.ContainsAny(command, `/\`) && isRunner(base):
		return Launch{Runner: base, Unclear: command + " is a file of that name, and may be any program"}
	case slices.Contains([]string{"sh", "bash", "zsh", "dash", "fish", "ash", "ksh", "mksh", "csh", "tcsh"}, base):
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "c") }) {
			return Launch{Runner: base, Unclear: "a line of a shell is not read; name the program itself"}
		}
		return Launch{Runner: base, Args: args}
	}
	for _, r := range runners {
		if r.base != base {
			continue
		}
		if rest, ok := r.verb(args); ok {
			return r.read(rest)
		}
	}
	if why := installs(base, args); why != "" {
		return Launch{Runner: base, Unclear: why}
	}
	return Launch{Args: args}
}

func isRunner(base string) bool {
	return slices.ContainsFunc(runners, func(r runner) bool { return r.base == base })
}

// passesOn are programs that start another one, or whatever they are told to
// bring: none of their command lines is read.
var passesOn = map[string]bool{"busybox": true, "toybox": true, "nice": true, "ionice": true, "chrt": true, "timeout": true, "nohup": true, "setsid": true, "stdbuf": true, "time": true, "xargs": true,
	"sudo": true, "doas": true, "su": true, "unshare": true, "script": true, "corepack": true, "volta": true, "fnm": true, "nvm": true, "mise": true, "asdf": true, "rtx": true, "direnv": true,
	"nix": true, "nix-shell": true, "dnx": true, "jbang": true, "pixi": true, "conda": true, "mamba": true, "rye": true, "hatch": true, "nerdctl": true, "finch": true, "powershell": true, "pwsh": true, "start": true}

// installs says why a command line that is none of the forms above may still
// bring a package with it, "" where it starts a program of this machine.
func installs(base string, args []string) string {
	const other = "what is installed by that is not read; name the package with npx, uvx or the like"
	word := func(names ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(names, a) })
	}
	from := func(prefixes ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(a, p) })
		})
	}
	ends := func(names ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(a, n) })
		})
	}
	switch base {
	case "npm", "pnpm", "yarn", "bun":
		if word("exec", "x", "dlx", "create", "init", "innit", "c", "add", "install", "i") {
			return other
		}
	case "uv", "pipx":
		if word("tool", "install", "pip") || from("--with", "--from", "--script") || base == "pipx" {
			return other
		}
	case "docker", "podman":
		return "what its engine starts is not read; name the image with " + base + " run"
	case "deno":
		if from("npm:", "jsr:", "http:", "https:") || word("x", "install") {
			return other
		}
	case "go":
		if ends("@latest") || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "@") }) {
			return other
		}
	case "node", "nodejs":
		if ends("npx-cli.js", "npm-cli.js", "/npx", "/npm", "/pnpm.cjs", "/yarn.js", "/corepack.js") {
			return other
		}
	}
	if strings.HasPrefix(base, "python") || base == "py" {
		if i := slices.Index(args, "-m"); i >= 0 && i+1 < len(args) && slices.Contains([]string{"uv", "pipx", "pip"}, args[i+1]) || from("-muv", "-mpip") {
			return other
		}
	}
	return ""
}

// environment reads what stands behind env.
func environment(args []string, depth int) Launch {
	given := map[string]string{}
	for i, a := range args {
		name, value, set := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "-"):
			return Launch{Runner: "env", Unclear: "env with " + a + " is not read"}
		case !set:
			return of(a, args[i+1:], depth+1).Given(given)
		}
		given[name] = value
	}
	return Launch{Runner: "env", Unclear: "it names no program"}
}

// Given is the launch with the variables that it starts with: some of them steer
// what is installed, and from where.
func (l Launch) Given(env map[string]string) Launch {
	if l.Registry == Local {
		return l
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		up := strings.ToUpper(name)
		if up == "NODE_OPTIONS" || up == "PATH" || slices.ContainsFunc([]string{"NPM_", "PNPM_", "YARN_", "BUN_", "DENO_", "COREPACK_", "UV_", "PIP_", "PIPX_"}, func(p string) bool { return strings.HasPrefix(up, p) }) {
			l.Notes = append(slices.Clone(l.Notes), "the variable "+name+": what is installed may be another")
		}
	}
	return l
}

// runner is one way to start a package.
type runner struct {
	base     string
	verbs    [][]string // words between the program and its flags; nil = none
	registry Registry
	name     string
	scripts  bool // scripts run unless a flag forbids it

	takes []string // flags with a value
	alone []string // flags without one
	from  []string // of takes: its value is the package
	more  []string // of takes: its value is one more package
	warn  map[string]string
	spec  func(l *Launch, spec string)
}

const (
	otherRegistry = "it is installed from a registry of its own choice"
	otherThings   = "what is installed may be another"
	noSandbox     = "its container is started by the engine, outside Reeve's boundary"
)

// The flags are those of npm 11, pnpm 10, yarn 4, bun 1.3, uv 0.9, pipx 1.8,
// docker 29, podman 5 and deno 2, as their manuals have them.
var runners = []runner{
	{base: "npx", registry: NPM, name: "npx", scripts: true, spec: npmSpec,
		takes: npmTakes, alone: npmAlone, from: []string{"-p", "--package"}, warn: npmWarn},
	{base: "npm", verbs: [][]string{{"exec"}, {"x"}}, registry: NPM, name: "npm exec", scripts: true, spec: npmSpec,
		takes: npmTakes, alone: npmAlone, from: []string{"-p", "--package"}, warn: npmWarn},
	{base: "pnpm", verbs: [][]string{{"dlx"}}, registry: NPM, name: "pnpm dlx", spec: npmSpec,
		takes: []string{"--package", "--registry", "--reporter", "--allow-build", "-C", "--dir"}, alone: []string{"-s", "--silent", "-c", "--shell-mode"}, from: []string{"--package"},
		warn: map[string]string{"--registry": otherRegistry, "--allow-build": "scripts of a package run while it is installed"}},
	{base: "pnpx", registry: NPM, name: "pnpx", spec: npmSpec, takes: []string{"--package"}, from: []string{"--package"}},
	{base: "yarn", verbs: [][]string{{"dlx"}}, registry: NPM, name: "yarn dlx", scripts: true, spec: npmSpec,
		takes: []string{"-p", "--package"}, alone: []string{"-q", "--quiet"}, from: []string{"-p", "--package"}},
	{base: "bunx", registry: NPM, name: "bunx", spec: npmSpec, takes: []string{"-p", "--package"}, alone: []string{"--bun", "--silent", "--verbose", "--no-install"}, from: []string{"-p", "--package"}},
	{base: "bun", verbs: [][]string{{"x"}}, registry: NPM, name: "bun x", spec: npmSpec, takes: []string{"-p", "--package"}, alone: []string{"--bun", "--silent", "--verbose", "--no-install"}, from: []string{"-p", "--package"}},
	{base: "uvx", registry: PyPI, name: "uvx", scripts: true, spec: pySpec, takes: uvTakes, alone: uvAlone, from: []string{"--from"}, more: []string{"--with", "-w"}, warn: uvWarn},
	{base: "uv", verbs: [][]string{{"tool", "run"}}, registry: PyPI, name: "uv tool run", scripts: true, spec: pySpec, takes: uvTakes, alone: uvAlone, from: []string{"--from"}, more: []string{"--with", "-w"}, warn: uvWarn},
	{base: "pipx", verbs: [][]string{{"run"}}, registry: PyPI, name: "pipx run", scripts: true, spec: pySpec,
		takes: []string{"--spec", "--python", "--pip-args", "--index-url", "-i", "--with"}, alone: []string{"--no-cache", "--pypackages", "--verbose", "--quiet", "-q"}, from: []string{"--spec"}, more: []string{"--with"},
		warn: map[string]string{"--index-url": otherRegistry, "-i": otherRegistry, "--pip-args": "pip is given arguments of its own"}},
	{base: "docker", verbs: [][]string{{"run"}, {"container", "run"}}, registry: OCI, name: "docker run", spec: ociSpec, takes: ociTakes, alone: ociAlone, warn: ociWarn},
	{base: "podman", verbs: [][]string{{"run"}, {"container", "run"}}, registry: OCI, name: "podman run", spec: ociSpec, takes: ociTakes, alone: ociAlone, warn: ociWarn},
	{base: "deno", verbs: [][]string{{"run"}}, registry: Other, name: "deno run", spec: denoSpec,
		takes: []string{"-c", "--config", "--import-map", "--lock", "--node-modules-dir", "--env-file", "--cert", "--location", "--v8-flags", "--seed", "-L", "--log-level"},
		alone: []string{"-A", "--allow-all", "--allow-net", "--allow-read", "--allow-write", "--allow-env", "--allow-run", "--allow-sys", "--allow-ffi", "--allow-import", "--no-prompt", "--no-lock", "--frozen",
			"--cached-only", "-q", "--quiet", "--no-check", "--check", "--no-npm", "--no-remote", "--unstable", "-N", "-R", "-W", "-E", "-S", "-I", "--allow-scripts"},
		warn: map[string]string{"-c": otherThings, "--config": otherThings, "--import-map": otherThings, "--env-file": otherThings, "--cert": otherThings, "--allow-scripts": "scripts of a package run while it is installed"}},
}

var (
	npmTakes = []string{"-p", "--package", "-c", "--call", "--registry", "--cache", "--userconfig", "--prefix", "-w", "--workspace", "--loglevel", "--script-shell", "--before", "--node-options"}
	npmAlone = []string{"-y", "--yes", "-n", "--no", "-q", "--quiet", "--ignore-scripts", "--offline", "--prefer-offline", "--prefer-online", "--no-install", "--silent", "-s", "--verbose", "--no-audit", "--no-fund", "--no-update-notifier", "--workspaces"}
	npmWarn  = map[string]string{"--registry": otherRegistry, "-c": "a line of a shell is run", "--call": "a line of a shell is run", "--userconfig": "npm is given settings of its own", "--script-shell": "another shell runs its scripts",
		"--prefix": otherThings, "-w": otherThings, "--workspace": otherThings, "--workspaces": otherThings, "--cache": otherThings, "--node-options": otherThings, "--before": otherThings}

	uvTakes = []string{"--from", "--with", "-w", "--with-editable", "--with-requirements", "-p", "--python", "--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index-strategy",
		"--refresh-package", "-P", "--upgrade-package", "--resolution", "--prerelease", "--exclude-newer", "--cache-dir", "--directory", "--project", "--config-file", "--env-file", "--color", "--constraints", "-c", "--overrides", "--link-mode", "-C", "--config-setting", "--allow-insecure-host", "--python-platform"}
	uvAlone = []string{"--isolated", "-n", "--no-cache", "--offline", "-q", "--quiet", "-v", "--verbose", "--refresh", "--reinstall", "-U", "--upgrade", "--no-build", "--no-sources", "--no-index", "--native-tls", "--no-config", "--no-progress",
		"--managed-python", "--no-managed-python", "--no-python-downloads", "--no-env-file", "--no-build-isolation"}
	uvWarn = map[string]string{"--index": otherRegistry, "--default-index": otherRegistry, "-i": otherRegistry, "--index-url": otherRegistry, "--extra-index-url": "it may be installed from a second registry",
		"-f": otherRegistry, "--find-links": otherRegistry, "--with-editable": "a directory is installed beside it", "--with-requirements": "more packages are installed beside it", "--allow-insecure-host": "a registry is not told from another"}

	ociTakes = []string{"-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name", "-w", "--workdir", "-u", "--user", "--network", "--net", "--entrypoint", "-l", "--label", "--label-file", "-m", "--memory",
		"--memory-swap", "--cpus", "-c", "--cpu-shares", "--pids-limit", "--platform", "--pull", "--restart", "--add-host", "--dns", "-h", "--hostname", "--cap-add", "--cap-drop", "--security-opt", "--tmpfs", "--ulimit", "--shm-size",
		"--device", "--gpus", "--ipc", "--pid", "--userns", "--uts", "--cgroupns", "--log-driver", "--log-opt", "--cidfile", "--stop-signal", "--stop-timeout", "--volumes-from", "--runtime", "--group-add", "--expose", "--link", "-a", "--attach", "--annotation", "--sysctl", "--ip"}
	ociAlone = []string{"-i", "--interactive", "-t", "--tty", "-it", "-ti", "-d", "--detach", "--rm", "--init", "--privileged", "--read-only", "-P", "--publish-all", "-q", "--quiet", "--no-healthcheck", "--sig-proxy", "--oom-kill-disable", "--replace"}
	ociWarn  = map[string]string{"--privileged": "its container holds nothing back", "--device": "a device of this machine is handed to it", "--cap-add": "its container is given more rights", "--security-opt": "its container's protection is changed",
		"--pid": "it may see this machine's processes", "--ipc": "it may share this machine's memory", "--userns": "its container's users are changed", "--entrypoint": "another program of the image is run", "--volumes-from": "directories of another container are handed to it"}
)

// verb takes the runner's own words off. Its flags may stand before them too.
func (r *runner) verb(args []string) ([]string, bool) {
	if r.verbs == nil {
		return args, true
	}
	at := 0
	for at < len(args) && strings.HasPrefix(args[at], "-") {
		flag, _, given := strings.Cut(args[at], "=")
		if at++; !given && slices.Contains(r.takes, flag) {
			at++
		}
	}
	at = min(at, len(args))
	for _, v := range r.verbs {
		if rest := args[at:]; len(rest) >= len(v) && slices.Equal(rest[:len(v)], v) {
			return slices.Concat(args[:at], rest[len(v):]), true
		}
	}
	return nil, false
}

// read reads flags up to the package.
func (r *runner) read(args []string) Launch {
	l := Launch{Runner: r.name, Registry: r.registry, Scripts: r.scripts}
	if r.registry == OCI {
		l.Notes = append(l.Notes, noSandbox)
	}
	var from []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			args = args[i+1:]
			return r.end(l, from, args)
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			return r.end(l, from, args[i:])
		}
		flag, value, given := strings.Cut(a, "=")
		if why := r.warn[flag]; why != "" {
			l.Notes = append(l.Notes, flag+": "+why)
		}
		switch {
		case flag == "--ignore-scripts" && (!given || value == "true"), flag == "--no-build":
			l.Scripts = false
		case slices.Contains(r.alone, flag):
		case slices.Contains(r.takes, flag):
			if !given {
				if i++; i == len(args) {
					l.Unclear = flag + " has no value"
					return l
				}
				value = args[i]
			}
			r.valued(&l, flag, value, &from)
		case given && strings.HasPrefix(flag, "--"): // whatever it is, it takes no other word
			l.Notes = append(l.Notes, flag+" is a flag that is not known here")
		default:
			l.Unclear = flag + " is a flag that is not known here, and the next word may be its value"
			return l
		}
		if l.Unclear != "" {
			return l
		}
	}
	return r.end(l, from, nil)
}

func (r *runner) valued(l *Launch, flag, value string, from *[]string) {
	switch {
	case slices.Contains(r.from, flag):
		*from = append(*from, value)
	case slices.Contains(r.more, flag):
		l.More = append(l.More, value)
	case r.registry == NPM && (flag == "-c" || flag == "--call"):
		l.Unclear = "a line of a shell is run; name the package itself"
	case r.registry == OCI:
		if strings.Contains(value, "docker.sock") || strings.Contains(value, "podman.sock") {
			l.Notes = append(l.Notes, "it is handed the socket of the engine, and with it this machine")
		}
		if (flag == "--network" || flag == "--net" || flag == "--pid" || flag == "--ipc") && strings.HasPrefix(value, "host") {
			l.Notes = append(l.Notes, flag+" host: it is not kept apart from this machine")
		}
		if (flag == "-v" || flag == "--volume") && strings.HasPrefix(value, "/:") {
			l.Notes = append(l.Notes, "it is handed the whole of this machine's files")
		}
	}
}

// end takes the package from what is left, or from the flags that named it.
func (r *runner) end(l Launch, from, rest []string) Launch {
	if len(from) > 0 {
		l.More = append(l.More, from[1:]...)
		r.spec(&l, from[0])
		if len(rest) > 0 {
			l.Program, rest = rest[0], rest[1:]
		}
		l.Args = rest
		return l
	}
	if len(rest) == 0 {
		l.Unclear = "it names no package"
		return l
	}
	if rest[0] == "" || strings.HasPrefix(rest[0], "-") {
		l.Unclear = "what stands for the package is a flag"
		return l
	}
	r.spec(&l, rest[0])
	l.Args = rest[1:]
	return l
}

var (
	exactVersion = late.New(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	npmName      = late.New(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$`)
	pyName       = late.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pyExact      = late.New(`^[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?$`)
	ociName      = late.New(`^[a-z0-9]+([._:-][a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	ociDigest    = late.New(`^sha256:[0-9a-f]{64}$`)
)

// npmSpec reads what npm installs: a name, perhaps with a version, a range or
// a tag; or something that no registry has (npm 11, package-spec).
func npmSpec(l *Launch, spec string) {
	at := strings.LastIndexByte(spec, '@')
	name, version := spec, ""
	if at > 0 {
		name, version = spec[:at], spec[at+1:]
	}
	if i := strings.Index(spec, "@npm:"); i > 0 { // an alias is named by what it is
		l.Notes = append(l.Notes, spec[:i]+" is another name for "+spec[i+len("@npm:"):])
		npmSpec(l, spec[i+len("@npm:"):])
		return
	}
	if !npmName.MatchString(name) || len(name) > 214 || strings.ContainsAny(version, "/:") {
		l.Registry, l.Name = Other, spec
		return
	}
	l.Name, l.Version, l.Exact = name, version, exactVersion.MatchString(version)
}

// pySpec reads a requirement of Python (PEP 508), or uv's NAME@VERSION.
func pySpec(l *Launch, spec string) {
	if strings.Contains(spec, "://") || strings.HasPrefix(spec, "git+") || strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/") || strings.HasSuffix(spec, ".py") || strings.HasSuffix(spec, ".whl") {
		l.Registry, l.Name = Other, spec
		return
	}
	name, version, exact, unclear := spec, "", false, false
	if i := strings.IndexAny(spec, "=<>!~@ ;"); i > 0 {
		name = strings.TrimSpace(spec[:i])
		version = strings.TrimSpace(spec[i:])
		unclear = version == "" || !strings.ContainsAny(version[:1], "=<>!~@;")
		if v, ok := strings.CutPrefix(version, "=="); ok {
			version, exact = strings.TrimLeft(v, "="), pyExact.MatchString(strings.TrimLeft(v, "="))
		} else if v, ok := strings.CutPrefix(version, "@"); ok { // uv's own way
			v = strings.TrimSpace(v)
			l.Name, l.Version, l.Exact = pyNormal(name), v, pyExact.MatchString(v)
			if !pyName.MatchString(name) {
				l.Name, l.Unclear = "", "its requirement cannot be read: "+spec
			}
			return
		}
	}
	if i := strings.IndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		name = name[:i]
	}
	if !pyName.MatchString(name) || unclear {
		l.Unclear = "its requirement cannot be read: " + spec
		return
	}
	l.Name, l.Version, l.Exact = pyNormal(name), version, exact
}

var pyRuns = late.New(`[-_.]+`)

// pyNormal is the one name under which an index knows a package (PEP 503).
func pyNormal(name string) string { return strings.ToLower(pyRuns.ReplaceAllString(name, "-")) }

// ociSpec reads the reference of an image.
func ociSpec(l *Launch, spec string) {
	name, digest, _ := strings.Cut(spec, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	if !ociName.MatchString(name) || digest != "" && !ociDigest.MatchString(digest) {
		l.Unclear = "its image cannot be read: " + spec
		return
	}
	l.Name, l.Version, l.Digest, l.Exact = name, tag, digest, digest != ""
}

// denoSpec reads what deno runs.
func denoSpec(l *Launch, spec string) {
	switch rest, ok := strings.CutPrefix(spec, "npm:"); {
	case ok:
		l.Registry = NPM
		npmSpec(l, strings.TrimPrefix(rest, "/"))
	case strings.HasPrefix(spec, "jsr:"):
		l.Registry = JSR
		npmSpec(l, strings.TrimPrefix(strings.TrimPrefix(spec, "jsr:"), "/"))
		if l.Registry == JSR && l.Name == "" {
			l.Unclear = "its package cannot be read: " + spec
		}
	case strings.Contains(spec, "://"):
		l.Name = spec
	default:
		l.Registry, l.Name = Local, spec
	}
}
