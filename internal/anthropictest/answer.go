package anthropictest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// chunk is how many bytes of a tool's arguments one delta carries, about:
// small enough to cut words, paths and escapes apart.
const chunk = 11

// stop is the stop reason of an answer made of these blocks.
func stop(blocks []Block) string {
	for _, b := range blocks {
		if b.Tool != "" {
			return "tool_use"
		}
	}
	return "end_turn"
}

func envelope(req *Request, content []any, reason any) map[string]any {
	return map[string]any{
		"id": "msg_scripted", "type": "message", "role": "assistant", "model": req.Model,
		"content": content, "stop_reason": reason, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": 10, "output_tokens": 10},
	}
}

// whole sends the answer as one JSON object.
func whole(w http.ResponseWriter, req *Request, blocks []Block) {
	content := []any{}
	for _, b := range blocks {
		if b.Tool == "" {
			content = append(content, map[string]any{"type": "text", "text": b.Text})
			continue
		}
		content = append(content, map[string]any{
			"type": "tool_use", "id": b.ID, "name": b.Tool, "input": json.RawMessage(b.Input),
		})
	}
	reply(w, http.StatusOK, envelope(req, content, stop(blocks)))
}

// stream sends the answer as server-sent events.
func stream(w http.ResponseWriter, req *Request, blocks []Block) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	s := &sender{w: w}
	s.event("message_start", map[string]any{"message": envelope(req, []any{}, nil)})
	for i, b := range blocks {
		s.block(i, b)
	}
	s.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop(blocks), "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": 10},
	})
	s.event("message_stop", map[string]any{})
}

// sender writes events; after a failed write the client is gone and the rest
// is dropped.
type sender struct {
	w    http.ResponseWriter
	gone bool
}

func (s *sender) event(kind string, fields map[string]any) {
	if s.gone {
		return
	}
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		panic(fmt.Sprintf("event %s: %v", kind, err))
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, data); err != nil {
		s.gone = true
		return
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *sender) block(i int, b Block) {
	start := map[string]any{"type": "text", "text": ""}
	if b.Tool != "" {
		start = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": map[string]any{}}
	}
	s.event("content_block_start", map[string]any{"index": i, "content_block": start})
	kind, field, text := "text_delta", "text", b.Text
	if b.Tool != "" {
		kind, field, text = "input_json_delta", "partial_json", b.Input
	}
	for _, piece := range pieces(text, chunk) {
		s.event("content_block_delta", map[string]any{
			"index": i, "delta": map[string]any{"type": kind, field: piece},
		})
	}
	s.event("content_block_stop", map[string]any{"index": i})
}

// pieces cuts text about every n bytes, never inside a rune: a piece must be
// a JSON string of its own.
func pieces(text string, n int) []string {
	var all []string
	for len(text) > n {
		cut := n
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		all = append(all, text[:cut])
		text = text[cut:]
	}
	return append(all, text)
}
