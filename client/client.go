// Package client is the Go SDK and the only road from our own faces to the
// kernel: it speaks to the daemon of one installation over its local socket.
//
// A daemon that does not run is started, unless the caller is inside a session
// (REEVE_SESSION is set) or the call only looks. What cannot be reached is an
// error of kind reeve.ErrUnavailable; nothing is ever decided at this end.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/wire"
)

// StartLimit is how long a daemon may take to say that it serves.
const StartLimit = 5 * time.Second

// Client speaks to one daemon. It is safe for concurrent use; every call has
// its own connection.
type Client struct {
	Paths  config.Paths
	Build  string // of this program; see Build
	Getenv func(string) string

	// Asked is told of each question of a session while Run, Attach or Resume
	// shows it, and again when it has ended. It is set before the call, or by
	// what that is told of the start with.
	Asked func(approval.Event)
}

// Build names this very program file: its version, size and time of change.
// Two different builds never have one name on one machine in practice.
func Build(version string) string {
	exe, err := os.Executable()
	if err != nil {
		return version
	}
	info, err := os.Stat(exe)
	if err != nil {
		return version
	}
	return fmt.Sprintf("%s-%x-%x", version, info.Size(), info.ModTime().UnixNano())
}

// events receives what comes before the reply. It closes files it is given.
type events func(event string, body []byte, files []*os.File) error

// call makes one request. start says whether a missing daemon is started.
func (c *Client) call(ctx context.Context, start bool, method string, params, reply any, on events, files ...*os.File) error {
	for attempt := 0; ; attempt++ {
		conn, err := c.connect(start)
		if err != nil {
			return err
		}
		err = c.exchange(ctx, conn, method, params, reply, on, files)
		if !errors.Is(err, errYields) || attempt > 0 {
			return err
		}
		if err := c.awaitGone(); err != nil {
			return err
		}
	}
}

// lastWord is how long a run that was interrupted may take to tell how it
// ended: the program's grace, and the look at what it left.
const lastWord = 15 * time.Second

// lasting reports whether a request is worth waiting for after its caller has
// given up: a run that dies with this connection. One with a terminal of its
// own is stopped by way of that.
func lasting(params any) bool {
	r, run := params.(wire.Run)
	return run && !r.TTY && !r.Detach
}

// errYields: a daemon of another build had nothing to do and has ended.
var errYields = fmt.Errorf("%w: the daemon gives way to this build", reeve.ErrUnavailable)

func (c *Client) exchange(ctx context.Context, conn *localsock.Conn, method string, params, reply any, on events, files []*os.File) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() {
		if !lasting(params) {
			conn.Close()
			return
		}
		// A run is stopped by this, and how it ended is worth waiting for.
		conn.Hangup()
		conn.SetDeadline(time.Now().Add(lastWord))
	})
	defer stop()
	p, err := wire.Encode(params)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	frame, err := wire.Encode(wire.Request{Hello: wire.Hello{Proto: wire.Proto, Build: c.Build}, Method: method, Params: p})
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	if err := conn.Write(frame, files...); err != nil {
		return fmt.Errorf("%w: send to the daemon: %v", reeve.ErrUnavailable, err)
	}
	for {
		b, got, err := conn.Read()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: the daemon closed the connection before it answered (%v)", reeve.ErrUnavailable, err)
		}
		done, err := c.message(b, got, reply, on)
		if done || err != nil {
			return err
		}
	}
}

func (c *Client) message(b []byte, files []*os.File, reply any, on events) (done bool, err error) {
	var m wire.Message
	if err := wire.Decode(b, &m); err != nil {
		return true, fmt.Errorf("read the daemon's answer: %w", err)
	}
	switch {
	case m.Hello.Proto != wire.Proto:
		return true, fmt.Errorf("%w: the daemon speaks protocol %d and this program %d; run reeve down and try again", reeve.ErrUnavailable, m.Hello.Proto, wire.Proto)
	case m.Event == wire.EventYield:
		return true, errYields
	case m.Event != "" && on != nil:
		return false, on(m.Event, m.Body, files)
	case m.Event != "":
		for _, f := range files {
			f.Close()
		}
		return false, nil
	case m.Error != nil:
		return true, m.Error.Err()
	case reply == nil:
		return true, nil
	}
	return true, wire.Decode(m.Body, reply)
}

