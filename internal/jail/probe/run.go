package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
)

// Prober is a wall that can be tried: it starts our own binary with
// [Command] and one task inside a plan, and nothing else.
type Prober interface {
	jail.Wall
	StartProbe(ctx context.Context, plan jail.Plan, command, task string, stdout, stderr *os.File) (jail.Process, error)
}

// Partial is a wall that keeps a part of the promises, and says which: the
// reduced one. Its other promises are tried like everybody's, save that what it
// refuses it refuses with an errno of its own.
type Partial interface {
	Profiles() []string        // names of the profiles that it can hold
	Promises(name string) bool // whether it promises that the act of this name fails
}

// Holds reports whether a wall can hold a profile.
func Holds(wall jail.Wall, profile string) bool {
	p, ok := wall.(Partial)
	return !ok || slices.Contains(p.Profiles(), profile)
}

// Bound is how long the contained program may take. One that is late is tried
// once more for [Patience], since a busy machine is no missing boundary; after
// that the wall is not ready, however long a mount on a dead network drive
// would still hang.
const (
	Bound    = 500 * time.Millisecond
	Patience = 5 * time.Second
)

// trial is the acts of one profile, outside and inside.
type trial struct {
	profile jail.Profile
	site    *site
	env     []string // what a person's environment may hold, secrets included
	control map[string]Outcome
	inside  map[string]Outcome
	err     error

	reduced bool // the wall is one for a machine that refuses user namespaces
}

// Trial is what to try.
type Trial struct {
	Acts     []Act
	Profiles []jail.Profile
	Bound    time.Duration
	Layout   []string // further files of the site: below ws/, home/ and state/
	Env      []string // further secrets in the environment it starts from, NAME=value
}

// Try performs acts in each profile and tells, act by act, whether the
// boundary held. The network is off in all of them: with it, a port of this
// machine is reachable by design.
func Try(ctx context.Context, wall Prober, try Trial) ([]jail.Check, error) {
	sweep(os.TempDir(), time.Now())
	base, end, err := folder(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("make a folder for the probe: %w", err)
	}
	defer end()
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, err
	}
	partial, reduced := wall.(Partial)
	if reduced {
		try.Acts = slices.DeleteFunc(slices.Clone(try.Acts), func(a Act) bool { return !partial.Promises(a.Name) })
		for i := range try.Acts {
			try.Acts[i].Want = append([]syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EXDEV, syscall.ENOENT}, try.Acts[i].Want...)
		}
	}
	var trials []*trial
	for _, p := range try.Profiles {
		if !Holds(wall, p.Name) {
			continue
		}
		s, err := newSite(filepath.Join(base, p.Name), try.Layout)
		if err != nil {
			return nil, fmt.Errorf("prepare the probe: %w", err)
		}
		defer s.close()
		trials = append(trials, &trial{profile: p, site: s, reduced: reduced, env: append(append(os.Environ(), s.stage.Canary+"=secret"), try.Env...)})
	}
	var wg sync.WaitGroup
	for _, t := range trials {
		wg.Go(func() { t.err = t.run(ctx, wall, try) })
	}
	wg.Wait()
	var checks []jail.Check
	for _, t := range trials {
		if t.err != nil {
			return nil, fmt.Errorf("try profile %s: %w", t.profile.Name, t.err)
		}
		checks = append(checks, t.judge(try.Acts)...)
	}
	return checks, nil
}

// run performs the acts outside, puts the site back, and performs them inside.
func (t *trial) run(ctx context.Context, wall Prober, try Trial) error {
	var plain, privileged, all []string
	for _, a := range try.Acts {
		if len(a.In) > 0 && !slices.Contains(a.In, t.profile.Name) {
			continue
		}
		all = append(all, a.Name)
		if a.Privileged {
			privileged = append(privileged, a.Name)
		} else {
			plain = append(plain, a.Name)
		}
	}
	var err error
	if t.control, err = t.outside(ctx, plain, privileged); err != nil {
		return err
	}
	if err := t.site.reset(); err != nil {
		return err
	}
	if t.inside, err = t.contained(ctx, wall, all, try.Bound); err != nil {
		return err
	}
	return nil
}

