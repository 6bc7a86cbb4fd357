package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
)

// maxGrepFile is the largest file that a search looks into.
const maxGrepFile = 4 << 20

type findArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

const findSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{"pattern":{"type":"string","minLength":1},"path":{"type":"string","minLength":1}}}`

// below is the effect of both searches.
func below(a findArgs, at tool.Place) ([]reeve.Effect, error) {
	return onPath(reeve.EffectRead, true)(pathArg{a.dir()}, at)
}

func (a findArgs) dir() string {
	if a.Path == "" {
		return "."
	}
	return a.Path
}

var globFiles = act[findArgs]{
	spec: tool.Spec{
		Name: "glob",
		Description: "Find files of the workspace by a pattern of their path, such as **/*.go, below path. " +
			".git is left out, and node_modules where the pattern does not name it.",
		Schema: findSchema, Tier: reeve.TierRead, Class: tool.ClassRead,
	},
	effects: below,
	run: func(ctx context.Context, w *workspace, a findArgs) (reeve.Result, error) {
		if !doublestar.ValidatePattern(a.Pattern) {
			return reeve.Result{}, fmt.Errorf("the pattern %q is not well-formed", a.Pattern)
		}
		var out found
		s := search{w: w, ctx: ctx, packages: strings.Contains(a.Pattern, "node_modules")}
		base, err := s.run(a, func(d beneath.Dir, name, rel string) error {
			if ok, _ := doublestar.Match(a.Pattern, rel); !ok {
				return nil
			}
			return out.add(shown(d.Path(name)))
		})
		if err != nil {
			return reeve.Result{}, err
		}
		return out.result(s, "no file below "+base+" matches"), nil
	},
}

var grepFiles = act[findArgs]{
	spec: tool.Spec{
		Name: "grep",
		Description: "Search the text files of the workspace for a regular expression (RE2), below path or in the file path. " +
			"Lines come as file:line:text. Credentials and protected metadata are left out.",
		Schema: findSchema, Tier: reeve.TierRead, Class: tool.ClassRead,
	},
	effects: below,
	run: func(ctx context.Context, w *workspace, a findArgs) (reeve.Result, error) {
		re, err := regexp.Compile(a.Pattern)
		if err != nil {
			return reeve.Result{}, fmt.Errorf("the pattern is not a regular expression: %w", err)
		}
		var out found
		s := search{w: w, ctx: ctx, contents: true}
		base, err := s.run(a, func(d beneath.Dir, name, _ string) error {
			text, ok := s.text(d, name)
			if !ok {
				return nil
			}
			return out.lines(shown(d.Path(name)), text, re)
		})
		if err != nil {
			return reeve.Result{}, err
		}
		return out.result(s, "no line below "+base+" matches"), nil
	},
}

// lines adds every line of a text that matches.
func (o *found) lines(rel string, text []byte, re *regexp.Regexp) error {
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if !re.Match(line) {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > maxLine {
			line = append(bytes.Clone(line[:maxLine]), "..."...)
		}
		if err := o.add(fmt.Sprintf("%s:%d:%s", rel, n, strings.ToValidUTF8(string(line), "\ufffd"))); err != nil {
			return err
		}
	}
	return nil
}

// found is what a search found.
type found struct {
	b    strings.Builder
	full bool
}

var errFull = errors.New("enough")

func (o *found) add(line string) error {
	if o.b.Len()+len(line)+1 > maxOutput {
		o.full = true
		return errFull
	}
	o.b.WriteString(line)
	o.b.WriteByte('\n')
	return nil
}

// result closes the output with what was left out.
func (o *found) result(s search, none string) reeve.Result {
	var notes []string
	note := func(is bool, format string, args ...any) {
		if is {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	note(o.b.Len() == 0, "%s", none)
	note(o.full, "more matches than fit here; narrow the pattern or the path")
	note(s.cut, "only the first %d names were looked at; narrow the path", maxWalk)
	note(s.omitted > 0, "%d %s left out: credentials or protected", s.omitted, plural(s.omitted, "name"))
	note(s.unread > 0, "%d %s not looked into: too large, or not to be opened", s.unread, plural(s.unread, "file"))
	if len(notes) > 0 {
		o.b.WriteString("(" + strings.Join(notes, "; ") + ")\n")
	}
	return reeve.Result{Output: o.b.String(), Truncated: o.full || s.cut}
}

// search walks files below a path, names in order, links not followed.
type search struct {
	w        *workspace
	ctx      context.Context
	contents bool // contents will be read: leave out what must not be
	packages bool // enter node_modules

	looked, omitted, unread int
	cut                     bool
}

// run walks from the path of a and gives each file to visit with its path
// from there. errFull ends the walk in order.
func (s *search) run(a findArgs, visit func(d beneath.Dir, name, rel string) error) (base string, err error) {
	named, err := s.w.locate(a.dir())
	if err != nil {
		return "", err
	}
	return through(s.w, named, func(p place) (string, error) { return p.rel, s.from(p, visit) })
}

// from walks the directory at p, or visits the file at p.
func (s *search) from(p place, visit func(d beneath.Dir, name, rel string) error) error {
	d, err := s.w.dirAt(p.rel, false)
	if err == nil {
		defer d.Close()
		return ignoreFull(s.walk(d, "", visit))
	}
	if !errors.Is(err, beneath.ErrNoDir) {
		return err
	}
	d, name, err := s.w.parentOf(p, false)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.LookFile(name); err != nil {
		return err
	}
	return ignoreFull(visit(d, name, name))
}

func ignoreFull(err error) error {
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

func (s *search) walk(d beneath.Dir, rel string, visit func(d beneath.Dir, name, rel string) error) error {
	entries, more, err := d.Entries(maxEntries)
	if err != nil {
		s.unread++ // a directory that may not be opened does not end the search
		return nil
	}
	s.cut = s.cut || more
	for _, e := range entries {
		if err := s.ctx.Err(); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		if s.looked++; s.looked > maxWalk {
			s.cut = true
			return errFull
		}
		name := e.Name()
		if s.leaveOut(filepath.Join(d.Rel(), name)) {
			s.omitted++
			continue
		}
		switch {
		case e.IsDir():
			if name == ".git" || name == "node_modules" && !s.packages {
				continue
			}
			sub, err := d.Dir(name)
			if err != nil {
				s.unread++
				continue
			}
			err = s.walk(sub, filepath.Join(rel, name), visit)
			sub.Close()
			if err != nil {
				return err
			}
		case e.Type().IsRegular():
			if err := visit(d, name, filepath.Join(rel, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaveOut reports whether a broad search passes over a path (contract A21).
func (s *search) leaveOut(rel string) bool {
	return s.contents && (safepath.Credential(filepath.Join(s.w.at.Workspace, rel)) || safepath.Protected(rel))
}

// text reads a file for a search: ok is false where it is not looked into.
func (s *search) text(d beneath.Dir, name string) (text []byte, ok bool) {
	text, _, err := s.w.readIn(d, name, maxGrepFile)
	if err != nil {
		s.unread++
		return nil, false
	}
	return text, !isBinary(text)
}
