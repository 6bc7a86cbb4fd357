// Package use says what the words of one command mean to the program they
// are given to: which files it would read, write or delete, which hosts it
// would reach, which other programs or shell texts it would start, and which
// of its options are dangerous.
//
// [Of] is the one way in. It works on words whose quotes are already removed
// and knows nothing of the shell around them: package shellread resolves the
// paths, reads the inner commands and texts in turn, and lists everything.
//
// What the package does not know of a program is no mark: an unknown program
// is an ordinary one. What it cannot tell of a program it knows (an option it
// has no row for, before the word that names the wrapped command) is said in
// [Facts.Unknown].
package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// Facts is what one command would do.
type Facts struct {
	Marks    reeve.CommandMark // without CommandReadOnly
	ReadOnly bool              // in the read-only table with every option and operand known
	Why      string            // the first reason behind the marks
	Files    []File
	Hosts    []Host
	Inner    []Inner
	Links    []Link
	Dir      *words.Word  // the program changes to this directory first: git -C, make -C
	Also     []words.Word // the same command with its leading options taken out
	External string       // what it changes outside; "" = nothing
	Self     string       // how it touches Reeve; "" = not
	Unknown  []string     // what cannot be told
	Unlisted bool         // a harmless wrapper, which stands only before the commands it wraps
	Fed      bool         // reads its program from its input
}

// File is a path that the program reads, writes or deletes.
type File struct {
	Path words.Word
	Role byte // r, w, d, or m for moved away
	Deep bool // everything below it too
	Here bool // relative to the shell's directory even where Facts.Dir is set
}

// Link is another name for a file or folder.
type Link struct {
	Target, Name words.Word
	Soft         bool // a target that is relative starts from the name's folder
}

// Host is an address that the program reaches.
type Host struct {
	Name string // lower-case; "" = not known
	Port int    // 0 = any
}

// Inner is a command, or a shell text, that the program would start.
type Inner struct {
	Wrapper reeve.Wrapper
	Words   []words.Word // the command; empty where Text is meant
	Text    words.Word   // shell text
	Shell   string       // the shell that reads Text; "" = the system's sh
	Env     []words.Word // NAME=value words for it
	Dir     *words.Word  // it runs in this directory
	Lost    bool         // it runs in a directory that is not known
	Leaves  bool         // as another user, in another container or on another machine
	Appends bool         // further words from elsewhere follow
}

// reading is a command in progress.
type reading struct {
	Facts
	ws      []words.Word
	at      int // index of the first word after the program and its sub-commands
	name    string
	trusted bool // found where the system keeps its programs
	tainted bool // an option before the sub-command is not harmless
	p       *table.Program
	u       table.Use
}

// systemDirs hold the programs that the table speaks of; a program of the
// same name elsewhere is another program.
var systemDirs = map[string]bool{"/bin": true, "/usr/bin": true, "/usr/local/bin": true, "/sbin": true, "/usr/sbin": true, "/usr/local/sbin": true, "/opt/homebrew/bin": true}

// Of reads a command. Its first word is certain.
func Of(ws []words.Word) Facts {
	r := reading{ws: ws, at: 1, name: ws[0].Text, trusted: true}
	if i := strings.LastIndexByte(r.name, '/'); i >= 0 {
		r.trusted = systemDirs[r.name[:i]]
		r.name = r.name[i+1:]
	}
	if verb, is := strings.CutPrefix(r.name, "git-"); is && table.Lookup(r.name) == nil {
		return dashed(ws, verb)
	}
	r.read()
	return r.Facts
}

// dashed reads git-push as git push. Which program of that name it is cannot
// be told, so that it is not in the read-only table.
func dashed(ws []words.Word, verb string) Facts {
	plain := append([]words.Word{words.Plain("git"), words.Plain(verb)}, ws[1:]...)
	f := Of(plain)
	f.ReadOnly, f.Also = false, plain
	return f
}

func (r *reading) args() []words.Word { return r.ws[r.at:] }

