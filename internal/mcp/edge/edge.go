// Package edge serves clients of MCP over streamable HTTP on this machine, in
// both eras (MCP 2025-11-25 and 2026-07-28, transports).
//
// Being asked from this machine proves nothing: any page in a browser can make
// a request to it (CVE-2025-64443 and its like). So every request carries the
// bearer token, names this very address as its host, and comes from no other
// origin. A token is compared in constant time and never sent on.
//
// A client of the modern era sends each request by itself; all of them are one
// conversation, in which ids need not differ. A client of the legacy era has a
// session with a name of its own, and a stream for what belongs to no request.
// A stream that breaks is not taken up again.
package edge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
	"github.com/reeve-gate/reeve/internal/mcp/talk"
	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// Conversation is what is served.
type Conversation interface {
	talk.Conversation
	// HandleAlone is Handle for a request that has a way of its own, so that
	// its id is its own too.
	HandleAlone(ctx context.Context, m message.Message, out func(message.Message))
	// Mirrored says what is wrong with the headers that repeat a tool's
	// arguments, or nil.
	Mirrored(ctx context.Context, m message.Message, header func(name string) (value string, given bool)) error
}

// Options are what a Handler stands on; every field is required.
type Options struct {
	Open  func(send func(message.Message)) Conversation
	Token string
	Hosts []string // as a client writes them: host and port
}

// Bounds of one Handler.
const (
	maxSessions = 256
	idleTime    = time.Hour // of a legacy session without a request
	maxQueue    = 1024      // messages that wait for a session's own stream
	keepAlive   = 20 * time.Second
	bodyTime    = time.Minute      // for a message to arrive in
	unread      = 10 * time.Second // that a client may leave what it is sent
)

// Handler serves HTTP. It is safe for concurrent use; Close ends every
// conversation.
type Handler struct {
	opt    Options
	token  [32]byte
	modern Conversation
	unread time.Duration

	mu       sync.Mutex // guards what follows
	sessions map[string]*session
	closed   bool
}

// session is a client of the legacy era.
type session struct {
	conv  Conversation
	queue chan message.Message
	timer *time.Timer
	own   sync.Mutex // held by the one stream of its own
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{opt: o, token: sha256.Sum256([]byte(o.Token)), sessions: map[string]*session{}, unread: unread,
		modern: o.Open(func(message.Message) {})} // what belongs to no request has no way to a modern client
}

// Close ends every conversation.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	all := h.sessions
	h.sessions = map[string]*session{}
	h.mu.Unlock()
	for _, s := range all {
		s.timer.Stop()
		s.conv.Close()
	}
	h.modern.Close()
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code, why := h.admit(r); code != 0 {
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, code, message.CodeInvalidRequest, why)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.stream(w, r)
	case http.MethodDelete:
		h.end(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, message.CodeInvalidRequest, "POST a message")
	}
}

// admit says who may ask.
func (h *Handler) admit(r *http.Request) (code int, why string) {
	ours := func(host string) bool {
		for _, one := range h.opt.Hosts {
			if strings.EqualFold(host, one) {
				return true
			}
		}
		return false
	}
	if !ours(r.Host) {
		return http.StatusForbidden, "this address is not served under that name"
	}
	for _, origin := range r.Header.Values("Origin") { // each of them, where several stand
		host, plain := strings.CutPrefix(origin, "http://")
		if origin != "" && (!plain || !ours(host)) {
			return http.StatusForbidden, "no page of another origin is served"
		}
	}
	words := r.Header.Values("Authorization")
	sent, bearer := strings.CutPrefix(strings.Join(words, "\n"), "Bearer ")
	sum := sha256.Sum256([]byte(sent))
	if !bearer || len(words) != 1 || subtle.ConstantTimeCompare(sum[:], h.token[:]) != 1 {
		return http.StatusUnauthorized, "a bearer token is needed; reeve mcp serve --http said where it stands"
	}
	if r.URL.Path != "/mcp" {
		return http.StatusNotFound, "the endpoint is /mcp"
	}
	return 0, ""
}

