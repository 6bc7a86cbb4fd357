package roster

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/mcp/packages"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Usage is how the commands are written, Help what they do.
const Usage = `reeve mcp add NAME [--env NAME[=VALUE]]... [--dir DIR]... [--write DIR]... [--host HOST]... [--net none|open] [--yes] -- CMD ARGS
reeve mcp add NAME --url ADDRESS [--header "NAME: VALUE"]... [--yes]
reeve mcp import --from claude|claude-desktop|cursor|vscode|codex|gemini|gaia [FILE] [--dry-run] [--yes]
reeve mcp ls [--json]
reeve mcp inspect SERVER [--offline] [--json]
reeve mcp trust SERVER [TOOL]... [--as read|write|destructive|denied|unset] [--yes]
reeve mcp pin SERVER [--forget] [--yes]
reeve mcp enable SERVER
reeve mcp disable SERVER
reeve mcp rm SERVER`

const Help = `add writes a server into mcp.json. It runs in a boundary of its own: a folder of its own to write in, no network, nothing of yours. --dir shows it a directory (. is the workspace of whoever uses it), --write lets it change one; --host lets it reach a host without a question and any other by rule; --net open is this machine's own network. --env gives it a variable: NAME alone stands for the variable of the environment that the daemon was started from, so that no value stands in the file. --url is a server at an address, by HTTP. A package of a publisher that is not known is asked about (G26).

import reads the servers of another client, shows what it would add, says what of it has no meaning here and which secrets stand in plain text, and adds them when you say yes. A server that is there already is left as it is. gaia reads which tools you have promoted there (mcp.trusted_tools of its config.json): they count once the server is trusted.

inspect starts the server in its boundary, unless --offline, and shows everything in words: its command, package, publisher and version, what it may see and reach, each tool with its class and why, what was found in its texts, and what is another than when you looked last.

trust shows the same and accepts it: from then on the server's own word that a tool only reads counts, and whatever changes is held back until you accept that too. With tools it accepts those alone. --as says yourself what a tool is, for the very definition that it has now; unset takes that back. Until a server is trusted every tool of it asks.

pin locks the package that a server is started from: npm installs it once, in the boundary, without running a script of it, and holds every file to the registry's digest. The copy is Reeve's own, and the server is started from it until you pin it again; --forget starts it by its runner again. Packages of other registries cannot be locked here, and images are locked by their digest.

Adding, changing and trusting need a person at a terminal and are recorded.`

// verbs are the words after reeve mcp that concern the servers.
var verbs = map[string]func(*Desk, []string) int{
	"add": mcpAdd, "import": mcpImport, "ls": mcpList, "inspect": mcpInspect, "trust": mcpTrust, "pin": mcpPin,
	"enable":  func(d *Desk, args []string) int { return mcpSwitch(d, "enable", args) },
	"disable": func(d *Desk, args []string) int { return mcpSwitch(d, "disable", args) },
	"rm":      func(d *Desk, args []string) int { return mcpSwitch(d, "remove", args) },
}

// many is a flag that may stand several times.
type many []string

func (m *many) String() string     { return strings.Join(*m, ",") }
func (m *many) Set(s string) error { *m = append(*m, s); return nil }

