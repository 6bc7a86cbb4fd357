// Package table knows programs: which of their options are harmless, which
// take a value, and which start another program, load code, write a file or
// leave the machine.
//
// The knowledge is text, in the files named after what the programs do
// (readers.go, changers.go, git.go ...), so that it can be read and reviewed
// as a table. A program's block is a line with its names and what it is, and
// indented lines with its options:
//
//	sort ro args=r
//	  -bdfgiMhnRrVcCmsuz --reverse --unique -k= --key= -S= --buffer-size=
//	  -o=:w --output=:w --compress-program=:X
//
// Names are divided by commas; a name of two words is a sub-command. What a
// program is:
//
//	ro         only reads, where every option is listed here as harmless
//	mild       no option at all can do harm, so a file name that becomes one cannot either
//	any        options and operands mean nothing
//	bare       only reads where no operand is given, or with an option marked L
//	one        only reads with one operand at most
//	dir        reads the current directory where no operand is given
//	sub        the first operand is a sub-command
//	first      options end at the first operand
//	long1      long options have one dash: find, go, terraform
//	wrap[=N]   starts the program named after N operands; wrap=text: the rest is shell text
//	harmless   a wrapper that an allow rule may look through
//	user       another user, container or machine
//	interp     an interpreter: without a script operand it reads its program from its input
//	by=NAME    package shellread reads the words by code of its own
//	runs writes destructive gitwrites gitconfig external fed    marks of every use
//
// args=LETTERS says what the operands are, one letter each, the last one
// repeated; last=L what the last operand is where there are two or more:
//
//   - data    r  file read    w  file written    d  deleted    m  moved away
//     c  script that is run    h  host or address    +  data that must start with +
//
// An option is a word: -x, or several letters that share what follows; -NUM
// is a dash and digits. "=" takes a value, "?" takes one only when attached.
// After a colon stands what it does; nothing there means that it is harmless:
//
//	r  the value is a file to read     w  writes (the value, where there is one)
//	x  starts a program                X  the value is a command line that is run
//	c  loads code from the value       n  no more than: not read-only
//	L  makes a bare program list       I  operands are changed in place
//	D  destructive    E  changes something outside    G  changes the repository
//	H  the value is a host             C  the value is the directory to run in
//	1  stands for the first operand    d  with no operand, reads the current directory
//	S  the value is split into words   T  the value is shell text that is run
//	.  ends the options                V  prints something about the program and stops
//	U  another user or machine         M  the value is a method of HTTP
//	K  operands that would be moved away are kept
//	N  the value chooses, by name, files below the operands
//
// An option that is not listed makes the use not read-only. A long option that
// is the start of a listed one with a letter is taken for that one, because
// most programs accept abbreviations.
package table

import (
	"strings"
	"sync"

	"github.com/reeve-gate/reeve"
)

// Attr is what a program is.
type Attr uint32

const (
	ReadOnly Attr = 1 << iota
	Mild
	Any
	Bare
	One
	ReadsDir
	HasSubs
	FirstEnds
	LongOne
	Wraps
	WrapsText
	Harmless
	OtherUser
	Interpreter
)

// Effect is what an option does; the letters of the package doc.
type Effect uint32

const (
	Reads Effect = 1 << iota
	Writes
	Runs
	RunsValue
	LoadsCode
	NotReading
	Lists
	InPlace
	Destroys
	Outside
	Git
	Host
	Chdir
	First
	Dir
	Split
	Text
	Stops
	Version
	Leaves
	Method
	Keeps
	Chooses
)

var effectLetters = map[byte]Effect{
	'r': Reads, 'w': Writes, 'x': Runs, 'X': RunsValue, 'c': LoadsCode, 'n': NotReading, 'L': Lists, 'I': InPlace,
	'D': Destroys, 'E': Outside, 'G': Git, 'H': Host, 'C': Chdir, '1': First, 'd': Dir, 'S': Split, 'T': Text,
	'.': Stops, 'V': Version, 'U': Leaves, 'M': Method, 'K': Keeps, 'N': Chooses,
}

// Harm are the effects that make a use not read-only.
const Harm = Writes | Runs | RunsValue | LoadsCode | NotReading | InPlace | Destroys | Outside | Git | Text | Split | Leaves | Method

// Has reports whether any of the effects of e is set.
func (e Effect) Has(any Effect) bool { return e&any != 0 }

// Arity says whether an option takes a value.
type Arity uint8

const (
	NoValue Arity = iota
	OneValue
	MayAttach
)

// Flag is one option.
type Flag struct {
	Name   string // with its dashes
	Arity  Arity
	Effect Effect
}

// Program is what is known of a program or of one of its sub-commands.
type Program struct {
	Name  string
	Attr  Attr
	Args  string // letters of the operands
	Last  byte   // letter of the last of several operands; 0 = as Args says
	Skip  int    // operands before a wrapped command
	By    string // the code in package shellread that reads it
	Marks reeve.CommandMark

	flags *flagSet
	subs  map[string]*Program
}

// flagSet holds the options of one block, shared by its names.
type flagSet struct {
	byName  map[string]*Flag
	harmful []*Flag // options of several letters that do harm, for abbreviations
	long    bool    // one dash starts a long option
}

// Is reports whether every attribute of a is set.
func (p *Program) Is(a Attr) bool { return p.Attr&a == a }

