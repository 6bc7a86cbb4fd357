// Package openaitest is a scripted model that speaks enough of the OpenAI
// Responses API for a real agent to work against it in a test: streamed
// answers, function calls, calls of tools that take free text, model lists.
//
// A test gives a [Script], a function from a request to the items of the
// answer. The [Server] records every request, so that a test can look at what
// reached the model: above all what the client said of a call
// ([Request.Told]). Requests that offer no tools never reach the script; they
// get a harmless word.
//
// The wire format is that of the public API reference: a stream is
// response.created, then per item response.output_item.added, the deltas of
// its text or arguments, and response.output_item.done with the whole item,
// then response.completed. Deltas end at arbitrary places, as the real
// service's do, so that a client which acts on half an argument shows itself.
//
// The package is for tests only and promises nothing about load.
package openaitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// maxBody bounds one request; an agent's whole prompt with its tools is a
// few hundred kilobytes.
const maxBody = 64 << 20

// Item is one item of an answer: a call where Tool is set, and else text.
type Item struct {
	Text  string
	Tool  string // the tool's name
	Space string // the namespace that holds the tool, or ""
	ID    string // call_id
	Input string // a function's arguments, one JSON object; or free text
	Free  bool   // the tool takes free text
}

// Say is an item of text.
func Say(text string) Item { return Item{Text: text} }

// Call is a call of a function. input is marshalled as JSON; a string stands
// as it is, so that a test can send bytes that no encoder would write.
func Call(id, tool string, input any) Item {
	raw, isText := input.(string)
	if !isText {
		b, err := json.Marshal(input)
		if err != nil {
			panic(fmt.Sprintf("arguments of tool %s: %v", tool, err))
		}
		raw = string(b)
	}
	return Item{Tool: tool, ID: id, Input: raw}
}

// Free is a call of a tool that takes free text.
func Free(id, tool, text string) Item { return Item{Tool: tool, ID: id, Input: text, Free: true} }

// Script answers one request of the conversation. It is called from the
// server's goroutines, one call for each request; a request that the client
// repeats is answered again.
type Script func(*Request) []Item

// Turns is the script that plays its turns in order: it gives the first turn
// with a call that the conversation holds no output of, and a closing word
// when every call has one. It keeps no state, so a repeated request gets the
// same answer. Every turn holds at least one call, and every call an id.
func Turns(turns ...[]Item) Script {
	for i, turn := range turns {
		calls := 0
		for _, item := range turn {
			if item.Tool == "" {
				continue
			}
			if calls++; item.ID == "" {
				panic(fmt.Sprintf("a call of turn %d has no id", i))
			}
		}
		if calls == 0 {
			panic(fmt.Sprintf("turn %d of the script calls no tool", i))
		}
	}
	return func(r *Request) []Item {
		for _, turn := range turns {
			for _, item := range turn {
				if _, told := r.Told(item.ID); item.Tool != "" && !told {
					return turn
				}
			}
		}
		return []Item{Say("done")}
	}
}

// Server is a scripted model on a loopback port.
type Server struct {
	URL string // the base_url of a model provider

	script Script
	mu     sync.Mutex // guards the fields below
	seen   []*Request
	other  []string
}

// New starts a server that ends with the test.
func New(t testing.TB, script Script) *Server {
	t.Helper()
	s := &Server{script: script}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL + "/v1"
	return s
}

// Requests are the conversation's requests so far, oldest first.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.seen...)
}

// Other lists method and path of every request that the script did not see.
func (s *Server) Other() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.other...)
}

// Told returns what the model was last told of the call id, and whether it
// was told anything.
func (s *Server) Told(id string) (string, bool) {
	all := s.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		if text, ok := all[i].Told(id); ok {
			return text, true
		}
	}
	return "", false
}

// ServeHTTP answers as the service would.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case r.Method == http.MethodPost && path == "/v1/responses":
	case r.Method == http.MethodGet && path == "/v1/models":
		s.aside(r.Method + " " + path)
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
		return
	default:
		s.aside(r.Method + " " + path)
		fail(w, http.StatusNotFound, "no such path")
		return
	}
	req, err := parseRequest(body)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	items := s.answer(req)
	if req.Stream {
		stream(w, items)
	} else {
		reply(w, http.StatusOK, response("completed", items))
	}
}

// answer asks the script, or gives the harmless word to a side request.
func (s *Server) answer(req *Request) []Item {
	if len(req.Tools) == 0 {
		s.aside("POST /v1/responses without tools")
		return []Item{Say("ok")}
	}
	s.mu.Lock()
	s.seen = append(s.seen, req)
	s.mu.Unlock()
	return s.script(req)
}

func (s *Server) aside(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = append(s.other, what)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nothing to tell it
}

func fail(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]any{"error": map[string]string{"type": "invalid_request_error", "message": text}})
}