func mcpAdd(d *Desk, args []string) int {
	f := flags(d, "mcp add")
	var vars, dirs, writes, hosts, headers many
	f.Var(&vars, "env", "a variable: NAME, or NAME=VALUE")
	f.Var(&dirs, "dir", "a directory that it is shown")
	f.Var(&writes, "write", "a directory that it may change")
	f.Var(&hosts, "host", "a host that it may reach")
	f.Var(&headers, "header", "a header for its address, as in NAME: VALUE")
	address := f.String("url", "", "its address")
	network := f.String("net", "", "none, or open for this machine's own network")
	yes := f.Bool("yes", false, "do not ask about its publisher")
	own := args
	var argv []string
	if i := slices.Index(args, "--"); i >= 0 {
		own, argv = args[:i], args[i+1:]
	}
	operands, code, ok := mixed(f, own)
	if !ok {
		return code
	}
	if len(operands) != 1 || len(argv) == 0 == (*address == "") {
		return usage(d, "mcp add takes a name, and either -- and a command or --url and an address")
	}
	e, err := newEntry(argv, *address, vars, headers)
	if err == nil {
		e.Guard, err = newGuard(d, dirs, writes, hosts, *network, *address != "")
	}
	if err == nil {
		_, err = e.Check(operands[0])
	}
	if err != nil {
		return usage(d, "mcp add %s: %v", operands[0], err)
	}
	describe(d, operands[0], e)
	if !*yes && unverified(e) {
		if code := confirm(d, "The publisher of this package is not verified. Add the server?"); code != reeve.ExitOK {
			return code
		}
	}
	if code := changeServers(d, wire.Servers{Do: "add", Server: operands[0], Entry: encoded(e)}); code != reeve.ExitOK {
		return code
	}
	fmt.Fprintf(d.Stderr, "server %s is there; every tool of it asks until you trust it: reeve mcp trust %[1]s\n", operands[0])
	return reeve.ExitOK
}

// newEntry is an entry of what was typed.
func newEntry(argv []string, address string, vars, headers []string) (*servers.Entry, error) {
	e := &servers.Entry{URL: address}
	if address != "" {
		e.Type = "http"
	}
	if len(argv) > 0 {
		e.Command, e.Args = argv[0], argv[1:]
	}
	for _, v := range vars {
		if e.Env == nil {
			e.Env = map[string]string{}
		}
		name, value, given := strings.Cut(v, "=")
		if !given {
			value = "${" + name + "}"
		}
		e.Env[name] = value
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("a header is written NAME: VALUE, and %q has no colon", name)
		}
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		e.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return e, nil
}

// newGuard is the x-guard of what was typed.
func newGuard(d *Desk, dirs, writes, hosts []string, network string, address bool) (jsontext.Value, error) {
	box := map[string]any{}
	place := func(list []string) []string {
		out := []string{}
		for _, dir := range list {
			if dir != "." && !strings.HasPrefix(dir, "~/") && !strings.HasPrefix(dir, "./") {
				dir = d.absolute(dir)
			}
			out = append(out, dir)
		}
		return out
	}
	if len(dirs) > 0 {
		box["read"] = place(dirs)
	}
	if len(writes) > 0 {
		box["write"] = place(writes)
	}
	switch {
	case len(hosts) > 0 && network != "":
		return nil, fmt.Errorf("--host and --net are two ways to say one thing; choose one")
	case len(hosts) > 0:
		box["net"] = hosts
	case network != "":
		box["net"] = network
	}
	if len(box) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"sandbox": box}, json.Deterministic(true))
}

func encoded(e *servers.Entry) jsontext.Value {
	b, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}

// unverified reports whether a person is to be asked about a server's
// publisher (G26).
func unverified(e *servers.Entry) bool {
	l := packages.Of(e.Command, e.Args).Given(e.Env)
	return e.Command != "" && l.Publisher() == packages.Unverified
}

// describe shows what a server would be, without a secret (G40).
func describe(d *Desk, name string, e *servers.Entry) {
	r := redact.New()
	fmt.Fprintf(d.Stderr, "server %s\n", name)
	if e.URL != "" {
		fmt.Fprintf(d.Stderr, "  address: %s\n", barred(r.Text(e.URL)))
	} else {
		fmt.Fprintf(d.Stderr, "  command: %s\n", barred(r.Text(words(append([]string{e.Command}, e.Args...)))))
		l := packages.Of(e.Command, e.Args).Given(e.Env)
		for _, line := range l.Tell(nil) {
			fmt.Fprintf(d.Stderr, "  %s\n", barred(line))
		}
	}
	for _, line := range given(name, e) {
		fmt.Fprintf(d.Stderr, "  %s\n", barred(line))
	}
	for _, s := range plainSecrets(e) {
		fmt.Fprintf(d.Stderr, "  secret: %s holds one in plain text; keep it with reeve vault set SERVICE/KEY, and write reeve://SERVICE/KEY there\n", barred(s))
	}
}

