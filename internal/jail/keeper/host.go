package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/pty"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/redact/timely"
	"github.com/reeve-gate/reeve/internal/scroll"
)

// Bounds of a keeper.
const (
	memoryLimit = 8 << 20          // of the heap and what belongs to it; idle it needs a third
	specLimit   = 30 * time.Second // to be told what to start
	drainFor    = 5 * time.Second  // for what a dead program has shown
	tellFor     = 3 * time.Second  // for terminals to learn of the end
	askFor      = 2 * time.Second  // for the daemon's socket to say who serves it
)

// host is a keeper at work.
type host struct {
	spec   spec
	crowd  *crowd
	proc   jail.Process
	hook   *localsock.Listener
	proxy  *os.File // the listener at jail.ProxyAddr, where the plan has one
	socket *localsock.Listener

	mu   sync.Mutex // guards link and every write to it
	link *localsock.Conn
}

// Main is the command [Command]: it keeps the session that it is told of on
// descriptor 3. wall finds a wall by its name.
func Main(wall func(name string) (jail.Wall, error)) int {
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(memoryLimit)
	// Caught and dropped, not ignored: what is ignored stays so in the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGINT, syscall.SIGQUIT)
	syscall.Umask(0o077)
	conn, err := localsock.FromFile(os.NewFile(3, "link"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "reeve: %s is started by the daemon alone: %v\n", Command, err)
		return 2
	}
	h := &host{link: conn}
	conn.SetDeadline(time.Now().Add(specLimit))
	if _, err := receive(conn, &h.spec); err != nil {
		return 1
	}
	conn.SetDeadline(time.Time{})
	w, pair, err := h.prepare(wall)
	if err != nil {
		h.close()
		h.say(word{Do: doReady, Fault: faultOf(err)})
		return 1
	}
	if !h.told(conn) {
		h.close()
		Forget(h.spec.Folder) // nothing ran
		return 1
	}
	if err := h.start(w, pair); err != nil {
		h.close()
		h.say(hello{Proto: proto, Fault: faultOf(err)})
		return 1
	}
	h.keep()
	return 0
}

// prepare makes everything the session stands on; nothing runs yet.
func (h *host) prepare(wall func(string) (jail.Wall, error)) (jail.Wall, pty.Pair, error) {
	if h.spec.Proto != proto {
		return nil, pty.Pair{}, fmt.Errorf("the daemon speaks version %d to a keeper of version %d; start the session again", h.spec.Proto, proto)
	}
	w, err := wall(h.spec.Wall)
	if err != nil {
		return nil, pty.Pair{}, err
	}
	if err := h.spec.note(); err != nil {
		return nil, pty.Pair{}, err
	}
	if h.socket, err = localsock.Listen(h.spec.Socket); err != nil {
		return nil, pty.Pair{}, err
	}
	if h.spec.Hook != "" {
		if h.hook, err = localsock.Listen(h.spec.Hook); err != nil {
			return nil, pty.Pair{}, err
		}
	}
	pair, err := pty.Open(pty.Size{Rows: h.spec.Size.Rows, Cols: h.spec.Size.Cols})
	if err != nil {
		return nil, pty.Pair{}, err
	}
	if h.crowd, err = newCrowd(&h.spec, pair.Master); err != nil {
		pair.Close()
		return nil, pty.Pair{}, err
	}
	h.crowd.stop = func() { h.proc.Stop(jail.StopGrace) }
	return w, pair, nil
}

// told says that everything is ready and waits for the word to start; a daemon
// that is gone by then has started nothing.
func (h *host) told(conn *localsock.Conn) bool {
	h.say(word{Do: doReady})
	conn.SetReadDeadline(time.Now().Add(specLimit))
	var w word
	files, err := receive(conn, &w)
	closeAll(files)
	conn.SetReadDeadline(time.Time{})
	return err == nil && w.Do == doGo
}

