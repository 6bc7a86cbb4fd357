package anthropictest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Request is one request for a message, as the client sent it.
type Request struct {
	Body     []byte // the whole body
	Model    string
	Stream   bool
	Tools    []string // names of the tools on offer
	Messages []Message
}

// Message is one turn of the conversation.
type Message struct {
	Role    string
	Content []Content
}

// Content is one block of a turn. Which fields count depends on Type: Text
// for text, ID, Name and Input for tool_use, ID and Result for tool_result.
type Content struct {
	Type   string
	Text   string
	ID     string
	Name   string
	Input  json.RawMessage
	Result Result
}

// Result is what a client told the model of one call.
type Result struct {
	Text  string // all text parts, joined by newlines
	Error bool
}

// ToolResult finds what the request says of the call id.
func (r *Request) ToolResult(id string) (Result, bool) {
	for _, m := range r.Messages {
		for _, c := range m.Content {
			if c.Type == "tool_result" && c.ID == id {
				return c.Result, true
			}
		}
	}
	return Result{}, false
}

// Offers reports whether the client offers the tool to the model.
func (r *Request) Offers(tool string) bool {
	for _, t := range r.Tools {
		if t == tool {
			return true
		}
	}
	return false
}

func parseRequest(body []byte) (*Request, error) {
	var wire struct {
		Model  string
		Stream bool
		Tools  []struct{ Name string }
		// content is a string or a list of blocks
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	req := &Request{Body: body, Model: wire.Model, Stream: wire.Stream}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	for i, m := range wire.Messages {
		content, err := parseContent(m.Content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Content: content})
	}
	return req, nil
}

func parseContent(raw json.RawMessage) ([]Content, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []Content{{Type: "text", Text: text}}, nil
	}
	var blocks []struct {
		Type      string
		Text      string
		ID        string
		Name      string
		Input     json.RawMessage
		ToolUseID string `json:"tool_use_id"`
		IsError   bool   `json:"is_error"`
		Content   json.RawMessage
	}
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, err
	}
	var all []Content
	for _, b := range blocks {
		c := Content{Type: b.Type, Text: b.Text, ID: b.ID, Name: b.Name, Input: b.Input}
		if b.Type == "tool_result" {
			c.ID = b.ToolUseID
			c.Result = Result{Text: flatten(b.Content), Error: b.IsError}
		}
		all = append(all, c)
	}
	return all, nil
}

// flatten joins the text parts of a tool result, which is a string or a list.
func flatten(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	parts, err := parseContent(raw)
	if err != nil {
		return string(raw)
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}
