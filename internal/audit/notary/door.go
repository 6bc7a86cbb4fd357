package notary

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool/record"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Kernel is the part of the kernel that an act needs.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
}

// Door takes a person's requests. Every field is required.
type Door struct {
	Notary  *Notary
	Kernel  Kernel
	Tool    *record.Tool
	Session func() (string, error) // of the person's own acts
	NewID   func() string
}

// Record carries one request out.
func (d *Door) Record(ctx context.Context, w wire.Record) (out wire.Recorded, err error) {
	n := d.Notary
	switch w.Do {
	case "status":
		m, err := Recall(ctx, n.Vault)
		if err == nil {
			out.Memory, err = m.Encode()
		}
		if errors.Is(err, vault.ErrNone) {
			return out, fmt.Errorf("%w: %w", reeve.ErrNotFound, err)
		}
		if errors.Is(err, vault.ErrAbsent) {
			return out, nil
		}
		return out, err
	case "checkpoint":
		out.Note, err = n.Checkpoint(ctx)
		out.Key = n.State().Key
		return out, err
	case "accept":
		out.Line, err = d.act(ctx, record.Args{Do: "accept"}, func(ctx context.Context) (string, error) {
			_, err := n.Accept(ctx)
			return "the record is signed from its first row on, by a new key", err
		})
		out.Key = n.State().Key
		return out, err
	case "prune":
		keep := time.Duration(w.KeepS) * time.Second
		if w.DryRun {
			p, err := n.Prune(ctx, keep, true)
			return wire.Recorded{Line: p.String(), Rows: p.Rows()}, err
		}
		out.Line, err = d.act(ctx, record.Args{Do: "prune", Keep: keep.String()}, func(ctx context.Context) (string, error) {
			p, err := n.Prune(ctx, keep, false)
			return p.String(), err
		})
		return out, err
	}
	return out, fmt.Errorf("%w: %q is nothing that is done with the record", reeve.ErrUsage, w.Do)
}

// act takes one act through the kernel.
func (d *Door) act(ctx context.Context, a record.Args, job record.Job) (string, error) {
	args, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	id, err := d.Session()
	if err != nil {
		return "", err
	}
	inv := &reeve.Invocation{ID: d.NewID(), Session: id, Actor: reeve.ActorUser, Channel: reeve.ChannelCLI, Origin: reeve.OriginHost, Tool: record.Name, Args: args}
	var failed error
	forget := d.Tool.Give(inv.ID, func(ctx context.Context) (told string, err error) {
		told, failed = job(ctx)
		return told, failed
	})
	defer forget()
	decision, r := d.Kernel.Do(ctx, inv)
	switch {
	case failed != nil:
		return "", failed
	case decision.Verdict != reeve.Allow:
		return "", fmt.Errorf("%w: %s", reeve.ErrDenied, decision.Reason)
	case r.Status != reeve.StatusSuccess:
		return "", errors.New(r.Error)
	}
	return r.Output, nil
}

// Lines is how far the record is signed and published, for reeve status.
func (n *Notary) Lines() (signed string, published []string) {
	s, newest := n.State(), n.Log.Newest().ID
	switch {
	case s.Rows == 0 && s.Why == "":
		signed = "not yet"
	case s.Rows == 0:
		signed = "no: " + s.Why
	case s.Why != "":
		signed = fmt.Sprintf("up to row %d of %d and no further: %s", s.Rows, newest, s.Why)
	default:
		signed = fmt.Sprintf("up to row %d of %d, by %s", s.Rows, newest, strings.SplitN(s.Key, "+", 2)[0])
	}
	for _, p := range n.Published() {
		line := fmt.Sprintf("%s: up to row %d", p.Name, p.Given)
		if p.Lag > 0 {
			line += fmt.Sprintf(", %d rows behind", p.Lag)
		}
		if p.Fault != "" {
			line += ": " + p.Fault
		}
		published = append(published, line)
	}
	return signed, published
}
