package table

import (
	"strings"
	"sync"
)

// harmlessVars load no code and move no search path in any program that is
// commonly run; a name ending in * is a family.
const harmlessVars = `
LANG LANGUAGE LC_* TZ TERM COLORTERM COLUMNS LINES
NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE
CI CONTINUOUS_INTEGRATION DEBUG VERBOSE QUIET
NODE_ENV RAILS_ENV RACK_ENV APP_ENV FLASK_ENV DJANGO_DEBUG MIX_ENV
RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_LOG RUST_TEST_THREADS RUST_MIN_STACK
CARGO_TERM_COLOR CARGO_TERM_VERBOSE CARGO_TERM_QUIET CARGO_TERM_PROGRESS_WHEN CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_BUILD_JOBS
GOOS GOARCH GOARM GOAMD64 GO111MODULE GOMAXPROCS GOMEMLIMIT GOGC GOTRACEBACK GORACE CGO_ENABLED
PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONWARNDEFAULTENCODING PYTHONFAULTHANDLER PYTHONDEVMODE PYTHONTRACEMALLOC PYTHONASYNCIODEBUG
PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT PIP_NO_CACHE_DIR PIP_QUIET
NPM_CONFIG_LOGLEVEL npm_config_loglevel NPM_CONFIG_FUND npm_config_fund NPM_CONFIG_AUDIT npm_config_audit npm_config_color npm_config_progress npm_config_yes npm_config_update_notifier
NEXT_TELEMETRY_DISABLED DO_NOT_TRACK HUSKY ADBLOCK DISABLE_OPENCOLLECTIVE NO_UPDATE_NOTIFIER
GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_LITERAL_PATHSPECS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_MERGE_AUTOEDIT GIT_TRACE_PERFORMANCE
DEBIAN_FRONTEND HOMEBREW_NO_AUTO_UPDATE HOMEBREW_NO_ANALYTICS HOMEBREW_NO_INSTALL_CLEANUP
DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO TF_IN_AUTOMATION TF_INPUT SOURCE_DATE_EPOCH MALLOC_ARENA_MAX OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS
TOKENIZERS_PARALLELISM CUDA_VISIBLE_DEVICES TF_CPP_MIN_LOG_LEVEL BLOCKSIZE BLOCK_SIZE POSIX_ME_HARDER QUOTING_STYLE TIME_STYLE SYSTEMD_COLORS GREP_COLOR GREP_COLORS LS_COLORS PORT HOST LOG_LEVEL TEST_ENV PGCONNECT_TIMEOUT
`

