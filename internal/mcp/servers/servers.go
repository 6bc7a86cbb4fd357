package servers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// File is the name of the file in the configuration directory.
const File = "mcp.json"

// MaxServers bounds how many may be configured.
const MaxServers = 512

// Set is all servers of one file, by name.
type Set struct {
	All   []Server
	Notes []string // what stands in the file and is not used
}

// Server is one configured server.
type Server struct {
	Name     string
	Disabled bool

	// A program:
	Command string
	Args    []string
	Env     map[string]string
	Dir     string // working directory; empty = the server's own folder, or the workspace where that is shown

	// Or an address:
	URL     string
	Headers map[string]string

	Guard Guard
}

// Guard is what Reeve holds a server to.
type Guard struct {
	Read, Write []string // absolute, or "." for the workspace
	Net         Net
	Sockets     bool     // it may have unix sockets among its own processes
	Hosts       []string // with NetHosts
	Start       time.Duration
	Call        time.Duration
	Total       time.Duration
	Idle        time.Duration // negative = never
	Memory      int64
	Processes   int64
	Processors  int64
	Output      int
	Protocol    upstream.Era // Unknown = found out
	Roots       Answerer
	Sampling    Answerer
	Elicitation Answerer
}

// Net says what network a program sees.
type Net uint8

const (
	NetNone Net = iota
	NetHosts
	NetOpen
)

var netNames = [...]string{"none", "rules", "open"}

func (n Net) String() string { return netNames[n] }

// Answerer says who answers what a server asks back for. The zero value is
// nobody.
type Answerer uint8

const (
	Nobody  Answerer = iota
	Client           // the client, where it can
	Granted          // Reeve itself: the roots that were granted
)

// Of finds a server by name.
func (s *Set) Of(name string) (Server, bool) {
	i, ok := slices.BinarySearchFunc(s.All, name, func(one Server, n string) int { return strings.Compare(one.Name, n) })
	if !ok {
		return Server{}, false
	}
	return s.All[i], true
}

