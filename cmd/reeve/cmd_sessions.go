package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/scroll"
	"github.com/reeve-gate/reeve/internal/wire"
)

const (
	sessionsUsage = "reeve sessions [ls] [--json]\nreeve sessions attach ID\nreeve sessions logs [-f] [--raw] ID\nreeve sessions stop ID...\nreeve sessions resume [--detach] [--no-receipt] ID\nreeve sessions rm ID... | --all\nreeve sessions diff ID\nreeve sessions merge ID\nreeve sessions review [--json] [--many] ID [PATH...]\nreeve sessions apply [--many] ID [PATH...]\nreeve sessions drop [--force] ID"
	sessionsHelp  = "ID is a session's name or id, or a beginning or an end of an id, of four characters at least, that no other has.\n\n" +
		"ls lists every session that has not ended, and the kept ones that have; one that is open belongs to the reeve exec of one terminal, and nothing of it runs; it ends with the terminal, or when nobody has used it for twelve hours. A session is kept where reeve run had a terminal or --detach: it has a terminal of its own and a log, and goes on when the daemon ends.\n\n" +
		"attach shows a running session on this terminal, from the end of its log on. Any number of terminals may be attached; what is typed in each goes in, and the program's terminal has the size of the smallest. ^] d leaves the session running, ^] ^] types ^]. The exit code is the program's own.\n\n" +
		"logs prints what a session showed, with secrets masked, as plain text: sequences that steer a terminal are left out. --raw keeps them, -f follows it to its end. The newest 2 to 4 MiB are kept.\n\n" +
		"stop ends a session's program: SIGTERM to everything in it, SIGKILL 2 seconds later. resume starts the program of an ended session again, behind the boundary that was kept with it and in this environment. rm forgets an ended session and its log; --all does so with each. The audit record stays.\n\n" +
		"diff, merge and drop are for a session that was started with reeve run --worktree. diff prints its work as a patch, committed or not. merge takes it over into the branch that it began from, which must be checked out, by moving that forward or by a merge commit, and forgets the checkout; a branch that changes what steers programs (editor and agent settings, start-up files) is refused, with the command by which you can take it over yourself. drop forgets the checkout; one with work in it only with --force. A checkout without work is dropped when its session ends.\n\n" +
		"review and apply are for a session that was started with reeve run --review, when it has ended. review shows what it changed: a line for each change and the difference, or those at and below the paths, written from the workspace's root. apply takes changes over into the workspace, all of them or those at and below the paths. A file that was changed in the workspace meanwhile is left as it is and named, and so is what is never taken over: what steers programs, git's own state, credentials, symbolic links out of the workspace, special files. Exit code 1 says that something was refused. What is not taken over stays in the view until drop --force forgets it. Where more than 20,000 files were changed, both take --many.\n\n" +
		"An agent may list sessions and nothing more of this."
)

func cmdSessions(env *cmdEnv, args []string) int {
	verb, rest := "ls", args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, rest = args[0], args[1:]
	}
	do := map[string]func(*cmdEnv, *client.Client, []string) int{
		"ls": sessionsLs, "diff": sessionsDiff, "merge": sessionsMerge, "drop": sessionsDrop, "review": sessionsReview, "apply": sessionsApply, "attach": sessionsAttach, "logs": sessionsLogs, "stop": sessionsStop, "resume": sessionsResume, "rm": sessionsRm,
	}[verb]
	if do == nil {
		return usage(env, "sessions %q: it is ls, attach, logs, stop, resume, rm, diff, merge, drop, review or apply", verb)
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	return do(env, c, rest)
}

func sessionsLs(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions ls")
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	ss, err := c.Sessions(context.Background())
	if err != nil {
		return fail(env, err)
	}
	if *asJSON {
		printJSON(env.Stdout, ss)
		return reeve.ExitOK
	}
	for _, s := range ss {
		fmt.Fprintf(env.Stdout, "%s  %-12s %-10s %-8s %-8s %-9s %s  %s  %s\n", s.ID, state(s), cell.Of(s.Name, 10), s.Client, s.Mode, s.Profile,
			s.Started.Local().Format("2006-01-02 15:04"), cell.Of(s.Workspace, 0), cell.Of(s.Command, 60))
	}
	return reeve.ExitOK
}

// state says in a word or two how a session is.
func state(s wire.Session) string {
	switch {
	case s.Code != nil:
		return s.State + " " + strconv.Itoa(*s.Code)
	case s.Attached > 0:
		return s.State + " +" + strconv.Itoa(s.Attached)
	}
	return s.State
}

// names reads flags before, between and after the ids.
var names = cmdline.Mixed

