package warden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/tool/secret"
	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Kernel is the part of the kernel that an act needs.
type Kernel interface {
	Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result)
}

// Door takes a person's requests. Every field is required.
type Door struct {
	Warden  *Warden
	Kernel  Kernel
	Tool    *secret.Tool
	Session func() (string, error) // of the person's own acts
	NewID   func() string
}

// Vault carries one request out. What is secret comes in by the one stream, to
// its end, or goes out by it; neither stands in the request, and so neither in
// a record.
func (d *Door) Vault(ctx context.Context, w wire.Vault, files []*os.File) (wire.Vaulted, error) {
	out := wire.Vaulted{}
	switch w.Do {
	case "status":
		s := d.Warden.State()
		return wire.Vaulted{State: wire.VaultState{Exists: s.Exists, Locked: s.Locked, Holder: s.Holder, Weak: s.Weak, Fault: s.Fault, File: d.Warden.Options.File}}, nil
	case "ls":
		all, err := d.Warden.List()
		for _, e := range all {
			out.Entries = append(out.Entries, wire.VaultEntry{Name: e.Name.String(), Version: e.Version, Created: e.Created, Origin: e.Origin})
		}
		return out, kind(err)
	}
	var stream *os.File
	if len(files) == 1 {
		stream = files[0]
	}
	job, err := d.job(ctx, w, stream)
	if err != nil {
		return out, err
	}
	out.Line, err = d.act(ctx, w, job)
	return out, kind(err)
}

// act takes one act through the kernel.
func (d *Door) act(ctx context.Context, w wire.Vault, job secret.Job) (string, error) {
	args, err := json.Marshal(secret.Args{Do: w.Do, Name: w.Name, Origin: w.Origin, Holder: w.Holder, Path: w.Path})
	if err != nil {
		return "", err
	}
	id, err := d.Session()
	if err != nil {
		return "", err
	}
	inv := &reeve.Invocation{ID: d.NewID(), Session: id, Actor: reeve.ActorUser, Channel: reeve.ChannelCLI, Origin: reeve.OriginHost, Tool: secret.Name, Args: args}
	var failed error
	forget := d.Tool.Give(inv.ID, func() (told string, err error) {
		told, failed = job()
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

// job is what is to be done, with its secret.
func (d *Door) job(ctx context.Context, w wire.Vault, stream *os.File) (secret.Job, error) {
	v := d.Warden
	switch w.Do {
	case "init":
		return d.with(stream, func(pass []byte) (string, error) { return "", v.Init(ctx, w.Holder, w.Path, pass) }), nil
	case "unlock":
		return d.with(stream, func(pass []byte) (string, error) { return "", v.Unlock(ctx, pass, w.AcceptOlder) }), nil
	case "rekey":
		return d.with(stream, func(pass []byte) (string, error) { return "", v.Rekey(ctx, w.Holder, w.Path, pass) }), nil
	case "lock":
		return func() (string, error) { return "", v.Lock() }, nil
	case "export":
		return d.with(stream, func(pass []byte) (string, error) {
			n, err := v.Export(ctx, w.Path, pass)
			return fmt.Sprintf("%d secrets are in the copy", n), err
		}), nil
	case "import":
		return d.with(stream, func(pass []byte) (string, error) {
			taken, kept, err := v.Import(ctx, w.Path, pass, w.Replace)
			return fmt.Sprintf("%d secrets were taken over, %d that were there already were left", taken, kept), err
		}), nil
	}
	n, err := ref.ParseName(w.Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	switch w.Do {
	case "set", "rotate":
		how := vault.New
		if w.Do == "rotate" {
			how = vault.Replace
		}
		return d.with(stream, func(value []byte) (string, error) {
			version, short, err := v.Put(ctx, n, value, how, w.Origin)
			told := fmt.Sprintf("%s is kept (version %d)", n, version)
			if short {
				told += "; its value is too short, or too common a text, to be masked where it appears"
			}
			return told, err
		}), nil
	case "remove":
		return func() (string, error) { return "", v.Remove(ctx, n) }, nil
	case "get":
		if stream == nil {
			return nil, fmt.Errorf("%w: a value is shown on a stream, and none came", reeve.ErrUsage)
		}
		return func() (string, error) { return fmt.Sprintf("%s was shown", n), d.show(n, stream) }, nil
	}
	return nil, fmt.Errorf("%w: %q is nothing that is done with a vault", reeve.ErrUsage, w.Do)
}

// with reads the secret from the stream, does, and wipes it.
func (d *Door) with(stream *os.File, do func([]byte) (string, error)) secret.Job {
	return func() (string, error) {
		var given []byte
		if stream != nil {
			var err error
			if given, err = read(stream); err != nil {
				return "", err
			}
			defer ref.Wipe(given)
		}
		return do(given)
	}
}

// show writes a value to the stream.
func (d *Door) show(n ref.Name, stream *os.File) error {
	value, err := d.Warden.Resolve(n)
	if err != nil {
		return err
	}
	defer ref.Wipe(value)
	to, err := timed(stream)
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = to.Write(value)
	return err
}

// streamLimit is how long the other end may take.
const streamLimit = 10 * time.Second

// timed is a pipe with a deadline.
func timed(f *os.File) (*os.File, error) {
	own, err := localsock.Pollable(f, "secret")
	if err != nil {
		return nil, err
	}
	if err := own.SetDeadline(time.Now().Add(streamLimit)); err != nil {
		own.Close()
		return nil, fmt.Errorf("%w: a secret passes through a pipe: %v", reeve.ErrUsage, err)
	}
	return own, nil
}

// read reads a secret to its end.
func read(stream *os.File) ([]byte, error) {
	from, err := timed(stream)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	buf := make([]byte, vault.MaxValue+1) // one piece: growing would leave copies
	n, err := io.ReadFull(from, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		ref.Wipe(buf)
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	return buf[:n], nil
}

// kind gives an error of the vault the kind that crosses the wire.
func kind(err error) error {
	switch {
	case errors.Is(err, vault.ErrNone), errors.Is(err, vault.ErrAbsent):
		return fmt.Errorf("%w: %w", reeve.ErrNotFound, err)
	case errors.Is(err, vault.ErrThere):
		return fmt.Errorf("%w: %w", reeve.ErrUsage, err)
	}
	return err
}
