// Package anthropictest is a scripted model that speaks enough of the
// Anthropic Messages API for a real agent to work against it in a test:
// streamed and whole answers, tool_use blocks, token counts, model lists.
//
// A test gives a [Script], a function from a request to the blocks of the
// answer. The [Server] records every request, so that a test can look at
// what reached the model: above all the text of tool results
// ([Request.ToolResult]). Requests that offer no tools (titles, summaries,
// checks of quota) never reach the script; they get a harmless word.
//
// The wire format is that of the public API reference: a stream is
// message_start, then per block content_block_start, deltas and
// content_block_stop, then message_delta with the stop reason and
// message_stop. The arguments of a tool_use block are sent as
// input_json_delta pieces that end at arbitrary places, as the real service
// does, so that a client which acts on half an argument shows itself.
//
// The package is for tests only and promises nothing about load.
package anthropictest

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

// Block is one content block of an answer. A block with a Tool is a
// tool_use; any other is text.
type Block struct {
	Text  string
	Tool  string // the tool's name
	ID    string // tool_use id
	Input string // the tool's arguments, one JSON object
}

// Say is a text block.
func Say(text string) Block { return Block{Text: text} }

// Use is a tool_use block. input is marshalled as JSON; a string stands as
// it is, so that a test can send bytes no encoder would write.
func Use(id, tool string, input any) Block {
	raw, isText := input.(string)
	if !isText {
		b, err := json.Marshal(input)
		if err != nil {
			panic(fmt.Sprintf("arguments of tool %s: %v", tool, err))
		}
		raw = string(b)
	}
	return Block{Tool: tool, ID: id, Input: raw}
}

// Script answers one request of the conversation. It is called from the
// server's goroutines, one call for each request; a request that the client
// repeats is answered again.
type Script func(*Request) []Block

// Turns is the script that plays its turns in order: it gives the first turn
// with a call that the conversation holds no result of, and a closing word
// when every call has one. It keeps no state, so a repeated request gets the
// same answer. Every turn holds at least one call; a call without an id is
// given one, toolu_TURN_BLOCK, counted from 0.
func Turns(turns ...[]Block) Script {
	for i, turn := range turns {
		calls := 0
		for j := range turn {
			if turn[j].Tool == "" {
				continue
			}
			calls++
			if turn[j].ID == "" {
				turn[j].ID = fmt.Sprintf("toolu_%d_%d", i, j)
			}
		}
		if calls == 0 {
			panic(fmt.Sprintf("turn %d of the script calls no tool", i))
		}
	}
	return func(r *Request) []Block {
		for _, turn := range turns {
			for _, b := range turn {
				if b.Tool == "" {
					continue
				}
				if _, told := r.ToolResult(b.ID); !told {
					return turn
				}
			}
		}
		return []Block{Say("done")}
	}
}

// Server is a scripted model on a loopback port.
type Server struct {
	URL string // what ANTHROPIC_BASE_URL is set to

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
	s.URL = h.URL
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

// ToolResult returns what the model was last told of the call id, and
// whether it was told anything.
func (s *Server) ToolResult(id string) (Result, bool) {
	all := s.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		if r, ok := all[i].ToolResult(id); ok {
			return r, true
		}
	}
	return Result{}, false
}

// ServeHTTP answers as the service would.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if r.Method != http.MethodPost || path != "/v1/messages" {
		s.aside(r.Method + " " + r.URL.Path)
		plain(w, r, path)
		return
	}
	req, err := parseRequest(body)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	blocks := s.answer(req)
	if req.Stream {
		stream(w, req, blocks)
	} else {
		whole(w, req, blocks)
	}
}

// answer asks the script, or gives the harmless word to a side request.
func (s *Server) answer(req *Request) []Block {
	if len(req.Tools) == 0 {
		s.aside("POST /v1/messages without tools")
		return []Block{Say("ok")}
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

// plain answers everything that is not a message.
func plain(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodPost && path == "/v1/messages/count_tokens":
		reply(w, http.StatusOK, map[string]int{"input_tokens": 1000})
	case r.Method == http.MethodGet && path == "/v1/models":
		reply(w, http.StatusOK, map[string]any{"data": []any{}, "has_more": false})
	default:
		fail(w, http.StatusNotFound, "not_found_error", "no such path")
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nothing to tell it
}

func fail(w http.ResponseWriter, status int, kind, text string) {
	reply(w, status, map[string]any{
		"type":  "error",
		"error": map[string]string{"type": kind, "message": text},
	})
}
