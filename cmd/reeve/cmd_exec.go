package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

// maxStdin bounds arguments read from standard input, in bytes.
const maxStdin = reeve.MaxArgs

func cmdExec(env *cmdEnv, args []string) int {
	f := flags(env, "exec")
	var e wire.Exec
	f.StringVar(&e.As, "as", "", "an actor with less authority, such as agent:NAME")
	f.StringVar(&e.Mode, "mode", "", "plan, auto or default")
	f.StringVar(&e.Workspace, "workspace", "", "root of the workspace; the repository around the working directory where none is named")
	wait := f.Duration("wait", 0, "how long a question may stand where this is not a terminal")
	asJSON := f.Bool("json", false, "print the decision and the result as JSON")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	if n := f.NArg(); n < 1 || n > 2 {
		return usage(env, "exec takes TOOL and one JSON object; - reads it from standard input")
	}
	e.Tool, e.WaitMS = f.Arg(0), wait.Milliseconds()
	raw, err := execArgs(env, f.Arg(1))
	if err != nil {
		return fail(env, err)
	}
	e.Args = raw
	place(env, &e)
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	prompt := newPrompt(env, c)
	if f.Arg(1) != "-" && prompt != nil {
		e.Prompt, e.Terminal = true, prompt.name
	} else {
		prompt = nil
	}
	x, err := c.Exec(context.Background(), e, prompt.asker())
	if err != nil {
		return fail(env, err)
	}
	if *asJSON {
		printJSON(env.Stdout, x)
	} else {
		printResult(env, x)
	}
	return resultCode(x)
}

// execArgs is the JSON of the arguments, from the command line or from
// standard input where it is "-". Nothing else is read from there.
func execArgs(env *cmdEnv, arg string) (jsontext.Value, error) {
	switch arg {
	case "":
		return jsontext.Value("{}"), nil
	case "-":
		b, err := io.ReadAll(io.LimitReader(env.Stdin, maxStdin+1))
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		if len(b) > maxStdin {
			return nil, fmt.Errorf("%w: the arguments are longer than %d bytes", reeve.ErrUsage, maxStdin)
		}
		arg = string(b)
	}
	v := jsontext.Value(strings.TrimSpace(arg))
	if !v.IsValid() {
		return nil, fmt.Errorf("%w: the arguments are one JSON object without duplicate names, such as '{\"path\":\"README.md\"}': %s", reeve.ErrUsage, firstFault(v))
	}
	return v, nil
}

// firstFault says where JSON stops being JSON.
func firstFault(v jsontext.Value) string {
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		if _, err := dec.ReadToken(); err != nil {
			var at *jsontext.SyntacticError
			if errors.As(err, &at) {
				return fmt.Sprintf("byte %d: %v", at.ByteOffset, at.Err)
			}
			return err.Error()
		}
	}
}

// place fills in where the call happens.
func place(env *cmdEnv, e *wire.Exec) {
	e.Dir = env.Dir
	if e.Workspace == "" {
		e.Workspace = session.Repository(env.Dir)
	}
}

func printResult(env *cmdEnv, x wire.Executed) {
	io.WriteString(env.Stdout, x.Result.Output)
	if x.Result.Output != "" && !strings.HasSuffix(x.Result.Output, "\n") {
		fmt.Fprintln(env.Stdout)
	}
	if x.Result.Error != "" {
		fmt.Fprintf(env.Stderr, "reeve: %s: %s\n", x.Result.Status, x.Result.Error)
	}
	if d := x.Decision; d.Decision != "allow" && d.Rule != "" {
		fmt.Fprintf(env.Stderr, "       step %s, %s (%s)\n", d.Step, d.Rule, d.Source)
	}
}

// resultCode is the exit code of exec.
func resultCode(x wire.Executed) int {
	switch {
	case x.Result.Status == string(reeve.StatusSuccess):
		return reeve.ExitOK
	case x.Decision.Step == string(reeve.StepConfirm) && x.Decision.Decision != "allow" && x.Decision.Rule != "a person said no":
		return reeve.ExitNeedsPerson
	case x.Result.Status == string(reeve.StatusDenied):
		return reeve.ExitDenied
	}
	return reeve.ExitFailed
}

// terminalName names the terminal of a stream, or "" where it is none.
func terminalName(f *os.File) string {
	if !term.IsTerminal(int(f.Fd())) {
		return ""
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return "terminal"
	}
	return name
}

// short is how a time is shown to a person.
func short(t time.Time) string { return t.Local().Format("15:04:05") }
