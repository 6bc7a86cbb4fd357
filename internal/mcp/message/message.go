package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a message is.
type Kind uint8

const (
	Request      Kind = iota + 1 // has a method and an id
	Notification                 // has a method and no id
	Response                     // has a result or an error
)

// Message is one message. Every slice shares the memory of the line it was
// read from.
type Message struct {
	Kind   Kind
	ID     ID     // empty for a notification, and for an error about a message whose id could not be read
	Method string // of a request or a notification
	Params []byte // one object as it was written; nil where there is none
	Result []byte // one object as it was written; nil for an error
	Error  *Error
}

// Error is the error of a response.
type Error struct {
	Code    int
	Message string
	Data    []byte // any value as it was written; nil where there is none
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// ID is the id of a request as it was spelled: a JSON string or whole number.
type ID string

// Number is the id that is the number n.
func Number(n int64) ID { return ID(strconv.FormatInt(n, 10)) }

// Key is equal for two ids exactly where they mean the same: two spellings of
// one string have one Key, the string "1" and the number 1 have two.
func (id ID) Key() string {
	if len(id) == 0 || id[0] != '"' {
		return string(id)
	}
	s, err := jsontext.AppendUnquote(nil, []byte(id))
	if err != nil {
		return string(id)
	}
	return `"` + string(s)
}

// ErrNoise is a line that is no message of any kind: not one JSON object.
// Programs print such lines by mistake.
var ErrNoise = errors.New("not one JSON object")

// Fault is a JSON object that is no valid message.
type Fault struct {
	ID     ID // of the message, where it could be read
	Why    string
	Answer bool // it names no method, so that it was meant as an answer
}

func (f *Fault) Error() string { return "no valid message: " + f.Why }

// Code is the JSON-RPC code that answers it.
func (f *Fault) Code() int { return CodeInvalidRequest }

// Decode reads one message. line is kept by the message. Strings may hold
// lone surrogates in escapes, which programs that cut text by UTF-16 units
// write; anything else that is no valid UTF-8 JSON is refused. The error is
// [ErrNoise] or a [*Fault].
func Decode(line []byte) (Message, error) {
	if len(line) == 0 || line[0] != '{' || !utf8.Valid(line) {
		return Message{}, ErrNoise
	}
	if depth(line) > MaxDepth {
		return Message{}, &Fault{Why: fmt.Sprintf("more than %d levels", MaxDepth)}
	}
	e := envelope{line: line, dec: decoder(line)}
	err := e.read()
	if err == nil {
		err = e.check()
	}
	var f *Fault
	switch {
	case err == nil:
		return e.m, nil
	case errors.As(err, &f):
		f.ID, f.Answer = e.m.ID, e.m.Method == ""
		return Message{}, f
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Message{}, &Fault{ID: e.m.ID, Why: "a name stands twice in one object", Answer: e.m.Method == ""}
	}
	return Message{}, ErrNoise
}

func decoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowInvalidUTF8(true))
}

// envelope is a message on its way in.
type envelope struct {
	line    []byte
	dec     *jsontext.Decoder
	m       Message
	version bool // jsonrpc was "2.0"
	result  bool
	null    bool   // the id is null
	fault   *Fault // the first one; reading goes on, so that the id is known
}

// read reads the members. An error of the decoder ends it; a fault does not.
func (e *envelope) read() error {
	if _, err := e.dec.ReadToken(); err != nil {
		return err
	}
	for e.dec.PeekKind() != '}' {
		t, err := e.dec.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		v, err := value(e.dec, e.line)
		if err != nil {
			return err
		}
		if why := e.member(name, v); why != "" && e.fault == nil {
			e.fault = &Fault{Why: why}
		}
	}
	if _, err := e.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := e.dec.ReadToken(); err != io.EOF {
		return ErrNoise
	}
	if e.fault != nil {
		return e.fault
	}
	return nil
}

// value reads the next value as a part of src, which dec reads.
func value(dec *jsontext.Decoder, src []byte) ([]byte, error) {
	v, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := dec.InputOffset()
	return src[end-int64(len(v)) : end : end], nil
}

// member takes one member, and says what is wrong with it.
func (e *envelope) member(name string, v []byte) (why string) {
	switch name {
	case "jsonrpc":
		e.version = string(v) == `"2.0"`
	case "id":
		if string(v) == "null" {
			e.null = true // only an error may have it, which check sees
			return ""
		}
		if !validID(v) {
			return "the id is no string and no whole number, or too long"
		}
		e.m.ID = ID(v)
	case "method":
		s, ok := text(v)
		if !ok || s == "" || len(s) > maxName {
			return "the method is no name"
		}
		e.m.Method = s
	case "params":
		if v[0] != '{' {
			return "params is no object"
		}
		e.m.Params = v
	case "result":
		if v[0] != '{' {
			return "the result is no object"
		}
		e.m.Result, e.result = v, true
	case "error":
		err, ok := readError(v)
		if !ok {
			return "the error has no code and message"
		}
		e.m.Error = err
	default:
		return "it has an unknown member beside jsonrpc, id, method, params, result and error"
	}
	return ""
}

func (e *envelope) check() error {
	m := &e.m
	switch {
	case !e.version:
		return &Fault{Why: `jsonrpc is not "2.0"`}
	case m.Method != "" && (e.result || m.Error != nil):
		return &Fault{Why: "it is a request and a response at once"}
	case m.Method != "" && e.null:
		return &Fault{Why: "its id is null"}
	case m.Method != "" && m.ID != "":
		m.Kind = Request
	case m.Method != "":
		m.Kind = Notification
	case e.result && m.Error != nil:
		return &Fault{Why: "it has a result and an error"}
	case m.Params != nil:
		return &Fault{Why: "it has params and no method"}
	case e.result && m.ID == "":
		return &Fault{Why: "it has a result and no id"}
	case e.result || m.Error != nil:
		m.Kind = Response
	default:
		return &Fault{Why: "it has no method, no result and no error"}
	}
	return nil
}

// validID: a string, or a whole number without a fraction and an exponent.
func validID(v []byte) bool {
	if len(v) > maxID {
		return false
	}
	if v[0] == '"' {
		return true
	}
	digits := bytes.TrimPrefix(v, []byte("-"))
	if len(digits) == 0 || len(digits) > 20 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// readError reads the object of an error. What it has besides code, message
// and data is dropped.
func readError(v []byte) (*Error, bool) {
	o, err := Members(v)
	if err != nil {
		return nil, false
	}
	e := &Error{}
	code, err := strconv.Atoi(string(o.Get("code")))
	if err != nil {
		return nil, false
	}
	e.Code = code
	var ok bool
	if e.Message, ok = text(o.Get("message")); !ok {
		return nil, false
	}
	e.Data = o.Get("data")
	return e, true
}

// text is what a JSON string means.
func text(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		// A lone surrogate becomes U+FFFD.
		if t, terr := decoder(v).ReadToken(); terr == nil {
			return t.String(), true
		}
		return "", false
	}
	return string(s), true
}

// depth is how deep objects and lists nest, in valid JSON; in other text it is
// some number.
func depth(b []byte) int {
	now, most := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if now++; now > most {
				most = now
			}
		case '}', ']':
			now--
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
}
