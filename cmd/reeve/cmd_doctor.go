package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/boundary"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/daemon"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/bwrap"
	"github.com/reeve-gate/reeve/internal/jail/landlock"
	"github.com/reeve-gate/reeve/internal/jail/limit"
	"github.com/reeve-gate/reeve/internal/jail/native"
	"github.com/reeve-gate/reeve/internal/jail/probe"
	"github.com/reeve-gate/reeve/internal/jail/seatbelt"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/private"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/vault/warden"
	"github.com/reeve-gate/reeve/internal/wire"
)

const doctorHelp = `Doctor tries every promise of the boundary now: each act first succeeds outside, in a throw-away folder, and must then fail inside, in the profiles agent and strict. It needs no daemon and leaves nothing behind.

It then looks whether Reeve's own files and directories (settings, state, data, sockets, logs, the vault and its key file) are yours alone: each that others have something of is named with its mode and the one it should have. --mend takes that away: it gives nothing, follows no link, and leaves alone what belongs to another user or has further names. Where something is left the exit code is 1.

A promise is ready where it held in both profiles, partial where it held in one or is kept in part, missing where it was not kept. Where the sandbox as a whole is not ready, the last line says what to install or set, and the exit code is 5: reeve run starts nothing then. A sandbox is reduced where the settings name Landlock (sandbox.engine): it keeps what it promises, and the list says what it does not.`

// diagnosis is what doctor found; with --json it is printed as it stands.
type diagnosis struct {
	State    string    `json:"state"` // ready, reduced or missing
	Engine   string    `json:"engine"`
	Fix      string    `json:"fix,omitempty"`
	Passed   []string  `json:"passed,omitempty"` // walls that come before the engine, and what is wrong with each
	Promises []promise `json:"promises"`

	Files  []private.Fault `json:"files,omitempty"`  // of Reeve's own, that are not its owner's alone
	Mended []string        `json:"mended,omitempty"` // what was done to others
}

// promise is one thing the boundary says it does.
type promise struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// cmdDoctor tries the boundary now, without any earlier answer, and says what
// holds. It needs no daemon and changes nothing but modes, on request and to
// less: nobody need be asked for that.
func cmdDoctor(env *cmdEnv, args []string) int {
	f := flags(env, "doctor")
	asJSON := f.Bool("json", false, "print JSON")
	mend := f.Bool("mend", false, "take away what others have of Reeve's own files")
	if code, ok := parseFlags(f, args); !ok {
		return code
	}
	if f.NArg() > 0 {
		return usage(env, "doctor takes no arguments")
	}
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	control, err := localsock.Path(paths.State, wire.ControlSocket, env.Getenv)
	if err != nil {
		return fail(env, err)
	}
	// First: settings that others may write are not read, and opening the vault
	// closes its file.
	mended, files := private.Check(*mend, private.Ours(paths, control)...)
	conf, err := config.Load(paths.Config)
	if err != nil {
		return fail(env, err)
	}
	walls, err := boundary.Walls(conf.Sandbox.Engine)
	if err != nil {
		return fail(env, err)
	}
	d, usable := tryAll(walls)
	vault := daemon.Vault(paths)
	if vault.Exists {
		d.Promises = append(d.Promises, vaultPromise(vault))
	}
	if vault.KeyFile != "" {
		done, left := private.Check(*mend, private.Place{Path: vault.KeyFile})
		mended, files = append(mended, done...), append(files, left...)
	}
	d.Mended, d.Files = mended, files
	d.Promises = append(d.Promises, filesPromise(files))
	d.Promises = append(d.Promises, recordPromise(env, paths))
	if *asJSON {
		printJSON(env.Stdout, d)
	} else {
		d.write(env.Stdout)
	}
	switch {
	case !usable:
		return reeve.ExitBoundary
	case len(files) > 0:
		return reeve.ExitFailed
	}
	return reeve.ExitOK
}

// filesPromise sums up what is said of each file.
func filesPromise(files []private.Fault) promise {
	if len(files) == 0 {
		return promise{"Reeve's own files for you alone", "ready", "modes and owners, as they are now"}
	}
	return promise{"Reeve's own files for you alone", "partial", fmt.Sprintf("%d are not, see below", len(files))}
}

// tryAll tries one wall after the other, as the daemon does, until one is
// usable; where none is, it is the first one that is told of.
func tryAll(walls []probe.Prober) (d diagnosis, usable bool) {
	var passed []string
	for i, wall := range walls {
		ready := wall.Ready(context.Background())
		if ready.State != reeve.SandboxMissing {
			ready = probe.Run(context.Background(), wall, ready)
		}
		if ready.Usable() {
			d = diagnose(wall.Name(), ready)
			d.Passed = passed
			return d, true
		}
		if i == 0 {
			d = diagnose(wall.Name(), ready)
		}
		passed = append(passed, wall.Name()+": "+ready.Fix)
	}
	if len(passed) > 1 {
		d.Fix = strings.Join(passed, "; ")
	}
	return d, false
}

// diagnose joins the checks of all profiles into promises and adds those that
// no act can try.
func diagnose(wall string, r jail.Readiness) diagnosis {
	d := diagnosis{State: "missing", Engine: r.Engine, Fix: r.Fix}
	held, tried := map[string]int{}, map[string]int{}
	detail := map[string]string{}
	var order []string
	for _, c := range r.Checks {
		profile, name, _ := strings.Cut(c.Name, ": ")
		if tried[name]++; tried[name] == 1 {
			order = append(order, name)
		}
		if c.Held {
			held[name]++
			if detail[name] == "" {
				detail[name] = lastPart(c.Detail)
			}
			continue
		}
		detail[name] = "profile " + profile + ": " + c.Detail
	}
	for _, name := range order {
		state := "partial"
		switch held[name] {
		case tried[name]:
			state = "ready"
		case 0:
			state = "missing"
		}
		d.Promises = append(d.Promises, promise{"refused: " + name + where[name], state, detail[name]})
	}
	if r.Usable() {
		d.State = r.State.String()
		d.Promises = append(d.Promises, unprobed(wall)...)
	}
	return d
}