// oneName is names for a command that takes one id.
func oneName(env *cmdEnv, f *flag.FlagSet, args []string) (id string, code int, ok bool) {
	ids, code, ok := names(f, args)
	if ok && len(ids) != 1 {
		return "", usage(env, "name one session; reeve sessions ls lists them"), false
	}
	if !ok {
		return "", code, false
	}
	return ids[0], 0, true
}

func sessionsAttach(env *cmdEnv, c *client.Client, args []string) int {
	id, code, ok := oneName(env, flags(env, "sessions attach"), args)
	if !ok {
		return code
	}
	streams, _ := fileStreams(env)
	size, ok := terminalOf(streams)
	if !ok {
		return usage(env, "attach needs a terminal; reeve sessions logs -f shows a session without one")
	}
	return atTerminal(env, c, streams, false, nil, func(ctx context.Context, started client.Started) (wire.Ran, error) {
		return c.Attach(ctx, wire.Attach{ID: id, Rows: size.Rows, Cols: size.Cols}, started)
	})
}

func sessionsResume(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions resume")
	r := wire.Resume{Env: os.Environ()}
	f.BoolVar(&r.Detach, "detach", false, "leave it running in the background")
	f.BoolVar(&r.NoReceipt, "no-receipt", false, "print no receipt at the end")
	id, code, ok := oneName(env, f, args)
	if !ok {
		return code
	}
	r.ID = id
	if r.Detach {
		end, err := c.Resume(context.Background(), r, nil)
		return detached(env, end, err)
	}
	streams, _ := fileStreams(env)
	size, ok := terminalOf(streams)
	if !ok {
		return usage(env, "resume needs a terminal, or --detach")
	}
	r.Rows, r.Cols = size.Rows, size.Cols
	return reviewed(env, c, streams, func(ctx context.Context, started client.Started) (wire.Ran, error) { return c.Resume(ctx, r, started) })
}

// detached says what became of a program that was left running.
func detached(env *cmdEnv, end wire.Ran, err error) int {
	if err != nil {
		return fail(env, err)
	}
	if end.Code != 0 { // it could not be started
		writeReceipt(env.Stderr, end.Receipt)
		return end.Code
	}
	fmt.Fprintln(env.Stdout, end.Session)
	return reeve.ExitOK
}

func sessionsStop(env *cmdEnv, c *client.Client, args []string) int {
	ids, code, ok := names(flags(env, "sessions stop"), args)
	if !ok {
		return code
	}
	if len(ids) == 0 {
		return usage(env, "name a session; reeve sessions ls lists them")
	}
	for _, id := range ids {
		if _, err := c.Stop(context.Background(), id); err != nil {
			code = fail(env, err)
		}
	}
	return code
}

func sessionsRm(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions rm")
	all := f.Bool("all", false, "every session that has ended")
	ids, code, ok := names(f, args)
	if !ok {
		return code
	}
	if *all == (len(ids) > 0) {
		return usage(env, "name the sessions to forget, or write --all")
	}
	if *all {
		ss, err := c.Sessions(context.Background())
		if err != nil {
			return fail(env, err)
		}
		for _, s := range ss {
			if !s.Ended.IsZero() {
				ids = append(ids, s.ID)
			}
		}
	}
	for _, id := range ids {
		if err := c.Remove(context.Background(), id); err != nil {
			code = fail(env, err)
		}
	}
	return code
}

func sessionsLogs(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions logs")
	var l wire.Logs
	f.BoolVar(&l.Follow, "f", false, "go on until the session ends")
	raw := f.Bool("raw", false, "keep what steers a terminal")
	id, code, ok := oneName(env, f, args)
	if !ok {
		return code
	}
	l.ID = id
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	end, err := c.Logs(ctx, l, func(log wire.Log, files []*os.File) error { return writeLog(ctx, env, log, files, *raw) })
	if ctx.Err() != nil {
		return reeve.ExitOK // the person has seen enough
	}
	if err != nil {
		return fail(env, err)
	}
	writeReceipt(env.Stderr, end.Receipt)
	return reeve.ExitOK
}

// writeLog prints a log, or follows it to its end.
func writeLog(ctx context.Context, env *cmdEnv, log wire.Log, files []*os.File, raw bool) error {
	out := env.Stdout
	if raw {
		if file, ok := fileOf(env.Stdout); ok {
			out = file // past what makes a terminal's sequences visible: they were asked for
		}
	} else {
		plain := scroll.NewPlain(env.Stdout)
		defer plain.Close()
		out = plain
	}
	for _, f := range files {
		defer f.Close()
		if !log.Live {
			if _, err := io.Copy(out, f); err != nil {
				return fmt.Errorf("read the session's log: %w", err)
			}
			continue
		}
		conn, err := attach.FromFile(f)
		if err != nil {
			return err
		}
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		defer conn.Close()
		for {
			kind, data, err := conn.Receive()
			if err != nil || kind != attach.Output {
				break // the session has ended, or its keeper; the daemon says which
			}
			if _, err := out.Write(data); err != nil {
				return fmt.Errorf("write the session's log: %w", err)
			}
		}
	}
	return nil
}

