package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// chunk is how many bytes of text or arguments one delta carries, about:
// small enough to cut words, paths and escapes apart.
const chunk = 11

// response is the object that stands for a whole answer.
func response(status string, items []Item) map[string]any {
	output := []any{}
	for i, item := range items {
		output = append(output, item.wire(i, status))
	}
	return map[string]any{
		"id": "resp_scripted", "object": "response", "status": status, "model": "scripted", "output": output,
		"usage": map[string]any{
			"input_tokens": 10, "input_tokens_details": map[string]int{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": map[string]int{"reasoning_tokens": 0}, "total_tokens": 20,
		},
	}
}

// wire is the item as the service writes it; before it is completed, its text
// or arguments are empty.
func (it Item) wire(i int, status string) map[string]any {
	text := it.Input
	if it.Tool == "" {
		text = it.Text
	}
	if status != "completed" {
		text = ""
	}
	w := map[string]any{"id": fmt.Sprintf("item_%d", i), "status": status}
	switch {
	case it.Tool == "":
		w["type"], w["role"] = "message", "assistant"
		w["content"] = []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}
	case it.Free:
		w["type"], w["name"], w["call_id"], w["input"] = "custom_tool_call", it.Tool, it.ID, text
	default:
		w["type"], w["name"], w["call_id"], w["arguments"] = "function_call", it.Tool, it.ID, text
	}
	if it.Space != "" {
		w["namespace"] = it.Space
	}
	return w
}

// stream sends the answer as server-sent events.
func stream(w http.ResponseWriter, items []Item) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	s := &sender{w: w}
	s.event("response.created", map[string]any{"response": response("in_progress", nil)})
	for i, item := range items {
		s.item(i, item)
	}
	s.event("response.completed", map[string]any{"response": response("completed", items)})
}

// sender writes events; after a failed write the client is gone and the rest
// is dropped.
type sender struct {
	w    http.ResponseWriter
	seq  int
	gone bool
}

func (s *sender) event(kind string, fields map[string]any) {
	if s.gone {
		return
	}
	fields["type"], fields["sequence_number"] = kind, s.seq
	s.seq++
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

func (s *sender) item(i int, it Item) {
	s.event("response.output_item.added", map[string]any{"output_index": i, "item": it.wire(i, "in_progress")})
	kind, text := "response.function_call_arguments.delta", it.Input
	switch {
	case it.Tool == "":
		kind, text = "response.output_text.delta", it.Text
	case it.Free:
		kind = "response.custom_tool_call_input.delta"
	}
	for _, piece := range pieces(text, chunk) {
		s.event(kind, map[string]any{"output_index": i, "item_id": fmt.Sprintf("item_%d", i), "content_index": 0, "delta": piece})
	}
	s.event("response.output_item.done", map[string]any{"output_index": i, "item": it.wire(i, "completed")})
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