// because sets marks with a reason for people.
func (r *reading) because(m reeve.CommandMark, why string) {
	r.Marks |= m
	if r.Why == "" && m != reeve.CommandGitConfig { // which alone is no reason to ask
		r.Why = why
	}
}

func (r *reading) unknown(why string) { r.Unknown = append(r.Unknown, why) }

func (r *reading) read() {
	switch {
	case r.name == "reeve":
		r.self()
		return
	case isShell(r.name):
		r.shell()
		return
	case isLoader(r.name):
		r.loader()
		return
	}
	r.p = table.Lookup(r.name)
	if r.p == nil {
		r.loose(r.args())
		r.named()
		return
	}
	if r.p.Is(table.HasSubs) && !r.descend() {
		return
	}
	r.u = r.p.Parse(r.args())
	r.apply()
	switch {
	case r.p.By != "":
		r.special()
	case r.p.Is(table.Wraps):
		r.wrap()
	}
	if _, outside := r.u.Flag("--no-index"); outside && r.name == "git" {
		for _, w := range r.u.Operands {
			r.file(w, 'r', true)
		}
	}
	r.interpreter()
	r.version()
}

// named notes the words of a program that is not known which can only be
// paths, alone or as the value of an option.
func (r *reading) named() {
	for _, w := range r.args() {
		if at := strings.IndexByte(w.Lead, '='); at >= 0 {
			w = w.From(at + 1)
		} else if len(w.Lead) > 2 && w.Lead[0] == '-' && w.Lead[1] != '-' {
			w = w.From(2)
		}
		if w.Known && !w.Glob && (w.Tilde || strings.HasPrefix(w.Text, ".") || strings.Contains(w.Text, "/") && !strings.Contains(w.Text, "://")) {
			r.file(w, 'r', false)
		}
	}
}

// loose marks words that could become options or several words.
func (r *reading) loose(args []words.Word) {
	for i := range args {
		if args[i].MayBeFlag() {
			r.because(reeve.CommandUnknownWords, "the word "+args[i].Text+" could become an option or several words")
			return
		}
	}
}

// descend goes from a program to its sub-command. It answers false where all
// has been said.
func (r *reading) descend() bool {
	for r.p.Is(table.HasSubs) {
		parent := r.p
		r.u = parent.Parse(r.args())
		if r.u.Rest == len(r.args()) || r.u.Effects().Has(table.Stops) {
			return true // no sub-command
		}
		word := r.args()[r.u.Rest]
		if !word.Certain() || r.u.Loose {
			r.apply()
			r.because(reeve.CommandUnknownWords, "the sub-command of "+r.name+" is not certain")
			return false
		}
		sub := parent.Sub(word.Text)
		if sub == nil && r.at > 1 {
			return true // an operand of the sub-command before it
		}
		r.between(r.u.Rest, parent)
		if sub == nil {
			r.strangeSub(parent, word.Text)
			return true
		}
		r.p = sub
		r.at += r.u.Rest + 1
	}
	return true
}

// between applies the options that stand before a sub-command, and notes the
// command as it would read without them.
func (r *reading) between(n int, parent *table.Program) {
	if n == 0 {
		return
	}
	keep, rest := r.p, r.u
	r.u.Operands, r.p = nil, parent
	r.apply()
	r.globalSettings()
	r.tainted = rest.Effects()&table.Harm&^table.Chdir != 0 || rest.Strange != ""
	r.p, r.u = keep, rest
	r.Also = append(append([]words.Word{}, r.ws[:r.at]...), r.args()[n:]...)
	r.Also[0] = words.Plain(r.name)
}

// strangeSub reads a sub-command that the table does not list: short for one
// with marks, where the program takes abbreviations, or an alias.
func (r *reading) strangeSub(parent *table.Program, word string) {
	for _, m := range parent.MarkedSubs(word) {
		r.because(m, word+" may be short for what changes something outside")
		if m.Has(reeve.CommandExternal) {
			r.External = r.name + " " + word
		}
	}
	if parent.By == "git" {
		r.because(reeve.CommandRunsProgram, word+" is no sub-command of git: an alias or a program of that name")
	}
}
