package foreign

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/tool"
)

// codex lists the tools of Codex 0.171 by the names that its hooks report.
// Every tool that runs shell text (exec_command, shell_command, local_shell)
// is reported as Bash, with its working directory as that of the event. A
// tool of a namespace is reported with the namespace before it and nothing
// between. The script of its code mode is not reported, each tool that the
// script calls is. What the vendor's service does itself is never reported.
var codex = []kind{
	{"bash", "run a shell command", schemaCodexBash, reeve.TierWrite, tool.ClassBash, codexBash},
	{"apply_patch", "change files", schemaPatch, reeve.TierWrite, tool.ClassWrite, applyPatch},
	{"view_image", "look at an image", schemaImage, reeve.TierRead, tool.ClassRead, viewImage},
	{"write_stdin", "type into a running command", anyObject, reeve.TierWrite, tool.ClassBash, unknown("what is typed into a running command is not read")},
	{"web_search", "search the web", anyObject, reeve.TierWrite, tool.ClassWeb, searchAt("api.openai.com")},

	// What a sub-agent does comes back here call by call.
	{"spawn_agent", "start a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"send_input", "write to a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"resume_agent", "go on with a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"wait_agent", "wait for a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"close_agent", "end a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"collaborationspawn_agent", "start a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"collaborationsend_message", "write to a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"collaborationfollowup_task", "write to a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"collaborationinterrupt_agent", "stop a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"collaborationwait_agent", "wait for a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"collaborationlist_agents", "list the sub-agents", anyObject, reeve.TierRead, tool.ClassOther, nothing},

	{"update_plan", "keep the list of tasks", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"get_goal", "read the goal", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"create_goal", "set the goal", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"update_goal", "change the goal", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"request_user_input", "ask the person", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"request_user_input_async", "ask the person", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"send_message_to_user_async", "write to the person", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"clockcurr_time", "tell the time", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"clocksleep", "wait", anyObject, reeve.TierRead, tool.ClassOther, nothing},

	{"request_permissions", "ask for more rights", anyObject, reeve.TierWrite, tool.ClassOther, unknown("rights are asked for that outlast the call")},
	{"request_plugin_install", "ask for a plugin", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a plugin may bring programs and hooks")},
	{"list_mcp_resources", "list what MCP servers offer", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},
	{"list_mcp_resource_templates", "list what MCP servers offer", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},
	{"read_mcp_resource", "read from an MCP server", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},
}

// The schemas name what the effects are read from; a client may add more.
const (
	schemaCodexBash = `{"type":"object","properties":{"command":{"type":"string","minLength":1}},"required":["command"]}`
	schemaPatch     = `{"type":"object","properties":{"command":{"type":"string","minLength":1}},"required":["command"]}`
	schemaImage     = `{"type":"object","properties":{"path":{"type":"string","minLength":1}},"required":["path"]}`
)

// asCommand is the arguments of the tools whose one argument is a text.
type asCommand struct {
	Command string `json:"command"`
	Rest    rest   `json:",embed"`
}

func codexBash(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a asCommand
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	effects := append(shell(a.Command, false, at), patchInShell(a.Command, at)...)
	return append(effects, a.Rest.effects()...), nil
}

// patchInShell is what a patch inside a shell command changes. Codex carries
// out a command that is nothing but apply_patch with a here-document, or that
// after a change of directory, without a shell. A program of that name stands
// in its shells' PATH too: given a patch in any other way, its files are not
// known.
func patchInShell(command string, at tool.Place) []reeve.Effect {
	if !patchWord.MatchString(command) {
		return nil
	}
	m := patchAlone.FindStringSubmatch(command)
	if m == nil || m[2] != m[4] {
		return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "a patch inside a longer command"}}
	}
	if dir := m[1]; dir != "" {
		p, err := path(dir, at)
		if err != nil {
			return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: err.Error()}}
		}
		at.Dir = p
	}
	return patched(m[3], at)
}

var (
	patchWord  = late.New(`\bapply_?patch\b`)
	patchAlone = late.New(`^\s*(?:cd[ \t]+([\w./-]+)[ \t]*&&[ \t]*)?apply_?patch[ \t]*<<[ \t]*['"]?(\w+)['"]?[ \t]*\n((?s:.*)\n)(\w+)\s*$`)
)

func applyPatch(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a asCommand
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	text := a.Command
	if m := hereDocument.FindStringSubmatch(text); m != nil && m[1] == m[3] {
		text = m[2] // Codex takes a patch so wrapped too
	}
	return append(patched(text, at), a.Rest.effects()...), nil
}

var hereDocument = late.New(`^\s*<<[ \t]*['"]?(\w+)['"]?[ \t]*\n((?s:.*)\n)(\w+)\s*$`)

// patched reads the files that a patch of Codex's own format changes:
//
//	*** Begin Patch
//	*** Add File: NAME, then lines that begin with +
//	*** Delete File: NAME
//	*** Update File: NAME, perhaps *** Move to: NAME, then changed lines
//	*** End Patch
//
// White space around a line does not count, that before a name does, and ~ is
// a name like others, as there. A line that Codex might take for a header of a
// file is one here. What has another shape is unknown, since Codex may learn
// to take it.
func patched(text string, at tool.Place) []reeve.Effect {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 2 || strings.TrimSpace(lines[0]) != "*** Begin Patch" || strings.TrimSpace(lines[len(lines)-1]) != "*** End Patch" {
		return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "this is no patch that Reeve can read"}}
	}
	var effects []reeve.Effect
	from := "" // the file that is updated, and would be moved
	for _, line := range lines[1 : len(lines)-1] {
		header, isHeader := strings.CutPrefix(strings.TrimSpace(line), "*** ")
		if !isHeader || header == "End of File" {
			continue
		}
		what, name, _ := strings.Cut(header, ": ")
		p, err := literal(name, at)
		if err != nil {
			return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "the patch names no file in: " + clip(header, 120)}}
		}
		switch what {
		case "Add File":
			effects = append(effects, reeve.Effect{Kind: reeve.EffectWrite, Path: p})
		case "Delete File":
			effects = append(effects, reeve.Effect{Kind: reeve.EffectDelete, Path: p})
		case "Update File":
			effects = append(effects, reeve.Effect{Kind: reeve.EffectWrite, Path: p, Exists: true})
			from = p
		case "Move to":
			effects = append(effects, reeve.Effect{Kind: reeve.EffectWrite, Path: p})
			if from != "" {
				effects = append(effects, reeve.Effect{Kind: reeve.EffectDelete, Path: from})
			}
		default:
			effects = append(effects, reeve.Effect{Kind: reeve.EffectUnknown, Why: "the patch has a part that Reeve does not know: " + clip(what, 120)})
		}
	}
	if len(effects) == 0 {
		return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "the patch names no file"}}
	}
	return effects
}

// literal makes a path absolute and clean as Codex does, to which ~ means
// nothing.
func literal(p string, at tool.Place) (string, error) {
	if strings.HasPrefix(p, "~") {
		p = "./" + p
	}
	return path(p, at)
}

func viewImage(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		Path   string `json:"path"`
		Detail string `json:"detail"`
		Rest   rest   `json:",embed"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	p, err := literal(a.Path, at)
	if err != nil {
		return nil, err
	}
	return append([]reeve.Effect{{Kind: reeve.EffectRead, Path: p}}, a.Rest.effects()...), nil
}