// recordPromise says whether the record is signed.
func recordPromise(env *cmdEnv, paths config.Paths) promise {
	p := promise{Name: "the record signed with a key of the vault", State: "missing"}
	m, err := recall(env, paths)
	switch {
	case errors.Is(err, reeve.ErrNotFound):
		p.Detail = "there is no vault to keep a key in; reeve vault init makes one, and the record is signed from then on"
	case err != nil:
		p.State, p.Detail = "partial", "nobody can say: "+err.Error()
	case m == nil:
		p.Detail = "nothing is signed yet; the daemon does it within a minute of the next call"
	default:
		p.State, p.Detail = "ready", fmt.Sprintf("%d rows, by %s", m.Size, m.Key)
	}
	return p
}

// vaultPromise says how the key of the vault is kept.
func vaultPromise(s warden.State) promise {
	p := promise{"the key of the vault apart from what it opens", "ready", "kept by: " + s.Holder}
	switch {
	case s.Fault != "":
		p.State, p.Detail = "missing", s.Fault
	case s.Weak != "":
		p.State, p.Detail = "partial", s.Weak
	}
	return p
}

// where says of what an act was tried in a boundary without a network that it
// says nothing of one with the machine's own.
var where = map[string]string{
	"connect to a port of this machine": " (strict, --net none)",
	"connect to an abstract socket":     " (strict, --net none)",
}

// unprobed are promises that are known rather than tried.
func unprobed(wall string) []promise {
	switch wall {
	case "landlock":
		all := []promise{{"the profile agent", "missing", "it leaves unix sockets open, and single ones cannot be hidden"}}
		for _, what := range landlock.Unheld() {
			all = append(all, promise{what, "missing", "not held by Landlock"})
		}
		return append(all, promise{"a view of the workspace for --review", "missing", "nothing is mounted"})
	case "seatbelt":
		return []promise{
			{"the profile that is handed to sandbox-exec", "partial", seatbelt.Unverified},
			{"a process namespace of its own", "missing", "other processes are closed by rules; a program that leaves its group is not stopped with it"},
			{"an own copy of an agent's settings file", "partial", "it can be read and not changed"},
			{"limits", "partial", "held: wall time, processor seconds, file size, open files; not held: memory, number of processes, scratch space"},
		}
	}
	abstract := promise{"abstract sockets closed where the network is open", "ready", "Landlock"}
	switch {
	case wall == "native" && !native.Scopes():
		abstract.State, abstract.Detail = "missing", "needs Linux 6.12 with Landlock"
	case wall != "native" && !bwrap.Scopes():
		abstract.State, abstract.Detail = "missing", "needs Linux 6.12 with Landlock, and a bubblewrap that is not set-id"
	}
	layer := promise{"a second layer below the mounts", "ready", "Landlock"}
	switch {
	case landlock.Version() == 0:
		layer.State, layer.Detail = "missing", "needs Linux 5.13 with Landlock"
	case wall != "native":
		layer.State, layer.Detail = "partial", "Landlock, only where a run has a terminal or a network by rule: bubblewrap starts other programs itself"
	}
	byHost := promise{"network by host", "ready", "profiles agent and build; --net open is the machine's own network"}
	if wall == "landlock" {
		byHost.State, byHost.Detail = "missing", "a reduced boundary has no network of its own"
	}
	terminal := promise{"a terminal for programs inside", "ready", "a session of its own"}
	if err := bwrap.Gate(); err != nil && wall == "bwrap" {
		terminal.State, terminal.Detail = "missing", err.Error()
		byHost.State, byHost.Detail = "missing", err.Error()
	}
	view := promise{"a view of the workspace for --review", "ready", "a copy, which shares its blocks where the file system can"}
	held, rest := limit.Offered()
	bounds := promise{"limits", "ready", strings.Join(append(held, rest...), ", ") + "; processor seconds, file size, open files, scratch space, wall time"}
	if len(rest) > 0 {
		bounds.State = "partial"
	}
	return []promise{
		terminal, layer, abstract, bounds,
		byHost, view,
	}
}

// lastPart is an error without the path that the probe used.
func lastPart(detail string) string {
	if head, _, found := strings.Cut(detail, "offer it: "); found {
		return head + "offer it"
	}
	if i := strings.LastIndex(detail, ": "); i >= 0 {
		return detail[i+2:]
	}
	return detail
}

func (d diagnosis) write(w io.Writer) {
	fmt.Fprintf(w, "sandbox: %s\n", d.State)
	if d.Engine != "" {
		fmt.Fprintf(w, "engine:  %s\n", d.Engine)
	}
	for _, p := range d.Passed {
		fmt.Fprintf(w, "passed over: %s\n", p)
	}
	for _, p := range d.Promises {
		fmt.Fprintf(w, "  %-8s %-58s %s\n", p.State, p.Name, p.Detail)
	}
	for _, m := range d.Mended {
		fmt.Fprintf(w, "mended: %s\n", redact.Visible(m))
	}
	for _, f := range d.Files {
		fmt.Fprintf(w, "not private: %s\n", redact.Visible(f.String()))
	}
	if slices.ContainsFunc(d.Files, func(f private.Fault) bool { return f.Reason == "" }) {
		fmt.Fprintln(w, "what to do: reeve doctor --mend takes away what others have")
	}
	if d.State == "missing" && d.Fix != "" {
		fmt.Fprintf(w, "what to do: %s\n", d.Fix)
	}
}
