package reeve

import "strings"

// Command is one program that a shell line would start, as read before it
// runs. A line gives one Command for each program it may start, at any depth:
// in a pipe, a substitution, a wrapper's argument, a script text.
type Command struct {
	Words    []Word    // the program's name first, after quote removal; never empty
	Wrappers []Wrapper // programs that start this one, outermost first
	Assigns  []Assign  // variables set for this command, earlier exports included
	Dir      string    // directory it runs in, absolute, perhaps with ".." that only the disk can take out; empty = not known
	Else     []string  // where it would run if a change of directory before it had failed
	Text     string    // its source text, for people
	Marks    CommandMark
	Why      string // for people: the first reason behind the marks

	// Also is the same command spelled otherwise: without the options before
	// its sub-command, or as the program that a module stands for. Deny and ask
	// rules mean it too; an allow rule does not.
	Also []Word
}

// Word is one word of a command.
type Word struct {
	Text   string // after quote removal; where Known is false, the source text
	Known  bool   // the text is certain before the line runs
	Quoted bool   // an unknown word that stays one word whatever it expands to
	Glob   bool   // holds an unquoted glob character
	Loose  bool   // of a Glob: the line changes what patterns match, or it is an extended one: leading dots, any case, any depth may match too
}

// Wrapper is a program that runs the command given in its arguments.
type Wrapper struct {
	Name     string
	Text     string // the wrapper's own words, up to the wrapped command, joined by blanks
	Harmless bool   // an allow rule may look through it: nice, nohup, timeout, time, stdbuf, command, builtin, xargs without flags
}

// Assign is a variable given to a command.
type Assign struct {
	Name     string
	Value    string
	Known    bool
	Harmless bool // on the list of variables that load no code and move no search path
}

// CommandMark is a set of facts about one command.
type CommandMark uint32

const (
	// CommandReadOnly: in the read-only table with every flag and operand known
	// to it. A command that carries it has no other mark but CommandGitConfig.
	CommandReadOnly CommandMark = 1 << iota
	// CommandUnknownProgram: the program's name is not certain.
	CommandUnknownProgram
	// CommandUnknownWords: an argument is not certain and could become a flag
	// or several words.
	CommandUnknownWords
	// CommandRunsProgram: a flag, operand or script text starts another
	// program or loads code, in a way that is listed separately or not at all.
	CommandRunsProgram
	// CommandWritesFile: a flag makes it write a file.
	CommandWritesFile
	// CommandFedScript: an interpreter that reads its program from a pipe, a
	// here-document or a text that is not certain.
	CommandFedScript
	// CommandCodeEnv: a variable in force loads code or is not known to be harmless.
	CommandCodeEnv
	// CommandDestructive: deletes recursively or drops git work (amendment 11).
	CommandDestructive
	// CommandGitWrites: changes the repository's metadata through git.
	CommandGitWrites
	// CommandGitConfig: git reads the repository's configuration, which can
	// start programs; read-only only where the kernel finds none there.
	CommandGitConfig
	// CommandExternal: changes something outside this machine: push, publish, deploy.
	CommandExternal
	// CommandLeaves: runs as another user, in another container or on another machine.
	CommandLeaves
	// CommandSelf: starts reeve with a sub-command that an agent may not use.
	CommandSelf
	// CommandHost: the caller asked to run it outside the sandbox.
	CommandHost
	// CommandBuiltin: the shell's own; starts no program.
	CommandBuiltin
)

// Has reports whether every mark of want is set.
func (m CommandMark) Has(want CommandMark) bool { return m&want == want }

// Any reports whether at least one mark of want is set.
func (m CommandMark) Any(want CommandMark) bool { return m&want != 0 }

// Program is the base name of the program, or "" where it is not certain.
func (c *Command) Program() string {
	if len(c.Words) == 0 || !c.Words[0].Known {
		return ""
	}
	p := c.Words[0].Text
	return p[strings.LastIndexByte(p, '/')+1:]
}

// Line is the words joined by one blank: what rules are matched against.
func (c *Command) Line() string {
	if len(c.Words) == 1 {
		return c.Words[0].Text
	}
	var b strings.Builder
	for i, w := range c.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}
