package api

import (
	"context"
	"fmt"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/wire"
)

// invocation turns an exec request into an invocation in the session of
// (workspace, terminal, mode). Only a person at a shell of their own carries a
// person's authority; --as can only lower it (amendment 3 of the second
// review).
func (s *Server) invocation(e wire.Exec, person error) (*reeve.Invocation, error) {
	actor, origin := reeve.ActorUser, reeve.OriginHost
	if e.As != "" {
		a, err := reeve.ParseActor(e.As)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
		}
		actor = a
	}
	if actor != reeve.ActorUser {
		origin = reeve.OriginAgent
	} else if person != nil {
		return nil, person
	}
	mode := s.Config.Mode
	if e.Mode != "" {
		m, err := reeve.ParseMode(e.Mode)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
		}
		if mode = m; mode == reeve.ModeDangerous {
			return nil, fmt.Errorf("%w: dangerous mode is never set by a flag", reeve.ErrUsage)
		}
	}
	s.closeLeft()
	one, err := s.Sessions.ForClient(session.Session{
		Client: "cli", Foreign: fmt.Sprintf("%s\x00%s\x00%s\x00%s", e.Workspace, e.Terminal, mode, actor),
		Workspace: e.Workspace, Mode: mode, Profile: s.Config.Profile,
	}, s.Home)
	if err != nil {
		return nil, err
	}
	inv := &reeve.Invocation{ID: s.NewID(), Session: one.ID, Actor: actor, Channel: reeve.ChannelCLI, Origin: origin,
		Tool: e.Tool, Args: e.Args, Dir: e.Dir}
	if e.Prompt {
		inv.Askable = true
	} else if e.WaitMS > 0 {
		inv.Askable, inv.Deadline = true, time.Now().Add(time.Duration(e.WaitMS)*time.Millisecond)
	}
	return inv, nil
}

// exec runs one tool. Questions about this very call go to the caller where it
// can put them to a person.
func (s *Server) exec(ctx context.Context, peer localsock.Peer, e wire.Exec, out *reply) (wire.Executed, error) {
	inv, err := s.invocation(e, s.person(peer))
	if err != nil {
		return wire.Executed{}, err
	}
	defer s.desks.sit(inv.Session, peer)()
	if e.Prompt {
		events, _, stop := s.Broker.Watch(false)
		defer stop()
		go func() {
			for ev := range events {
				if ev.Question.Call == inv.ID && ev.State == approval.Pending {
					out.event(wire.EventQuestion, ev)
				}
			}
		}()
	}
	d, r := s.Kernel.Do(ctx, inv)
	return wire.Executed{Decision: Decision(d), Result: result(r), Session: inv.Session}, nil
}

// explain walks the steps and runs nothing.
func (s *Server) explain(ctx context.Context, e wire.Exec) (wire.Executed, error) {
	inv, err := s.invocation(e, nil)
	if err != nil {
		return wire.Executed{}, err
	}
	return wire.Executed{Decision: Decision(s.Kernel.Explain(ctx, inv)), Session: inv.Session}, nil
}

// Decision is a decision in the form that scripts read.
func Decision(d reeve.Decision) wire.Decision {
	w := wire.Decision{Decision: d.Verdict.String(), Step: string(d.Step), Rule: d.Rule, Source: d.Source, Reason: d.Reason,
		Approval: d.Approval, Column: d.Column.String(), Effects: []string{}}
	for i := range d.Effects {
		w.Effects = append(w.Effects, d.Effects[i].String())
	}
	for _, t := range d.Trace {
		w.Trace = append(w.Trace, t.String())
	}
	return w
}

func result(r reeve.Result) wire.Result {
	return wire.Result{Status: string(r.Status), Output: r.Output, Error: r.Error, ExitCode: r.ExitCode, Truncated: r.Truncated,
		DurationMS: r.Duration.Milliseconds(), Changed: r.Changed}
}