// terminalOf is the size of the terminal that the streams are, if they are.
func terminalOf(streams [3]*os.File) (attach.Size, bool) {
	if streams[0] == nil || streams[1] == nil || !term.IsTerminal(int(streams[0].Fd())) || !term.IsTerminal(int(streams[1].Fd())) {
		return attach.Size{}, false
	}
	cols, rows, err := term.GetSize(int(streams[0].Fd()))
	if err != nil {
		return attach.Size{}, true
	}
	return attach.Size{Rows: uint16(rows), Cols: uint16(cols)}, true
}

// lastWord is how long the daemon may take to tell of a session's end after
// its keeper did: it looks at what the run left.
const lastWord = 15 * time.Second

// atTerminal joins this terminal to the session that ask asks for until the
// session ends or the person leaves it. The daemon may end meanwhile: the
// session's keeper knows the exit code too. own says that the session was
// started here, so that SIGTERM to this program ends it. What is typed after the
// end goes to after, where it is not nil.
func atTerminal(env *cmdEnv, c *client.Client, streams [3]*os.File, own bool, after *<-chan []byte, ask func(context.Context, client.Started) (wire.Ran, error)) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	type answer struct {
		end wire.Ran
		err error
	}
	answered := make(chan answer, 1)
	opened := make(chan *relay, 1)
	session := ""
	go func() {
		end, err := ask(ctx, func(s wire.Started, f *os.File) {
			session = s.Session
			if f == nil {
				return
			}
			if conn, err := attach.FromFile(f); err == nil {
				r := openRelay(streams[0], streams[1], conn, s.Kept)
				c.Asked = r.screen.Told // heard in this goroutine, from now on
				opened <- r
			}
		})
		answered <- answer{end, err}
	}()
	var window *relay
	for window == nil {
		select {
		case window = <-opened:
		case <-signals:
			cancel() // nothing runs yet
		case a := <-answered:
			select {
			case window = <-opened: // it ended at once
				answered <- a
				continue
			default:
			}
			if a.err != nil {
				return fail(env, a.err)
			}
			writeReceipt(env.Stderr, a.end.Receipt)
			return a.end.Code
		}
	}
	if after != nil {
		*after = window.after
	}
	for over := false; !over; {
		select {
		case <-window.over:
			over = true
		case s := <-signals:
			if !own || s != syscall.SIGTERM {
				window.close() // this window goes; the keeper knows what that means
				return 128 + int(s.(syscall.Signal))
			}
			window.stop()
		}
	}
	end, left := window.close()
	switch {
	case left:
		// The program has left the cursor where it was, often behind a prompt.
		fmt.Fprintf(env.Stderr, "\nreeve: session %s goes on; reeve sessions attach %[1]s shows it again\n", session[max(0, len(session)-8):])
		return reeve.ExitOK
	case end == nil:
		select {
		case a := <-answered:
			if a.err == nil {
				writeReceipt(env.Stderr, a.end.Receipt)
				return a.end.Code
			}
		case <-time.After(lastWord):
		case <-signals:
		}
		fmt.Fprintf(env.Stderr, "reeve: this terminal has lost session %s; reeve sessions ls shows whether it runs\n", session)
		return reeve.ExitFailed
	}
	select {
	case a := <-answered:
		if a.err == nil {
			writeReceipt(env.Stderr, a.end.Receipt)
			return a.end.Code
		}
	case <-time.After(lastWord):
	}
	fmt.Fprintf(env.Stderr, "reeve: the daemon has ended meanwhile; reeve sessions logs %s shows the receipt\n", session)
	return end.Code
}

// sessionsDiff prints a session's work, as git writes it.
func sessionsDiff(env *cmdEnv, c *client.Client, args []string) int {
	id, code, ok := oneName(env, flags(env, "sessions diff"), args)
	if !ok {
		return code
	}
	if err := piped(env.Stdout, func(to *os.File) error { return c.Diff(context.Background(), id, to) }); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}

func sessionsMerge(env *cmdEnv, c *client.Client, args []string) int {
	id, code, ok := oneName(env, flags(env, "sessions merge"), args)
	if !ok {
		return code
	}
	m, err := c.Merge(context.Background(), id)
	if err != nil {
		return fail(env, err)
	}
	for _, line := range m.Lines {
		fmt.Fprintln(env.Stdout, line)
	}
	return reeve.ExitOK
}

func sessionsDrop(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions drop")
	force := f.Bool("force", false, "although there is work in it that was not merged")
	id, code, ok := oneName(env, f, args)
	if !ok {
		return code
	}
	if err := c.Drop(context.Background(), wire.Drop{ID: id, Force: *force}); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}
