// Package lint finds rules that do not do what their author seems to mean:
// rules that never decide, allows that cover more than they look like, denies
// that another spelling walks around. A finding is advice; nothing here changes
// what a policy does.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/policy/match"
	"github.com/reeve-gate/reeve/internal/policy/rule"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Kind names a sort of finding.
type Kind string

const (
	Broken   Kind = "broken"    // the layer cannot be read
	Shadowed Kind = "shadowed"  // another rule always decides first
	Repeated Kind = "repeated"  // another rule says the same already
	Wide     Kind = "too-wide"  // an allow covers more than it seems to
	Evaded   Kind = "evaded"    // a deny or ask that another spelling walks around
	Opaque   Kind = "opaque"    // an allow of a program whose words do not say what it does
	Unknown  Kind = "unknown"   // no tool has this name
	Idle     Kind = "no-effect" // the rule covers nothing, or next to nothing
)

// Finding is one piece of advice about one rule.
type Finding struct {
	At      string `json:"at"` // file:line
	Rule    string `json:"rule"`
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

// Layers looks at the rules of all layers together, in the order in which they
// are joined.
func Layers(layers ...*policy.Layer) []Finding {
	l := &linter{}
	var all []*rule.Rule
	for _, layer := range layers {
		if layer == nil {
			continue
		}
		if layer.Fault != nil {
			l.found = append(l.found, Finding{layer.File, "", Broken, layer.Fault.Error() + "; until it is repaired its allows are void and every call is asked"})
			continue
		}
		all = append(all, layer.Rules...)
	}
	l.all = all
	for i, r := range all {
		l.pairs(r, all, i)
		l.alone(r)
	}
	return l.found
}

type linter struct {
	all   []*rule.Rule
	found []Finding
}

func (l *linter) add(r *rule.Rule, k Kind, format string, args ...any) {
	l.found = append(l.found, Finding{r.At, r.Text, k, fmt.Sprintf(format, args...)})
}

// pairs looks for a rule that always decides before r does.
func (l *linter) pairs(r *rule.Rule, all []*rule.Rule, at int) {
	for i, other := range all {
		switch {
		case i == at || !other.Always() || !covers(other, r):
			continue
		case other.Verdict < r.Verdict:
			l.add(r, Shadowed, "%s (%s, %s) always decides first", other.Text, other.Verdict, other.At)
			return
		case other.Verdict == r.Verdict && (i < at || !covers(r, other)):
			if other.Host == r.Host && other.Destructive == r.Destructive && r.Verdict == reeve.Allow || r.Verdict != reeve.Allow {
				l.add(r, Repeated, "%s (%s) says it already", other.Text, other.At)
				return
			}
		}
	}
}

// covers reports whether everything that r speaks of, wide speaks of too.
func covers(wide, r *rule.Rule) bool {
	if wide.Kind != r.Kind || wide.Host && !r.Host {
		return false
	}
	if !wide.Kind {
		return wide.Word == r.Word && (wide.All || wide.Inside == r.Inside)
	}
	if wide.Class != r.Class || wide.Edit && !r.Edit {
		return false
	}
	switch {
	case wide.All:
		return true
	case r.All:
		return false
	case wide.Inside == r.Inside:
		return true
	case r.Line != nil:
		return coversLine(wide.Line, r)
	case r.Path != nil:
		return coversPath(wide.Path, r.Inside)
	case r.Site != nil:
		return wide.Site.Covers(r.Site, wide.Verdict == reeve.Allow)
	}
	return false
}

// coversLine tries the pattern r with its stars as nothing and as a word that
// no rule knows.
func coversLine(wide *match.Line, r *rule.Rule) bool {
	text := strings.TrimSpace(r.Inside)
	if rest, ok := strings.CutSuffix(text, ":*"); ok {
		text = rest + " *"
	}
	for _, star := range []string{"", "\x02 \x02"} {
		if !wide.Wide(strings.TrimSpace(strings.ReplaceAll(text, "*", star)), false) {
			return false
		}
	}
	return true
}

// coversPath answers for patterns without wildcards in their names only.
func coversPath(wide *match.Path, pattern string) bool {
	plain := strings.TrimSuffix(strings.TrimSuffix(pattern, "/**"), "/")
	if plain == "" || strings.ContainsAny(plain, `*?[{\`) {
		return false
	}
	bases := match.Bases{Workspace: "/\x02w", Home: "/\x02h"}
	full := bases.Workspace + "/" + strings.TrimPrefix(plain, "/")
	switch {
	case strings.HasPrefix(plain, "//"):
		full = plain[1:]
	case strings.HasPrefix(plain, "~/"):
		full = bases.Home + plain[1:]
	}
	if plain != pattern {
		full += "/\x02"
	}
	return wide.Wide(full, match.SigOf(full), bases, false)
}

// alone looks at one rule by itself.
func (l *linter) alone(r *rule.Rule) {
	if !r.Kind {
		l.name(r)
		return
	}
	switch {
	case r.Class == tool.ClassBash && r.Verdict == reeve.Allow:
		l.allowCommand(r)
	case r.Class == tool.ClassBash:
		l.refuseCommand(r)
	case r.Verdict != reeve.Allow:
		if r.Edit {
			l.add(r, Evaded, "edit speaks of files that exist; a new file and a deletion need write(%s)", r.Inside)
		}
	case r.All && r.Class == tool.ClassWrite:
		l.add(r, Wide, "allows every write in the workspace; name the folders")
	case r.Class == tool.ClassWrite && (strings.HasPrefix(r.Inside, "//**") || strings.HasPrefix(r.Inside, "~/**")):
		l.add(r, Wide, "allows writes almost everywhere; name the folders")
	case r.All && r.Class == tool.ClassWeb:
		l.add(r, Wide, "allows every host, so that whatever is read can be sent anywhere")
	case r.All && r.Class == tool.ClassMCP:
		l.add(r, Wide, "allows every tool of every MCP server; name the server")
	}
}

func (l *linter) allowCommand(r *rule.Rule) {
	program := r.Line.Program()
	words, _ := r.Line.Head()
	if name, _, assigns := strings.Cut(program, "="); assigns && name != "" && !strings.ContainsAny(name, "/-.") {
		l.add(r, Idle, "variables set before a command are no part of its words; the rule covers nothing")
		return
	}
	open := len(words) == 1 && !r.Line.Exact() // the first star follows the program
	switch {
	case r.Host && r.All:
		l.add(r, Wide, "lets every command leave the sandbox")
	case r.All:
		l.add(r, Wide, "allows every ordinary command; name the programs")
	case program == "" && len(words) == 1:
		l.add(r, Wide, "the star stands in the program's name, so that %sX is allowed too; write %s *", words[0], words[0])
	case policy.Opaque(program) && !r.Line.Exact():
		l.add(r, Opaque, "%s runs whatever its words name; only exact words say what happens", program)
	case open && policy.NeedsSubcommand(program):
		l.add(r, Wide, "%s has many uses; name the sub-command, as in bash(%s status *)", program, program)
	case r.Destructive && !r.Line.Exact():
		l.add(r, Wide, "destructive with a star: it lets whatever follows be removed unasked")
	}
}

func (l *linter) refuseCommand(r *rule.Rule) {
	if r.All {
		return
	}
	words := strings.Fields(r.Inside)
	flag := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	switch {
	case r.Line.Exact() && len(words) == 1:
		l.add(r, Evaded, "speaks of the bare word only; for every use write bash(%s *)", words[0])
	case flag < 0:
	case bundled(words[flag]):
		l.add(r, Evaded, "the order of flags walks around it (%s); %s", reorder(words, flag), "name the program, and ask")
	case flag > 0 && !strings.Contains(strings.Join(words[:flag], " "), "*"):
		wider := fmt.Sprintf("%s * %s*", strings.Join(words[:flag], " "), strings.TrimRight(words[flag], "*"))
		if !slices.ContainsFunc(l.all, func(o *rule.Rule) bool { return o.Inside == wider && o.Verdict == r.Verdict && o.Word == r.Word }) {
			l.add(r, Evaded, "a word before %s walks around it; write %s(%s) beside it", words[flag], r.Word, wider)
		}
	}
}

// bundled reports whether a word is several short flags in one.
func bundled(w string) bool {
	w = strings.TrimRight(w, "*")
	return len(w) > 2 && w[1] != '-'
}

// reorder writes the flags of a word the other way round.
func reorder(words []string, flag int) string {
	letters := []byte(strings.TrimRight(words[flag], "*")[1:])
	slices.Reverse(letters)
	return strings.Join(words[:flag], " ") + " -" + string(letters)
}

// name looks at a rule on a tool's own name.
func (l *linter) name(r *rule.Rule) {
	if r.Verdict == reeve.Allow && r.Path == nil && r.Line == nil && !r.All {
		l.add(r, Idle, "an allow cannot look into this tool's arguments")
	}
	if strings.HasPrefix(r.Word, "mcp__") {
		if r.Verdict == reeve.Allow && strings.HasPrefix(r.Word, "mcp__*") {
			l.add(r, Wide, "allows tools of every MCP server; name the server")
		}
		return
	}
	if strings.Contains(r.Word, "*") {
		return
	}
	if _, known := tool.ForeignClass(r.Word); !known && !natives[r.Word] {
		l.add(r, Unknown, "no tool that Reeve knows is called %s; if it is meant for commands, write bash(%s)", r.Word, r.Word)
	}
}

// natives are our own tools and the tools of clients that have no class.
var natives = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`read_file write_file edit_file apply_patch list_dir glob grep create_dir move_path copy_path delete_path bash
		git_status git_diff git_log git_show task agent skill todowrite websearch slashcommand notebookread exitplanmode bashoutput killshell monitor`) {
		m[n] = true
	}
	return m
}()