// start starts the program.
func (h *host) start(w jail.Wall, pair pty.Pair) error {
	defer pair.TTY.Close()
	var err error
	h.proc, err = w.Start(context.Background(), permit.Inherited(h.spec.Digest, time.Now), h.spec.Digest, h.spec.Plan,
		jail.Cmd{Argv: h.spec.Argv, TTY: pair.TTY, Umask: h.spec.Umask, Listener: h.holdProxy})
	if err != nil {
		pair.TTY.Close()
		return h.explain(err)
	}
	return nil
}

// holdProxy keeps the one way out of a boundary for the daemons to come.
func (h *host) holdProxy(ln *os.File) error {
	h.proxy = ln
	return nil
}

// explain adds what the wall's program said of a boundary that it could not
// build: it speaks on the terminal.
func (h *host) explain(err error) error {
	h.crowd.master.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	said := make([]byte, 4<<10)
	n, _ := h.crowd.master.Read(said)
	if text := strings.Join(strings.Fields(redact.Visible(string(said[:n]))), " "); text != "" {
		return fmt.Errorf("%w (%s)", err, text)
	}
	return err
}

func newCrowd(s *spec, master *os.File) (*crowd, error) {
	log, err := scroll.Create(s.Folder)
	if err != nil {
		return nil, err
	}
	clean := redact.NewKeyed(s.Key)
	if n := clean.AddSecrets(texts(s.Secrets)...); n > 0 {
		log.Close()
		return nil, fmt.Errorf("mask the session's log: %d of the values cannot be masked", n)
	}
	c := &crowd{master: master, folder: s.Folder, typed: make(chan []byte, maxTyped), changed: make(chan struct{}, 1), all: map[*viewer]bool{}, log: log, secret: clean,
		size: s.Size, kept: s.Kept}
	c.moved = sync.NewCond(&c.mu)
	c.clean = timely.New(clean.Writer(log), &c.mu, c.moved.Broadcast)
	return c, nil
}

func texts(raw [][]byte) (all []string) {
	for _, v := range raw {
		all = append(all, string(v))
	}
	return all
}

// keep serves until the program has ended.
func (h *host) keep() {
	link := h.link
	h.greet(link, true)
	h.spec = spec{Session: h.spec.Session, Folder: h.spec.Folder, Control: h.spec.Control} // the rest is used up, and may be large
	go h.listen(link)
	go h.accept()
	go h.crowd.feed()
	go h.report()
	go h.stopOnSignal()
	shown := make(chan struct{})
	go func() { defer close(shown); h.pump() }()
	go debug.FreeOSMemory()
	exit, err := h.proc.Wait()
	select {
	case <-shown:
	case <-time.After(drainFor):
	}
	h.crowd.master.Close()
	end := attach.End{Code: exit.Code, Held: exit.Held, Unheld: exit.Unheld, At: time.Now().UTC()}
	if err != nil {
		end.Error = err.Error()
	}
	h.end(end)
}

// end writes down how the program ended before it tells anybody.
func (h *host) end(end attach.End) {
	if err := writeEnd(h.spec.Folder, end); err != nil {
		fmt.Fprintf(os.Stderr, "%s keep how session %s ended: %v\n", time.Now().UTC().Format(time.RFC3339), h.spec.Session, err)
	}
	h.crowd.over(end)
	h.say(news{End: &end})
	h.crowd.farewell(tellFor)
	h.close()
	if s, ok := h.proc.(interface{ Swept() <-chan struct{} }); ok {
		select {
		case <-s.Swept():
		case <-time.After(tellFor):
		}
	}
}

func (h *host) close() {
	for _, l := range []*localsock.Listener{h.socket, h.hook} {
		if l != nil {
			l.Close()
		}
	}
}

