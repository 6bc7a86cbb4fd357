package keeper

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/held"
	"github.com/reeve-gate/reeve/internal/localsock"
)

var (
	// ErrLost: the keeper was killed, and nobody knows how its program ended.
	ErrLost = errors.New("the process that kept the session was killed; its boundary ended with it, and how the program ended is not known")
	// ErrNever: no keeper was ever told to start.
	ErrNever = errors.New("the daemon was killed before it could start the program: nothing was run")
	// ErrUnlinked: this daemon let go of the session, which goes on.
	ErrUnlinked = errors.New("the session goes on without this daemon")
)

// Link is a kept session as a daemon sees it: a tree that may outlive the
// daemon. It is safe for concurrent use.
type Link struct {
	place  Place
	keeper held.Process
	pid    int           // the wall's process
	root   *held.Process // what the boundary ends with: process number one inside, or else the leader of its group
	group  bool          // it is the latter

	hook, proxy, screen *os.File
	done                chan struct{} // closed when it has ended or was let go

	mu      sync.Mutex // guards what follows, and every write to conn
	conn    *localsock.Conn
	news    news
	asked   int
	answers map[int]chan bool
	let     bool // Release was called
	masked  int  // how many values the keeper was told
	closed  bool // nothing is held any more
	end     attach.End
	err     error
}

var _ jail.Process = (*Link)(nil)

// Connect links a daemon with a keeper that another daemon started. The error
// wraps fs.ErrNotExist where it is gone.
func Connect(p Place, m *Masks) (*Link, error) {
	h, err := p.hold()
	if err != nil {
		return nil, err
	}
	if p.Proto != proto {
		h.Close()
		return nil, fmt.Errorf("the session's keeper speaks version %d, this daemon %d: reeve sessions stop ends it", p.Proto, proto)
	}
	conn, err := dial(p, p.Keeper, request{Proto: proto, Do: "link"})
	var l *Link
	if err == nil {
		l, err = greeted(conn, h, p, askFor)
	}
	if err != nil {
		if h.Ended(tellFor) { // it was about to end
			err = p.gone()
		}
		h.Close()
		return nil, err
	}
	if err = m.add(l, 0); err == nil || l.ending() {
		return l, nil
	}
	l.Release()
	return nil, err
}

func (p Place) gone() error {
	return fmt.Errorf("reach the session's keeper: process %d: %w", p.Keeper.PID, fs.ErrNotExist)
}

// hold takes a handle of the keeper itself.
func (p Place) hold() (held.Process, error) {
	h, err := held.Take(p.Keeper.PID)
	if err == nil && h.Who != p.Keeper {
		h.Close()
		err = fs.ErrNotExist
	}
	if err != nil {
		return held.Process{}, p.gone()
	}
	return h, nil
}

// Kill ends a keeper that cannot be linked, and its boundary with it. It
// returns when the keeper is gone.
func Kill(p Place) error {
	h, err := p.hold()
	if err != nil {
		return nil
	}
	defer h.Close()
	h.Kill()
	if !h.Ended(drainFor) {
		return fmt.Errorf("end the session's keeper: process %d does not end", p.Keeper.PID)
	}
	return nil
}

// dial opens a connection to the keeper who and to nobody else.
func dial(p Place, who localsock.Process, req request) (*localsock.Conn, error) {
	conn, err := localsock.Dial(p.Socket, askFor)
	if err != nil {
		return nil, fmt.Errorf("reach the session's keeper: %w", err)
	}
	if conn.Peer.PID != who.PID {
		conn.Close()
		return nil, fmt.Errorf("reach the session's keeper: %s is served by process %d, not by %d", p.Socket, conn.Peer.PID, who.PID)
	}
	conn.SetDeadline(time.Now().Add(askFor))
	if err := send(conn, req); err != nil {
		conn.Close()
		return nil, fmt.Errorf("reach the session's keeper: %w", err)
	}
	conn.SetDeadline(time.Time{})
	return conn, nil
}

