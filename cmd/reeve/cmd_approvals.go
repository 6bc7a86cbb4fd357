package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/client"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/ingress/cell"
	"github.com/reeve-gate/reeve/internal/wire"
)

func cmdApprovals(env *cmdEnv, args []string) int {
	if len(args) == 0 {
		args = []string{"ls"}
	}
	c, err := dial(env)
	if err != nil {
		return fail(env, err)
	}
	switch args[0] {
	case "ls", "list":
		return approvalsLs(env, c, args[1:])
	case "allow":
		return approvalsAllow(env, c, args[1:])
	case "deny":
		return approvalsDeny(env, c, args[1:])
	case "revoke":
		if len(args) != 2 {
			return usage(env, "approvals revoke takes the id of a standing grant; reeve approvals ls lists them")
		}
		if err := c.Revoke(context.Background(), args[1]); err != nil {
			return fail(env, err)
		}
		return reeve.ExitOK
	}
	return usage(env, "approvals %q: it is ls, allow, deny or revoke", args[0])
}

func approvalsLs(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "approvals ls")
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	a, err := c.Approvals(context.Background())
	if err != nil {
		return fail(env, err)
	}
	if *asJSON {
		printJSON(env.Stdout, a)
		return reeve.ExitOK
	}
	for _, q := range a.Questions {
		fmt.Fprintf(env.Stdout, "%s\n", q.ID)
		writeQuestion(env.Stdout, q)
	}
	for _, g := range a.Grants {
		fmt.Fprintf(env.Stdout, "standing %s  %s %s  (session %s, since %s)\n", g.ID, g.Tool, cell.Of(g.Preview, 0), g.Session, short(g.Since))
	}
	if len(a.Questions)+len(a.Grants) == 0 {
		fmt.Fprintln(env.Stderr, "nothing is waiting for an answer")
	}
	return reeve.ExitOK
}

func approvalsAllow(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "approvals allow")
	session := f.Bool("session", false, "this exact call, for the rest of its session")
	rule := f.Bool("rule", false, "once, and save the rule that the question suggests")
	id, code, ok := questionID(env, c, "allow", func(rest []string) (int, bool) { return parseFlags(f, rest) }, f.Args, args)
	if !ok {
		return code
	}
	s := wire.Settle{ID: id, Allow: true, Scope: approval.Once}
	switch {
	case *session && *rule:
		return usage(env, "choose one of --session and --rule")
	case *session:
		s.Scope = approval.Session
	case *rule:
		s.Scope = approval.Rule
		q, err := find(c, id)
		if err != nil {
			return fail(env, err)
		}
		if s.Rule = q.Suggest; s.Rule == "" {
			return usage(env, "this question suggests no rule; allow it once, or write a rule yourself")
		}
		fmt.Fprintf(env.Stderr, "saving the rule %s\n", cell.Of(s.Rule, 0))
	}
	if err := c.Settle(context.Background(), s); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}

func approvalsDeny(env *cmdEnv, c *client.Client, args []string) int {
	f := flags(env, "approvals deny")
	word := f.String("word", "", "a word to the agent")
	id, code, ok := questionID(env, c, "deny", func(rest []string) (int, bool) { return parseFlags(f, rest) }, f.Args, args)
	if !ok {
		return code
	}
	if err := c.Settle(context.Background(), wire.Settle{ID: id, Word: *word}); err != nil {
		return fail(env, err)
	}
	return reeve.ExitOK
}

// questionID reads flags before or after the id, and lets a unique beginning
// or ending of an id stand for it.
func questionID(env *cmdEnv, c *client.Client, verb string, parse func([]string) (int, bool), rest func() []string, args []string) (string, int, bool) {
	id := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		id, args = args[0], args[1:]
	}
	if code, ok := parse(args); !ok {
		return "", code, false
	}
	if r := rest(); id == "" && len(r) == 1 {
		id = r[0]
	} else if len(r) > 0 {
		return "", usage(env, "approvals %s takes one id", verb), false
	}
	if id == "" {
		return "", usage(env, "approvals %s takes the id of a question; reeve approvals ls lists them", verb), false
	}
	q, err := find(c, id)
	if err != nil {
		return "", fail(env, err), false
	}
	return q.ID, 0, true
}

func find(c *client.Client, id string) (approval.Question, error) {
	a, err := c.Approvals(context.Background())
	if err != nil {
		return approval.Question{}, err
	}
	var found []approval.Question
	for _, q := range a.Questions {
		if q.ID == id {
			return q, nil
		}
		if len(id) >= 4 && (strings.HasPrefix(q.ID, id) || strings.HasSuffix(q.ID, id)) {
			found = append(found, q)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return approval.Question{}, fmt.Errorf("%w: no question %s is pending; it may have been answered, timed out or withdrawn", reeve.ErrNotFound, id)
	}
	return approval.Question{}, fmt.Errorf("%w: %s stands for %d questions; write more of it", reeve.ErrUsage, id, len(found))
}
