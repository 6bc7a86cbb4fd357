// Package look asks the disk what the judge must know of a call's effects.
//
// The judge is pure and sees the disk only through values. [Fill] looks those
// values up, once per call, before it is judged: the facts of each path, the
// setting of a repository that would start a program, and the files that a
// shell pattern (cat .e*) stands for at this moment, each as an effect of its
// own, so that a rule or a guard that names one of them sees it. Like every
// look at the disk it says what was true then; the boundary holds the rest.
package look

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/match"
)

// Disk answers what the judge must know of files; safepath.Disk does.
type Disk interface {
	Facts(workspace, path string) reeve.PathFacts
	RepoRuns(dir string) string
	Holds(path string) string // a place below path that the guards close, as far as it is there; "" = none
}

// Place is where a call happens; absolute and clean.
type Place struct{ Workspace, Home, Dir string }

// Bounds on the expansion of the patterns of one call. What lies beyond is a
// path that is not known.
const (
	maxFiles = 256
	maxSteps = 4096
)

// Fill returns the effects with the facts of the disk, and the repository
// setting that would start a program, if one of the commands reads it.
func Fill(d Disk, at Place, effects []reeve.Effect) (filled []reeve.Effect, repoRuns string) {
	x := expander{at: at, shell: shellOptions(effects), steps: maxSteps, files: maxFiles}
	n := len(effects)
	for i := range n {
		switch e := &effects[i]; e.Kind {
		case reeve.EffectRead, reeve.EffectWrite, reeve.EffectDelete:
			if e.Deep && e.Command != nil && !listers[e.Command.Program()] {
				effects = x.effect(effects, i)
			}
		case reeve.EffectRun:
			if c := e.Command; repoRuns == "" && c != nil && c.Marks.Any(reeve.CommandGitConfig|reeve.CommandGitWrites) {
				repoRuns = runs(d, c)
			}
		}
	}
	for i := 0; i < len(effects); i++ { // it grows on the way
		switch e := &effects[i]; e.Kind {
		case reeve.EffectRead, reeve.EffectWrite, reeve.EffectDelete:
			if e.Path != "" {
				e.Facts = d.Facts(at.Workspace, e.Path)
				effects = append(effects, besides(d, e)...)
			}
		}
	}
	return effects, repoRuns
}

// unknownRepo is what is said of git in a directory that is not known: any
// repository, with any setting.
const unknownRepo = "which repository it is cannot be told"

func runs(d Disk, c *reeve.Command) string {
	why := runsIn(d, c.Dir)
	for i := 0; why == "" && i < len(c.Else); i++ {
		why = runsIn(d, c.Else[i])
	}
	return why
}

func runsIn(d Disk, dir string) string {
	if strings.Contains(dir, "/..") {
		dir = physical(dir)
	}
	if dir == "" {
		return unknownRepo
	}
	return d.RepoRuns(dir)
}

// besides are the effects that the disk adds to one on a path.
//
// A path that goes up by ".." goes up from where a symbolic link leads, not
// from where it stands, so that link/../file can be another file than the
// spelling says. And what is done to everything below a folder is done to the
// credential store in it, which the guards close.
func besides(d Disk, e *reeve.Effect) (more []reeve.Effect) {
	if e.Spelled != "" {
		if p := physical(e.Spelled); p != e.Path {
			other := *e
			other.Path, other.Spelled = p, ""
			more = append(more, other)
		}
	}
	if !e.Deep || e.Command == nil || e.Kind == reeve.EffectRead && listers[e.Command.Program()] {
		return more
	}
	place := d.Holds(e.Path)
	if place == "" && e.Facts.Known && e.Facts.Target != e.Path {
		place = d.Holds(e.Facts.Target)
	}
	if place != "" {
		other := *e
		other.Path, other.Spelled, other.Deep = place, "", false
		more = append(more, other)
	}
	return more
}

// physical takes the ".." out of an absolute path as the kernel does. What is
// missing can only be a folder that the line makes before, since the links it
// makes are followed where it is read. Where a part cannot be looked at, the
// path is not known.
func physical(spelled string) string {
	at := "/"
	for part := range strings.SplitSeq(spelled, "/") {
		switch part {
		case "", ".":
		case "..":
			real, err := filepath.EvalSymlinks(at)
			if errors.Is(err, fs.ErrNotExist) {
				real, err = at, nil
			}
			if err != nil {
				return ""
			}
			at = path.Dir(real)
		default:
			at = path.Join(at, part)
		}
	}
	return at
}

// shellOptions reports whether the line may have a shell that was started, or
// runs in an environment, with other options for patterns than the usual ones.
// Where it sets them itself, the words say so ([reeve.Word.Loose]).
func shellOptions(effects []reeve.Effect) bool {
	for i := range effects {
		c := effects[i].Command
		if effects[i].Kind != reeve.EffectRun || c == nil {
			continue
		}
		for _, w := range c.Wrappers {
			if strings.Contains(w.Text, "-O") || strings.Contains(w.Text, "glob") {
				return true
			}
		}
		for _, a := range c.Assigns {
			if a.Name == "GLOBIGNORE" || a.Name == "BASHOPTS" || a.Name == "SHELLOPTS" {
				return true
			}
		}
	}
	return false
}

type expander struct {
	at    Place
	shell bool // see shellOptions
	loose bool // the pattern at work may match leading dots, any case and any depth
	steps int  // directory entries that may still be looked at
	files int  // effects that may still be added
}

