package reeve

import "fmt"

// EffectKind is the closed set of things a tool can do to the world. The
// zero value is unknown, which no rule allows.
type EffectKind uint8

const (
	EffectUnknown    EffectKind = iota // cannot be told: asks, or denies where nobody can be asked
	EffectRead                         // read a path
	EffectWrite                        // create or change a path
	EffectDelete                       // remove a path
	EffectRun                          // start a program
	EffectConnect                      // open a connection to a host
	EffectReadSecret                   // show a secret's value
	EffectUseSecret                    // use a secret without showing it
	EffectExternal                     // change something outside this machine
	EffectDrive                        // move the pointer, type, take a screenshot
	EffectChangeSelf                   // change Reeve: its policy, settings, approvals, daemon, hooks
)

var effectNames = [...]string{"unknown", "read", "write", "delete", "run", "connect", "read_secret", "use_secret", "external", "drive", "change_reeve"}

func (k EffectKind) String() string { return name(effectNames[:], int(k)) }

// Effect is one thing an invocation would do. Which fields count depends on
// Kind: Path for read, write and delete; Command for run; Host and Port for
// connect; Why for unknown and external.
//
// On a path of a shell line, Command says whose operand the path is: a rule
// that allows the command covers it inside the workspace. A redirection is
// the shell's own, has no Command, and needs a rule of its own.
type Effect struct {
	Kind EffectKind

	Path    string    // absolute and lexically clean, as the caller meant it; empty = not known before running
	Spelled string    // the same before ".." was taken out of it, where the kernel may go up from where a link leads; else empty
	Facts   PathFacts // what the disk says of Path, filled in by the kernel
	Exists  bool      // the caller asserts a change of an existing file (edit), not a creation

	Deep    bool     // everything below Path too: grep -r, cp -r, rm -r
	Command *Command // for EffectRun; for a path, the command whose operand it is

	Host string // lower-case name or address literal
	Port int    // 0 = any
	Dial *Dial  // for connect: we make the connection ourselves; nil where a program or a client only names the host

	Why string // for people: what makes the effect unknown or external

	// Of an unknown effect, in another program's hand: what it brings may be
	// private data, and what it is given may leave this machine.
	Private, Sends bool
}

// Dial is what is known of a connection that Reeve's own proxy makes, so that
// host and port are what is reached and not what a program says of itself.
type Dial struct {
	Closed string // why the address, a literal, is not the public internet's: only a rule that spells it with its port opens it; "" for names and public addresses
	Own    bool   // the service that the session's own agent is made of: what it says is the agent's own word
}

// PathFacts is what the disk said of one path when the call was judged. The
// policy is pure and reads the disk only through these values.
type PathFacts struct {
	Known  bool   // the facts below were looked up
	Target string // the path with every symbolic link resolved; the nearest existing ancestor decides for a new file
	Exists bool
	Links  uint64 // hard links of a regular file; 0 where not a regular file
	Marks  PathMark
}

// PathMark says why a path is special. Marks hold for either spelling of the
// path: as given, and with links resolved.
type PathMark uint16

const (
	PathOutside    PathMark = 1 << iota // not below the workspace
	PathProtected                       // metadata that steers programs: .git/config, .claude, .vscode ... (A17, Y67)
	PathCredential                      // a credential store or key file (A18, A20)
	PathOwnState                        // Reeve's own configuration, state or data
	PathGateConfig                      // a client's settings that install the gate's hook
	PathHardLinked                      // a regular file with more than one name (A22)
	PathScratch                         // the private temporary directory
	PathDevice                          // a harmless device such as /dev/null
)

// Has reports whether every mark of want is set.
func (m PathMark) Has(want PathMark) bool { return m&want == want }

// Any reports whether at least one mark of want is set.
func (m PathMark) Any(want PathMark) bool { return m&want != 0 }

// String is the effect in one line, for people and scripts.
func (e *Effect) String() string {
	switch e.Kind {
	case EffectRead, EffectWrite, EffectDelete:
		if e.Path == "" {
			return e.Kind.String() + " a path that is not certain" + suffix(e.Why)
		}
		return e.Kind.String() + " " + e.Path
	case EffectRun:
		if e.Command != nil {
			return "run " + e.Command.Line()
		}
	case EffectConnect:
		if e.Port != 0 {
			return fmt.Sprintf("connect %s:%d", e.Host, e.Port)
		}
		return "connect " + e.Host
	}
	return e.Kind.String() + suffix(e.Why)
}

func suffix(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
