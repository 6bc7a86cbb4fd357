package mcptest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Env names the server that [Main] runs.
const Env = "REEVE_MCPTEST"

// Main runs the server that the environment names, and does not return then.
// A test program calls it before its tests.
func Main() {
	if mode := os.Getenv(Env); mode != "" {
		os.Exit(Serve(mode, os.Stdin, os.Stdout, os.Stderr))
	}
}

// Ways to misbehave:
//
//	noise      prints lines that are no messages, before and between messages
//	silent     does not answer server/discover
//	exits      ends on server/discover, where that is the first request
//	deaf       answers nothing at all
//	stuck      reads nothing after the handshake
//	twice      gives every answer to a tool call twice
//	wrong      gives an answer to another id before each right one
//	pushy      asks for sampling, roots and nonsense that no call is for
//	loud       prints 32 MiB on standard error at each tool call
//	shifty     changes its tools after each list
//	lingers    goes on when its input ends, and when it is told to end
//	slowstart  answers nothing before its second request
const (
	noise     = "noise"
	silent    = "silent"
	exits     = "exits"
	deaf      = "deaf"
	stuck     = "stuck"
	twice     = "twice"
	wrong     = "wrong"
	pushy     = "pushy"
	loud      = "loud"
	shifty    = "shifty"
	lingers   = "lingers"
	slowstart = "slowstart"
)

// server is one running server.
type server struct {
	is    map[string]bool
	errs  io.Writer
	exit  chan int
	calls sync.WaitGroup

	mu     sync.Mutex // guards what follows
	out    *bufio.Writer
	next   int64
	asked  map[string]chan message.Message // our requests, by id
	live   map[string]chan struct{}        // calls that can be cancelled
	legacy bool                            // a handshake was made
	listen message.ID                      // a subscription
	extra  int                             // tools that were added
	lists  int                             // lists that were given
	count  int                             // calls of the tool count
	uris   map[string]bool
}

// Serve runs a server until its input ends, and returns its exit code.
func Serve(mode string, in io.Reader, out, errs io.Writer) int {
	s := &server{is: map[string]bool{}, errs: errs, exit: make(chan int, 1), out: bufio.NewWriterSize(out, 64<<10),
		asked: map[string]chan message.Message{}, live: map[string]chan struct{}{}, uris: map[string]bool{}}
	for _, word := range strings.Split(mode, ",") {
		s.is[word] = true
	}
	fmt.Fprintln(errs, "mcptest: started as", mode)
	if s.is[noise] {
		s.raw("Starting server...\n\n{\"level\":\"info\",\"msg\":\"json, but no message\"}\n\x1b[31mred\x1b[0m\n")
	}
	if s.is[lingers] {
		ignoreEnd()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.read(in)
	}()
	select {
	case code := <-s.exit:
		return code
	case <-ended:
	}
	if s.is[lingers] {
		forever()
	}
	select {
	case code := <-s.exit:
		return code
	default:
		return 0
	}
}

// forever waits in a way that the runtime does not take for a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func (s *server) read(in io.Reader) {
	lines := message.NewLines(in, 64<<20)
	first := true
	defer s.stopAll()
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		m, err := message.Decode(line)
		switch {
		case err != nil:
			s.send(message.Message{Kind: message.Response, Error: &message.Error{Code: message.CodeParse, Message: err.Error()}})
		case m.Kind == message.Response:
			s.mu.Lock()
			ch := s.asked[m.ID.Key()]
			delete(s.asked, m.ID.Key())
			s.mu.Unlock()
			if ch != nil {
				ch <- m
			}
		case m.Kind == message.Notification:
			s.notified(m)
		default:
			if s.is[exits] && first && m.Method == "server/discover" {
				s.exit <- 7
				return
			}
			if !s.is[deaf] && !(s.is[slowstart] && first) {
				s.request(m)
			}
			first = false
		}
		if s.is[stuck] && m.Method == "notifications/initialized" {
			forever()
		}
	}
}

// stopAll ends what waits to be cancelled, when nobody can cancel it any more.
func (s *server) stopAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.live {
		select {
		case <-stop:
		default:
			close(stop)
		}
	}
}

func (s *server) notified(m message.Message) {
	switch m.Method {
	case "notifications/initialized":
		if s.is[pushy] {
			go s.push()
		}
	case "notifications/cancelled":
		o, _ := message.Members(m.Params)
		s.mu.Lock()
		stop := s.live[message.ID(o.Get("requestId")).Key()]
		s.mu.Unlock()
		fmt.Fprintf(s.errs, "mcptest: cancelled %s: %s\n", o.Get("requestId"), o.Text("reason"))
		if stop != nil {
			close(stop)
		}
	}
}

