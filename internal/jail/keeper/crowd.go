package keeper

import (
	"os"
	"sync"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail/pty"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/redact/timely"
	"github.com/reeve-gate/reeve/internal/scroll"
)

// Bounds of what is held for terminals.
const (
	maxQueue = 256 << 10              // bytes that wait for one terminal
	patience = 2 * time.Second        // how long the program waits for a terminal that takes nothing
	tailSize = 64 << 10               // bytes of the log that a terminal begins with
	nudgeFor = 100 * time.Millisecond // how long the size is another one, so that a program draws anew
)

// crowd is everybody who looks at one program: terminals, which see its bytes
// as they are and may type, and followers of the log, which see what is on the
// disk. What is shown goes to the disk first.
type crowd struct {
	master  *os.File
	folder  string
	stop    func()           // end the program
	typed   chan []byte      // what people type, for the program
	changed chan struct{}    // the state is another one
	secret  *redact.Redactor // what clean masks

	mu    sync.Mutex // guards what follows
	moved *sync.Cond // a queue was taken, something was shown, somebody left, the end
	all   map[*viewer]bool
	modes attach.Modes
	log   *scroll.Writer
	clean *timely.Writer // masks on the way to log
	other int64          // where in the log the other screen began, while it is shown
	size  attach.Size    // of the program's terminal
	kept  bool
	end   *attach.End
	busy  int // writers of viewers
}

// viewer is one terminal, or with follow set one follower of the log.
type viewer struct {
	conn   *attach.Conn
	size   attach.Size
	follow bool
	at     int64  // of a follower: where in the log it is
	queue  []byte // of a terminal: what it was not sent yet
	behind bool   // it took nothing for too long: it begins again with the log's end
	gone   bool
}

// maxTyped is how many frames of input wait for a program that reads none.
const maxTyped = 64

// feed gives the program what people type, until its terminal is closed. It is
// apart from those who read it, so that a program that reads nothing does not
// keep a closed window from being noticed.
func (c *crowd) feed() {
	for data := range c.typed {
		if _, err := c.master.Write(data); err != nil {
			return
		}
	}
}

// show gives everybody what the program wrote.
func (c *crowd) show(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clean.Write(p)
	was := c.modes.Other()
	c.modes.Write(p)
	if c.modes.Other() && !was {
		c.other = c.log.At()
	}
	full := false
	for v := range c.all {
		if v.follow || v.behind || v.gone {
			continue
		}
		v.queue = append(v.queue, p...)
		full = full || len(v.queue) > maxQueue
	}
	c.moved.Broadcast()
	if full {
		c.wait()
	}
}

// wait lets slow terminals catch up: the program stands still meanwhile, as it
// does at any terminal. One that takes nothing for too long is left behind.
func (c *crowd) wait() {
	over := false
	t := time.AfterFunc(patience, func() {
		c.mu.Lock()
		over = true
		c.moved.Broadcast()
		c.mu.Unlock()
	})
	defer t.Stop()
	for {
		slow := false
		for v := range c.all {
			if len(v.queue) <= maxQueue || v.gone {
				continue
			}
			if over {
				v.behind, v.queue = true, nil
				continue
			}
			slow = true
		}
		if !slow {
			return
		}
		c.moved.Wait()
	}
}

// replay is what a terminal begins with: the end of the log, and the modes
// that the program has set.
func (c *crowd) replay() []byte {
	tail, at, err := scroll.Tail(c.folder, tailSize)
	if err != nil {
		tail = []byte("\r\nreeve: " + err.Error() + "\r\n")
	}
	var begin []byte
	if c.modes.Other() && at > c.other {
		begin = []byte("\x1b[?1049h\x1b[2J\x1b[H")
	}
	return append(append(begin, tail...), c.modes.Restore()...)
}

// join adds a terminal or a follower and serves it in the background. first
// says that the program has shown nothing yet.
func (c *crowd) join(v *viewer, first bool) {
	c.mu.Lock()
	if !v.follow && !first {
		v.queue = c.replay()
	}
	c.all[v] = true
	c.busy++
	if !v.follow && c.end == nil {
		c.fit(!first)
		c.change()
	}
	c.mu.Unlock()
	go c.write(v)
	go c.read(v)
}

