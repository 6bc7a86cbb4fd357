package hook

import (
	"github.com/go-json-experiment/json"
)

// role is what the door does with an event of a client.
type role uint8

const (
	unheard   role = iota // an event that the client does not have: refused
	passive               // asks nothing of the gate: silence
	decided               // a call that is about to run
	confirmed             // the client's own question about a call
	reported              // what came of a call
	ending                // the client's session ends
)

// client is how one client's hooks speak and want to be answered.
type client struct {
	events map[string]role
	// allow and deny answer a decided call; reason is one line for the model.
	allow, deny func(event, reason string) Answer
	// confirm answers a question of the client's with yes.
	confirm Answer
	// fromStart says that a call's directory is the call's own, so that the
	// session's is the one in which the client started the hook.
	fromStart bool
}

// dir is the directory that stands for the client's session.
func (c *client) dir(r Request, e *event) string {
	if c.fromStart && r.Start != "" {
		return r.Start
	}
	return e.dir
}

// clients are those whose hooks have a door.
var clients = map[string]*client{
	"claude": {
		events: events(map[role][]string{
			decided:  {"PreToolUse", "PreSkillShellCommand"},
			reported: {"PostToolUse", "PostToolUseFailure"},
			ending:   {"SessionEnd"},
			passive: { // of version 2.1.332
				"PostToolBatch", "Notification", "UserPromptSubmit", "UserPromptExpansion", "SessionStart", "Stop", "StopFailure",
				"SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch",
				"PermissionRequest", "PermissionDenied", "Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation",
				"ElicitationResult", "ConfigChange", "WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged",
				"FileChanged", "DirectoryAdded", "MessageDisplay",
			},
		}),
		allow: func(event, reason string) Answer { return permission(event, "allow", reason) },
		deny:  func(event, reason string) Answer { return permission(event, "deny", reason) },
	},
	"codex": {
		events: events(map[role][]string{
			decided:   {"PreToolUse"},
			confirmed: {"PermissionRequest"},
			reported:  {"PostToolUse"},
			ending:    {"SessionEnd"},
			passive: { // of version 0.171.0
				"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Interrupt",
			},
		}),
		allow:     func(string, string) Answer { return Answer{} },
		deny:      func(_, reason string) Answer { return Answer{Stderr: reason + "\n", Exit: exitRefused} },
		confirm:   Answer{Stdout: []byte(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}` + "\n")},
		fromStart: true,
	},
}

func events(byRole map[role][]string) map[string]role {
	all := map[string]role{}
	for r, names := range byRole {
		for _, name := range names {
			all[name] = r
		}
	}
	return all
}

// permission is the answer in the form that Claude Code obeys.
func permission(event, decision, reason string) Answer {
	type specific struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	}
	b, err := json.Marshal(struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{event, decision, reason}})
	if err != nil {
		return refuse("its answer cannot be written")
	}
	return Answer{Stdout: append(b, '\n'), Exit: exitAnswered}
}