// push asks for what nobody owes it.
func (s *server) push() {
	s.ask("sampling/createMessage", `{"messages":[],"maxTokens":1}`)
	s.ask("elicitation/create", `{"message":"your password","requestedSchema":{"type":"object","properties":{}}}`)
	s.ask("no/such/method", `{}`)
	s.note("notifications/progress", `{"progressToken":99999,"progress":1}`)
	s.note("notifications/no/such", `{}`)
	s.note("notifications/cancelled", `{"requestId":1}`)
}

// request answers one request.
func (s *server) request(m message.Message) {
	s.mu.Lock()
	legacy := s.legacy
	s.mu.Unlock()
	meta, _ := message.Meta(m.Params)
	modern := meta.Text(message.MetaVersion) != ""
	switch {
	case m.Method == "initialize" && !s.is["modern"]:
		s.mu.Lock()
		s.legacy = true
		s.mu.Unlock()
		o, _ := message.Members(m.Params)
		s.result(m.ID, fmt.Sprintf(`{"protocolVersion":%s,"capabilities":%s,"serverInfo":{"name":"mcptest","version":"1"},"instructions":"Use echo."}`, o.Get("protocolVersion"), capabilities), false)
		return
	case m.Method == "server/discover" && s.is[silent]:
		return
	case modern && !s.is["legacy"]:
		if v := meta.Text(message.MetaVersion); v != message.Modern {
			s.fail(m.ID, message.CodeUnsupportedVersion, "Unsupported protocol version", fmt.Sprintf(`{"supported":[%q],"requested":%q}`, message.Modern, v))
			return
		}
		s.modern(m)
		return
	case !legacy && m.Method != "ping":
		s.fail(m.ID, message.CodeMethodNotFound, "not initialized, or no such method: "+m.Method, "")
		return
	}
	s.either(m, false)
}

const capabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`

func (s *server) modern(m message.Message) {
	switch m.Method {
	case "server/discover":
		s.result(m.ID, fmt.Sprintf(`{"supportedVersions":[%q],"capabilities":%s,"instructions":"Use echo.","ttlMs":0,"cacheScope":"private"}`, message.Modern, capabilities), true)
	case "subscriptions/listen":
		o, _ := message.Members(m.Params)
		s.mu.Lock()
		s.listen = m.ID
		clear(s.uris)
		want, _ := message.Members(o.Get("notifications"))
		all, _ := message.Elements(want.Get("resourceSubscriptions"))
		for _, one := range all {
			uri, _ := message.Text(one)
			s.uris[uri] = true
		}
		s.mu.Unlock()
		s.note("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"notifications":%s}`, o.Get("notifications")))
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		s.fail(m.ID, message.CodeMethodNotFound, "no such method", "")
	default:
		s.either(m, true)
	}
}

// send writes one message on one line, with what misbehaviour adds.
func (s *server) send(m message.Message) {
	if s.is[noise] {
		s.raw("DEBUG about to write\n")
	}
	s.raw(string(m.Append(nil)) + "\n")
}

func (s *server) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.WriteString(text)
	s.out.Flush()
}

// result sends a result; a modern one gets its type.
func (s *server) result(id message.ID, result string, modern bool) {
	if modern && !bytes.Contains([]byte(result), []byte(`"resultType"`)) {
		result = `{"resultType":"complete",` + strings.TrimPrefix(result, "{")
		if result == `{"resultType":"complete",}` {
			result = `{"resultType":"complete"}`
		}
	}
	s.send(message.Message{Kind: message.Response, ID: id, Result: []byte(result)})
}

func (s *server) fail(id message.ID, code int, why, data string) {
	e := &message.Error{Code: code, Message: why}
	if data != "" {
		e.Data = []byte(data)
	}
	s.send(message.Message{Kind: message.Response, ID: id, Error: e})
}

// note sends a notification, tagged with the subscription where there is one.
func (s *server) note(method, params string) {
	s.mu.Lock()
	id := s.listen
	s.mu.Unlock()
	p := []byte(params)
	if id != "" && method != "notifications/progress" && method != "notifications/message" {
		p, _ = message.Rewrite(p, message.Own(message.MetaSubscription, []byte(id)))
	}
	s.send(message.Message{Kind: message.Notification, Method: method, Params: p})
}

// ask sends a request of ours, and waits for nothing.
func (s *server) ask(method, params string) <-chan message.Message {
	ch := make(chan message.Message, 1)
	s.mu.Lock()
	s.next++
	id := message.ID(fmt.Sprintf(`"ask-%d"`, s.next))
	s.asked[id.Key()] = ch
	s.mu.Unlock()
	s.send(message.Message{Kind: message.Request, ID: id, Method: method, Params: []byte(params)})
	return ch
}
