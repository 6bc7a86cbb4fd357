package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/wire"
)

// reviewed is atTerminal for a session of this terminal's own: where its view
// is kept when it ends, the person is asked what of it to take over. The exit
// code is the program's.
func reviewed(env *cmdEnv, c *client.Client, streams [3]*os.File, ask func(context.Context, client.Started) (wire.Ran, error)) int {
	var last atomic.Pointer[wire.Ran]
	var after <-chan []byte
	code := atTerminal(env, c, streams, true, &after, func(ctx context.Context, started client.Started) (wire.Ran, error) {
		end, err := ask(ctx, started)
		if err == nil {
			last.Store(&end)
		}
		return end, err
	})
	if end := last.Load(); end != nil && end.Review {
		if err := (&reviewer{env: env, c: c, id: end.Session, tty: streams[0], typed: after}).ask(); err != nil {
			fail(env, err)
		}
	}
	return code
}

// reviewer puts one view before a person at a terminal.
type reviewer struct {
	env *cmdEnv
	c   *client.Client
	id  string
	tty *os.File

	typed <-chan []byte // what is typed; nil: it is read here
}

// question drops what was typed ahead, for the program that has ended, and
// reads one line. The end of input is no answer.
func (r *reviewer) question(text string) string {
	if err := flushInput(int(r.tty.Fd())); err != nil {
		return ""
	}
	for ahead := r.typed != nil; ahead; {
		select {
		case _, ahead = <-r.typed:
		default:
			ahead = false
		}
	}
	fmt.Fprint(r.env.Stderr, text)
	line, ok := r.line()
	if !ok {
		fmt.Fprintln(r.env.Stderr)
		return ""
	}
	return strings.ToLower(strings.TrimSpace(line))
}

// line reads one line of the terminal.
func (r *reviewer) line() (line string, ok bool) {
	if r.typed == nil {
		line, err := bufio.NewReader(r.tty).ReadString('\n')
		return line, err == nil
	}
	for !strings.Contains(line, "\n") {
		more, ok := <-r.typed
		if !ok {
			return "", false
		}
		line += string(more)
	}
	return line, true
}

func (r *reviewer) ask() error {
	told, err := showReview(r.env, r.c, wire.Review{ID: r.id}, r.env.Stderr)
	if err != nil {
		return err
	}
	switch r.question("Take it over? a all · s some, one by one · n none, forget it · K keep it for later ") {
	case "a", "all":
		return r.apply(told, nil)
	case "s", "some":
		paths, err := r.choose(told)
		if err != nil || len(paths) == 0 {
			r.later()
			return err
		}
		return r.apply(told, paths)
	case "n", "none":
		if yes(r.question("Forget all that was changed? y · N ")) {
			return r.c.Drop(context.Background(), wire.Drop{ID: r.id, Force: true})
		}
	}
	r.later()
	return nil
}

func yes(answer string) bool { return answer == "y" || answer == "yes" }

func (r *reviewer) later() {
	fmt.Fprintf(r.env.Stderr, "reeve: it is kept; reeve sessions review %s shows it again\n", r.id)
}

// choose asks for each change. A directory that was deleted is one with what
// was in it; one that was made is made where something in it is taken, and
// asked for only when it is empty.
func (r *reviewer) choose(told wire.Reviewed) (paths []string, err error) {
	settled := ""
	for i, c := range told.Changes {
		full := i+1 < len(told.Changes) && strings.HasPrefix(told.Changes[i+1].Path, c.Path+"/")
		if c.Held != "" || c.Kind != "deleted" && full || settled != "" && strings.HasPrefix(c.Path, settled) {
			continue
		}
		if _, err := showReview(r.env, r.c, wire.Review{ID: r.id, Paths: []string{c.Path}}, r.env.Stderr); err != nil {
			return nil, err
		}
		if full {
			settled = c.Path + "/"
		}
		switch r.question("Take this over? y · N · q no more questions ") {
		case "y", "yes":
			paths = append(paths, c.Path)
		case "q", "quit":
			return paths, nil
		}
	}
	return paths, nil
}

func (r *reviewer) apply(told wire.Reviewed, paths []string) error {
	done, err := r.c.Apply(context.Background(), wire.Apply{ID: r.id, Paths: paths, Stamp: told.Stamp})
	writeApplied(r.env.Stderr, done, r.id)
	return err
}

// showReview prints what a view changes to out. The daemon has masked it and
// made visible what would steer a terminal.
func showReview(env *cmdEnv, c *client.Client, w wire.Review, out io.Writer) (wire.Reviewed, error) {
	var told wire.Reviewed
	err := piped(out, func(to *os.File) (err error) { told, err = c.Review(context.Background(), w, to); return err })
	if err != nil {
		return told, err
	}
	if len(w.Paths) == 0 {
		fmt.Fprintln(out, "=== in all: "+told.Summary)
		for _, line := range told.Git {
			fmt.Fprintln(out, "=== "+cell.Of(line, 0))
		}
	}
	return told, nil
}

// piped lets say write into a pipe that is shown on out: what an agent wrote
// reaches a terminal as text and not as what steers it.
func piped(out io.Writer, say func(to *os.File) error) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	shown := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, r)
		r.Close()
		shown <- err
	}()
	err = say(w)
	w.Close()
	if copied := <-shown; err == nil {
		err = copied
	}
	return err
}

func writeApplied(w io.Writer, done wire.Applied, ref string) {
	for _, line := range done.Taken {
		fmt.Fprintln(w, "taken    "+cell.Of(line, 0))
	}
	for _, line := range done.Refused {
		fmt.Fprintln(w, "refused  "+cell.Of(line, 0))
	}
	if done.More > 0 {
		fmt.Fprintf(w, "and %d more\n", done.More)
	}
	if done.Left > 0 {
		fmt.Fprintf(w, "%d changes are still in the view; reeve sessions review %s shows them\n", done.Left, ref)
	}
}

func sessionsReview(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions review")
	asJSON := f.Bool("json", false, "print the list of changes as JSON")
	many := f.Bool("many", false, "also where more than 20,000 files are changed")
	ids, code, ok := names(f, args)
	if !ok {
		return code
	}
	if len(ids) == 0 {
		return usage(env, "name one session; reeve sessions ls lists them")
	}
	w := wire.Review{ID: ids[0], Paths: ids[1:], Many: *many}
	if *asJSON {
		told, err := c.Review(context.Background(), w, nil)
		if err != nil {
			return fail(env, err)
		}
		printJSON(env.Stdout, told)
		return reeve.ExitOK
	}
	if _, err := showReview(env, c, w, env.Stdout); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}

func sessionsApply(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "sessions apply")
	many := f.Bool("many", false, "also where more than 20,000 files are changed")
	ids, code, ok := names(f, args)
	if !ok {
		return code
	}
	if len(ids) == 0 {
		return usage(env, "name one session; reeve sessions ls lists them")
	}
	done, err := c.Apply(context.Background(), wire.Apply{ID: ids[0], Paths: ids[1:], Many: *many})
	writeApplied(env.Stdout, done, ids[0])
	if err != nil {
		return fail(env, err)
	}
	if done.Failed > 0 {
		return reeve.ExitFailed
	}
	return reeve.ExitOK
}
