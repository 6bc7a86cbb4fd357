package jail

import (
	"slices"

	"github.com/reeve-gate/reeve/internal/jail/environ"
)

// What a boundary on another machine needs of the lists of this package: there
// no look-up of ours can be made, so that the names go there.

// GitNames are what git executes, or takes its configuration from, inside a
// git directory.
func GitNames() []string { return slices.Clone(gitNames) }

// AgentFolder is the state folder of an agent CLI, by names below a home
// directory or below the folder; the last element of a name may hold *.
type AgentFolder struct {
	Folder  string   // below the home directory
	Closed  []string // in it: what starts programs or configures the gate
	Private []string // in it: what a session has for itself
	Files   []string // below the home directory: settings of which a session gets a copy
	Secrets []string // in it: the CLI's own log-in
}

// AgentFolders are those of the four CLIs of contract Y59.
func AgentFolders() []AgentFolder {
	var all []AgentFolder
	for _, cli := range agentCLIs {
		all = append(all, AgentFolder{Folder: cli.folder, Closed: cli.closed(), Private: slices.Clone(cli.private), Files: slices.Clone(cli.files), Secrets: slices.Clone(cli.secrets)})
	}
	return all
}

// Carried are the variables that go along with a program to another machine:
// those of the agent CLI that it is, where the profile keeps them, those that
// a person named, and set. Nothing else of this machine's environment is of
// use there.
func (p Profile) Carried(argv, env, pass, set []string) []string {
	out := map[string]string{}
	if cli := cliOf(argv); cli != nil && p.KeepEnv {
		environ.Copy(out, env, cli.pass)
		environ.Set(out, cli.set)
	}
	environ.Copy(out, env, []string{"TERM", "COLORTERM"})
	environ.Copy(out, env, pass)
	environ.Set(out, set)
	return environ.List(out)
}
