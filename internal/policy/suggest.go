package policy

import (
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Suggest is the narrow rule that a person may save when they allow a call:
// the exact words of its one command, the one file, the one host, the one
// tool. It offers nothing where the words do not say what will happen, or
// where a yes should not be given ahead: what deletes, leaves the machine or
// the sandbox; interpreters, shells and wrappers; git, npm and docker without
// a sub-command; more than one thing at once (amendment 25).
func Suggest(in *Input) (rule string, ok bool) {
	var one *reeve.Effect
	for i := range in.Effects {
		e := &in.Effects[i]
		switch {
		case e.Kind == reeve.EffectRun && e.Command != nil && e.Command.Marks.Has(reeve.CommandReadOnly),
			e.Kind == reeve.EffectRead && in.Class == tool.ClassBash && e.Path != "",
			e.Facts.Marks.Has(reeve.PathDevice),
			e.Kind != reeve.EffectRun && e.Command != nil && insideWorkspace(e, &in.Facts) && !protectedPath(e):
			continue // it is not what asks
		}
		if one != nil {
			return "", false
		}
		one = e
	}
	switch {
	case in.Tier == reeve.TierDestructive || in.Tier == reeve.TierDenied:
		return "", false
	case one == nil && in.Class == tool.ClassMCP, one != nil && one.Kind == reeve.EffectUnknown && in.Class == tool.ClassMCP:
		return in.Tool, strings.HasPrefix(in.Tool, "mcp__")
	case one == nil:
		return "", false
	}
	switch one.Kind {
	case reeve.EffectRun:
		return suggestCommand(one.Command)
	case reeve.EffectRead, reeve.EffectWrite:
		return suggestPath(one, &in.Facts)
	case reeve.EffectConnect:
		host, clean := match.CleanHost(one.Host)
		if one.Dial != nil && one.Port != 80 && one.Port != 443 {
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			host += ":" + strconv.Itoa(one.Port)
		}
		return "web(domain:" + host + ")", clean
	}
	return "", false
}

// risky are marks whose command is allowed once or not at all.
const risky = beyondWords | reeve.CommandRunsProgram | reeve.CommandDestructive | reeve.CommandExternal | reeve.CommandLeaves |
	reeve.CommandSelf | reeve.CommandHost

func suggestCommand(c *reeve.Command) (string, bool) {
	if c == nil || c.Marks.Any(risky) || len(c.Wrappers) > 0 || !allKnown(c) || len(c.Words[0].Text) == 0 {
		return "", false
	}
	program := c.Program()
	if Opaque(program) {
		return "", false
	}
	if needsSubcommand.Has(program) && (len(c.Words) < 2 || strings.HasPrefix(c.Words[1].Text, "-")) {
		return "", false
	}
	var b strings.Builder
	for i, w := range c.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoteWord(w.Text))
	}
	pattern := b.String()
	l, err := match.ParseLine(pattern)
	if err != nil || !l.Exact() || !l.Narrow(match.NarrowText(c.Words)) {
		return "", false // some character of the words has no spelling in a rule
	}
	return "bash(" + pattern + ")", true
}

// quoteWord spells a word so that a pattern reads it back.
func quoteWord(s string) string {
	s = strings.NewReplacer(`\`, `\\`, "*", `\*`).Replace(s)
	if s == "" || strings.ContainsAny(s, " \t'\"") {
		if strings.Contains(s, `"`) {
			return "'" + s + "'"
		}
		return `"` + s + `"`
	}
	return s
}

// Opaque reports whether a program is a shell, an interpreter or a wrapper: its
// name says nothing of what a command will do.
func Opaque(program string) bool {
	return shells[program] || opaque.Has(program) || opaque.Has(strings.TrimRight(program, "0123456789."))
}

// NeedsSubcommand reports whether a program has so many uses that a rule
// should name one.
func NeedsSubcommand(program string) bool { return needsSubcommand.Has(program) }

// opaque are programs whose words do not say what they do, or that start what
// their words name.
var opaque = late.NewWords("python perl ruby node nodejs deno bun php lua luajit tclsh wish osascript awk gawk mawk nawk R Rscript julia swift scala groovy java jshell elixir erl iex ghci runghc dart ts-node tsx npx bunx pnpx uvx pipx",
	"env sudo doas su xargs parallel find fd fdfind nice nohup timeout time stdbuf setsid ionice chrt taskset flock watch script chroot unshare nsenter prlimit setarch strace ltrace gdb ssh scp rsync eval exec source . command builtin trap")

// needsSubcommand are programs of many uses.
var needsSubcommand = late.NewWords("git npm yarn pnpm docker podman kubectl helm cargo go pip pip3 poetry uv gh glab aws gcloud az terraform systemctl brew apt apt-get dnf")

func suggestPath(e *reeve.Effect, f *Facts) (string, bool) {
	if e.Path == "" || protectedPath(e) || guarded(e) != "" || e.Deep {
		return "", false
	}
	word := "read"
	if e.Kind == reeve.EffectWrite {
		word = "write"
	}
	pattern := "/" + e.Path // from the root of the file system
	if match.Under(e.Path, f.Workspace) && e.Path != f.Workspace && f.Workspace != "/" {
		pattern = e.Path[len(f.Workspace):]
	}
	pattern = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`).Replace(pattern)
	p, err := match.ParsePath(pattern)
	if err != nil || !p.Narrow(e.Path, match.SigOf(e.Path), match.Bases{Workspace: f.Workspace, Home: f.Home}, false) {
		return "", false
	}
	return word + "(" + pattern + ")", true
}