// greeted reads a keeper's first word and makes the link of it. conn is the
// link's from here on.
func greeted(conn *localsock.Conn, keeper held.Process, p Place, within time.Duration) (*Link, error) {
	fail := func(err error) (*Link, error) {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(within))
	var hi hello
	files, err := receive(conn, &hi)
	if err != nil {
		return fail(fmt.Errorf("the process that keeps the session did not answer: %w (see %s in its folder)", err, logFile))
	}
	if hi.Fault != nil {
		closeAll(files)
		return fail(hi.Fault.err())
	}
	if hi.Proto != proto || len(files) != len(hi.Files) {
		closeAll(files)
		return fail(fmt.Errorf("the session's keeper speaks version %d, this daemon %d; stop the session with the program that started it", hi.Proto, proto))
	}
	l := &Link{place: p, pid: hi.PID, keeper: keeper, conn: conn, news: hi.News, answers: map[int]chan bool{}, done: make(chan struct{})}
	for i, name := range hi.Files {
		switch name {
		case "hook":
			l.hook = files[i]
		case "proxy":
			l.proxy = files[i]
		case "screen":
			l.screen = files[i]
		default:
			files[i].Close()
		}
	}
	root := hi.Root
	if l.group = root == 0; l.group {
		root = hi.PID
	}
	if h, err := held.Take(root); err == nil {
		l.root = &h
	}
	conn.SetDeadline(time.Time{})
	go l.run()
	return l, nil
}

// Keeper names the keeper's process, for a later [Connect].
func (l *Link) Keeper() localsock.Process { return l.keeper.Who }

// PID is the host's number of the ancestor of the tree.
func (l *Link) PID() int { return l.pid }

// Hook is a handle of the listening socket of the session's hook, the
// caller's; nil where there is none.
func (l *Link) Hook() *os.File { return l.file(&l.hook) }

// Proxy is a handle of the listener at [jail.ProxyAddr], as Hook.
func (l *Link) Proxy() *os.File { return l.file(&l.proxy) }

// Over reports whether the session has ended or was let go of: the link gives
// no file any more.
func (l *Link) Over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// ending reports whether it is over, or is so in a moment.
func (l *Link) ending() bool {
	select {
	case <-l.done:
		return true
	case <-time.After(tellFor):
		return false
	}
}

// file gives a second handle of one of the link's files.
func (l *Link) file(of **os.File) *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *of == nil {
		return nil
	}
	return again(*of)
}

// Screen is the connection for the first terminal, where the [Starter] asked
// for one, or nil. It is the caller's.
func (l *Link) Screen() *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.screen
	l.screen = nil
	return f
}

// Attached says how many terminals look at the session, and whether it lives
// on without one.
func (l *Link) Attached() (n int, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news.Attached, l.news.Kept
}

// Attach opens a connection for one more terminal of the given size, to be
// handed to the person's program (attach.FromFile).
func (l *Link) Attach(size attach.Size) (*os.File, error) {
	return l.open(request{Proto: proto, Do: "attach", Size: size})
}

// Follow opens a connection on which the log comes, from its oldest byte on
// and as it grows, and then the end.
func (l *Link) Follow() (*os.File, error) { return l.open(request{Proto: proto, Do: "follow"}) }

func (l *Link) open(req request) (*os.File, error) {
	conn, err := dial(l.place, l.keeper.Who, req)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.File()
}

// Wait returns when the tree is gone, with [ErrLost] where nobody knows how it
// ended, or when the daemon let go of it, with [ErrUnlinked].
func (l *Link) Wait() (jail.Exit, error) {
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	return jail.Exit{Code: l.end.Code, Held: l.end.Held, Unheld: l.end.Unheld}, l.err
}

// End is how the program ended, once Wait has returned.
func (l *Link) End() attach.End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Release lets go of the session, which goes on.
func (l *Link) Release() {
	l.mu.Lock()
	l.let = true
	conn := l.conn
	l.mu.Unlock()
	conn.Close()
	<-l.done
}

// StopLimit is how long Stop takes at most: a tree's grace, what it still
// shows, and the word to its terminals.
const StopLimit = jail.StopGrace + drainFor + tellFor

// Stop ends the tree: the keeper sends SIGTERM to it, and SIGKILL 2 s later
// (Y74). A keeper that does not do that in time is killed, and the boundary
// ends with it. It returns when the tree is gone.
func (l *Link) Stop(grace time.Duration) {
	l.tell(word{Do: "stop"})
	t := time.NewTimer(grace + drainFor + tellFor)
	defer t.Stop()
	select {
	case <-l.done:
		return
	case <-t.C:
	}
	l.kill()
	<-l.done
}

