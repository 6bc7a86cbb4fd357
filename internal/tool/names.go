package tool

import "strings"

// Class groups tools that one rule word governs (amendment 9): read covers
// every reader, write every writer, edit every change of an existing file,
// bash every shell. Rules, hooks, tests and explanations use this one table.
type Class uint8

const (
	ClassOther Class = iota
	ClassRead        // read_file, list_dir, glob, grep, git_status ...
	ClassWrite       // every tool that creates, changes, moves or deletes a path
	ClassBash        // every tool that runs shell text
	ClassWeb         // fetches an address
	ClassMCP         // mcp__server__tool
	ClassAddon
	ClassDesktop
)

// classWords are the words a rule may use in place of a tool's name. "edit"
// is the part of write that changes a file which exists.
var classWords = map[string]Class{
	"read": ClassRead, "write": ClassWrite, "edit": ClassWrite,
	"bash": ClassBash, "exec": ClassBash, "shell": ClassBash,
	"web": ClassWeb, "mcp": ClassMCP, "addon": ClassAddon, "desktop": ClassDesktop,
}

// ClassWord returns the class that a rule's tool word stands for, and whether
// it is such a word at all.
func ClassWord(word string) (Class, bool) {
	c, ok := classWords[strings.ToLower(word)]
	return c, ok
}

// foreign maps the tools of other agents to ours. The names are those of
// Claude Code 2.1 (its documentation, tools reference) and those that the
// hooks of Codex 0.171 report, lower-cased.
var foreign = map[string]Class{
	"read": ClassRead, "glob": ClassRead, "grep": ClassRead, "ls": ClassRead, "notebookread": ClassRead,
	"write": ClassWrite, "edit": ClassWrite, "multiedit": ClassWrite, "notebookedit": ClassWrite,
	"bash": ClassBash, "webfetch": ClassWeb, "websearch": ClassWeb,
	"apply_patch": ClassWrite, "view_image": ClassRead, "write_stdin": ClassBash, "web_search": ClassWeb,
}

// ForeignClass returns the class of another agent's tool by its name.
func ForeignClass(name string) (Class, bool) {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "mcp__") {
		return ClassMCP, true
	}
	c, ok := foreign[name]
	return c, ok
}

var classNames = [...]string{"other", "read", "write", "bash", "web", "mcp", "addon", "desktop"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "other"
}