// Hash is the identity of what was configured: another program, argument,
// variable, address or bound is another server, whatever it is called
// (CVE-2025-54136). Secrets count as the references that stand for them.
func (s *Server) Hash() string {
	h := sha256.New()
	field := func(parts ...string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(parts)))
		h.Write(n[:])
		for _, p := range parts {
			binary.BigEndian.PutUint64(n[:], uint64(len(p)))
			h.Write(n[:])
			h.Write([]byte(p))
		}
	}
	pairs := func(m map[string]string) {
		var all []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			all = append(all, k, m[k])
		}
		field(all...)
	}
	g := &s.Guard
	field("reeve mcp server v1", s.Name, s.Command, s.Dir, s.URL)
	field(s.Args...)
	pairs(s.Env)
	pairs(s.Headers)
	field(g.Read...)
	field(g.Write...)
	field(g.Hosts...)
	field(fmt.Sprint(g.Net, g.Protocol, g.Roots, g.Sampling, g.Elicitation))
	if g.Sockets {
		field("unix sockets")
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CheckName says what is wrong with a server's name, or nil.
func CheckName(name string) error {
	if name == Reserved {
		return fmt.Errorf("%q is the gateway itself; call the server something else", name)
	}
	if !nameForm.MatchString(name) || strings.Contains(name, "__") || len(name) > MaxName {
		return fmt.Errorf("%q is no name of a server: at most %d lower case letters, digits, - and _, no two _ in a row, a letter or digit first and last", name, MaxName)
	}
	if err := durable.Name(name); err != nil { // files are called after it
		return fmt.Errorf("%w; call the server something else", err)
	}
	return nil
}

// Reserved is the name that stands for Reeve itself.
const Reserved = "reeve"

// MaxName bounds a server's name, in bytes.
const MaxName = 32

var nameForm = late.New(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`)

// The file as it is written.
type file struct {
	Servers map[string]jsontext.Value `json:"mcpServers"`
	Rest    map[string]jsontext.Value `json:",embed"`
}

type written struct {
	Command  string                    `json:"command"`
	Args     []string                  `json:"args"`
	Env      map[string]string         `json:"env"`
	Dir      string                    `json:"cwd"`
	Type     string                    `json:"type"`
	URL      string                    `json:"url"`
	Headers  map[string]string         `json:"headers"`
	Disabled bool                      `json:"disabled"`
	Guard    jsontext.Value            `json:"x-guard"`
	Rest     map[string]jsontext.Value `json:",embed"`
}

type guard struct {
	Sandbox struct {
		Read  []string       `json:"read"`
		Write []string       `json:"write"`
		Net   jsontext.Value `json:"net"`

		Sockets bool `json:"sockets"`
	} `json:"sandbox"`
	Limits struct {
		Start      string `json:"start"`
		Call       string `json:"call"`
		Total      string `json:"total"`
		Idle       string `json:"idle"`
		Memory     string `json:"memory"`
		Processes  int64  `json:"processes"`
		Processors string `json:"processors"`
		Output     int    `json:"output"`
	} `json:"limits"`
	Stateful bool   `json:"stateful"`
	Protocol string `json:"protocol"`
	Asks     struct {
		Roots       string `json:"roots"`
		Sampling    string `json:"sampling"`
		Elicitation string `json:"elicitation"`
	} `json:"asks"`
}

// Parse reads the text of the file; name is what errors call it. A fault in
// one server is a fault of the file: what a person meant is then not known.
func Parse(name string, src []byte) (*Set, error) {
	set := &Set{}
	if len(bytes.TrimSpace(src)) == 0 {
		return set, nil
	}
	var f file
	if err := json.Unmarshal(src, &f); err != nil {
		return nil, positioned(name, src, err)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Rest)) {
		set.Notes = append(set.Notes, fmt.Sprintf("%s: %q is not used", name, key))
	}
	if len(f.Servers) > MaxServers {
		return nil, fmt.Errorf("%s: %d servers; at most %d", name, len(f.Servers), MaxServers)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Servers)) {
		s, notes, err := one(key, f.Servers[key])
		if err != nil {
			return nil, fmt.Errorf("%s: server %s: %w", name, key, err)
		}
		for _, n := range notes {
			set.Notes = append(set.Notes, fmt.Sprintf("%s: server %s: %q is not used", name, key, n))
		}
		set.All = append(set.All, s)
	}
	return set, nil
}

// positioned gives an error its line and column.
func positioned(name string, src []byte, err error) error {
	var at int64 = -1
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		if at, err = syntax.ByteOffset, syntax.Err; errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends before its JSON does")
		}
	case errors.As(err, &meaning):
		at = meaning.ByteOffset
	}
	if at < 0 || at > int64(len(src)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	before := src[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("%s:%d:%d: %w", name, line, len(before)-bytes.LastIndexByte(before, '\n'), err)
}

func one(name string, v jsontext.Value) (s Server, notes []string, err error) {
	if err := CheckName(name); err != nil {
		return s, nil, err
	}
	var w written
	if err := json.Unmarshal(v, &w); err != nil {
		if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.JSONPointer != "" && wrong.JSONKind != 0 {
			return s, nil, fmt.Errorf("at %s there is a %s, which does not belong there", wrong.JSONPointer, wrong.JSONKind)
		}
		return s, nil, err
	}
	notes = slices.Sorted(maps.Keys(w.Rest))
	s = Server{Name: name, Disabled: w.Disabled, Command: w.Command, Args: w.Args, Env: w.Env, Dir: w.Dir, URL: w.URL, Headers: w.Headers}
	switch {
	case w.Command != "" && w.URL != "":
		return s, nil, errors.New("it has a command and a url; one of them")
	case w.Command == "" && w.URL == "":
		return s, nil, errors.New("it has neither a command nor a url")
	case w.Command != "" && w.Type != "" && w.Type != "stdio":
		return s, nil, fmt.Errorf("type is %q for a command; leave it out, or write stdio", w.Type)
	case w.URL != "" && !address.MatchString(w.URL):
		return s, nil, fmt.Errorf("url is %q; write an address such as https://example.com/mcp, or one with http of this machine", w.URL)
	case signed.MatchString(w.URL):
		return s, nil, errors.New("url holds a user or a password; put it into headers, as reeve://SERVICE/KEY")
	case w.URL != "" && w.Type == "sse":
		return s, nil, errors.New("type sse, the transport of 2024-11-05, is not spoken; ask for the server's streamable HTTP address")
	case w.URL != "" && w.Type != "" && w.Type != "http" && w.Type != "streamable-http" && w.Type != "streamableHttp":
		return s, nil, fmt.Errorf("type is %q for a url; write http", w.Type)
	case w.URL != "" && (len(w.Args) > 0 || len(w.Env) > 0 || w.Dir != ""):
		return s, nil, errors.New("args, env and cwd are a program's; this server has a url")
	case w.Command != "" && len(w.Headers) > 0:
		return s, nil, errors.New("headers are an address's; this server has a command")
	}
	for env := range s.Env {
		if !variable.MatchString(env) {
			return s, nil, fmt.Errorf("%q is no name of a variable", env)
		}
	}
	for h, v := range s.Headers {
		if !header.MatchString(h) || strings.ContainsAny(v, "\r\n\x00") {
			return s, nil, fmt.Errorf("%q is no header", h)
		}
	}
	if err := s.checkReferences(); err != nil {
		return s, nil, err
	}
	s.Guard, err = guarded(w.Guard, s.URL != "")
	return s, notes, err
}

var (
	variable = late.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	header   = late.New(`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`)
	address  = late.New(`^(?i:https?://|\$\{)`)
	signed   = late.New(`^(?i:https?)://[^/?#]*@`)
)

func guarded(v jsontext.Value, address bool) (Guard, error) {
	g := Guard{Roots: Granted, Elicitation: Client}
	if v == nil {
		return g, nil
	}
	var w guard
	if err := json.Unmarshal(v, &w, json.RejectUnknownMembers(true)); err != nil {
		return g, fmt.Errorf("x-guard: %w", err)
	}
	g.Read, g.Write = w.Sandbox.Read, w.Sandbox.Write
	for _, dir := range slices.Concat(g.Read, g.Write) {
		if dir != "." && !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~/") && !strings.HasPrefix(dir, "./") {
			return g, fmt.Errorf("x-guard.sandbox: %q is neither absolute nor below ./ or ~/", dir)
		}
	}
	g.Sockets = w.Sandbox.Sockets
	if address && (len(g.Read)+len(g.Write) > 0 || w.Sandbox.Net != nil || w.Sandbox.Sockets) {
		return g, errors.New("x-guard.sandbox is a program's boundary; this server has a url")
	}
	var err error
	if g.Net, g.Hosts, err = netOf(w.Sandbox.Net); err != nil {
		return g, fmt.Errorf("x-guard.sandbox.net: %w", err)
	}
	if err := w.times(&g); err != nil {
		return g, fmt.Errorf("x-guard.limits.%w", err)
	}
	if err := w.sizes(&g); err != nil {
		return g, fmt.Errorf("x-guard.limits.%w", err)
	}
	if w.Stateful {
		g.Idle = -1
	}
	switch w.Protocol {
	case "", "auto":
	case "2025-11-25":
		g.Protocol = upstream.EraLegacy
	case "2026-07-28":
		g.Protocol = upstream.EraModern
	default:
		return g, fmt.Errorf("x-guard.protocol is %q; it is auto, 2025-11-25 or 2026-07-28", w.Protocol)
	}
	for _, a := range []struct {
		key, value string
		to         *Answerer
		may        map[string]Answerer
	}{
		{"roots", w.Asks.Roots, &g.Roots, map[string]Answerer{"granted": Granted, "client": Client, "none": Nobody}},
		{"sampling", w.Asks.Sampling, &g.Sampling, map[string]Answerer{"client": Client, "none": Nobody}},
		{"elicitation", w.Asks.Elicitation, &g.Elicitation, map[string]Answerer{"client": Client, "none": Nobody}},
	} {
		if a.value == "" {
			continue
		}
		who, ok := a.may[a.value]
		if !ok {
			return g, fmt.Errorf("x-guard.asks.%s is %q; it is one of %q", a.key, a.value, slices.Sorted(maps.Keys(a.may)))
		}
		*a.to = who
	}
	return g, nil
}

func netOf(v jsontext.Value) (Net, []string, error) {
	if v == nil {
		return NetNone, nil, nil
	}
	var word string
	if json.Unmarshal(v, &word) == nil {
		switch word {
		case "none":
			return NetNone, nil, nil
		case "open":
			return NetOpen, nil, nil
		}
		return NetNone, nil, fmt.Errorf("%q is neither none nor open; name hosts in a list", word)
	}
	var hosts []string
	if err := json.Unmarshal(v, &hosts); err != nil {
		return NetNone, nil, errors.New("it is none, open, or a list of hosts")
	}
	return NetHosts, hosts, nil
}

func (w *guard) times(g *Guard) error {
	for _, t := range []struct {
		key, value string
		to         *time.Duration
		most       time.Duration
	}{
		{"start", w.Limits.Start, &g.Start, 10 * time.Minute},
		{"call", w.Limits.Call, &g.Call, time.Hour},
		{"total", w.Limits.Total, &g.Total, 24 * time.Hour},
		{"idle", w.Limits.Idle, &g.Idle, 24 * time.Hour},
	} {
		if t.value == "" {
			continue
		}
		d, err := time.ParseDuration(t.value)
		if err != nil || d < 100*time.Millisecond || d > t.most {
			return fmt.Errorf("%s is %q; write a duration such as 30s, at most %s", t.key, t.value, t.most)
		}
		*t.to = d
	}
	return nil
}

func (w *guard) sizes(g *Guard) error {
	var err error
	if g.Memory, err = config.Size(w.Limits.Memory); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if g.Processors, err = config.Processors(w.Limits.Processors); err != nil {
		return fmt.Errorf("processors: %w", err)
	}
	if g.Processes = w.Limits.Processes; g.Processes < 0 || g.Processes > 1<<16 {
		return fmt.Errorf("processes is %d; it lies between 1 and 65536", g.Processes)
	}
	if g.Output = w.Limits.Output; g.Output != 0 && (g.Output < 1<<10 || g.Output > 256<<20) {
		return fmt.Errorf("output is %d; it lies between 1024 and 268435456 bytes", g.Output)
	}
	return nil
}
