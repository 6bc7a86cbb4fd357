// Package wire names what passes over the local socket between a client and
// the daemon: one hello each way, then requests, events and replies, each one
// frame of JSON (see localsock).
//
// Both ends speak [Proto]; another number is refused with a message that says
// what to do. The daemon sends any number of events before the one reply.
package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
)

// Proto is the version of this protocol.
const Proto = 1

// Names of the sockets in the state directory.
const (
	ControlSocket = "sock"
	HookSocket    = "hook.sock" // inside a session's own directory, and the name it has inside the boundary
)

// InsideHook is where a session's socket stands inside its boundary: below a
// folder that on the machine itself only root could make.
const InsideHook = "/run/reeve/hook.sock"

// Hello opens a connection in both directions.
type Hello struct {
	Proto int    `json:"proto"`
	Build string `json:"build"`
}

// Request is the client's one request on a connection.
type Request struct {
	Hello  Hello          `json:"hello"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// Message is one frame from the daemon.
type Message struct {
	Hello Hello          `json:"hello"`
	Event string         `json:"event,omitzero"` // non-empty: more messages follow
	Body  jsontext.Value `json:"body,omitzero"`
	Error *Error         `json:"error,omitzero"`
}

// Error is a failure that keeps its kind across the wire.
type Error struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

var kinds = map[string]error{
	"usage": reeve.ErrUsage, "denied": reeve.ErrDenied, "needs_person": reeve.ErrNeedsPerson, "boundary": reeve.ErrBoundary,
	"not_found": reeve.ErrNotFound, "broken": reeve.ErrBroken, "unavailable": reeve.ErrUnavailable, "presence": reeve.ErrPresence,
}

// Fail turns an error into its form on the wire.
func Fail(err error) *Error {
	for kind, sentinel := range kinds {
		if errors.Is(err, sentinel) {
			return &Error{kind, err.Error()}
		}
	}
	return &Error{"failed", err.Error()}
}

// Err is the error again, with its kind.
func (e *Error) Err() error {
	if sentinel, ok := kinds[e.Kind]; ok {
		return &remote{e.Text, sentinel}
	}
	return errors.New(e.Text)
}

type remote struct {
	text string
	kind error
}

func (r *remote) Error() string { return r.text }
func (r *remote) Unwrap() error { return r.kind }

// Encode writes v as the wire has it.
func Encode(v any) ([]byte, error) { return json.Marshal(v) }

// Decode reads one value strictly: exact names, no unknown field, no
// duplicate, valid UTF-8.
func Decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	return nil
}

// Methods of the control socket. Hook and MCP are the only ones that a
// session's own socket serves.
const (
	MethodStatus   = "status"
	MethodDown     = "down"
	MethodExec     = "exec"
	MethodExplain  = "explain"
	MethodRun      = "run"
	MethodHook     = "hook"
	MethodMCP      = "mcp"
	MethodPending  = "approvals"
	MethodSettle   = "settle"
	MethodRevoke   = "revoke"
	MethodWatch    = "watch"
	MethodTools    = "tools"
	MethodSetTool  = "set_tool"
	MethodTrust    = "trust"
	MethodServers  = "servers"
	MethodInspect  = "inspect"
	MethodVault    = "vault"
	MethodRecord   = "record"
	MethodSessions = "sessions"
	MethodAttach   = "attach"
	MethodStop     = "stop"
	MethodResume   = "resume"
	MethodRemove   = "remove"
	MethodLogs     = "logs"
	MethodDiff     = "diff"
	MethodMerge    = "merge"
	MethodDrop     = "drop"
	MethodReview   = "review"
	MethodApply    = "apply"
)

// Status is what reeve status shows.
type Status struct {
	PID       int       `json:"pid"`
	Build     string    `json:"build"`
	Started   time.Time `json:"started"`
	Socket    string    `json:"socket"`
	Sessions  int       `json:"sessions"`
	Questions int       `json:"questions"`
	Audit     string    `json:"audit"`              // "good", or what is wrong
	Signed    string    `json:"signed"`             // how far the record is signed, and why no further
	Published []string  `json:"published,omitzero"` // how far each place has its checkpoints
	Sandbox   string    `json:"sandbox"`            // state and engine
	Telemetry string    `json:"telemetry,omitzero"` // how far it came; empty = the settings ask for none
	Notes     []string  `json:"notes,omitzero"`     // what stands in files and does not hold
}

// Exec asks for one tool through the kernel.
type Exec struct {
	Tool      string         `json:"tool"`
	Args      jsontext.Value `json:"args"`
	As        string         `json:"as,omitzero"`   // an actor with less authority than the person
	Mode      string         `json:"mode,omitzero"` // plan, auto, default
	Workspace string         `json:"workspace"`
	Dir       string         `json:"dir"`
	Terminal  string         `json:"terminal,omitzero"` // names the caller's terminal; one session for each
	Prompt    bool           `json:"prompt"`            // the caller will put questions to a person itself
	WaitMS    int64          `json:"wait_ms"`           // else how long a question may stand; 0 = not at all
}

// Executed is the answer to Exec and Explain.
type Executed struct {
	Decision Decision `json:"decision"`
	Result   Result   `json:"result"`
	Session  string   `json:"session"`
}

// Result is a result as scripts read it.
type Result struct {
	Status     string   `json:"status"`
	Output     string   `json:"output"`
	Error      string   `json:"error,omitzero"`
	ExitCode   int      `json:"exit_code,omitzero"`
	Truncated  bool     `json:"truncated,omitzero"`
	DurationMS int64    `json:"duration_ms"`
	Changed    []string `json:"changed,omitzero"`
}

// Decision is a decision as scripts read it.
type Decision struct {
	Decision string   `json:"decision"`
	Step     string   `json:"step"`
	Rule     string   `json:"rule"`
	Source   string   `json:"source"`
	Reason   string   `json:"reason"`
	Approval string   `json:"approval,omitzero"`
	Column   string   `json:"column,omitzero"`
	Effects  []string `json:"effects"`
	Trace    []string `json:"trace,omitzero"`
}

// EventYield comes instead of a reply from a daemon of an older build that has
// nothing to do: it ends, and the client starts its own.
const EventYield = "yield"

// EventQuestion comes during Exec with Prompt, and on Watch: an approval.Event.
const EventQuestion = "question"

// EventStarted comes during Run, Attach and Resume, with the session's id and,
// on a terminal, a connection to the session's keeper (package attach).
const EventStarted = "started"

// EventLog comes during Logs: a Log, with files.
const EventLog = "log"

// Settle answers a question.
type Settle struct {
	ID    string         `json:"id"`
	Allow bool           `json:"allow"`
	Scope approval.Scope `json:"scope"`
	Word  string         `json:"word,omitzero"`
	Rule  string         `json:"rule,omitzero"` // saved in the user policy, with Scope rule
}

// Approvals lists what is pending and what stands.
type Approvals struct {
	Questions []approval.Question `json:"questions"`
	Grants    []approval.Grant    `json:"grants"`
}

// Hook carries one event of a client's hook.
type Hook struct {
	Client     string `json:"client"`
	Event      []byte `json:"event"` // as read, not parsed at this end
	ProjectDir string `json:"project_dir,omitzero"`
	Dir        string `json:"dir"`
}

// Hooked is what the hook prints and how it ends.
type Hooked struct {
	Stdout []byte `json:"stdout"`
	Stderr string `json:"stderr"`
	Exit   int    `json:"exit"`
}

// MCP asks for a client of the Model Context Protocol to be served: over the
// two streams that travel with the request, what it says and what it is told.
type MCP struct {
	Client    string   `json:"client,omitzero"`    // who it is, where its settings say so
	Server    string   `json:"server,omitzero"`    // this one alone, under its own names
	Only      []string `json:"only,omitzero"`      // patterns of names that it is shown
	Hide      []string `json:"hide,omitzero"`      // patterns of names that it is not shown
	Workspace string   `json:"workspace,omitzero"` // empty = the repository around Dir
	Dir       string   `json:"dir"`

	// Over HTTP: a listener travels with the request in place of the streams.
	HTTP  bool   `json:"http,omitzero"`
	Token string `json:"token,omitzero"` // that every request must carry
}

// Run starts a program inside a new session's boundary. The three streams
// travel with the request, unless the program has a terminal of its own: with
// TTY or Detach.
type Run struct {
	Argv       []string `json:"argv"`
	Dir        string   `json:"dir"`
	Workspace  string   `json:"workspace,omitzero"`
	Env        []string `json:"env"`
	Profile    string   `json:"profile,omitzero"`
	Net        string   `json:"net,omitzero"`         // none, ask, open; empty = the profile's
	AllowHosts []string `json:"allow_hosts,omitzero"` // HOST or HOST:PORT, reached in this run
	Write      []string `json:"write,omitzero"`
	PassEnv    []string `json:"pass_env,omitzero"`
	Secrets    []string `json:"secrets,omitzero"` // NAME=SERVICE/KEY of the vault
	ReadOnly   bool     `json:"read_only,omitzero"`
	Memory     int64    `json:"memory,omitzero"`    // bytes; 0 = as configured
	Processes  int64    `json:"processes,omitzero"` // 0 = as configured
	Host       string   `json:"host,omitzero"`      // another machine, as ssh names it; empty = this one
	HostDir    string   `json:"host_dir,omitzero"`  // the directory there
	Name       string   `json:"name,omitzero"`
	Mode       string   `json:"mode,omitzero"`
	TTY        bool     `json:"tty"`
	Detach     bool     `json:"detach,omitzero"`   // return as soon as it runs; nobody is attached
	Worktree   bool     `json:"worktree,omitzero"` // in a checkout of its own
	Review     bool     `json:"review,omitzero"`   // on a view of the workspace
	Rows       uint16   `json:"rows,omitzero"`
	Cols       uint16   `json:"cols,omitzero"`
	NoReceipt  bool     `json:"no_receipt,omitzero"`
	Umask      uint32   `json:"umask,omitzero"` // 0 = everything private
}

// Started is the body of EventStarted.
type Started struct {
	Session string `json:"session"`
	PID     int    `json:"pid"`
	Kept    bool   `json:"kept,omitzero"` // it may be left, and goes on
}

// Ran is the end of Run.
type Ran struct {
	Session string   `json:"session"`
	Code    int      `json:"code"`
	Receipt []string `json:"receipt"`         // lines for the person
	Review  bool     `json:"review,omitzero"` // its view is kept, to be looked at
}

// Attach asks for a terminal at a running session. An id may be a name, or a
// part of an id that no other has.
type Attach struct {
	ID   string `json:"id"`
	Rows uint16 `json:"rows,omitzero"`
	Cols uint16 `json:"cols,omitzero"`
}

// Resume starts a session's program again; the answer is as Run's.
type Resume struct {
	ID        string   `json:"id"`
	Env       []string `json:"env"`
	Rows      uint16   `json:"rows,omitzero"`
	Cols      uint16   `json:"cols,omitzero"`
	Detach    bool     `json:"detach,omitzero"`
	NoReceipt bool     `json:"no_receipt,omitzero"`
}

// Named names one session, to stop or remove it.
type Named struct {
	ID string `json:"id"`
}

// Drop names a session whose checkout is to be forgotten; with Force also one
// with work in it.
type Drop struct {
	ID    string `json:"id"`
	Force bool   `json:"force,omitzero"`
}

// Review asks what a session's view changes: at or below the paths, or
// everything.
type Review struct {
	ID    string   `json:"id"`
	Paths []string `json:"paths,omitzero"` // from the workspace's root
	Many  bool     `json:"many,omitzero"`  // also more changes than a person looks at
}

// Reviewed lists the changes.
type Reviewed struct {
	Session   string   `json:"session"`
	Workspace string   `json:"workspace"`
	View      string   `json:"view"` // where it stands
	Summary   string   `json:"summary"`
	Changes   []Change `json:"changes"`
	More      int      `json:"more,omitzero"` // changes that are not listed
	Git       []string `json:"git,omitzero"`  // lines about branches, which are never taken over
	Stamp     string   `json:"stamp"`         // of exactly these changes
}

// Change is one difference between a view and the workspace.
type Change struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // added, modified, mode, deleted
	Line string `json:"line"` // for a person
	Held string `json:"held,omitzero"`
}

// Apply asks to take changes over: at or below the paths, or everything. With a
// Stamp only where the changes are those that it belongs to.
type Apply struct {
	ID    string   `json:"id"`
	Paths []string `json:"paths,omitzero"`
	Stamp string   `json:"stamp,omitzero"`
	Many  bool     `json:"many,omitzero"` // as in Review
}

// Applied says what came of it, in lines for a person.
type Applied struct {
	Session string   `json:"session"`
	Taken   []string `json:"taken"`
	Refused []string `json:"refused"`
	More    int      `json:"more,omitzero"`    // lines of both that are not listed
	Failed  int      `json:"failed,omitzero"`  // how many were refused
	Left    int      `json:"left"`             // changes that are still in the view
	Dropped bool     `json:"dropped,omitzero"` // nothing was left, so the view is gone
}

// Merged says what came of a merge, in lines for a person.
type Merged struct {
	Lines []string `json:"lines"`
}

// Logs asks for what a session has shown.
type Logs struct {
	ID     string `json:"id"`
	Follow bool   `json:"follow,omitzero"`
}

// Log is the body of EventLog. The files are the log, the oldest first; a live
// one is a connection on which it comes (package attach).
type Log struct {
	Session string `json:"session"`
	Live    bool   `json:"live,omitzero"`
}

// Down ends the daemon.
type Down struct {
	StopSessions bool `json:"stop_sessions,omitzero"` // those too that would go on without it
}

// Downed tells what goes on.
type Downed struct {
	Sessions []string `json:"sessions,omitzero"` // ids
}

// Tool is one line of reeve tools ls.
type Tool struct {
	Name        string `json:"name"`
	Tier        string `json:"tier"`
	Source      string `json:"source"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// SetTool changes a person's setting for one tool.
type SetTool struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// Trust accepts, or with Forget takes back, the exact content of a project's
// policy file.
type Trust struct {
	Workspace string `json:"workspace"`
	Digest    []byte `json:"digest"`
	Forget    bool   `json:"forget,omitzero"`
}

// Servers changes which MCP servers there are, or what of one is trusted.
type Servers struct {
	Do     string         `json:"do"` // add, remove, enable, disable, trust, say, pin, unpin
	Server string         `json:"server"`
	Entry  jsontext.Value `json:"entry,omitzero"` // of add: as mcp.json has it
	Only   []string       `json:"only,omitzero"`  // of trust: these definitions alone
	Seen   string         `json:"seen,omitzero"`  // of trust: Inspected.Seen, so that nothing else is accepted
	Tool   string         `json:"tool,omitzero"`  // of say
	Dir    string         `json:"dir,omitzero"`   // of pin: where npm has installed its package
	Class  string         `json:"class,omitzero"` // of say: read, write, destructive, denied; empty takes it back
}

// Inspect asks what is known of MCP servers: of one, or of all in short.
type Inspect struct {
	Server string `json:"server,omitzero"`
	Ask    bool   `json:"ask,omitzero"` // start the server and ask what it offers now
	Dir    string `json:"dir,omitzero"` // with Ask: where the person is
}

// Inspected is what is known of one MCP server.
type Inspected struct {
	Server   string    `json:"server"`
	Disabled bool      `json:"disabled,omitzero"`
	Argv     []string  `json:"argv,omitzero"` // masked
	URL      string    `json:"url,omitzero"`
	Env      []string  `json:"env,omitzero"` // names
	Headers  []string  `json:"headers,omitzero"`
	Dir      string    `json:"dir,omitzero"`
	Read     []string  `json:"read,omitzero"`
	Write    []string  `json:"write,omitzero"`
	Net      string    `json:"net,omitzero"`
	Hosts    []string  `json:"hosts,omitzero"`
	Sockets  bool      `json:"sockets,omitzero"` // unix sockets among its own processes
	Package  []string  `json:"package,omitzero"` // lines: package, publisher, version
	Says     string    `json:"says,omitzero"`    // what it calls itself
	Offered  time.Time `json:"offered,omitzero"` // when what follows was asked for; zero = never
	First    bool      `json:"first,omitzero"`   // never looked at
	Trusted  bool      `json:"trusted,omitzero"`
	Moved    bool      `json:"moved,omitzero"` // its settings are others than those that were looked at
	When     time.Time `json:"when,omitzero"`  // of the trust, or of the first sight
	Seen     string    `json:"seen,omitzero"`  // digest of everything it offers
	Items    []Offered `json:"items,omitzero"`
	Gone     []string  `json:"gone,omitzero"`
	Notes    []string  `json:"notes,omitzero"`
}

// Roster is the answer to Inspect.
type Roster struct {
	Servers []Inspected `json:"servers"`
	Notes   []string    `json:"notes,omitzero"`
	Unasked string      `json:"unasked,omitzero"` // why the server could not be asked what it offers
}

// Vault is what a person does with the vault. What is secret travels on the one
// stream that comes with the request: a value in (set, rotate) or out (get), a
// passphrase in (init, unlock, rekey, export, import).
type Vault struct {
	Do          string `json:"do"`              // status, ls, init, unlock, lock, set, rotate, get, remove, rekey, export, import
	Name        string `json:"name,omitzero"`   // SERVICE/KEY
	Origin      string `json:"origin,omitzero"` // of set and rotate: where the value comes from
	Holder      string `json:"holder,omitzero"` // of init and rekey: keychain, passphrase, key file
	Path        string `json:"path,omitzero"`   // of a key file, or of a copy; absolute
	Replace     bool   `json:"replace,omitzero"`
	AcceptOlder bool   `json:"accept_older,omitzero"` // of unlock
}

// Record is what a person does with the record itself.
type Record struct {
	Do     string `json:"do"`              // status, checkpoint, accept, prune
	KeepS  int64  `json:"keep_s,omitzero"` // of prune: seconds
	DryRun bool   `json:"dry_run,omitzero"`
}

// Recorded is the answer to Record.
type Recorded struct {
	Line   string `json:"line,omitzero"`   // for a person
	Rows   int64  `json:"rows,omitzero"`   // of prune with DryRun
	Note   string `json:"note,omitzero"`   // the newest signed checkpoint
	Key    string `json:"key,omitzero"`    // the verifier key
	Memory []byte `json:"memory,omitzero"` // of status: what the vault remembers; empty = nothing was ever signed
}

// VaultState is how the vault is.
type VaultState struct {
	Exists bool   `json:"exists"`
	Locked bool   `json:"locked,omitzero"`
	Holder string `json:"holder,omitzero"`
	Weak   string `json:"weak,omitzero"`  // what is weak about the holder
	Fault  string `json:"fault,omitzero"` // why it cannot be used
	File   string `json:"file,omitzero"`
}

// VaultEntry is one secret without its value.
type VaultEntry struct {
	Name    string    `json:"name"`
	Version int64     `json:"version"`
	Created time.Time `json:"created"` // of this version
	Origin  string    `json:"origin,omitzero"`
}

// Vaulted is the answer to Vault.
type Vaulted struct {
	State   VaultState   `json:"state,omitzero"`
	Entries []VaultEntry `json:"entries,omitzero"`
	Line    string       `json:"line,omitzero"` // for the person
}

// Told is the answer to Servers: a line for the person, or nothing.
type Told struct {
	Line string `json:"line,omitzero"`
}

// Offered is one definition of a server.
type Offered struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name,omitzero"`
	Class    string   `json:"class,omitzero"` // of a tool
	Why      string   `json:"why,omitzero"`
	State    string   `json:"state"` // same, new, changed
	Trusted  bool     `json:"trusted,omitzero"`
	Held     string   `json:"held,omitzero"`
	Findings []string `json:"findings,omitzero"`
	Diff     []string `json:"diff,omitzero"`
	Words    []string `json:"words,omitzero"` // what the definition says, a line for each value; none where Diff tells
}

// Session is one line of reeve sessions ls.
type Session struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Client    string    `json:"client"`
	Workspace string    `json:"workspace"`
	Mode      string    `json:"mode"`
	Profile   string    `json:"profile"`
	Started   time.Time `json:"started"`
	PID       int       `json:"pid,omitzero"`
	State     string    `json:"state"` // running; of a kept one also ended, failed, lost, unreached

	Kept     bool      `json:"kept,omitzero"` // it has a terminal of its own, a log, and outlives the daemon
	Command  string    `json:"command,omitzero"`
	Attached int       `json:"attached,omitzero"` // terminals
	Review   bool      `json:"review,omitzero"`   // its view is kept, to be looked at
	Branch   string    `json:"branch,omitzero"`   // of its own checkout, which its workspace is
	Into     string    `json:"into,omitzero"`     // the repository that it was made from
	Ended    time.Time `json:"ended,omitzero"`
	Code     *int      `json:"code,omitzero"`
	Receipt  []string  `json:"receipt,omitzero"`
	Fault    string    `json:"fault,omitzero"` // why it is not reached
}
