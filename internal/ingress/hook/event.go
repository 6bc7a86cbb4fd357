package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds on one event.
const (
	MaxEvent = 4 << 20 // bytes
	MaxDepth = 100     // nesting of the JSON, the event itself included
	maxName  = 200     // bytes of an id or a tool's name
	maxPath  = 4096    // bytes of the working directory
)

// event is one event as its envelope reads. Raw values are the bytes that
// stand in the event.
type event struct {
	name     string
	session  string
	dir      string
	plan     bool
	agent    string
	tool     string
	input    []byte // nil where absent
	useID    string
	response []byte
	failure  string
	stopped  bool // is_interrupt
	millis   int64
}

// fields maps the names of the envelope to where their values go.
func (e *event) fields() map[string]func([]byte) error {
	return map[string]func([]byte) error{
		"hook_event_name": text(&e.name, maxName),
		"session_id":      text(&e.session, maxName),
		"cwd":             text(&e.dir, maxPath),
		"agent_id":        text(&e.agent, maxName),
		"tool_name":       text(&e.tool, maxName),
		"tool_use_id":     text(&e.useID, maxName),
		"error":           text(&e.failure, MaxEvent),
		"tool_input":      raw(&e.input),
		"tool_response":   raw(&e.response),
		"is_interrupt":    func(v []byte) error { return flag(&e.stopped, v) },
		"duration_ms":     func(v []byte) error { return millis(&e.millis, v) },
		"permission_mode": func(v []byte) error {
			var mode string
			err := text(&mode, maxName)(v)
			e.plan = mode == "plan"
			return err
		},
	}
}

// parse reads one event. An error names the place and never quotes the event.
func parse(b []byte) (*event, error) {
	if len(b) > MaxEvent {
		return nil, fmt.Errorf("the event has %d bytes; at most %d are read", len(b), MaxEvent)
	}
	e := new(event)
	fields := e.fields()
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	if t, err := dec.ReadToken(); err != nil {
		return nil, place(err)
	} else if t.Kind() != '{' {
		return nil, errors.New("the event is no JSON object")
	}
	for dec.PeekKind() != '}' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, place(err)
		}
		field := t.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, place(err)
		}
		at := dec.InputOffset()
		if depth(v) >= MaxDepth {
			return nil, fmt.Errorf("the event nests deeper than %d before byte %d", MaxDepth, at)
		}
		if set := fields[field]; set != nil && v.Kind() != 'n' { // null is absent
			if err := set(v); err != nil {
				return nil, fmt.Errorf("the event's %s before byte %d: %w", field, at, err)
			}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, place(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("something follows the event at byte %d", dec.InputOffset())
	}
	return e, nil
}

// check reports what a call to be decided must have and e has not.
func (e *event) check() error {
	switch {
	case e.session == "":
		return errors.New("the event names no session_id")
	case e.tool == "":
		return errors.New("the event names no tool_name")
	case len(e.input) == 0 || e.input[0] != '{':
		return errors.New("the event's tool_input is no JSON object")
	case !filepath.IsAbs(e.dir):
		return errors.New("the event's cwd is no absolute path")
	}
	for _, s := range []string{e.session, e.dir, e.agent, e.tool, e.useID} {
		if strings.ContainsFunc(s, unicode.IsControl) {
			return errors.New("a name in the event holds a control character")
		}
	}
	return nil
}

// place turns a decoder's error into one that says where, and nothing of
// what stood there.
func place(err error) error {
	var bad *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the event ends too early")
	case errors.As(err, &bad):
		what := "is no valid JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = "has a name twice"
		}
		return fmt.Errorf("the event %s at byte %d", what, bad.ByteOffset)
	}
	return errors.New("the event cannot be read")
}

// depth is how deep the arrays and objects of a valid value nest.
func depth(v []byte) int {
	deep, now, quoted := 0, 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deep = max(deep, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deep
}

func raw(to *[]byte) func([]byte) error {
	return func(v []byte) error {
		*to = bytes.Clone(v) // the decoder reuses its buffer
		return nil
	}
}

func text(to *string, most int) func([]byte) error {
	return func(v []byte) error {
		if len(v) == 0 || v[0] != '"' {
			return errors.New("is no string")
		}
		s, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return errors.New("is no string")
		}
		if len(s) > most {
			return fmt.Errorf("is longer than %d bytes", most)
		}
		*to = string(s)
		return nil
	}
}

func flag(to *bool, v []byte) error {
	*to = string(v) == "true"
	if !*to && string(v) != "false" {
		return errors.New("is neither true nor false")
	}
	return nil
}

// millis reads a duration; a day is the most a tool is believed to take.
func millis(to *int64, v []byte) error {
	const day = 24 * 60 * 60 * 1000
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return errors.New("is no number")
	}
	*to = int64(min(max(n, 0), day))
	return nil
}
