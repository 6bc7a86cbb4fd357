// Package attach is what passes between the keeper of a session and a
// person's terminal: the program's screen one way, keys and sizes the other.
//
// A [Conn] carries frames over a local socket; the first byte of a frame is
// its [Kind]. The keeper sends [Output] until the program has ended and then
// one [Ended]; a terminal sends [Input] and [Window], and [Leave] before it
// closes where the session is to go on without it. A connection that ends
// without a Leave is a window that was closed.
//
// [Keys] finds the detach key among what a person types. [Modes] remembers
// how a program has set its terminal, so that another one can be set alike.
package attach

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/localsock"
)

// Kind says what a frame holds.
type Kind byte

const (
	Output Kind = 'o' // bytes of the program's terminal
	Ended  Kind = 'x' // an End: the program has ended and everything was sent
	Input  Kind = 'i' // bytes a person typed
	Window Kind = 'w' // a Size: that of the person's terminal, now
	Leave  Kind = 'q' // the session goes on without this terminal
	Stop   Kind = 's' // end the program (contract Y74)
)

// Size is a terminal's size in characters; a zero says nothing.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// End says how a program ended.
type End struct {
	Code   int       `json:"code"`            // the program's own, or 128 and the signal
	Error  string    `json:"error,omitzero"`  // why the code is not known, or nothing was run
	Held   []string  `json:"held,omitzero"`   // limits that held
	Unheld []string  `json:"unheld,omitzero"` // limits that this machine could not hold
	At     time.Time `json:"at"`
}

// MaxData bounds the bytes of one frame of Output or Input.
const MaxData = 64 << 10

// Conn is one end of an attachment. One goroutine may receive while others
// send.
type Conn struct {
	mu   sync.Mutex // one frame at a time
	conn *localsock.Conn
}

// On speaks over an open connection, which it takes over.
func On(c *localsock.Conn) *Conn { return &Conn{conn: c} }

// FromFile speaks over a connection that another process handed on; it takes
// f over.
func FromFile(f *os.File) (*Conn, error) {
	c, err := localsock.FromFile(f)
	if err != nil {
		return nil, fmt.Errorf("reach the session: %w", err)
	}
	return On(c), nil
}

// Send sends one frame; data of Output and Input is split where it is long.
func (c *Conn) Send(k Kind, data []byte) error {
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), MaxData)
		frame := make([]byte, 1+n)
		frame[0] = byte(k)
		copy(frame[1:], data[:n])
		data = data[n:]
		c.mu.Lock()
		err := c.conn.Write(frame)
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Tell sends a frame whose data is v as JSON.
func (c *Conn) Tell(k Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("tell the session: %w", err)
	}
	return c.Send(k, b)
}

// Receive waits for the next frame; io.EOF means that the other end closed.
// Files that come with it are closed: none are expected.
func (c *Conn) Receive() (Kind, []byte, error) {
	for {
		frame, files, err := c.conn.Read()
		for _, f := range files {
			f.Close()
		}
		if err != nil {
			return 0, nil, err
		}
		if len(frame) > 0 {
			return Kind(frame[0]), frame[1:], nil
		}
	}
}

// Read reads the data of a frame that holds JSON. Fields of a later version
// are passed over.
func Read(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read what the session says: %w", err)
	}
	return nil
}

// SetWriteDeadline bounds every later Send.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// Close ends the attachment.
func (c *Conn) Close() error { return c.conn.Close() }