// connect reaches the control socket, starting the daemon where it is missing
// and may be started.
func (c *Client) connect(start bool) (*localsock.Conn, error) {
	path, err := localsock.Path(c.Paths.State, wire.ControlSocket, c.Getenv)
	if err != nil {
		return nil, err
	}
	conn, err := localsock.Dial(path, 2*time.Second)
	if err == nil {
		return conn, nil
	}
	if !absent(err) {
		return nil, fmt.Errorf("%w: %v", reeve.ErrUnavailable, err)
	}
	if c.Getenv("REEVE_SESSION") != "" {
		return nil, fmt.Errorf("%w: this process runs inside a Reeve session, from which the daemon cannot be reached", reeve.ErrUnavailable)
	}
	if !start {
		if held, err := durable.Locked(filepath.Join(c.Paths.State, "daemon.lock")); err == nil && held {
			return nil, deaf(path)
		}
		return nil, fmt.Errorf("%w: no daemon is running; reeve up starts one", reeve.ErrUnavailable)
	}
	// A daemon that is ending has closed its socket and still holds the state
	// directory for a moment, so that the first one started gives way to it.
	for deadline := time.Now().Add(StartLimit); ; {
		if err := c.Start(); err != nil {
			return nil, err
		}
		conn, err := dialSoon(path)
		if err == nil {
			return conn, nil
		}
		if time.Now().After(deadline) {
			return nil, deaf(path)
		}
	}
}

// deaf is the error where a daemon holds the state directory and nobody listens
// at its socket, which a person may have removed.
func deaf(path string) error {
	return fmt.Errorf("%w: a daemon is there and does not listen at %s: it begins, it ends, or its socket was removed; try again, and where that stays so end its process (pgrep -f 'reeve __daemon' names it)", reeve.ErrUnavailable, path)
}

