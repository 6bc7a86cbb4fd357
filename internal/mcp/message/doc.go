// Package message reads and writes the messages of the Model Context Protocol
// as bytes: JSON-RPC 2.0 objects, one on a line (MCP 2025-11-25 and
// 2026-07-28, base protocol and stdio transport).
//
// A gateway that turns a message into its own types and back loses fields,
// adds defaults and can be read differently from the two ends it stands
// between. So [Decode] reads the envelope alone: jsonrpc, id, method, params,
// result, error. What is inside stays the bytes that came, and what goes on is
// those bytes. [Object] changes single members of such a value and leaves the
// others as they were written; [Rewrite] does so with the protocol's own keys
// in _meta, which belong to one hop and never travel over two.
//
// There is one way to read a message here: names match by exact case, no name
// stands twice in one object at any level, nothing unknown stands in the
// envelope, an id is a string or a whole number and is echoed as it was
// spelled. What differs is refused.
//
// [Lines] finds the messages in a stream. It never holds more than one line,
// and a line has a bound.
package message

// Bounds of one message.
const (
	MaxLine  = 16 << 20 // bytes, where a caller sets none
	MaxDepth = 128      // levels of objects and lists
	maxID    = 1024     // bytes of an id as written
	maxName  = 256      // bytes of a method's name
)

// The two eras of the protocol and their versions (MCP 2026-07-28, versioning).
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

// Codes of errors (JSON-RPC 2.0, section 5.1; MCP 2026-07-28, error codes).
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
	CodeResourceNotFound   = -32002 // 2025-11-25 and older
)