// refuse answers without a request's id.
func refuse(w http.ResponseWriter, status, code int, why string) {
	fail(w, status, "", &message.Error{Code: code, Message: why})
}

func fail(w http.ResponseWriter, status int, id message.ID, e *message.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(message.AppendError(nil, id, e))
}

// post takes one message.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, message.CodeInvalidRequest, "a message is application/json")
		return
	}
	if accept := strings.Join(r.Header.Values("Accept"), ","); !accepts(accept, "application/json") || !accepts(accept, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, message.CodeInvalidRequest, "accept application/json and text/event-stream")
		return
	}
	// A bound for this body alone: the answer may take as long as it likes.
	way := http.NewResponseController(w)
	_ = way.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, message.MaxLine))
	_ = way.SetReadDeadline(time.Time{})
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, message.CodeInvalidRequest, "the message cannot be read, or is too long")
		return
	}
	m, err := message.Decode([]byte(strings.TrimSpace(string(body))))
	var fault *message.Fault
	switch {
	case errors.As(err, &fault):
		fail(w, http.StatusBadRequest, fault.ID, &message.Error{Code: fault.Code(), Message: fault.Error()})
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, message.CodeParse, err.Error())
		return
	}
	version := r.Header.Get("MCP-Protocol-Version")
	meta, err := message.Meta(m.Params)
	if err != nil {
		fail(w, http.StatusBadRequest, m.ID, &message.Error{Code: message.CodeInvalidParams, Message: err.Error()})
		return
	}
	named := meta.Text(message.MetaVersion)
	switch {
	case version == message.Modern || named != "" || m.Method == "server/discover":
		h.postModern(w, r, m, version, meta)
	default:
		h.postLegacy(w, r, m, version)
	}
}

func accepts(header, kind string) bool {
	for part := range strings.SplitSeq(header, ",") {
		got, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		if got == kind || got == "*/*" || got == kind[:strings.IndexByte(kind, '/')]+"/*" {
			return true
		}
	}
	return false
}

// postModern takes a message of the modern era: what its headers repeat must be
// what it says.
func (h *Handler) postModern(w http.ResponseWriter, r *http.Request, m message.Message, version string, meta message.Object) {
	named := meta.Text(message.MetaVersion)
	if m.Kind != message.Request {
		w.WriteHeader(http.StatusAccepted) // none is defined for this transport
		return
	}
	mismatch := func(why string) {
		fail(w, http.StatusBadRequest, m.ID, &message.Error{Code: message.CodeHeaderMismatch, Message: "Header mismatch: " + why})
	}
	params, err := message.Members(m.Params)
	if m.Params != nil && err != nil {
		fail(w, http.StatusBadRequest, m.ID, &message.Error{Code: message.CodeInvalidParams, Message: err.Error()})
		return
	}
	method, given := single(r.Header, "Mcp-Method")
	switch {
	case named == "":
		fail(w, http.StatusBadRequest, m.ID, &message.Error{Code: message.CodeInvalidParams, Message: "_meta names no protocolVersion"})
		return
	case meta.Get(message.MetaCapabilities) == nil:
		fail(w, http.StatusBadRequest, m.ID, &message.Error{Code: message.CodeInvalidParams, Message: "_meta names no clientCapabilities"})
		return
	case version != named:
		mismatch("MCP-Protocol-Version is not what _meta says")
		return
	case named == message.Modern && (!given || method != m.Method):
		mismatch("Mcp-Method is not the method")
		return
	}
	if key := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]; key != "" && named == message.Modern {
		if name, given := single(r.Header, "Mcp-Name"); !given || name != params.Text(key) {
			mismatch("Mcp-Name is not what params say")
			return
		}
		if err := h.modern.Mirrored(r.Context(), m, func(name string) (string, bool) { return single(r.Header, "Mcp-Param-"+name) }); err != nil {
			mismatch(err.Error())
			return
		}
	}
	a := &answer{w: w, modern: true, unread: h.unread}
	defer a.beat(r.Context())()
	h.modern.HandleAlone(r.Context(), m, a.send)
	a.close()
}