// dialSoon connects to a daemon that was just started, perhaps by another
// caller, and may not listen yet.
func dialSoon(path string) (*localsock.Conn, error) {
	for deadline := time.Now().Add(300 * time.Millisecond); ; time.Sleep(5 * time.Millisecond) {
		conn, err := localsock.Dial(path, 2*time.Second)
		if err == nil {
			return conn, nil
		}
		if !absent(err) || time.Now().After(deadline) {
			return nil, fmt.Errorf("%w: %v", reeve.ErrUnavailable, err)
		}
	}
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// Start starts the daemon and waits until it serves. Where two callers start
// at once one of the daemons wins and both callers are served.
//
// The variables whose values the daemon is to mask are handed to it. Settings
// that cannot be read are the daemon's to refuse.
func (c *Client) Start() error {
	var secrets []string
	if conf, err := config.Load(c.Paths.Config); err == nil {
		secrets = conf.Redact.Secrets
	}
	if set, err := servers.NewBook(c.Paths.Config).Servers(); err == nil {
		for i := range set.All { // what the settings of MCP servers stand on
			secrets = append(secrets, set.All[i].References()...)
		}
	}
	err := localsock.Spawn(c.Paths.State, []string{"__daemon"}, secrets, c.Getenv, StartLimit)
	if err == nil || err.Error() == AlreadyServed {
		return nil
	}
	return fmt.Errorf("%w: %v", reeve.ErrUnavailable, err)
}

// AlreadyServed is what a second daemon says on one state directory.
const AlreadyServed = "another daemon serves this state directory"

// awaitGone waits until a daemon that gives way has let go of its socket and
// of the state directory.
func (c *Client) awaitGone() error {
	path, err := localsock.Path(c.Paths.State, wire.ControlSocket, c.Getenv)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(StartLimit); ; {
		conn, err := localsock.Dial(path, time.Second)
		if err != nil {
			return c.awaitUnlocked(deadline)
		}
		// The old daemon closes its listener first and its connections last:
		// reading ends when it is gone.
		conn.SetDeadline(deadline)
		_, _, err = conn.Read()
		conn.Close()
		if err != nil && !errors.Is(err, io.EOF) && time.Now().After(deadline) {
			return fmt.Errorf("%w: the old daemon does not end; run reeve down", reeve.ErrUnavailable)
		}
	}
}

func (c *Client) awaitUnlocked(deadline time.Time) error {
	for ; ; time.Sleep(5 * time.Millisecond) {
		held, err := durable.Locked(filepath.Join(c.Paths.State, "daemon.lock"))
		switch {
		case err != nil:
			return fmt.Errorf("%w: %v", reeve.ErrUnavailable, err)
		case !held:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%w: the daemon closed its socket and does not end; see %s", reeve.ErrUnavailable, filepath.Join(c.Paths.State, "daemon.log"))
		}
	}
}

// Status asks a running daemon how it is; it starts none.
func (c *Client) Status(ctx context.Context) (s wire.Status, err error) {
	return s, c.call(ctx, false, wire.MethodStatus, struct{}{}, &s, nil)
}

// Up makes sure that a daemon runs.
func (c *Client) Up(ctx context.Context) (s wire.Status, err error) {
	return s, c.call(ctx, true, wire.MethodStatus, struct{}{}, &s, nil)
}

// Down ends the daemon and tells which sessions go on without it; it returns
// when the daemon has let go.
func (c *Client) Down(ctx context.Context, w wire.Down) (d wire.Downed, err error) {
	if err := c.call(ctx, false, wire.MethodDown, w, &d, nil); err != nil {
		return d, err
	}
	return d, c.awaitGone()
}

// Exec runs one tool through the kernel. Questions that it raises go to ask
// where that is not nil.
func (c *Client) Exec(ctx context.Context, e wire.Exec, ask func(approval.Question)) (x wire.Executed, err error) {
	on := func(event string, body []byte, files []*os.File) error {
		var ev approval.Event
		if event != wire.EventQuestion || ask == nil {
			return nil
		}
		if err := wire.Decode(body, &ev); err != nil {
			return err
		}
		if ev.State == approval.Pending {
			go ask(ev.Question)
		}
		return nil
	}
	return x, c.call(ctx, true, wire.MethodExec, e, &x, on)
}

// Explain tells what would be decided and why; nothing runs.
func (c *Client) Explain(ctx context.Context, e wire.Exec) (x wire.Executed, err error) {
	return x, c.call(ctx, true, wire.MethodExplain, e, &x, nil)
}

// Started is called once when a session's program runs; where it has a
// terminal of its own, screen is a connection to that (attach.FromFile), to be
// closed by the callee.
type Started func(s wire.Started, screen *os.File)

// shown hears what comes while a session is shown.
func (c *Client) shown(f Started) events {
	return func(event string, body []byte, files []*os.File) error {
		if event == wire.EventQuestion && c.Asked != nil {
			var e approval.Event
			if err := wire.Decode(body, &e); err != nil {
				return err
			}
			c.Asked(e)
			return nil
		}
		return f.event(event, body, files)
	}
}

func (f Started) event(event string, body []byte, files []*os.File) error {
	var s wire.Started
	if event != wire.EventStarted {
		return nil
	}
	if err := wire.Decode(body, &s); err != nil {
		return err
	}
	var screen *os.File
	if len(files) > 0 {
		screen = files[0]
	}
	if f != nil {
		f(s, screen)
	}
	return nil
}

// Run starts a program in a new session and returns when it has ended, or with
// r.Detach when it runs. streams are not used where it has a terminal of its
// own.
func (c *Client) Run(ctx context.Context, r wire.Run, streams [3]*os.File, started Started) (end wire.Ran, err error) {
	if r.TTY || r.Detach {
		return end, c.call(ctx, true, wire.MethodRun, r, &end, c.shown(started))
	}
	return end, c.call(ctx, true, wire.MethodRun, r, &end, c.shown(started), streams[:]...)
}

// Attach gives the caller a terminal at a session that runs, and returns when
// it has ended.
func (c *Client) Attach(ctx context.Context, a wire.Attach, started Started) (end wire.Ran, err error) {
	return end, c.call(ctx, true, wire.MethodAttach, a, &end, c.shown(started))
}

// Resume starts a session's program again, and is then as Run.
func (c *Client) Resume(ctx context.Context, r wire.Resume, started Started) (end wire.Ran, err error) {
	return end, c.call(ctx, true, wire.MethodResume, r, &end, c.shown(started))
}

// Stop ends a session's program and returns when it has ended.
func (c *Client) Stop(ctx context.Context, id string) (end wire.Ran, err error) {
	return end, c.call(ctx, true, wire.MethodStop, wire.Named{ID: id}, &end, nil)
}

// Remove forgets a session that has ended.
func (c *Client) Remove(ctx context.Context, id string) error {
	return c.call(ctx, true, wire.MethodRemove, wire.Named{ID: id}, nil, nil)
}

// Diff prints the work in a session's checkout to out, as a patch.
func (c *Client) Diff(ctx context.Context, id string, out *os.File) error {
	return c.call(ctx, true, wire.MethodDiff, wire.Named{ID: id}, nil, nil, out)
}

// Merge takes the work in a session's checkout over into the branch that it
// began from.
func (c *Client) Merge(ctx context.Context, id string) (m wire.Merged, err error) {
	return m, c.call(ctx, true, wire.MethodMerge, wire.Named{ID: id}, &m, nil)
}

// Review lists what a session's view changes, and shows it on out unless that
// is nil.
func (c *Client) Review(ctx context.Context, r wire.Review, out *os.File) (told wire.Reviewed, err error) {
	if out == nil {
		return told, c.call(ctx, true, wire.MethodReview, r, &told, nil)
	}
	return told, c.call(ctx, true, wire.MethodReview, r, &told, nil, out)
}

// Apply takes changes of a session's view over into the workspace.
func (c *Client) Apply(ctx context.Context, a wire.Apply) (told wire.Applied, err error) {
	return told, c.call(ctx, true, wire.MethodApply, a, &told, nil)
}

// Drop forgets a session's checkout or view.
func (c *Client) Drop(ctx context.Context, d wire.Drop) error {
	return c.call(ctx, true, wire.MethodDrop, d, nil, nil)
}

// Logs gives what a session has shown to give, which closes the files, and
// returns when it has ended, or at once where nobody follows it.
func (c *Client) Logs(ctx context.Context, l wire.Logs, give func(wire.Log, []*os.File) error) (end wire.Ran, err error) {
	return end, c.call(ctx, true, wire.MethodLogs, l, &end, func(event string, body []byte, files []*os.File) error {
		var log wire.Log
		if event != wire.EventLog {
			return nil
		}
		if err := wire.Decode(body, &log); err != nil {
			return err
		}
		return give(log, files)
	})
}

// sessionSocket is the socket of the session that this process runs in, or "".
// On Linux it stands at one place, which only a boundary of Reeve's or root can
// make: a variable could name the socket of somebody else, who allows
// everything.
func (c *Client) sessionSocket() string {
	if runtime.GOOS == "linux" {
		if _, err := os.Lstat(wire.InsideHook); err != nil {
			return ""
		}
		return wire.InsideHook
	}
	if c.Getenv("REEVE_SESSION") == "" {
		return ""
	}
	return c.Getenv("REEVE_HOOK_SOCK")
}

// Hook hands one event of a client's hook to the daemon; inside a session it
// goes through the session's own socket.
func (c *Client) Hook(ctx context.Context, h wire.Hook) (out wire.Hooked, err error) {
	if sock := c.sessionSocket(); sock != "" {
		conn, err := localsock.Dial(sock, 2*time.Second)
		if err != nil {
			return out, fmt.Errorf("%w: %v", reeve.ErrUnavailable, err)
		}
		return out, c.exchange(ctx, conn, wire.MethodHook, h, &out, nil, nil)
	}
	return out, c.call(ctx, true, wire.MethodHook, h, &out, nil)
}

// Approvals lists pending questions and standing grants.
func (c *Client) Approvals(ctx context.Context) (a wire.Approvals, err error) {
	return a, c.call(ctx, true, wire.MethodPending, struct{}{}, &a, nil)
}

// Settle answers a question.
func (c *Client) Settle(ctx context.Context, s wire.Settle) error {
	return c.call(ctx, true, wire.MethodSettle, s, nil, nil)
}

// Revoke takes a standing grant back.
func (c *Client) Revoke(ctx context.Context, id string) error {
	return c.call(ctx, true, wire.MethodRevoke, wire.Settle{ID: id}, nil, nil)
}

// Watch calls on for every question that appears or ends, pending ones first,
// until ctx ends.
func (c *Client) Watch(ctx context.Context, on func(approval.Event)) error {
	return c.call(ctx, true, wire.MethodWatch, struct{}{}, nil, func(event string, body []byte, files []*os.File) error {
		var ev approval.Event
		if err := wire.Decode(body, &ev); err != nil {
			return err
		}
		on(ev)
		return nil
	})
}

// Tools lists the tools with the person's settings.
func (c *Client) Tools(ctx context.Context) (ts []wire.Tool, err error) {
	return ts, c.call(ctx, true, wire.MethodTools, struct{}{}, &ts, nil)
}

// SetTool changes the person's setting for one tool.
func (c *Client) SetTool(ctx context.Context, s wire.SetTool) error {
	return c.call(ctx, true, wire.MethodSetTool, s, nil, nil)
}

// Trust accepts the exact content of a project's policy file.
func (c *Client) Trust(ctx context.Context, t wire.Trust) error {
	return c.call(ctx, true, wire.MethodTrust, t, nil, nil)
}

// Servers changes which MCP servers there are, or what of one is trusted.
func (c *Client) Servers(ctx context.Context, w wire.Servers) (t wire.Told, err error) {
	return t, c.call(ctx, true, wire.MethodServers, w, &t, nil)
}

// Record does something with the record itself. Only for status no daemon is
// started.
func (c *Client) Record(ctx context.Context, w wire.Record) (r wire.Recorded, err error) {
	return r, c.call(ctx, w.Do != "status", wire.MethodRecord, w, &r, nil)
}

// Vault does something with the vault. in is a secret that goes along, which
// stays the caller's; with out what is shown comes back, to be wiped.
func (c *Client) Vault(ctx context.Context, w wire.Vault, in []byte, out bool) (v wire.Vaulted, shown []byte, err error) {
	if in == nil && !out {
		return v, nil, c.call(ctx, true, wire.MethodVault, w, &v, nil)
	}
	r, wr, err := os.Pipe()
	if err != nil {
		return v, nil, fmt.Errorf("make a pipe: %w", err)
	}
	if out {
		done := make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(r)
			r.Close()
			done <- b
		}()
		err = c.call(ctx, true, wire.MethodVault, w, &v, nil, wr)
		wr.Close()
		return v, <-done, err
	}
	sent := make(chan struct{})
	go func() {
		wr.Write(in)
		wr.Close()
		close(sent)
	}()
	err = c.call(ctx, true, wire.MethodVault, w, &v, nil, r)
	r.Close()
	<-sent // in is the caller's again
	return v, nil, err
}

// Inspect tells what is known of MCP servers.
func (c *Client) Inspect(ctx context.Context, w wire.Inspect) (r wire.Roster, err error) {
	return r, c.call(ctx, true, wire.MethodInspect, w, &r, nil)
}

// Sessions lists the sessions that have not ended.
func (c *Client) Sessions(ctx context.Context) (ss []wire.Session, err error) {
	return ss, c.call(ctx, true, wire.MethodSessions, struct{}{}, &ss, nil)
}