func (t *trial) outside(ctx context.Context, plain, privileged []string) (map[string]Outcome, error) {
	all, err := control(ctx, task{t.site.stage, plain}, t.env, nil)
	if err != nil {
		return nil, err
	}
	if len(privileged) == 0 {
		return all, nil
	}
	stage := t.site.stage
	stage.Control = true
	more, err := control(ctx, task{stage, privileged}, t.env, namespaces())
	if err != nil && t.reduced {
		return all, nil // as is to be expected: those acts are tried inside only
	}
	if err != nil {
		return nil, fmt.Errorf("user namespaces are needed and not to be had here: %w", err)
	}
	for name, o := range more {
		all[name] = o
	}
	return all, nil
}

// control runs our own program without the boundary.
func control(ctx context.Context, what task, env []string, attr *syscall.SysProcAttr) (map[string]Outcome, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, Command, string(text))
	cmd.Env = env
	cmd.SysProcAttr = attr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run the probe outside: %w", explain(err))
	}
	return outcomes(strings.NewReader(string(out)))
}

func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// contained runs our own program through the wall.
func (t *trial) contained(ctx context.Context, wall Prober, names []string, bound time.Duration) (map[string]Outcome, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := t.site.stage
	place := jail.Place{Workspace: s.Workspace, Home: s.Home, State: []string{s.State}, Env: t.env}
	none := jail.NetNone
	plan, err := t.profile.Plan(place, jail.Options{Net: &none, Expose: []jail.Expose{{From: exe, To: exe}}})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(task{s, names})
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	ran, err := jail.Capture(ctx, func(out, errs *os.File) (jail.Process, error) {
		return wall.StartProbe(ctx, plan, Command, string(text), out, errs)
	})
	switch {
	case ran.TimedOut:
		return nil, fmt.Errorf("the contained program was not done after %s", time.Since(begin).Round(time.Millisecond))
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(ran.Stderr.Text))
	case ran.Exit.Code != 0:
		return nil, fmt.Errorf("the contained program ended with %d: %s", ran.Exit.Code, strings.TrimSpace(ran.Stderr.Text))
	}
	return outcomes(strings.NewReader(ran.Stdout.Text))
}

// judge compares both runs and looks for traces outside.
func (t *trial) judge(acts []Act) []jail.Check {
	var out []jail.Check
	for _, a := range acts {
		if len(a.In) > 0 && !slices.Contains(a.In, t.profile.Name) {
			continue
		}
		c := jail.Check{Name: t.profile.Name + ": " + a.Name}
		outside, tried := t.control[a.Name]
		inside, told := t.inside[a.Name]
		want := a.Want
		if len(want) == 0 {
			want = []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EROFS}
		}
		switch {
		case !tried && told && t.reduced && a.Privileged:
			c.Held, c.Detail = !inside.Done(), "refused inside; it cannot be tried outside, where user namespaces are refused"
		case !tried || !told:
			c.Detail = "the probe ended before it was tried"
		case !outside.Done() && slices.Contains(a.Lacking, outside.Errno):
			c.Held, c.Detail = !inside.Done(), "this kernel does not offer it: "+outside.Error
		case !outside.Done():
			c.Detail = "it fails outside too, which proves nothing: " + outside.Error
		case inside.Done():
			c.Detail = "it succeeded inside"
		case !slices.Contains(want, inside.Errno):
			c.Detail = "it failed inside for another reason than the boundary: " + inside.Error
		default:
			c.Held, c.Detail = true, inside.Error
		}
		out = append(out, c)
	}
	trace := t.site.traces()
	return append(out, jail.Check{Name: t.profile.Name + ": change anything outside", Held: trace == "", Detail: trace})
}
