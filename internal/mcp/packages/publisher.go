package packages

import (
	"fmt"
	"strings"
)

// Publisher says what a package's name tells of who published it. The zero
// value is the one that asks.
type Publisher uint8

const (
	Unverified Publisher = iota // anybody can have published it
	Known                       // a publisher that the contract names
	Yours                       // a program of this machine
)

// Publisher is what the launch's name tells. Known are exactly the packages
// @modelcontextprotocol/server-* and @anthropic/* of npm (contract G26,
// amendment 31).
func (l *Launch) Publisher() Publisher {
	switch {
	case l.Unclear != "":
		return Unverified
	case l.Registry == Local:
		return Yours
	case l.Registry == NPM && len(l.More) == 0 && len(l.Notes) == 0 && (strings.HasPrefix(l.Name, "@modelcontextprotocol/server-") || strings.HasPrefix(l.Name, "@anthropic/")):
		return Known // with a note, what is installed may be somebody else's of that name
	}
	return Unverified
}

// String is the package as its runner would be told of it.
func (l *Launch) String() string {
	s := l.Name
	switch {
	case l.Registry == OCI:
		if l.Version != "" {
			s += ":" + l.Version
		}
		if l.Digest != "" {
			s += "@" + l.Digest
		}
	case l.Registry == PyPI && l.Exact:
		s += "==" + l.Version
	case l.Version != "" && l.Registry != Other:
		s += "@" + l.Version
	}
	return s
}

// ID is the package without its version, as in npm:@playwright/mcp; "" where
// it is none of a registry.
func (l *Launch) ID() string {
	if l.Unclear != "" || l.Name == "" || l.Registry == Local || l.Registry == Other {
		return ""
	}
	return string(l.Registry) + ":" + l.Name
}

// Lock is what was installed: one version of a package and the integrity that
// the registry gives for it.
type Lock struct {
	Name      string
	Version   string
	Integrity string // sha512-..., sha256:...
	Tree      string // digest of the whole lock file, with every package below it
}

// Verified reports whether a launch is a package whose very version was
// locked, with an integrity and with no script run. A name alone is nothing.
func (l *Launch) Verified(lock Lock) bool {
	if l.ID() == "" || len(l.More) > 0 {
		return false
	}
	if l.Registry == OCI {
		return l.Digest != "" // the engine compares what it gets with the digest
	}
	return lock.Integrity != "" && lock.Name == l.Name && lock.Version != "" && (l.Version == "" || !l.Exact || l.Version == lock.Version)
}

// Lockable says why a package cannot be locked here, or "".
func (l *Launch) Lockable() string {
	switch {
	case l.Unclear != "":
		return "its package cannot be told: " + l.Unclear
	case l.Registry == Local:
		return "it is a program of this machine, and no package of a registry"
	case l.Registry == OCI:
		return "an image is locked by its digest; name it as " + l.Name + "@sha256:..."
	case l.Registry != NPM || strings.HasPrefix(l.Runner, "deno"):
		return "only packages of npm are locked, and this one comes through " + l.Runner + "; name an exact version"
	case len(l.More) > 0:
		return "it is installed with other packages beside it"
	}
	for _, n := range l.Notes {
		if strings.HasSuffix(n, otherRegistry) {
			return "it comes from a registry of its own choice"
		}
	}
	return ""
}

// Tell says in words what is known of where a server comes from, one line each.
func (l *Launch) Tell(lock *Lock) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case l.Unclear != "":
		say("package: cannot be told: %s", l.Unclear)
	case l.Registry == Local && l.Runner == "":
		say("package: none; a program of this machine")
	case l.Registry == Local:
		say("package: none; %s runs %s", l.Runner, l.Name)
	case l.Registry == Other:
		say("package: %s, by %s, from no registry: nothing can be compared", l.Name, l.Runner)
	default:
		say("package: %s of %s, by %s", l.String(), l.Registry, l.Runner)
	}
	if l.Registry != Local || l.Unclear != "" {
		switch l.Publisher() {
		case Known:
			say("publisher: its name is one that only a known publisher can give")
		default:
			say("publisher: unverified")
		}
		l.tellVersion(say, lock)
	}
	for _, m := range l.More {
		say("beside it: %s is installed too", m)
	}
	if like := Resembles(l.Name); like != "" && l.Registry == NPM {
		say("warning: its name is almost that of %s", like)
	}
	if l.Registry == NPM && l.Name == "mcp-remote" {
		say("warning: mcp-remote speaks to an address for the server; Reeve does that itself: reeve mcp add NAME --url ADDRESS (versions 0.0.5 to 0.1.15 run what an address says, CVE-2025-6514)")
	}
	for _, n := range l.Notes {
		say("note: %s", n)
	}
	return lines
}

func (l *Launch) tellVersion(say func(string, ...any), lock *Lock) {
	switch {
	case l.Unclear != "" || l.Registry == Other:
	case l.Registry == OCI && l.Digest != "":
		say("version: this very image, by its digest")
	case l.Registry == OCI:
		say("version: the tag %s, which may be another image tomorrow; name a digest (@sha256:...)", or(l.Version, "latest"))
	case lock != nil && l.Verified(*lock):
		say("version: %s, locked with everything below it; integrity %s", lock.Version, lock.Integrity)
		return
	case lock != nil && lock.Integrity != "":
		say("version: another than the one that was locked (%s)", lock.Version)
	case l.Exact:
		say("version: %s, exactly; what is installed is compared with nothing: reeve mcp pin locks it", l.Version)
	default:
		say("version: %s, which is whatever the registry has at that moment: reeve mcp pin locks one", or(l.Version, "the latest"))
	}
	if l.Scripts {
		say("scripts: the package may run scripts of its own while it is installed")
	}
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// official are names that others are likened to.
var official = []string{
	"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory", "@modelcontextprotocol/server-sequential-thinking",
	"@modelcontextprotocol/server-github", "@modelcontextprotocol/server-gitlab", "@modelcontextprotocol/server-slack", "@modelcontextprotocol/server-postgres", "@modelcontextprotocol/server-puppeteer",
	"@modelcontextprotocol/server-brave-search", "@modelcontextprotocol/server-google-maps", "@playwright/mcp", "@upstash/context7-mcp", "@brave/brave-search-mcp-server", "@anthropic/sdk", "chrome-devtools-mcp", "mcp-remote",
}

// Resembles is the well-known package whose name another is almost: two steps
// away, without its scope, or with one that looks like its; "" = none.
func Resembles(name string) string {
	name = strings.ToLower(name)
	for _, o := range official {
		if name == o {
			return ""
		}
	}
	flat := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", ".", "", "/", "", "@", "").Replace(s)
	}
	for _, o := range official {
		_, base, scoped := strings.Cut(o, "/")
		switch {
		case flat(name) == flat(o):
			return o
		case scoped && (name == base || name == "mcp-"+base) && len(base) > 8:
			return o
		case distance(name, o) <= 2 && len(o) > 8:
			return o
		}
	}
	for _, o := range official {
		if scope, base, scoped := strings.Cut(o, "/"); scoped {
			if s, b, ok := strings.Cut(name, "/"); ok && s != scope && distance(s, scope) <= 2 && len(scope) > 6 && (b == base || strings.HasPrefix(b, "server-")) {
				return o
			}
		}
	}
	return ""
}

// distance is how many letters are to be added, taken away, changed or swapped
// to make b of a; past 3 it is some number above 2.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3
	}
	rows := [3][]int{}
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	prev2, prev, cur := rows[2], rows[0], rows[1]
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