// given names what a server would be handed: variables and headers, and what of
// the person's stands behind them. No value is told.
func given(name string, e *servers.Entry) []string {
	var lines []string
	say := func(label string, names []string) {
		if len(names) > 0 {
			lines = append(lines, label+": "+strings.Join(names, " "))
		}
	}
	say("variables", sortedKeys(e.Env))
	say("headers", sortedKeys(e.Headers))
	if s, err := e.Check(name); err == nil {
		say("is given, of the daemon's environment", s.References())
		say("is given, of the vault", s.Secrets())
	}
	return lines
}

// words is a command line as a person would read it.
func words(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if out[i] = a; a == "" || strings.ContainsAny(a, " \t\n\"'\\$") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// plainSecrets names what of an entry holds a secret and not a reference to
// one. No value is told.
func plainSecrets(e *servers.Entry) []string {
	r := redact.New()
	var found []string
	plain := func(v string) bool { return v != "" && !strings.Contains(v, "${") && !strings.HasPrefix(v, ref.Scheme) }
	pairs := func(what string, m map[string]string) {
		for _, k := range sortedKeys(m) {
			if v := m[k]; plain(v) && (tells(k) || r.Text(k+"="+v) != k+"="+v || r.Text(k+": "+v) != k+": "+v) {
				found = append(found, what+" "+k)
			}
		}
	}
	pairs("the variable", e.Env)
	pairs("the header", e.Headers)
	if line := strings.Join(e.Args, " "); plain(line) && r.Text(line) != line {
		found = append(found, "its arguments")
	}
	if e.URL != "" && r.Text(e.URL) != e.URL {
		found = append(found, "its address")
	}
	return found
}

// tells reports whether a name tells of a secret, as contract G40 lists it.
func tells(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL", "AUTHORIZATION", "COOKIE"}, func(w string) bool { return strings.Contains(name, w) })
}

// confirm asks the person at this terminal; nothing but a clear yes is one.
// Where nobody can be asked, the exit code says so.
func confirm(d *Desk, question string) int {
	in := d.Terminal()
	if in == nil {
		return fail(d, fmt.Errorf("%w: %s Type it at a terminal, or say --yes", reeve.ErrNeedsPerson, question))
	}
	fmt.Fprintf(d.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		fmt.Fprintln(d.Stderr)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return reeve.ExitOK
	}
	fmt.Fprintln(d.Stderr, "nothing was changed")
	return reeve.ExitDenied
}

func changeServers(d *Desk, w wire.Servers) int {
	c, err := d.Client()
	if err != nil {
		return fail(d, err)
	}
	told, err := c.Servers(context.Background(), w)
	if err != nil {
		return fail(d, err)
	}
	if told.Line != "" {
		fmt.Fprintln(d.Stderr, told.Line)
	}
	return reeve.ExitOK
}

func mcpSwitch(d *Desk, do string, args []string) int {
	word := do
	if do == "remove" {
		word = "rm"
	}
	operands, code, ok := mixed(flags(d, "mcp "+word), args)
	if !ok {
		return code
	}
	if len(operands) != 1 {
		return usage(d, "mcp %s takes one server; reeve mcp ls lists them", word)
	}
	if code := changeServers(d, wire.Servers{Do: do, Server: operands[0]}); code != reeve.ExitOK {
		return code
	}
	fmt.Fprintf(d.Stderr, "server %s is %s\n", operands[0], map[string]string{"enable": "on", "disable": "off", "remove": "gone from mcp.json, with what was trusted of it"}[do])
	return reeve.ExitOK
}

func mcpList(d *Desk, args []string) int {
	f := flags(d, "mcp ls")
	asJSON := f.Bool("json", false, "print JSON")
	operands, code, ok := mixed(f, args)
	if !ok {
		return code
	}
	if len(operands) > 0 {
		return usage(d, "mcp ls takes no server; reeve mcp inspect %s shows one", operands[0])
	}
	c, err := d.Client()
	if err != nil {
		return fail(d, err)
	}
	all, err := c.Inspect(context.Background(), wire.Inspect{})
	if err != nil {
		return fail(d, err)
	}
	if *asJSON {
		printJSON(d.Stdout, all)
		return reeve.ExitOK
	}
	if len(all.Servers) == 0 {
		fmt.Fprintln(d.Stderr, "reeve: there is no server; reeve mcp add or reeve mcp import brings one")
	}
	for _, s := range all.Servers {
		where := s.URL
		if where == "" {
			where = words(s.Argv)
		}
		fmt.Fprintf(d.Stdout, "%-20s %-9s %-22s %s\n", s.Server, standingOf(&s), heldOf(&s), barred(where))
	}
	tellNotes(d, all.Notes)
	return reeve.ExitOK
}

func tellNotes(d *Desk, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(d.Stderr, "reeve: %s\n", barred(n))
	}
}

