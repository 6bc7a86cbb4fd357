package openaitest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Request is one request for a response, as the client sent it.
type Request struct {
	Body   []byte // the whole body
	Model  string
	Stream bool
	Tools  []string // names of the tools on offer; of those without a name, their type
	told   map[string]string
}

// Told finds what the request says that a call gave back: all its text,
// joined by newlines.
func (r *Request) Told(id string) (string, bool) {
	text, ok := r.told[id]
	return text, ok
}

// tool is one tool on offer; a namespace holds further ones.
type tool struct {
	Type  string
	Name  string
	Tools []tool
}

func parseRequest(body []byte) (*Request, error) {
	var wire struct {
		Model  string
		Stream bool
		Tools  []tool
		Input  json.RawMessage // a text, or a list of items
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	req := &Request{Body: body, Model: wire.Model, Stream: wire.Stream, told: map[string]string{}}
	for _, t := range wire.Tools {
		name := t.Name
		if name == "" {
			name = t.Type
		}
		req.Tools = append(req.Tools, name)
	}
	var items []struct {
		Type   string
		CallID string `json:"call_id"`
		Output json.RawMessage
		Tools  []tool // of additional_tools: offered with the input
	}
	if len(wire.Input) == 0 || wire.Input[0] != '[' {
		return req, nil
	}
	if err := json.Unmarshal(wire.Input, &items); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	for _, item := range items {
		for _, t := range item.Tools {
			req.Tools = append(req.Tools, t.Name)
		}
		if strings.HasSuffix(item.Type, "_call_output") {
			req.told[item.CallID] = flatten(item.Output)
		}
	}
	return req, nil
}

// flatten joins the texts of an output, which is a string, a list of parts or
// an object with either as its content.
func flatten(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) == nil {
		var texts []string
		for _, p := range parts {
			texts = append(texts, p.Text)
		}
		return strings.Join(texts, "\n")
	}
	var held struct{ Content json.RawMessage }
	if json.Unmarshal(raw, &held) == nil && len(held.Content) > 0 {
		return flatten(held.Content)
	}
	return string(raw)
}