// fit gives the program's terminal the largest size that every person's
// terminal can show. nudge makes the program draw anew although its size is as
// it was.
func (c *crowd) fit(nudge bool) {
	want := attach.Size{}
	least := func(a, b uint16) uint16 {
		if a == 0 || b != 0 && b < a {
			return b
		}
		return a
	}
	for v := range c.all {
		want.Rows, want.Cols = least(want.Rows, v.size.Rows), least(want.Cols, v.size.Cols)
	}
	if want.Rows == 0 || want.Cols == 0 {
		want = c.size // nobody says: it stays
	}
	if want == c.size && nudge && want.Rows > 1 {
		c.resize(attach.Size{Rows: want.Rows - 1, Cols: want.Cols})
		time.AfterFunc(nudgeFor, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.end == nil {
				c.resize(c.size)
			}
		})
		return
	}
	if want != c.size {
		c.size = want
		c.resize(want)
	}
}

func (c *crowd) resize(s attach.Size) {
	_ = pty.Resize(c.master, pty.Size{Rows: s.Rows, Cols: s.Cols}) // a program that has just ended has no terminal
}

// change says that the state is another one.
func (c *crowd) change() {
	select {
	case c.changed <- struct{}{}:
	default: // it was said, and not looked at yet
	}
}

// state is how many look on, and whether the session needs them.
func (c *crowd) state() news {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news()
}

func (c *crowd) news() news {
	n := news{Kept: c.kept}
	for v := range c.all {
		if !v.follow {
			n.Attached++
		}
	}
	return n
}

// write sends a viewer what there is for it, until it is gone or everything
// was sent after the end.
func (c *crowd) write(v *viewer) {
	defer func() {
		c.mu.Lock()
		c.busy--
		c.moved.Broadcast()
		c.mu.Unlock()
	}()
	for {
		data, end := c.next(v)
		var err error
		switch {
		case len(data) > 0:
			err = v.conn.Send(attach.Output, data)
		case end != nil:
			v.conn.SetWriteDeadline(time.Now().Add(patience))
			_ = v.conn.Tell(attach.Ended, end)
			c.leave(v, true)
			return
		default:
			return
		}
		if err != nil {
			c.leave(v, false)
			return
		}
	}
}

// next waits for something to send; nothing at all means that v is gone.
func (c *crowd) next(v *viewer) ([]byte, *attach.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case v.gone:
			return nil, nil
		case v.follow && v.at < c.log.At():
			chunk, next, err := scroll.Chunk(c.folder, v.at, attach.MaxData)
			if err == nil && len(chunk) > 0 {
				v.at = next
				return chunk, nil
			}
			v.at = c.log.At() // it cannot be read: go on with what comes
		case v.behind:
			v.behind = false
			return c.replay(), nil
		case len(v.queue) > 0:
			q := v.queue
			v.queue = nil
			c.moved.Broadcast()
			return q, nil
		case c.end != nil:
			return nil, c.end
		default:
			c.moved.Wait()
		}
	}
}

// read takes what a viewer says until its connection ends.
func (c *crowd) read(v *viewer) {
	left := false
	defer func() { c.leave(v, left) }()
	for {
		kind, data, err := v.conn.Receive()
		if err != nil {
			return
		}
		if v.follow {
			continue
		}
		switch kind {
		case attach.Input:
			select {
			case c.typed <- data:
			default: // the program reads nothing: what is typed now is lost, as at any terminal
			}
		case attach.Window:
			var s attach.Size
			if attach.Read(data, &s) == nil {
				c.mu.Lock()
				v.size = s
				c.fit(false)
				c.mu.Unlock()
			}
		case attach.Stop:
			go c.stop()
		case attach.Leave:
			left = true
			c.mu.Lock()
			c.kept = true
			c.mu.Unlock()
			return
		}
	}
}

// leave lets a viewer go. The last terminal of a session that nobody wanted to
// go on without one ends it.
func (c *crowd) leave(v *viewer, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.gone {
		return
	}
	v.gone, v.queue = true, nil
	delete(c.all, v)
	v.conn.Close()
	c.moved.Broadcast()
	if v.follow || c.end != nil {
		return
	}
	c.fit(false)
	c.change()
	if c.news().Attached == 0 && !c.kept && !left {
		go c.stop()
	}
}

// over closes the log and tells everybody that the program has ended; nobody
// joins any more.
func (c *crowd) over(end attach.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clean.Close()
	c.log.Close()
	c.end = &end
	c.moved.Broadcast()
}

// ended is how the program ended, or nil.
func (c *crowd) ended() *attach.End {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// farewell waits until everybody knows of the end.
func (c *crowd) farewell(within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := false
	t := time.AfterFunc(within, func() {
		c.mu.Lock()
		late = true
		c.moved.Broadcast()
		c.mu.Unlock()
	})
	defer t.Stop()
	for c.busy > 0 && !late {
		c.moved.Wait()
	}
}