// standingOf is how a server stands, in one word.
func standingOf(s *wire.Inspected) string {
	switch {
	case s.Disabled:
		return "off"
	case s.Moved:
		return "changed"
	case s.Trusted:
		return "trusted"
	case s.First:
		return "new"
	}
	return "asks"
}

func heldOf(s *wire.Inspected) string {
	tools, held := 0, 0
	for _, it := range s.Items {
		if it.Kind == "tool" {
			tools++
		}
		if it.Held != "" {
			held++
		}
	}
	switch {
	case s.Offered.IsZero():
		return "never asked"
	case held > 0:
		return fmt.Sprintf("%s, %d held", counted(tools, "tool"), held)
	}
	return counted(tools, "tool")
}

// inspected asks what is known of one server. unasked says why it could not be
// asked what it offers now, where it was to be; what was heard before is told.
func inspected(d *Desk, server string, ask bool) (s *wire.Inspected, unasked error, err error) {
	if server == "" { // which asks for all of them
		return nil, nil, fmt.Errorf("%w: the name of a server is empty; reeve mcp ls lists them", reeve.ErrUsage)
	}
	c, err := d.Client()
	if err != nil {
		return nil, nil, err
	}
	all, err := c.Inspect(context.Background(), wire.Inspect{Server: server, Ask: ask, Dir: d.Dir})
	if err != nil {
		return nil, nil, err
	}
	tellNotes(d, all.Notes)
	if all.Unasked != "" {
		unasked = fmt.Errorf("server %s could not be asked: %s", server, barred(all.Unasked))
	}
	return &all.Servers[0], unasked, nil
}

func mcpInspect(d *Desk, args []string) int {
	f := flags(d, "mcp inspect")
	offline := f.Bool("offline", false, "do not start the server")
	asJSON := f.Bool("json", false, "print JSON")
	operands, code, ok := mixed(f, args)
	if !ok {
		return code
	}
	if len(operands) != 1 {
		return usage(d, "mcp inspect takes one server; reeve mcp ls lists them")
	}
	s, unasked, err := inspected(d, operands[0], !*offline)
	if err != nil {
		return fail(d, err)
	}
	if *asJSON {
		printJSON(d.Stdout, s)
	} else {
		writeInspected(d.Stdout, s, true)
	}
	if unasked != nil {
		return fail(d, unasked)
	}
	return reeve.ExitOK
}

