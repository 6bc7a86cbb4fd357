package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Transport carries messages to one server and back. It is safe for concurrent
// use.
type Transport interface {
	// Send hands over one message. An error means that the server has not seen
	// it, or that the connection has ended.
	Send(ctx context.Context, out Outgoing) error
	// Cancel tells the server that nobody waits for the answer to a request.
	Cancel(id message.ID, reason string)
	// Speak names the version of the protocol that was agreed on.
	Speak(version string)
	// Stop ends the connection and returns when nothing is left of it.
	Stop()
	// Done is closed when the connection has ended, and Err says why.
	Done() <-chan struct{}
	Err() error
}

// Outgoing is a message, and what HTTP repeats of it in headers.
type Outgoing struct {
	message.Message
	Name    string   // params.name or params.uri
	Headers []Header // further parameters, by the tool's schema
}

// Header is one mirrored parameter.
type Header struct{ Name, Value string }

// Sink takes what a transport receives. None of its methods blocks.
type Sink interface {
	// Receive takes one message. about is the id of the request it came with,
	// where the transport knows it.
	Receive(m message.Message, about message.ID)
	// Fail ends a request that will have no answer.
	Fail(id message.ID, err error)
	// Odd counts something that is no message, or one above the bound.
	Odd(o Oddity)
}

// Dialer opens a connection. The Sink is called from other goroutines, also
// before Dialer returns.
type Dialer func(ctx context.Context, sink Sink) (Transport, error)

// Oddity is something that a server should not do.
type Oddity uint8

const (
	Noise   Oddity = iota // a line that is no message
	Long                  // a message above the bound
	Unasked               // an answer to no question, or a second one
	Barred                // a request or a notification that it has no right to
	numOddities
)

var oddityNames = [...]string{"noise", "too long", "unasked answers", "barred requests"}

func (o Oddity) String() string {
	if int(o) < len(oddityNames) {
		return oddityNames[o]
	}
	return "odd"
}

// Oddities counts them.
type Oddities [numOddities]int64

// Gone is the error of a request whose connection ended. Whether the server
// acted on it is not known.
type Gone struct {
	Server string
	Cause  error
}

func (g *Gone) Error() string {
	return fmt.Sprintf("server %s ended before it answered, so that what it did is not known: %v", g.Server, g.Cause)
}

func (g *Gone) Unwrap() error { return g.Cause }

// Foreign is what a transport fails a request with that was answered by
// something other than this era of the protocol.
type Foreign struct{ Why string }

func (f *Foreign) Error() string { return f.Why }

// ErrLate: the server took too long. ErrLong: its answer was above the bound.
// ErrClosed: the connection was closed by us.
var (
	ErrLate   = errors.New("it did not answer in time")
	ErrLong   = errors.New("its answer was too long")
	ErrClosed = errors.New("the connection was closed")
)