func (l *Link) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.keeper.Kill()
	}
}

// Signal sends to every process inside but number one.
func (l *Link) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v is not one of this system", sig)
	}
	return l.tell(word{Do: "signal", Signal: int(s)})
}

// Contains asks the keeper whether pid runs inside; no answer is a no.
func (l *Link) Contains(pid int) bool {
	l.mu.Lock()
	l.asked++
	n, answer := l.asked, make(chan bool, 1)
	l.answers[n] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.answers, n)
		l.mu.Unlock()
	}()
	if l.tell(word{Do: "contains", Number: n, PID: pid}) != nil {
		return false
	}
	t := time.NewTimer(askFor)
	defer t.Stop()
	select {
	case yes := <-answer:
		return yes
	case <-l.done:
	case <-t.C:
	}
	return false
}

func (l *Link) tell(w word) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.say(w)
}

// say is tell under the lock.
func (l *Link) say(w word) error {
	l.conn.SetWriteDeadline(time.Now().Add(askFor))
	return send(l.conn, w)
}

// run reads what the keeper says until the end.
func (l *Link) run() {
	defer close(l.done)
	defer l.finish()
	for {
		err := l.hear()
		l.mu.Lock()
		over := l.let || !l.end.At.IsZero()
		l.mu.Unlock()
		if over {
			return
		}
		if err := l.relink(err); err != nil {
			l.lost(err)
			return
		}
	}
}

// hear takes news until the connection ends.
func (l *Link) hear() error {
	for {
		var n news
		files, err := receive(l.conn, &n)
		closeAll(files)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.news.Attached, l.news.Kept = n.Attached, n.Kept
		if a := l.answers[n.Answer]; a != nil {
			a <- n.Yes
		}
		if n.End != nil {
			l.end = *n.End
		}
		l.mu.Unlock()
		if n.End != nil {
			return io.EOF
		}
	}
}

// relink links anew where the keeper lives: it closes a link that did not take
// its news in time.
func (l *Link) relink(cause error) error {
	if l.keeper.Ended(0) {
		return cause
	}
	conn, err := dial(l.place, l.keeper.Who, request{Proto: proto, Do: "link"})
	if err != nil {
		l.keeper.Ended(tellFor) // it is ending, most likely
		return err
	}
	conn.SetDeadline(time.Now().Add(askFor))
	var hi hello
	files, err := receive(conn, &hi)
	closeAll(files) // the sockets are here already
	if err != nil {
		conn.Close()
		l.keeper.Ended(tellFor)
		return err
	}
	conn.SetDeadline(time.Time{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.news = conn, hi.News
	if l.let {
		conn.Close()
	}
	return nil
}

// lost settles a session whose keeper said nothing of its end: it may have
// written it down all the same.
func (l *Link) lost(cause error) {
	if !l.keeper.Ended(0) { // it can be reached no more, and nobody else can stop it
		l.keeper.Kill()
		l.keeper.Ended(tellFor)
	}
	if l.root != nil {
		// A boundary with a namespace of its own dies with its keeper anyway.
		if pgid, err := syscall.Getpgid(l.root.Who.PID); l.group && err == nil && pgid == l.root.Who.PID && !l.root.Ended(0) {
			syscall.Kill(-pgid, syscall.SIGKILL)
		}
		l.root.Kill()
		l.root.Ended(drainFor)
	}
	end, err := ReadEnd(l.place.Folder)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.end = end
		return
	}
	l.end = attach.End{Code: 128 + int(syscall.SIGKILL), Error: ErrLost.Error(), At: time.Now().UTC()}
	l.err = fmt.Errorf("%w (%v)", ErrLost, cause)
}

// finish gives up what the link holds.
func (l *Link) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.let && l.end.At.IsZero() {
		l.err = ErrUnlinked
	}
	if l.err == nil && l.end.Error != "" {
		l.err = errors.New(l.end.Error)
	}
	l.conn.Close()
	closeAll([]*os.File{l.hook, l.proxy, l.screen})
	l.hook, l.proxy, l.screen = nil, nil, nil
	l.keeper.Close()
	if l.root != nil {
		l.root.Close()
	}
	l.closed = true
}
