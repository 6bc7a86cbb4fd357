package match

import (
	"fmt"
	"strings"
)

// Bases are the places that patterns of paths start from, absolute and clean.
type Bases struct {
	Workspace string
	Home      string
}

type anchor uint8

const (
	relative  anchor = iota
	root             // //x
	home             // ~/x
	workspace        // /x
)

// Path is a compiled pattern of paths.
type Path struct {
	all  bool
	alts []alt // one for each reading of {a,b}
}

type alt struct {
	at   anchor
	segs []string // "**" crosses names
	fold []string
	sig  Sig
}

// maxAlts bounds what braces may multiply to.
const maxAlts = 64

// ParsePath compiles a pattern; the empty pattern, "*" and "**" are everything.
func ParsePath(pattern string) (Path, error) {
	p := strings.TrimSpace(pattern)
	switch {
	case p == "" || p == "*" || p == "**":
		return Path{all: true}, nil
	case strings.ContainsAny(p, "\x00\n\r"):
		return Path{}, fmt.Errorf("a path pattern is one line of text")
	case p[0] == '!':
		return Path{}, fmt.Errorf("a pattern that starts with ! (all but) is not supported; write what is meant")
	}
	spelled, err := braces(p)
	if err != nil {
		return Path{}, err
	}
	var out Path
	for _, s := range spelled {
		a, err := parseAlt(s)
		if err != nil {
			return Path{}, err
		}
		out.alts = append(out.alts, a)
	}
	return out, nil
}

func parseAlt(p string) (alt, error) {
	var a alt
	switch {
	case p == "":
		return a, fmt.Errorf("an alternative in braces is empty, which would be every path; write what is meant")
	case strings.HasPrefix(p, "//"):
		a.at, p = root, p[2:]
	case p == "~" || strings.HasPrefix(p, "~/"):
		a.at, p = home, strings.TrimPrefix(p[1:], "/")
	case p[0] == '~':
		return a, fmt.Errorf("%q names another user's home; write it as //home/NAME", p)
	case p[0] == '/':
		a.at, p = workspace, p[1:]
	}
	for s := range strings.SplitSeq(p, "/") {
		switch {
		case s == "" || s == ".":
			continue
		case s == "..":
			return a, fmt.Errorf("a path pattern cannot hold ..; start it with // or ~/")
		case s == "**" && len(a.segs) > 0 && a.segs[len(a.segs)-1] == "**":
			continue
		}
		if err := checkName(s); err != nil {
			return a, err
		}
		a.segs = append(a.segs, s)
	}
	if strings.HasSuffix(p, "/") && len(a.segs) > 0 && a.segs[len(a.segs)-1] != "**" {
		a.segs = append(a.segs, "**") // a folder: what is in it
	}
	for _, s := range a.segs {
		a.fold = append(a.fold, strings.ToLower(s))
		if s != "**" {
			addLiterals(&a.sig, s)
		}
	}
	return a, nil
}

// addLiterals adds the parts of one name that stand for themselves.
func addLiterals(g *Sig, s string) {
	for s != "" {
		i := strings.IndexAny(s, wild)
		if i < 0 {
			g.add(s)
			return
		}
		g.add(s[:i])
		switch s[i] {
		case '[':
			end := strings.IndexByte(s[i+2:], ']') // a set is not empty
			s = s[i+2+end+1:]
		case '\\':
			s = s[i+2:]
		default:
			s = s[i+1:]
		}
	}
}

// checkName refuses an open [set] and a lone backslash at the end.
func checkName(s string) error {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return fmt.Errorf("the pattern ends in a lone backslash")
			}
		case '[':
			end := -1
			if i+2 <= len(s) {
				end = strings.IndexByte(s[min(i+2, len(s)):], ']')
			}
			if end < 0 {
				return fmt.Errorf(`%q opens a [set] and does not close it; a bracket itself is \[`, s)
			}
			i += 2 + end
		}
	}
	return nil
}

// braces spells {a,b} out. A brace without a comma stands for itself.
func braces(p string) ([]string, error) {
	open := -1
	depth, comma := 0, false
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open, comma = i, false
			}
			depth++
		case ',':
			comma = comma || depth == 1
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth > 0 || !comma {
				continue
			}
			return multiply(p[:open], p[open+1:i], p[i+1:])
		}
	}
	return []string{p}, nil
}

func multiply(before, inside, after string) ([]string, error) {
	var out []string
	for _, choice := range splitTop(inside) {
		rest, err := braces(before + choice + after)
		if err != nil {
			return nil, err
		}
		if out = append(out, rest...); len(out) > maxAlts {
			return nil, fmt.Errorf("the braces of a pattern stand for more than %d patterns", maxAlts)
		}
	}
	return out, nil
}

// splitTop splits at commas outside of inner braces.
func splitTop(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, s[from:i]), i+1
			}
		}
	}
	return append(out, s[from:])
}

// All reports whether the pattern is everything.
func (p *Path) All() bool { return p.all }