// Sub is a sub-command, or nil.
func (p *Program) Sub(word string) *Program { return p.subs[word] }

// Role is the letter of operand i of n.
func (p *Program) Role(i, n int) byte {
	if p.Last != 0 && n > 1 && i == n-1 {
		return p.Last
	}
	if p.Args == "" {
		return '-'
	}
	return p.Args[min(i, len(p.Args)-1)]
}

// Lookup finds a program by its base name, with or without a version at the
// end; nil where it is not known.
func Lookup(name string) *Program {
	all := programs()
	if p := all[name]; p != nil {
		return p
	}
	bare := strings.TrimRight(name, "0123456789.")
	if bare == name {
		return nil
	}
	return all[strings.TrimSuffix(bare, "-")]
}

// programs reads the text of the tables, once.
var programs = sync.OnceValue(func() map[string]*Program {
	all := map[string]*Program{}
	for _, text := range []string{readers, inspectors, changers, interpreters, builders, network, gitTable, wrappers} {
		parse(all, text)
	}
	return all
})

// parse adds the blocks of one table.
func parse(all map[string]*Program, text string) {
	var current *flagSet
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case line[0] == ' ':
			for _, f := range fields {
				current.add(f)
			}
		default:
			current = header(all, line)
		}
	}
}

// header reads the first line of a block. Names of one word share what they
// are, their sub-commands too; each sub-command is its own, under its parent.
func header(all map[string]*Program, line string) *flagSet {
	names, attrs, _ := strings.Cut(strings.TrimSpace(line), " | ")
	set := &flagSet{byName: map[string]*Flag{}}
	var shared *Program
	for _, name := range strings.Split(names, ",") {
		path := strings.Fields(name)
		place, last := all, path[len(path)-1]
		for _, w := range path[:len(path)-1] {
			if place[w] == nil {
				place[w] = &Program{Name: w, flags: &flagSet{}, subs: map[string]*Program{}}
			}
			place = place[w].subs
		}
		p := shared
		if p == nil || len(path) > 1 {
			p = newProgram(strings.Join(path, " "), attrs, set)
		}
		if old := place[last]; old != nil { // a sub-command of it stood further up
			p.subs = old.subs
		}
		place[last] = p
		if len(path) == 1 {
			shared = p
		}
	}
	return set
}

func newProgram(name, attrs string, set *flagSet) *Program {
	p := &Program{Name: name, flags: set, subs: map[string]*Program{}}
	for _, a := range strings.Fields(attrs) {
		p.attribute(a)
	}
	set.long = p.Is(LongOne)
	return p
}

var attrNames = map[string]Attr{
	"ro": ReadOnly, "mild": Mild, "any": Any, "bare": Bare, "one": One, "dir": ReadsDir, "sub": HasSubs,
	"first": FirstEnds, "long1": LongOne, "wrap": Wraps, "harmless": Harmless, "user": OtherUser, "interp": Interpreter,
}

var markNames = map[string]reeve.CommandMark{
	"runs": reeve.CommandRunsProgram, "writes": reeve.CommandWritesFile, "destructive": reeve.CommandDestructive,
	"gitwrites": reeve.CommandGitWrites, "gitconfig": reeve.CommandGitConfig, "external": reeve.CommandExternal, "fed": reeve.CommandFedScript,
}

func (p *Program) attribute(word string) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case key == "args":
		p.Args = value
	case key == "last":
		p.Last = value[0]
	case key == "by":
		p.By = value
	case word == "wrap=text":
		p.Attr |= Wraps | WrapsText
	case key == "wrap" && value != "":
		p.Attr |= Wraps
		p.Skip = int(value[0] - '0')
	case attrNames[word] != 0:
		p.Attr |= attrNames[word]
	case markNames[word] != 0:
		p.Marks |= markNames[word]
	default:
		panic("table: unknown attribute " + word + " of " + p.Name)
	}
}

// add reads one word of options.
func (s *flagSet) add(word string) {
	name, letters, _ := strings.Cut(word, ":")
	f := Flag{}
	switch name[len(name)-1] {
	case '=':
		f.Arity = OneValue
	case '?':
		f.Arity = MayAttach
	}
	if f.Arity != NoValue {
		name = name[:len(name)-1]
	}
	for i := range len(letters) {
		e, known := effectLetters[letters[i]]
		if !known {
			panic("table: unknown effect in " + word)
		}
		f.Effect |= e
	}
	if strings.HasPrefix(name, "--") || name == "-NUM" || s.long || len(name) <= 2 {
		s.put(name, f)
		return
	}
	for _, letter := range name[1:] {
		s.put("-"+string(letter), f)
	}
}

func (s *flagSet) put(name string, f Flag) {
	f.Name = name
	s.byName[name] = &f
	if f.Effect.Has(Harm) && len(name) > 2 {
		s.harmful = append(s.harmful, &f)
	}
}

// MarkedSubs gives the marks of every sub-command that starts with word and
// changes something outside or destroys.
func (p *Program) MarkedSubs(word string) (all []reeve.CommandMark) {
	for name, s := range p.subs {
		if m := s.Marks & (reeve.CommandExternal | reeve.CommandDestructive); m != 0 && strings.HasPrefix(name, word) {
			all = append(all, m)
		}
	}
	return all
}
