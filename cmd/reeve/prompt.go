package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/wire"
)

// prompter puts questions to the person at this terminal. Where there is no
// terminal there is no prompt: nothing is read from standard input, and the
// question is a denial (contract G18, FIELD P19).
type prompter struct {
	env  *cmdEnv
	c    *client.Client
	name string // of the terminal
	mu   sync.Mutex
	in   *bufio.Reader
}

// newPrompt returns nil where standard input or standard error is not a
// terminal.
func newPrompt(env *cmdEnv, c *client.Client) *prompter {
	in := seat(env)
	if in == nil {
		return nil
	}
	return &prompter{env: env, c: c, name: terminalName(in), in: bufio.NewReader(in)}
}

// seat is the terminal at which the person types and reads; nil where
// one of the two is none.
func seat(env *cmdEnv) *os.File {
	in, ok1 := fileOf(env.Stdin)
	out, ok2 := fileOf(env.Stderr)
	if !ok1 || !ok2 || terminalName(in) == "" || terminalName(out) == "" {
		return nil
	}
	return in
}

// asker is the function for client.Exec; nil where there is no prompt.
func (p *prompter) asker() func(approval.Question) {
	if p == nil {
		return nil
	}
	return p.ask
}

func (p *prompter) ask(q approval.Question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	writeQuestion(p.env.Stderr, q)
	fmt.Fprint(p.env.Stderr, choices(q))
	line, err := p.in.ReadString('\n')
	if err != nil {
		line = "n" // end of input is a no
		fmt.Fprintln(p.env.Stderr)
	}
	a := answerOf(q, line)
	if err := p.c.Settle(context.Background(), a); err != nil {
		fmt.Fprintf(p.env.Stderr, "reeve: %v\n", err)
	}
}

// writeQuestion shows everything a person needs to decide (contract A6). All
// of it was redacted by the daemon. Each part begins on a line of its own, and
// where a caller's text has several lines, the others stand behind a bar: none
// passes for a part of the question.
func writeQuestion(w io.Writer, q approval.Question) {
	fmt.Fprintf(w, "\nreeve asks for %s\n", cell.Of(string(q.Actor), 0))
	for _, l := range []struct{ label, text string }{
		{"does", q.Operation}, {"why", q.Reason}, {"reach", q.Scope}, {"risk", q.Risk},
		{"in", q.Workspace}, {"call", q.Tool + " " + q.Preview}, {"until", short(q.Expires)},
	} {
		fmt.Fprintf(w, "  %-6s %s\n", l.label, barred(l.text))
	}
	if q.Warn {
		fmt.Fprintln(w, "  WARNING: this destroys something")
	}
	if q.Suggest != "" {
		fmt.Fprintf(w, "  rule   %s\n", barred(q.Suggest))
	}
}

// barred is text whose further lines stand behind a bar.
func barred(s string) string {
	return strings.ReplaceAll(redact.Visible(s), "\n", "\n         | ")
}

func choices(q approval.Question) string {
	switch {
	case q.Suggest != "":
		return "Allow? y once · always this exact call in this session · rule save the rule above · N no (or no: a word to the agent) "
	case q.Standing:
		return "Allow? y once · always this exact call in this session · N no (or no: a word to the agent) "
	}
	return "Allow once? y · N no (or no: a word to the agent) "
}

// answerOf reads what a person typed; whatever is not a clear yes is a no.
func answerOf(q approval.Question, line string) wire.Settle {
	a := wire.Settle{ID: q.ID, Scope: approval.Once}
	word := strings.TrimSpace(line)
	switch strings.ToLower(word) {
	case "y", "yes":
		a.Allow = true
	case "always", "a":
		a.Allow, a.Scope = q.Standing, approval.Session
	case "rule", "r":
		a.Allow, a.Scope, a.Rule = q.Suggest != "", approval.Rule, q.Suggest
	default:
		if _, text, ok := strings.Cut(word, ":"); ok {
			a.Word = strings.TrimSpace(text)
		}
	}
	return a
}
