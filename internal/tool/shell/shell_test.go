package shell

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/host"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/testuser"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/tooltest"
)

// plain runs on the host, as the daemon does where a person allowed it.
type plain struct{ env []string }

func (p plain) Output(ctx context.Context, c tool.Call, dir string, argv, env []string, wall time.Duration) (jail.Captured, error) {
	passing := environ.Passing(append(os.Environ(), p.env...))
	environ.Set(passing, env)
	plan := jail.Plan{Workspace: c.Place.Workspace, Dir: dir, Env: environ.List(passing)}
	return jail.Output(ctx, host.Wall{}, c.Permit, c.Digest, plan, argv, jail.Limits{Wall: wall})
}

func run(t *testing.T, r Runner, dir string, args map[string]any) reeve.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(raw)
	p := permit.NewIssuer(time.Now).Mint(digest, time.Minute)
	return New(r).Run(t.Context(), tool.Call{Permit: p, Digest: digest, Args: raw, Place: tool.Place{Workspace: dir, Home: dir, Dir: dir}})
}

func TestBashPassesTheSuite(t *testing.T) {
	tooltest.Run(t, tooltest.Case{Tool: New(plain{}), Args: `{"command":"echo x > made"}`, Untraced: true})
}

// TestABoundedCommand is contract Y76.
func TestABoundedCommand(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
			t.Fatal(err)
		}
		planted := dir + "/planted.sh"
		if err := os.WriteFile(planted, []byte("echo planted\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		hostile := plain{env: []string{"BASH_ENV=" + planted, "ENV=" + planted, "BASH_FUNC_ls%%=() { echo planted; }", "SHELLOPTS=xtrace", "GIT_SSH_COMMAND=" + planted}}
		tests := []struct {
			name string
			args map[string]any
			want reeve.Result
		}{
			{"output", map[string]any{"command": "echo hello"}, reeve.Result{Status: reeve.StatusSuccess, Output: "hello\n"}},
			{"both streams", map[string]any{"command": "echo out; echo err >&2"}, reeve.Result{Status: reeve.StatusSuccess, Output: "out\n[standard error]\nerr\n"}},
			{"exit code", map[string]any{"command": "echo bad >&2; exit 3"}, reeve.Result{Status: reeve.StatusError, Error: "exit code 3", ExitCode: 3, Output: "bad\n"}},
			{"standard input is empty", map[string]any{"command": "cat; read x || echo none"}, reeve.Result{Status: reeve.StatusSuccess, Output: "none\n"}},
			{"directory", map[string]any{"command": "basename $PWD", "cwd": "sub"}, reeve.Result{Status: reeve.StatusSuccess, Output: "sub\n"}},
			{"no start files, functions or options of the daemon", map[string]any{"command": "type -t ls; echo $GIT_SSH_COMMAND$BASH_ENV; shopt -o xtrace"}, reeve.Result{Status: reeve.StatusError, Error: "exit code 1", ExitCode: 1, Output: "file\n\nxtrace         \toff\n"}},
			{"own group", map[string]any{"command": "[ $(ps -o pgid= -p $$) = $$ ] && echo own"}, reeve.Result{Status: reeve.StatusSuccess, Output: "own\n"}},
		}
		for _, tt := range tests {
			got := run(t, hostile, dir, tt.args)
			got.Duration = 0
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
			}
		}
	})
}

func TestALateCommandIsStoppedWithItsGroup(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now()
	r := run(t, plain{}, dir, map[string]any{"command": "sleep 97 & echo $!; sleep 98", "timeout_s": 1})
	if r.Status != reeve.StatusTimeout || time.Since(begin) > 20*time.Second {
		t.Fatalf("after %s: %+v", time.Since(begin), r)
	}
	pid := strings.TrimSpace(r.Output)
	if text, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(text), "sleep") {
		t.Errorf("the child %s of the stopped command still runs", pid)
	}
}

func TestTheEndOfALongOutputIsKept(t *testing.T) {
	r := run(t, plain{}, t.TempDir(), map[string]any{"command": "seq 100000"})
	if !r.Truncated || len(r.Output) > jail.MaxOutput+100 || !strings.HasSuffix(r.Output, "\n99999\n100000\n") || !strings.HasPrefix(r.Output, "[5") {
		t.Errorf("%d bytes, truncated %v: %.60q ... %q", len(r.Output), r.Truncated, r.Output, r.Output[max(0, len(r.Output)-30):])
	}
}

func TestHostMarksEveryCommand(t *testing.T) {
	at := tool.Place{Workspace: "/w", Home: "/h", Dir: "/w"}
	for raw, want := range map[string]bool{`{"command":"make && go test","host":true}`: true, `{"command":"make && go test"}`: false, `{"command":"make && go test","host":false}`: false} {
		effects, err := New(plain{}).Effects([]byte(raw), at)
		runs := 0
		for _, e := range effects {
			if e.Kind != reeve.EffectRun {
				continue
			}
			if runs++; e.Command.Marks.Has(reeve.CommandHost) != want {
				t.Errorf("%s: %s has marks %b", raw, e.Command.Line(), e.Command.Marks)
			}
		}
		if err != nil || runs != 2 {
			t.Errorf("%s: %d programs, %v", raw, runs, err)
		}
	}
	effects, err := New(plain{}).Effects([]byte(`{"command":"((","host":true}`), at)
	if err != nil || len(effects) < 2 || effects[len(effects)-1].Kind != reeve.EffectUnknown {
		t.Errorf("text that does not parse: %v, %v", effects, err)
	}
}

func TestBadArgumentsAreRefusedBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []map[string]any{
		{"command": "  "}, {"command": "a\x00b"}, {"command": "true", "timeout_s": 301}, {"command": "true", "cwd": ".."}, {"command": "true", "cwd": filepath.Dir(dir)},
		{"command": "true", "cwd": "/"}, {"command": "true", "shell": "zsh"},
	} {
		if r := run(t, failing{t}, dir, args); r.Status != reeve.StatusError {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// failing must not be reached.
type failing struct{ t *testing.T }

func (f failing) Output(_ context.Context, _ tool.Call, _ string, argv, _ []string, _ time.Duration) (jail.Captured, error) {
	f.t.Errorf("ran %q", argv)
	return jail.Captured{}, nil
}

// refusing is a boundary that does not hold.
type refusing struct{}

func (refusing) Output(context.Context, tool.Call, string, []string, []string, time.Duration) (jail.Captured, error) {
	return jail.Captured{}, reeve.ErrBoundary
}

func TestACommandNeverRunsBecauseTheBoundaryFailed(t *testing.T) {
	dir := t.TempDir()
	r := run(t, refusing{}, dir, map[string]any{"command": "touch " + dir + "/ran"})
	if r.Status != reeve.StatusError || !strings.Contains(r.Error, "boundary missing") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("the command ran")
	}
}

func TestWithoutARunnerEffectsAreKnownAndNothingRuns(t *testing.T) {
	dir := t.TempDir()
	if r := run(t, nil, dir, map[string]any{"command": "touch " + dir + "/ran"}); r.Status != reeve.StatusDenied {
		t.Errorf("%+v", r)
	}
	if effects, err := New(nil).Effects([]byte(`{"command":"make"}`), tool.Place{Workspace: dir, Dir: dir}); err != nil || len(effects) == 0 {
		t.Errorf("%v, %v", effects, err)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("the command ran")
	}
}
