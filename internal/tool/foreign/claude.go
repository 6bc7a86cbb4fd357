package foreign

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread"
	"github.com/reeve-gate/reeve/internal/tool"
)

// claude lists the tools of Claude Code 2.1, by the type definitions that its
// npm package publishes (sdk-tools.d.ts), and the names that older 2.x
// versions still send. Arguments that only steer the output are not listed
// one by one where they cannot change an effect.
var claude = []kind{
	{"bash", "run a shell command", schemaBash, reeve.TierWrite, tool.ClassBash, bash},
	{"monitor", "watch the output of a shell command or a socket", schemaMonitor, reeve.TierWrite, tool.ClassBash, monitor},
	{"powershell", "run a PowerShell command", anyObject, reeve.TierWrite, tool.ClassBash, unknown("PowerShell text is not read")},

	{"read", "read a file", schemaFile, reeve.TierRead, tool.ClassRead, readFile},
	{"notebookread", "read a notebook", schemaNotebook, reeve.TierRead, tool.ClassRead, readNotebook},
	{"ls", "list a directory", schemaFind, reeve.TierRead, tool.ClassRead, list},
	{"glob", "find files by name", schemaFind, reeve.TierRead, tool.ClassRead, glob},
	{"grep", "search the contents of files", schemaFind, reeve.TierRead, tool.ClassRead, grep},
	{"lsp", "ask a language server", anyObject, reeve.TierRead, tool.ClassRead, languageServer},

	{"write", "write a file", schemaFile, reeve.TierWrite, tool.ClassWrite, writeFile},
	{"edit", "change a file", schemaFile, reeve.TierWrite, tool.ClassWrite, editFile},
	{"multiedit", "change a file in several places", schemaFile, reeve.TierWrite, tool.ClassWrite, multiEdit},
	{"notebookedit", "change a notebook", schemaNotebook, reeve.TierWrite, tool.ClassWrite, editNotebook},

	{"webfetch", "fetch an address", schemaURL, reeve.TierWrite, tool.ClassWeb, webFetch},
	{"websearch", "search the web", schemaQuery, reeve.TierWrite, tool.ClassWeb, searchAt("api.anthropic.com")},

	// What a sub-agent does comes back here call by call.
	{"task", "start a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, subAgent},
	{"agent", "start a sub-agent", anyObject, reeve.TierRead, tool.ClassOther, subAgent},
	{"skill", "load a skill", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a skill may run commands of its own while it loads")},
	{"slashcommand", "run a saved prompt", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a saved prompt may run commands of its own while it loads")},
	{"workflow", "run a workflow script", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a workflow script is a program")},

	{"todowrite", "keep the list of tasks", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"taskcreate", "keep the list of tasks", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"taskget", "keep the list of tasks", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"taskupdate", "keep the list of tasks", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"tasklist", "keep the list of tasks", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"enterplanmode", "begin to plan", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"exitplanmode", "show the plan", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"askuserquestion", "ask the person", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"toolsearch", "look for a tool", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"structuredoutput", "give the final answer", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"reportfindings", "give the findings of a review", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"proposegoal", "propose a goal", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"sendmessage", "write to another agent of the session", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"readnotifications", "read the session's notifications", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"schedulewakeup", "wake this session later", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"cronlist", "list the session's schedules", anyObject, reeve.TierRead, tool.ClassOther, nothing},

	// Output and end of a command that was judged when it started.
	{"bashoutput", "read a running command's output", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"taskoutput", "read a running task's output", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"killshell", "end a running command", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"killbash", "end a running command", anyObject, reeve.TierRead, tool.ClassOther, nothing},
	{"taskstop", "end a running task", anyObject, reeve.TierRead, tool.ClassOther, nothing},

	{"listmcpresourcestool", "list what MCP servers offer", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},
	{"refreshmcptools", "ask MCP servers for their tools again", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},
	{"readmcpresourcetool", "read from an MCP server", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},
	{"readmcpresourcedirtool", "read from an MCP server", anyObject, reeve.TierWrite, tool.ClassMCP, unknown("an MCP server is asked")},

	{"croncreate", "schedule a prompt", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a schedule acts later")},
	{"crondelete", "remove a schedule", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a schedule is removed")},
	{"enterworktree", "make and enter a git worktree", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a git worktree is made")},
	{"exitworktree", "leave a git worktree", anyObject, reeve.TierWrite, tool.ClassOther, unknown("a git worktree may be removed")},
	{"proposeskills", "write skills", anyObject, reeve.TierWrite, tool.ClassOther, unknown("skills may be written")},
	{"remotetrigger", "start work on the vendor's machines", anyObject, reeve.TierWrite, tool.ClassOther, external("work on another machine")},
	{"artifact", "publish a page", anyObject, reeve.TierWrite, tool.ClassOther, external("a page is published")},
	{"projects", "change projects at the vendor", anyObject, reeve.TierWrite, tool.ClassOther, external("a project at the vendor")},
	{"claudedesign", "design at the vendor", anyObject, reeve.TierWrite, tool.ClassOther, external("a design at the vendor")},
	{"sendfeedback", "write to the vendor", anyObject, reeve.TierWrite, tool.ClassOther, external("the vendor is written to")},
	{"pushnotification", "notify the person's devices", anyObject, reeve.TierWrite, tool.ClassOther, external("a message leaves this machine")},
}

// The schemas name what the effects are read from; a client may add more.
const (
	schemaBash     = `{"type":"object","properties":{"command":{"type":"string","minLength":1},"timeout":{"type":"number"},"description":{"type":"string"},"run_in_background":{"type":"boolean"},"dangerouslyDisableSandbox":{"type":"boolean"}},"required":["command"]}`
	schemaMonitor  = `{"type":"object","properties":{"command":{"type":"string"},"ws":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}}}`
	schemaFile     = `{"type":"object","properties":{"file_path":{"type":"string","minLength":1}},"required":["file_path"]}`
	schemaNotebook = `{"type":"object","properties":{"notebook_path":{"type":"string","minLength":1}},"required":["notebook_path"]}`
	schemaFind     = `{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string"}}}`
	schemaURL      = `{"type":"object","properties":{"url":{"type":"string","minLength":1}},"required":["url"]}`
	schemaQuery    = `{"type":"object","properties":{"query":{"type":"string"}}}`
)

func bash(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		Command     string  `json:"command"`
		Timeout     float64 `json:"timeout"`
		Description string  `json:"description"`
		Background  bool    `json:"run_in_background"`
		Host        bool    `json:"dangerouslyDisableSandbox"`
		Rest        rest    `json:",embed"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	return append(shell(a.Command, a.Host, at), a.Rest.effects()...), nil
}

// shell reads a command line; host marks every command of it as one that
// asks to run outside the sandbox.
func shell(command string, host bool, at tool.Place) []reeve.Effect {
	effects := shellread.Read(command, shellread.At{Dir: at.Dir, Home: at.Home, Workspace: at.Workspace})
	if !host {
		return effects
	}
	marked := false
	for _, e := range effects {
		if e.Kind == reeve.EffectRun && e.Command != nil {
			e.Command.Marks |= reeve.CommandHost
			marked = true
		}
	}
	if !marked {
		effects = append(effects, reeve.Effect{Kind: reeve.EffectUnknown, Why: "asks to run outside the sandbox"})
	}
	return effects
}

func monitor(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		Command     string  `json:"command"`
		Description string  `json:"description"`
		Timeout     float64 `json:"timeout_ms"`
		Socket      *struct {
			URL       string   `json:"url"`
			Protocols []string `json:"protocols"`
		} `json:"ws"`
		Rest rest `json:",embed"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	var effects []reeve.Effect
	if a.Command != "" {
		effects = shell(a.Command, false, at)
	}
	if a.Socket != nil {
		effects = append(effects, connect(a.Socket.URL))
	}
	return append(effects, a.Rest.effects()...), nil
}

func readFile(args []byte, at tool.Place) ([]reeve.Effect, error) {
	return pathEffect(args, at, reeve.EffectRead, false)
}

func writeFile(args []byte, at tool.Place) ([]reeve.Effect, error) {
	return pathEffect(args, at, reeve.EffectWrite, false)
}

func readNotebook(args []byte, at tool.Place) ([]reeve.Effect, error) {
	return pathEffect(args, at, reeve.EffectRead, false)
}

func editNotebook(args []byte, at tool.Place) ([]reeve.Effect, error) {
	return pathEffect(args, at, reeve.EffectWrite, true)
}

// pathEffect is the one effect of a tool with one path.
func pathEffect(args []byte, at tool.Place, kind reeve.EffectKind, exists bool) ([]reeve.Effect, error) {
	var a struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	if a.File != "" && a.Notebook != "" {
		return nil, fmt.Errorf("both file_path and notebook_path are given")
	}
	p, err := path(a.File+a.Notebook, at)
	if err != nil {
		return nil, err
	}
	return []reeve.Effect{{Kind: kind, Path: p, Exists: exists}}, nil
}

// editFile makes a new file when the old text is empty.
func editFile(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		Old string `json:"old_string"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	return pathEffect(args, at, reeve.EffectWrite, a.Old != "")
}

func multiEdit(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		Edits []struct {
			Old string `json:"old_string"`
		} `json:"edits"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	return pathEffect(args, at, reeve.EffectWrite, len(a.Edits) > 0 && a.Edits[0].Old != "")
}

// found is the arguments of the tools that look for files.
type found struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
}

func (f found) dir(at tool.Place) (string, error) {
	if f.Path == "" {
		return at.Dir, nil
	}
	return path(f.Path, at)
}

func list(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a found
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	dir, err := a.dir(at)
	if err != nil {
		return nil, err
	}
	return []reeve.Effect{{Kind: reeve.EffectRead, Path: dir}}, nil
}

// glob shows names, not contents. A pattern may leave the directory by its
// own fixed beginning.
func glob(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a found
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	dir, err := a.dir(at)
	if err != nil {
		return nil, err
	}
	fixed := a.Pattern
	if i := strings.IndexAny(fixed, `*?[{\`); i >= 0 {
		if strings.Contains(fixed[i:], "..") {
			return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "a pattern with .. after a wildcard"}}, nil
		}
		fixed = fixed[:strings.LastIndexByte(fixed[:i], '/')+1]
	}
	if fixed != "" {
		if dir, err = path(fixed, tool.Place{Dir: dir, Home: at.Home}); err != nil {
			return nil, err
		}
	}
	return []reeve.Effect{{Kind: reeve.EffectRead, Path: dir, Deep: true}}, nil
}

// grep shows contents. A file filter that names a file is a read of that
// file, wherever below the directory it lies, so that a filter for
// credentials is judged as one. A search above the home shows what its
// credential stores hold, of which the best known stands for all.
func grep(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a found
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	dir, err := a.dir(at)
	if err != nil {
		return nil, err
	}
	effects := []reeve.Effect{{Kind: reeve.EffectRead, Path: dir, Deep: true}}
	if at.Home != "" && strings.HasPrefix(at.Home+"/", strings.TrimSuffix(dir, "/")+"/") {
		effects = append(effects, reeve.Effect{Kind: reeve.EffectRead, Path: at.Home + "/.ssh", Deep: true})
	}
	alternatives := strings.FieldsFunc(a.Glob, func(r rune) bool { return strings.ContainsRune("{}, \t\n", r) })
	for _, alt := range alternatives {
		name := strings.Trim(strings.NewReplacer("*", "", "?", "", "[", "", "]", "").Replace(strings.TrimPrefix(alt, "!")), "/")
		if name == "" || strings.HasPrefix(alt, "!") {
			continue
		}
		p, err := path(name, tool.Place{Dir: dir, Home: at.Home})
		if err != nil {
			return nil, err
		}
		effects = append(effects, reeve.Effect{Kind: reeve.EffectRead, Path: p})
	}
	return effects, nil
}

func languageServer(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		File   string `json:"filePath"`
		Second string `json:"file_path"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	effects := []reeve.Effect{{Kind: reeve.EffectRead, Path: at.Dir, Deep: true}}
	for _, name := range []string{a.File, a.Second} {
		if name == "" {
			continue
		}
		p, err := path(name, at)
		if err != nil {
			return nil, err
		}
		effects = append(effects, reeve.Effect{Kind: reeve.EffectRead, Path: p})
	}
	return effects, nil
}

func webFetch(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		URL string `json:"url"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	return []reeve.Effect{connect(a.URL)}, nil
}

// connect is the effect of fetching an address. Whatever two readers of the
// address could take for different hosts is unknown.
func connect(address string) reeve.Effect {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || strings.ContainsAny(address, "\\ \t\r\n") {
		return reeve.Effect{Kind: reeve.EffectUnknown, Why: "the address cannot be read: " + clip(address, 120)}
	}
	port := map[string]int{"http": 80, "ws": 80, "https": 443, "wss": 443}[strings.ToLower(u.Scheme)]
	if port == 0 {
		return reeve.Effect{Kind: reeve.EffectUnknown, Why: "the address is no web address: " + clip(address, 120)}
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return reeve.Effect{Kind: reeve.EffectUnknown, Why: "the address has no usable port: " + clip(address, 120)}
		}
	}
	return reeve.Effect{Kind: reeve.EffectConnect, Host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), Port: port}
}

// searchAt is a search that the model's own service at host carries out.
func searchAt(host string) func([]byte, tool.Place) ([]reeve.Effect, error) {
	return func([]byte, tool.Place) ([]reeve.Effect, error) {
		return []reeve.Effect{{Kind: reeve.EffectConnect, Host: host, Port: 443, Why: "the query goes to the vendor's search"}}, nil
	}
}

func subAgent(args []byte, at tool.Place) ([]reeve.Effect, error) {
	var a struct {
		Isolation string `json:"isolation"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	switch a.Isolation {
	case "", "none":
		return nil, nil
	case "remote":
		return []reeve.Effect{{Kind: reeve.EffectExternal, Why: "the sub-agent works on another machine"}}, nil
	}
	return []reeve.Effect{{Kind: reeve.EffectUnknown, Why: "the sub-agent works in " + clip(a.Isolation, 40)}}, nil
}
