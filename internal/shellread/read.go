package shellread

import (
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// Bounds on a text. What passes one of them is unknown, and said to be.
const (
	MaxText  = 64 << 10 // bytes
	maxDepth = 200      // nesting of the text, by a cheap count before parsing and by the tree after
	maxTexts = 12       // texts within texts: bash -c 'bash -c "..."'
	maxSteps = 30_000   // nodes and words looked at, in all texts together
	maxVars  = 2000     // assignments that are followed in one shell
)

// At is where the text will run. Paths are absolute and clean.
type At struct {
	Dir       string // the directory the shell starts in; "" = not known
	Home      string // what ~ stands for; "" = not known
	Workspace string // root of the session's workspace; "" = none
}

// Read returns every effect of running src with bash, worst case, in the
// order of the text (issue 2 item 4; contract A42 rests on it):
//
//   - EffectRun for each program or builtin that may start, with the facts of
//     [reeve.Command];
//   - EffectRead, EffectWrite and EffectDelete for redirections and for the
//     operands of known programs, with Path "" and Why where the place is not
//     certain;
//   - EffectConnect where a known program names a host, with Host "" where
//     the host is not certain;
//   - EffectExternal for what pushes, publishes or deploys, EffectChangeSelf
//     for what only a person may do with reeve;
//   - EffectUnknown, with Why, for everything that cannot be told.
//
// Text that does not parse gives what stands before the error, none of it
// read-only, and an EffectUnknown. Read keeps nothing and may be called from
// several goroutines.
func Read(src string, at At) (effects []reeve.Effect) {
	r := &reader{at: at, scope: scope{dir: at.Dir}}
	defer func() {
		if p := recover(); p != nil { // a fault of the parser or of ours must not open the gate
			effects = distrust(r.out, fmt.Sprintf("could not be read: %v", p))
		}
	}()
	if why := refuse(src); why != "" {
		return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: why}}
	}
	r.text(src, "")
	if r.loose {
		loosen(r.out)
	}
	return r.out
}

// loosen marks every pattern: something in the text changes what patterns
// match. In a loop or a function that can hold for what stands before it too.
func loosen(effects []reeve.Effect) {
	for i := range effects {
		c := effects[i].Command
		if c == nil {
			continue
		}
		for j := range c.Words {
			c.Words[j].Loose = c.Words[j].Glob
		}
		for j := range c.Also {
			c.Also[j].Loose = c.Also[j].Glob
		}
	}
}

// distrust takes the read-only marks back and adds that something is unknown.
func distrust(effects []reeve.Effect, why string) []reeve.Effect {
	for i := range effects {
		if c := effects[i].Command; c != nil {
			c.Marks &^= reeve.CommandReadOnly
		}
	}
	return append(effects, reeve.Effect{Kind: reeve.EffectUnknown, Why: why})
}

// reader walks one text, and the texts within it.
type reader struct {
	at    At
	out   []reeve.Effect
	steps int  // nodes looked at so far
	spent bool // a bound was passed and said so; nothing more is looked at
	depth int  // nesting of nodes
	texts int  // nesting of texts

	words words.Reader
	scope scope
	in    input     // what the commands read from
	links []symlink // made by the text so far, in whatever process
	maybe int       // within how many branches and loops that may not run
	calls []*function
	jumps []*[]scope // states in which break, continue and return leave the loops and functions around them

	wrappers []reeve.Wrapper
	leaves   bool // as another user or elsewhere
	away     bool // on another machine or in a container: paths are not ours
	posix    bool // the shell may be another than bash
	inherit  []reeve.Assign
	loose    bool // the text changes what patterns match
}

// input is what a command would read from.
type input struct {
	kind inputKind
	text words.Word // where the kind is inputText
}

type inputKind uint8

const (
	inputNone    inputKind = iota // what the shell itself was given
	inputUnknown                  // a pipe, a file, another descriptor
	inputText                     // a here-document or here-string
)

func (r *reader) emit(e reeve.Effect) { r.out = append(r.out, e) }

func (r *reader) unknown(why string) { r.emit(reeve.Effect{Kind: reeve.EffectUnknown, Why: why}) }

// step counts one node; false means that a bound was passed.
func (r *reader) step() bool {
	if r.spent {
		return false
	}
	if r.steps++; r.steps > maxSteps {
		r.spend(tooLong)
		return false
	}
	return true
}

const tooLong = "longer than can be read in bounded time"

func (r *reader) spend(why string) {
	if !r.spent {
		r.spent = true
		r.out = distrust(r.out, why)
	}
}

// enter goes one level down; leave must follow.
func (r *reader) enter() bool {
	r.depth++
	if r.depth > maxDepth {
		r.spend(fmt.Sprintf("nested more than %d deep", maxDepth))
		return false
	}
	return r.step()
}

func (r *reader) leave() { r.depth-- }

// parsers are reused, because a new one costs as much as a short line.
var parsers = sync.Pool{New: func() any { return &parser{p: syntax.NewParser(syntax.KeepComments(true))} }}

type parser struct {
	p *syntax.Parser
	s strings.Reader
}

// text parses src and walks it with the reader's present state. what names
// the text in the reasons; "" is the whole line.
func (r *reader) text(src, what string) {
	if r.texts++; r.texts > maxTexts {
		r.spend("texts within texts, too many to read")
		return
	}
	defer func() { r.texts-- }()
	p := parsers.Get().(*parser)
	p.s.Reset(src)
	file, err := p.p.Parse(&p.s, "")
	saved := r.words
	r.words = words.Reader{Src: src, Number: r.isNumber}
	if err == nil {
		parsers.Put(p)
		r.stmts(file.Stmts)
		if strings.IndexByte(src, '#') >= 0 && hidesText(file, src) {
			r.out = distrust(r.out, "holds a # in the middle of a word"+place(what)+", behind which the parser sees a comment and bash does not")
		}
	} else {
		r.prefix(p, src)
		r.out = distrust(r.out, "does not parse as bash"+place(what)+": "+err.Error())
	}
	r.words = saved
}

// hidesText reports whether the parser took a # for a comment that does not
// begin a word. In subshells, substitutions and cases it does so behind a
// quote, and bash runs what it left out.
func hidesText(file *syntax.File, src string) (hides bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			at := int(c.Hash.Offset())
			hides = hides || at >= len(src) || at > 0 && strings.IndexByte(" \t\n;&|()<>", src[at-1]) < 0
		}
		return !hides
	})
	return hides
}

func place(what string) string {
	if what == "" {
		return ""
	}
	return " in " + what
}

// prefix walks the statements before the one that does not parse: bash runs
// them before it notices.
func (r *reader) prefix(p *parser, src string) {
	p.s.Reset(src)
	failed := false
	for stmt, err := range p.p.StmtsSeq(&p.s) {
		// Once told to stop, the iterator still gives its last error, which
		// panics; so it is never told to. The parser is not reused.
		if failed = failed || err != nil; !failed {
			r.stmt(stmt)
		}
	}
}
