// Package hook is the door for another agent's own hooks: it turns one event
// of Claude Code or Codex into an invocation, asks the gate, and answers in the
// form that client obeys.
//
// Its main type is [Door]; [Door.Handle] takes the bytes of one event and
// returns what the client must see: standard output, standard error and an
// exit code. It executes nothing and judges nothing; the [Gate] decides, and
// a person answers the gate's question, never the client's prompt: a door
// answers allow or deny.
//
// # Events
//
// An event is one JSON object of at most [MaxEvent] bytes. It is read
// strictly: valid UTF-8, no name twice at any depth, names in exact case,
// nesting of at most [MaxDepth], nothing after it. Names at the top that are
// not listed here are ignored, since clients add some with every version.
//
//	hook_event_name   which event
//	session_id        the client's session
//	cwd               the client's working directory, absolute
//	permission_mode   "plan" tightens; every other value is ignored
//	agent_id          a sub-agent of the client; absent for the main one
//	tool_name         as the model spelled it
//	tool_input        the arguments, one object; judged as these very bytes
//	tool_use_id       ties the outcome to the call
//	tool_response     what the tool gave back (PostToolUse)
//	error, is_interrupt, duration_ms   how it failed (PostToolUseFailure)
//
// PreToolUse and PreSkillShellCommand (a shell command in the text of a skill,
// run while the skill loads) are decided. PostToolUse and PostToolUseFailure
// are outcomes. SessionEnd ends the session. Codex's PermissionRequest, its own
// question about a call, is answered with yes where the gate has allowed that
// call and it has not ended, and else left to Codex. The client's other events
// are answered with silence. An event that cannot be read for certain, and one
// of an unknown name, is refused: exit code 2 and the place.
//
// # Answers
//
// To Claude Code a decided call gets exit code 0 and
//
//	{"hookSpecificOutput":{"hookEventName":E,"permissionDecision":"allow"|"deny","permissionDecisionReason":R}}
//
// To Codex an allowed call gets silence and exit code 0, a denied one exit code
// 2 with the reason on standard error: what a person's shell prints when it
// starts would make an answer on standard output unreadable, and a call with an
// unreadable answer runs.
//
// An outcome gets silence, or inside reeve run what the boundary refused since the
// last one, as facts for the model ({"hookSpecificOutput":{"hookEventName":E,
// "additionalContext":T}}): a connection with the rule that decided and the one
// that would allow it, a path that the call named with why it cannot be written
// or read. T has at most 1 KiB, each fact comes once in a session, and what
// others wrote stands in it masked, bounded and in quotation marks. What else
// is protected is never listed.
//
// A fault of ours is exit code 2 with the reason on standard error. Measured
// with Claude Code 2.1.332 and Codex 0.171.0: exit code 2 blocks whatever
// stands on standard output (with Codex only where something stands on standard
// error); every other code, a signal, a missing program, a time-out and
// unreadable output let the call through to the client's own rules. The
// installed command therefore ends in exit 2 for whatever went wrong, and the
// door answers at [Request.Deadline], well before the client's time limit, with
// deny.
//
// # What it does not promise
//
// A client started without its settings (Claude Code: --bare; Codex:
// --ignore-user-config, --disable hooks) calls no hook. What is typed into a
// running command of Codex's is not reported, nor is the exit code of a command.
// Files that a person names with @ in a prompt are read without a tool call.
// Another hook of the client may rewrite the arguments after they were judged
// here; the door sees it when the outcome is reported and records the call as
// an error. Commands inside skills report no outcome, and versions without
// PreSkillShellCommand run them unasked once the Skill call is allowed.
//
// Calls to tools of Reeve's own gateway will be recognised in [Door.decide],
// by the entry that the gateway installed and not by name, and left to it.
package hook