// effect adds what the patterns among the words of an effect's command stand
// for, as far as they begin in the folder that the effect names.
func (x *expander) effect(effects []reeve.Effect, i int) []reeve.Effect {
	c, dir := effects[i].Command, effects[i].Path
	found := false
	for _, w := range c.Words[1:] {
		if !w.Glob || !w.Known {
			continue
		}
		pattern, ok := x.absolute(w.Text, c.Dir)
		lead, rest := lead(pattern)
		if !ok || lead != dir {
			continue
		}
		found, x.loose = true, w.Loose || x.shell
		names, complete := x.expand(lead, rest)
		for _, name := range names {
			e := effects[i]
			e.Path, e.Deep = name, !flat(c)
			effects = append(effects, e)
		}
		if !complete {
			e := effects[i]
			e.Path, e.Deep, e.Why = "", false, "more files match "+w.Text+" than are looked at"
			effects = append(effects, e)
		}
	}
	if found && flat(c) {
		effects[i].Deep = false
	}
	return effects
}

// absolute is a word as a pattern from the root of the file system.
func (x *expander) absolute(text, dir string) (string, bool) {
	switch {
	case strings.HasPrefix(text, "/"):
	case strings.HasPrefix(text, "~/") && x.at.Home != "":
		text = x.at.Home + text[1:]
	case dir == "":
		return "", false
	default:
		text = dir + "/" + text
	}
	return text, true
}

// lead divides a pattern into the folder that is certain and what follows.
func lead(pattern string) (dir, rest string) {
	i := strings.IndexAny(pattern, `*?[`)
	for _, open := range [...]string{"@(", "!(", "+("} { // of extended patterns; *( and ?( are found already
		if j := strings.Index(pattern, open); j >= 0 && (i < 0 || j < i) {
			i = j
		}
	}
	if i < 0 {
		return pattern, ""
	}
	i = strings.LastIndexByte(pattern[:i], '/')
	return path.Clean("/" + pattern[:i]), pattern[i+1:]
}

// expand lists the paths that match a pattern below dir; false where not all
// could be looked at.
func (x *expander) expand(dir, pattern string) (found []string, complete bool) {
	places := []string{dir}
	complete = !x.loose || !strings.Contains(pattern, "(") && !strings.Contains(pattern, "**")
	for part := range strings.SplitSeq(strings.TrimSuffix(pattern, "/"), "/") {
		var next []string
		for _, p := range places {
			if part == "" || part == "." {
				next = append(next, p)
				continue
			}
			if !strings.ContainsAny(part, `*?[(`) {
				next = append(next, path.Join(p, part)) // also one that is not there: the disk says so
				continue
			}
			names, all := x.names(p, part)
			complete = complete && all
			next = append(next, names...)
		}
		places = next
	}
	if len(places) > x.files {
		places, complete = places[:x.files], false
	}
	x.files -= len(places)
	return places, complete
}

// names lists the entries of one folder that match. A folder that cannot be
// listed holds nothing that the command could see.
func (x *expander) names(dir, part string) (found []string, complete bool) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0) // a pipe of that name would be waited for
	if err != nil {
		return nil, true
	}
	defer d.Close()
	entries, _ := d.Readdirnames(x.steps + 1)
	if len(entries) > x.steps {
		entries, complete = entries[:x.steps], false
	} else {
		complete = true
	}
	x.steps -= len(entries)
	for _, name := range entries {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") && !strings.HasPrefix(part, "[") && !x.loose {
			continue
		}
		if name == part || match.Name(part, name) || x.loose && match.Name(strings.ToLower(part), strings.ToLower(name)) { // what no file matches stands for itself
			found = append(found, path.Join(dir, name))
		}
	}
	return found, complete
}

// listers show the names that a pattern stands for and not what is in them.
var listers = map[string]bool{"ls": true, "dir": true, "vdir": true, "du": true, "tree": true, "find": true, "fd": true, "fdfind": true, "stat": true}

// flat reports whether a command reads or changes the files it is given and
// never what lies below a folder.
func flat(c *reeve.Command) bool {
	if !flatPrograms[c.Program()] {
		return false
	}
	for _, w := range c.Words[1:] {
		switch {
		case !strings.HasPrefix(w.Text, "-"):
		case strings.HasPrefix(w.Text, "--"):
			if strings.HasPrefix(w.Text, "--r") || strings.HasPrefix(w.Text, "--d") || strings.HasPrefix(w.Text, "--a") {
				return false
			}
		case strings.ContainsAny(w.Text, "rRda"):
			return false
		}
	}
	return true
}

var flatPrograms = map[string]bool{
	"cat": true, "tac": true, "head": true, "tail": true, "wc": true, "sed": true, "awk": true, "gawk": true, "grep": true, "egrep": true, "fgrep": true,
	"sort": true, "uniq": true, "nl": true, "od": true, "xxd": true, "hexdump": true, "md5sum": true, "sha1sum": true, "sha256sum": true, "sha512sum": true,
	"cksum": true, "file": true, "stat": true, "jq": true, "base64": true, "less": true, "more": true, "cut": true, "paste": true, "strings": true,
	"touch": true, "tee": true, "rm": true, "cmp": true, "comm": true, "join": true, "fold": true, "fmt": true,
}