// pump shows what the program writes until nobody holds its terminal.
func (h *host) pump() {
	buf := make([]byte, 32<<10)
	for {
		n, err := h.crowd.master.Read(buf)
		if n > 0 {
			h.crowd.show(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// stopOnSignal ends the session in order when the system goes down.
func (h *host) stopOnSignal() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	<-term
	h.proc.Stop(jail.StopGrace)
}

// say tells the daemon that is linked now; where none is there is nobody to
// tell.
func (h *host) say(v any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write(v)
}

// write is say under the lock.
func (h *host) write(v any, files ...*os.File) {
	if h.link == nil {
		return
	}
	h.link.SetWriteDeadline(time.Now().Add(askFor))
	if err := send(h.link, v, files...); err != nil {
		h.link.Close()
		h.link = nil
	}
}

// report tells of every change of the crowd, in order.
func (h *host) report() {
	for range h.crowd.changed {
		h.say(h.crowd.state())
	}
}

// greet opens a link with everything a daemon needs to serve the session.
func (h *host) greet(link *localsock.Conn, first bool) {
	hi := hello{Proto: proto, PID: h.proc.PID()}
	if r, ok := h.proc.(interface{ Root() int }); ok {
		hi.Root = r.Root()
	}
	var files []*os.File
	defer func() { closeAll(files) }()
	if h.hook != nil {
		if f, err := h.hook.File(); err == nil {
			hi.Files, files = append(hi.Files, "hook"), append(files, f)
		}
	}
	if h.proxy != nil {
		if f := again(h.proxy); f != nil {
			hi.Files, files = append(hi.Files, "proxy"), append(files, f)
		}
	}
	var near *localsock.Conn
	if first && h.spec.Attach {
		var far *os.File
		var err error
		if near, far, err = localsock.Pair(); err == nil {
			hi.Files, files = append(hi.Files, "screen"), append(files, far)
		}
	}
	hi.News = h.crowd.state()
	h.mu.Lock()
	if h.link != nil && h.link != link {
		h.link.Close() // its daemon is gone, or has no business here any more
	}
	h.link = link
	h.write(hi, files...)
	h.mu.Unlock()
	if near != nil {
		h.crowd.join(&viewer{conn: attach.On(near), size: h.spec.Size}, true)
	}
}

// listen does what a linked daemon says.
func (h *host) listen(link *localsock.Conn) {
	for {
		var w word
		files, err := receive(link, &w)
		closeAll(files)
		if err != nil {
			link.Close()
			return
		}
		switch w.Do {
		case "stop":
			go h.proc.Stop(jail.StopGrace)
		case "signal":
			_ = h.proc.Signal(syscall.Signal(w.Signal))
		case "mask":
			h.crowd.secret.AddSecrets(string(w.Mask))
		case "contains":
			n := h.crowd.state()
			n.Answer, n.Yes = w.Number, h.proc.Contains(w.PID)
			h.say(n)
		}
	}
}

// accept takes connections of the process that serves the daemon's socket now,
// and of no other.
func (h *host) accept() {
	for {
		conn, err := h.socket.Accept()
		if errors.Is(err, os.ErrClosed) || errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			if localsock.Passing(err) {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			return
		}
		go h.serve(conn)
	}
}

func (h *host) serve(conn *localsock.Conn) {
	conn.SetDeadline(time.Now().Add(askFor))
	var req request
	files, err := receive(conn, &req)
	closeAll(files)
	if err != nil || req.Proto != proto || !h.ofDaemon(conn.Peer.PID) {
		conn.Close()
		return
	}
	conn.SetDeadline(time.Time{})
	switch req.Do {
	case "link":
		h.greet(conn, false)
		if end := h.crowd.ended(); end != nil {
			h.say(news{End: end}) // it was told before this link was there
		}
		h.listen(conn)
	case "attach":
		h.crowd.join(&viewer{conn: attach.On(conn), size: req.Size}, false)
	case "follow":
		h.crowd.join(&viewer{conn: attach.On(conn), follow: true}, false)
	default:
		conn.Close()
	}
}

// ofDaemon reports whether pid serves the daemon's socket.
func (h *host) ofDaemon(pid int) bool {
	c, err := localsock.Dial(h.spec.Control, askFor)
	if err != nil {
		return false
	}
	defer c.Close()
	return c.Peer.PID == pid
}