// single is the value of a header that stands once, decoded (MCP 2026-07-28,
// value encoding).
func single(header http.Header, name string) (string, bool) {
	all := header.Values(name)
	if len(all) != 1 {
		return "", false
	}
	v := strings.Trim(all[0], " \t")
	if inner, ok := strings.CutPrefix(v, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
		return string(b), err == nil
	}
	return v, true
}

// postLegacy takes a message of the legacy era.
func (h *Handler) postLegacy(w http.ResponseWriter, r *http.Request, m message.Message, version string) {
	id := r.Header.Get("Mcp-Session-Id")
	known := version == ""
	for _, v := range upstream.LegacyVersions {
		known = known || v == version
	}
	if !known {
		fail(w, http.StatusBadRequest, m.ID, talk.Unsupported(version))
		return
	}
	var s *session
	if m.Kind == message.Request && m.Method == "initialize" && id == "" {
		if id, s = h.begin(); s == nil {
			fail(w, http.StatusServiceUnavailable, m.ID, &message.Error{Code: message.CodeInternal, Message: "too many sessions are open"})
			return
		}
		w.Header().Set("Mcp-Session-Id", id)
	} else if s = h.find(w, id, m.ID); s == nil {
		return
	}
	if m.Kind != message.Request {
		s.conv.Handle(r.Context(), m, func(message.Message) {})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a := &answer{w: w, unread: h.unread}
	defer a.beat(r.Context())()
	// A broken stream cancels nothing in this era.
	s.conv.Handle(context.WithoutCancel(r.Context()), m, a.send)
	a.close()
}

// begin makes a session.
func (h *Handler) begin() (string, *session) {
	var word [18]byte
	rand.Read(word[:])
	id := base64.RawURLEncoding.EncodeToString(word[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.sessions) >= maxSessions {
		return "", nil
	}
	s := &session{queue: make(chan message.Message, maxQueue)}
	s.conv = h.opt.Open(func(m message.Message) {
		select {
		case s.queue <- m:
		default: // nobody reads: what is told is lost, as on a stream that is not there
		}
	})
	s.timer = time.AfterFunc(idleTime, func() { h.drop(id) })
	h.sessions[id] = s
	return id, s
}

func (h *Handler) drop(id string) bool {
	h.mu.Lock()
	s := h.sessions[id]
	delete(h.sessions, id)
	h.mu.Unlock()
	if s == nil {
		return false
	}
	s.timer.Stop()
	s.conv.Close()
	return true
}

// find is the session of a request, or answers that there is none.
func (h *Handler) find(w http.ResponseWriter, id string, about message.ID) *session {
	if id == "" {
		fail(w, http.StatusBadRequest, about, &message.Error{Code: message.CodeInvalidRequest, Message: "Mcp-Session-Id is missing; initialize first, or name a protocolVersion in _meta"})
		return nil
	}
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		fail(w, http.StatusNotFound, about, &message.Error{Code: message.CodeInvalidRequest, Message: "there is no such session; begin a new one"})
		return nil
	}
	s.timer.Reset(idleTime)
	return s
}

// stream is a session's own: what belongs to no request.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) {
	if !accepts(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, message.CodeInvalidRequest, "accept text/event-stream")
		return
	}
	if v := r.Header.Get("MCP-Protocol-Version"); v == message.Modern {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, message.CodeInvalidRequest, "this version has no such stream; send subscriptions/listen")
		return
	}
	s := h.find(w, r.Header.Get("Mcp-Session-Id"), "")
	if s == nil {
		return
	}
	if !s.own.TryLock() {
		refuse(w, http.StatusConflict, message.CodeInvalidRequest, "the session has this stream already")
		return
	}
	defer s.own.Unlock()
	a := &answer{w: w, unread: h.unread}
	a.begin()
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case m := <-s.queue:
			a.send(m)
		case <-tick.C:
			a.comment()
		case <-r.Context().Done():
			return
		}
		if a.broken() {
			return
		}
	}
}

func (h *Handler) end(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" || !h.drop(id) {
		refuse(w, http.StatusNotFound, message.CodeInvalidRequest, "there is no such session")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