// Wide reports whether the pattern holds for path, absolute and clean, in any
// reading: relative patterns at any depth, and for everything below what
// matches. sig is SigOf(path); with fold, case does not count and path, sig
// and b are of lower case.
func (p *Path) Wide(path string, sig Sig, b Bases, fold bool) bool {
	if p.all {
		return true
	}
	for i := range p.alts {
		a := &p.alts[i]
		if !a.sig.Within(sig) {
			continue
		}
		if a.at == relative {
			if anyDepth(a.list(fold), path[1:]) {
				return true
			}
		} else if rest, ok := a.below(path, b); ok && walk(a.list(fold), rest, true) {
			return true
		}
	}
	return false
}

// Narrow reports whether the pattern covers path. "Everything" is left to the
// caller, who knows what everything is for his kind of access.
func (p *Path) Narrow(path string, sig Sig, b Bases, fold bool) bool {
	for i := range p.alts {
		a := &p.alts[i]
		if !a.sig.Within(sig) {
			continue
		}
		if rest, ok := a.below(path, b); ok && walk(a.list(fold), rest, plainEnd(a.segs)) {
			return true
		}
	}
	return false
}

// Exact reports whether the pattern is one place, without wildcards.
func (p *Path) Exact() bool {
	for i := range p.alts {
		for _, s := range p.alts[i].segs {
			if strings.ContainsAny(s, wild) {
				return false
			}
		}
	}
	return !p.all
}

// wild are the characters of a name that make it a pattern.
const wild = `*?[\`

// Below reports whether the pattern speaks of something below dir: certain
// where it names a place there, possible where its wildcards could reach it.
// With fold, dir and b are of lower case.
func (p *Path) Below(dir string, b Bases, fold bool) (certain, possible bool) {
	if p.all {
		return true, true
	}
	for i := range p.alts {
		a := &p.alts[i]
		if a.at == relative {
			possible = true
		}
		start := a.start(b)
		if start == "" {
			continue
		}
		start = strings.TrimSuffix(start, "/")
		whole := true
		for k, s := range a.list(fold) {
			if strings.ContainsAny(s, wild) {
				whole = s == "**" && k == len(a.segs)-1
				break
			}
			start += "/" + s
		}
		switch {
		case Under(start, dir) && whole:
			certain = true
		case Under(start, dir) || Under(dir, start):
			possible = true
		}
	}
	return certain, possible || certain
}

// Under reports whether path is dir or below it.
func Under(path, dir string) bool {
	if dir == "/" || path == dir {
		return dir != ""
	}
	return dir != "" && len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

func (a *alt) list(fold bool) []string {
	if fold {
		return a.fold
	}
	return a.segs
}

func (a *alt) start(b Bases) string {
	switch a.at {
	case root:
		return "/"
	case home:
		return b.Home
	}
	return b.Workspace
}

// below is path seen from where the pattern starts.
func (a *alt) below(path string, b Bases) (string, bool) {
	start := a.start(b)
	switch {
	case start == "" || !Under(path, start):
		return "", false
	case start == "/":
		return path[1:], true
	case path == start:
		return "", true
	}
	return path[len(start)+1:], true
}

// plainEnd reports whether a pattern read narrowly covers what lies below its
// match: it ends in a name without wildcards.
func plainEnd(segs []string) bool {
	return len(segs) > 0 && !strings.ContainsAny(segs[len(segs)-1], wild)
}

// anyDepth tries the pattern from every folder of the path.
func anyDepth(segs []string, path string) bool {
	for {
		if walk(segs, path, true) {
			return true
		}
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[i+1:]
	}
}

// walk matches names against path. With below, a match of the beginning of
// the path is a match of the whole, and x/** is x too.
func walk(segs []string, path string, below bool) bool {
	for len(segs) > 0 {
		if segs[0] == "**" {
			if len(segs) == 1 {
				return path != "" || below
			}
			for {
				if walk(segs[1:], path, below) {
					return true
				}
				i := strings.IndexByte(path, '/')
				if i < 0 {
					return false
				}
				path = path[i+1:]
			}
		}
		if path == "" {
			return false
		}
		part, rest, _ := strings.Cut(path, "/")
		if !name(segs[0], part) {
			return false
		}
		segs, path = segs[1:], rest
	}
	return path == "" || below
}

// Name matches one name, without slashes, with *, ? and [sets], as a shell
// does apart from leading dots. A [ that is not closed stands for itself.
func Name(pattern, s string) bool {
	if checkName(pattern) != nil {
		pattern = strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(pattern)
	}
	return name(pattern, s)
}

// name matches one name with *, ? and [sets].
func name(p, s string) bool {
	back, mark := -1, 0 // where the last star was, and how far it has eaten
	i, j := 0, 0
	for j < len(s) {
		if i < len(p) && p[i] == '*' {
			back, mark = i, j
			i++
			continue
		}
		if i < len(p) {
			if width, eaten, ok := one(p[i:], s[j:]); ok {
				i, j = i+width, j+eaten
				continue
			}
		}
		if back < 0 {
			return false
		}
		mark++
		i, j = back+1, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