// codeVars make a program load code, start another program, or find its
// programs and settings elsewhere. A bare assignment of one counts at once,
// since most of them are exported already.
const codeVars = `
LD_* DYLD_* PATH IFS ENV BASH_ENV PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND SHELL SHELLOPTS BASHOPTS BASH_FUNC_* BASH_CMDS BASH_ALIASES BASH_COMPAT BASH_LOADABLES_PATH BASH_XTRACEFD
POSIXLY_CORRECT CDPATH GLOBIGNORE EXECIGNORE FIGNORE FPATH ZDOTDIR HOME MAIL MAILPATH MAILCHECK HISTFILE INPUTRC TERMINFO TERMCAP TERMINFO_DIRS TERMPATH LOCPATH NLSPATH GCONV_PATH HOSTALIASES RES_OPTIONS RESOLV_HOST_CONF GETCONF_DIR MALLOC_CONF XDG_* OLDPWD PWD FUNCNEST
GIT_* *PAGER *EDITOR VISUAL BROWSER LESS LESSOPEN LESSCLOSE LESSKEY LESSKEYIN LESSEDIT LV MANOPT MANPATH MANROFFOPT GROFF_* MORE
SSH_* SUDO_ASKPASS GPG_* GNUPGHOME KRB5_* RSYNC_RSH RSYNC_PROXY CVS_RSH SVN_SSH HG* FCEDIT
NODE_* NPM_* npm_* YARN_* PNPM_* BUN_* DENO_* TS_NODE_* ELECTRON_* PYTHON* PIP_* VIRTUAL_ENV CONDA_* PYTEST_* UV_* POETRY_* PERL* RUBY* GEM_* BUNDLE_* RUBYOPT PHP* PHPRC LUA* TCL* R_* JULIA_*
GO* CGO_* CC CXX CPP AR AS LD FC CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH COMPILER_PATH GCC_EXEC_PREFIX PKG_CONFIG* CMAKE_* MAKE MAKEFLAGS MAKEFILES GNUMAKEFLAGS MFLAGS CCACHE_* DISTCC_*
RUSTC* RUSTFLAGS RUSTDOC* RUSTUP_* CARGO_* CLIPPY_* ZIG_* JAVA_* JDK_* _JAVA_OPTIONS CLASSPATH MAVEN_* M2_* GRADLE_* ANT_* SBT_* JVM_* KOTLIN_* DOTNET_* MSBUILD* NUGET_*
TAR_OPTIONS GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS ZSTD_* ZIPOPT UNZIP RIPGREP_CONFIG_PATH FZF_* BAT_* JQ_* GREP_OPTIONS FD_* AWKPATH AWKLIBPATH POSIX2_VERSION
DOCKER_* COMPOSE_* CONTAINER* KUBECONFIG KUBE_* HELM_* TF_* TERRAFORM_* AWS_* AZURE_* GOOGLE_* CLOUDSDK_* VAULT_* ANSIBLE_*
http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY CURL_* WGETRC SYSTEM_WGETRC SSL_* OPENSSL_* REQUESTS_CA_BUNDLE NIX_* GUIX_* DBUS_* DISPLAY WAYLAND_DISPLAY XAUTHORITY QT_* GTK_* GIO_* GST_* VK_* LIBGL_* MESA_* PRELOAD
REEVE_* CLAUDE_* CODEX_* GEMINI_* ANTHROPIC_* OPENAI_*
`

// settled are code variables that are harmless with these values.
var settled = map[string]string{
	"PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "SYSTEMD_PAGER": "cat", "BAT_PAGER": "cat", "AWS_PAGER": "", "GH_PAGER": "cat",
	"EDITOR": "true", "VISUAL": "true", "GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true",
	"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOSUMDB": "off", "GIT_CONFIG_NOSYSTEM": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}

// VarKind is what setting a variable may do.
type VarKind uint8

const (
	VarUnknown  VarKind = iota // not known to be harmless; counts once a program is given it
	VarHarmless                // loads no code, moves no search path
	VarCode                    // loads code or moves a search path; counts as soon as it is set
)

// Variable says what setting a variable does. value counts where it is known.
func Variable(name, value string, known bool) VarKind {
	if quiet, ok := settled[name]; ok && known && (value == quiet || value == "") {
		return VarHarmless
	}
	switch {
	case harmless().has(name):
		return VarHarmless
	case code().has(name):
		return VarCode
	}
	return VarUnknown
}

// nameSet is a set of names and of families.
type nameSet struct {
	names            map[string]bool
	starts, suffixes []string
}

var (
	harmless = sync.OnceValue(func() *nameSet { return names(harmlessVars) })
	code     = sync.OnceValue(func() *nameSet { return names(codeVars) })
)

func names(text string) *nameSet {
	s := &nameSet{names: map[string]bool{}}
	for _, n := range strings.Fields(text) {
		switch {
		case strings.HasSuffix(n, "*"):
			s.starts = append(s.starts, n[:len(n)-1])
		case strings.HasPrefix(n, "*"):
			s.suffixes = append(s.suffixes, n[1:])
		default:
			s.names[n] = true
		}
	}
	return s
}

func (s *nameSet) has(name string) bool {
	if s.names[name] {
		return true
	}
	for _, p := range s.starts {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, p := range s.suffixes {
		if strings.HasSuffix(name, p) {
			return true
		}
	}
	return false
}