func mcpTrust(d *Desk, args []string) int {
	f := flags(d, "mcp trust")
	as := f.String("as", "", "what the tools are: read, write, destructive, denied, or unset")
	yes := f.Bool("yes", false, "do not ask")
	operands, code, ok := mixed(f, args)
	if !ok {
		return code
	}
	switch {
	case len(operands) == 0:
		return usage(d, "mcp trust takes a server, and perhaps tools of it; reeve mcp ls lists the servers")
	case *as != "" && !slices.Contains([]string{"read", "write", "destructive", "denied", "unset"}, *as):
		return usage(d, "mcp trust --as takes read, write, destructive, denied or unset")
	case *as != "" && len(operands) == 1:
		return usage(d, "mcp trust --as takes tools; reeve mcp inspect %s lists them", operands[0])
	}
	server, only := operands[0], operands[1:]
	if *as != "" {
		return sayOf(d, server, only, *as)
	}
	s, unasked, err := inspected(d, server, true)
	switch {
	case err != nil:
		return fail(d, err)
	case unasked != nil:
		return fail(d, fmt.Errorf("%w; nothing was trusted", unasked))
	}
	for _, name := range only {
		if !slices.ContainsFunc(s.Items, func(it wire.Offered) bool { return it.Name == name }) {
			return fail(d, fmt.Errorf("%w: server %s offers no %s", reeve.ErrNotFound, server, name))
		}
	}
	if s.Trusted && len(s.Gone) == 0 && !slices.ContainsFunc(s.Items, func(it wire.Offered) bool { return !it.Trusted && it.Kind != "resource" }) {
		fmt.Fprintf(d.Stderr, "server %s is trusted as it is already\n", server)
		return reeve.ExitOK
	}
	writeInspected(d.Stderr, s, false)
	if !*yes {
		what := "server " + server
		if len(only) > 0 {
			what = strings.Join(only, ", ") + " of server " + server
		}
		if code := confirm(d, "Trust "+what+" as shown?"); code != reeve.ExitOK {
			return code
		}
	}
	if code := changeServers(d, wire.Servers{Do: "trust", Server: server, Only: only, Seen: s.Seen}); code != reeve.ExitOK {
		return code
	}
	fmt.Fprintf(d.Stderr, "server %s is trusted as it was shown; what changes is held back until you look at it\n", server)
	return reeve.ExitOK
}

// sayOf says what tools are. The server is asked first where nobody has heard
// what it offers, so that no word is kept for a tool that is not there.
func sayOf(d *Desk, server string, tools []string, class string) int {
	if class == "unset" {
		class = ""
	}
	s, unasked, err := inspected(d, server, false)
	if err == nil && s.Offered.IsZero() && class != "" {
		s, unasked, err = inspected(d, server, true)
	}
	if err = cmp.Or(err, unasked); err != nil {
		return fail(d, err)
	}
	for _, t := range tools {
		if class != "" && !slices.ContainsFunc(s.Items, func(it wire.Offered) bool { return it.Kind == "tool" && it.Name == t }) {
			return fail(d, fmt.Errorf("%w: server %s offers no tool %s; nothing was changed", reeve.ErrNotFound, server, t))
		}
	}
	for _, t := range tools {
		if code := changeServers(d, wire.Servers{Do: "say", Server: server, Tool: t, Class: class}); code != reeve.ExitOK {
			return code
		}
	}
	return reeve.ExitOK
}

// ownServers is what mcp.json holds.
func ownServers(d *Desk) (*servers.Set, string, error) {
	paths, err := config.Dirs(d.Getenv)
	if err != nil {
		return nil, "", err
	}
	set, err := servers.NewBook(paths.Config).Servers()
	return set, filepath.Join(paths.Config, servers.File), err
}

// readable is the text of a file that a person named.
func readable(d *Desk, file string) ([]byte, error) {
	src, err := os.ReadFile(d.absolute(file))
	if err != nil {
		return nil, fmt.Errorf("read the servers: %w", err)
	}
	return src, nil
}
