//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/testuser"
)

// TestAViewHoldsBehindBothWalls: as root and as an ordinary user, behind each
// wall that mounts, an agent works on a view, leaves traps in it, and what is
// taken over writes nothing but the files of the workspace.
func TestAViewHoldsBehindBothWalls(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"native", "bwrap"} {
		for _, who := range []string{"root", "an ordinary user"} {
			t.Run(engine+" as "+who, func(t *testing.T) {
				root, err := os.MkdirTemp("/tmp", "rv")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(root) })
				command := func(args ...string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }
				switch {
				case who == "root" && os.Getuid() != 0:
					t.Skip("becoming root needs root")
				case who != "root" && os.Getuid() == 0:
					u := testuser.Get(t)
					if err := os.Chown(root, u.UID, u.GID); err != nil {
						t.Fatal(err)
					}
					// Without the test's context, which ends before the last command.
					command = func(args ...string) *exec.Cmd {
						return u.Command(context.WithoutCancel(t.Context()), args[0], args[1:]...)
					}
				}
				viewed(t, bin, engine, root, command)
			})
		}
	}
}

func viewed(t *testing.T, bin, engine, root string, command func(...string) *exec.Cmd) {
	env := []string{"HOME=" + root + "/home", "REEVE_HOME=" + root + "/rh", "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + root, "LANG=C.UTF-8"}
	do := func(wantCode int, args ...string) string {
		t.Helper()
		cmd := command(args...)
		cmd.Dir, cmd.Env = root, env
		if info, err := os.Stat(root + "/ws"); err == nil && info.IsDir() {
			cmd.Dir = root + "/ws"
		}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Fatalf("%q ended with %d, want %d:\n%s", args, code, wantCode, out)
		}
		return string(out)
	}
	do(0, "sh", "-c", `cd "$0"; mkdir -p ws/src ws/lib ws/.vscode home out rh/config; printf '[sandbox]\nengine = "'$1'"\n' > rh/config/config.toml
		echo one > ws/one; echo a > ws/src/a; echo c > ws/lib/c; echo '{}' > ws/.vscode/tasks.json; echo theirs > out/theirs; echo theirs > out/a; echo s > ws/script; chmod 600 ws/one
		echo machine > home/.netrc; ln home/.netrc ws/alias`, root, engine)
	if out, err := func() ([]byte, error) {
		cmd := command(bin, "doctor")
		cmd.Env, cmd.Dir = env, root
		return cmd.CombinedOutput()
	}(); err != nil {
		t.Skipf("no working sandbox of %s: %s", engine, out)
	}
	t.Cleanup(func() { cmd := command(bin, "down", "--stop-sessions"); cmd.Env, cmd.Dir = env, root; _ = cmd.Run() })
	read := func(name string) string { b, _ := os.ReadFile(filepath.Join(root, name)); return string(b) }
	said := do(3, bin, "run", "--review", "--name", "w", "--", "sh", "-c", `out=$0; ws=$PWD
		echo two >> one && cat one; ls -l one
		cat alias && echo "read a credential"
		rm -r lib; ln -s "$out" lib
		rm src/a; mkfifo src/a; mkfifo "fi
fo"
		printf x > "$(printf 'new\n=== added    harmless\033[1m')"
		chmod 755 script; mknod dev c 1 3 2>/dev/null; ln -s ../out/theirs up; ln one hard
		for f in "$out/theirs" "$out/new" .vscode/tasks.json "$ws/.vscode/new"; do echo evil > "$f" && echo "written: $f"; done 2>/dev/null
		mv .vscode moved 2>/dev/null && echo moved
		rm -rf "$HOME/rh" ../rh/state 2>/dev/null; ls ../rh/state 2>/dev/null
		mkdir -p evil/.vscode && echo '{}' > evil/.vscode/tasks.json
		echo hidden > .envrc
		exit 3`, root+"/out")
	if !strings.Contains(said, "one\ntwo\n") || !strings.Contains(said, "-rw-------") || strings.Contains(said, "written:") || strings.Contains(said, "moved") || strings.Contains(said, "credential") {
		t.Errorf("the run saw:\n%s", said)
	}
	if got := read("ws/one"); got != "one\n" {
		t.Errorf("the workspace was changed before anybody took anything over: %q", got)
	}
	shown := do(0, bin, "sessions", "review", "w")
	for _, bad := range []string{"\x1b", "\n=== added    harmless"} {
		if strings.Contains(shown, bad) {
			t.Errorf("%q reaches the terminal:\n%s", bad, shown)
		}
	}
	said = do(1, bin, "sessions", "apply", "w")
	for _, want := range []string{"taken    modified one", "refused  lib is a symbolic link to an absolute path", "refused  src/a is neither a file", "refused  up is a symbolic link out of the workspace",
		"refused  evil/.vscode/tasks.json steers programs", "refused  .envrc steers programs", "taken    mode     script"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	for name, want := range map[string]string{"out/theirs": "theirs\n", "out/a": "theirs\n", "ws/one": "one\ntwo\n", "ws/src/a": "a\n", "ws/.vscode/tasks.json": "{}\n", "ws/hard": "one\ntwo\n", "ws/.envrc": "", "out/new": ""} {
		if got := read(name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]os.FileMode{"ws/one": 0o600, "ws/script": 0o755} {
		if info, err := os.Lstat(filepath.Join(root, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if info, err := os.Lstat(filepath.Join(root, "ws/lib")); err == nil && info.Mode()&os.ModeSymlink != 0 {
		t.Error("lib is a link out of the workspace now")
	}
	do(0, bin, "sessions", "drop", "--force", "w")
	do(0, bin, "sessions", "rm", "w")
}

// TestAtTheEndOfAReviewThePersonIsAsked: on a terminal, with each answer.
func TestAtTheEndOfAReviewThePersonIsAsked(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	is := func(name, want string) {
		t.Helper()
		if got, _ := os.ReadFile(filepath.Join(in.ws, name)); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	start := func(script string) *window {
		t.Helper()
		// What is typed while the program runs is no answer to the question.
		w := in.window(t, "run", "--review", "--", "sh", "-c", script+`; echo begun; read x; exit 4`)
		w.until("begun")
		w.types("go\ra\ra\r")
		w.until("keep it for later")
		return w
	}
	left := func() int {
		t.Helper()
		return strings.Count(string(in.run(t, nil, "sessions", "--json")), `"review":true`)
	}

	w := start("echo 1 > one; mkdir d; echo 2 > d/two")
	is("one", "")
	w.types("a\r")
	if code := w.code(); code != 4 || !strings.Contains(w.seen, "+1") || !strings.Contains(w.seen, "taken    added    d/two") {
		t.Errorf("all: %d, %q", code, w.seen)
	}
	is("one", "1\n")
	is("d/two", "2\n")
	if left() != 0 {
		t.Error("a view is left with nothing in it")
	}

	w = start("echo 3 > one; echo 4 > four; rm -r d; mkdir empty")
	w.types("s\r")
	for _, answer := range []string{"y", "n", "y", "n"} { // d, empty, four, one
		seen := len(w.seen)
		w.until("no more questions")
		w.seen = w.seen[:seen] + strings.Replace(w.seen[seen:], "no more questions", "asked", 1)
		w.types(answer + "\r")
	}
	if code := w.code(); code != 4 || !strings.Contains(w.seen, "2 changes are still in the view") {
		t.Errorf("some: %d, %q", code, w.seen)
	}
	is("one", "1\n")
	is("four", "4\n")
	is("d/two", "")
	if left() != 1 {
		t.Errorf("%d views are left", left())
	}

	w = start("echo 5 > one")
	w.types("\x04")
	if code := w.code(); code != 4 || !strings.Contains(w.seen, "it is kept; reeve sessions review") {
		t.Errorf("no answer: %d, %q", code, w.seen)
	}
	w = start("echo 6 > one")
	w.types("n\r")
	w.until("y · N")
	w.types("y\r")
	if code := w.code(); code != 4 {
		t.Errorf("none: %d, %q", code, w.seen)
	}
	is("one", "1\n")
	if left() != 2 {
		t.Errorf("%d views are left", left())
	}
}

// TestAnAgentTakesNothingOver: what an agent's own process asks is refused.
func TestAnAgentTakesNothingOver(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	in.run(t, nil, "run", "--review", "--name", "w", "--", "sh", "-c", "echo 1 > one")
	// A process that called an agent's hook is that agent, whatever it runs next.
	agent := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\n"+`printf '{"hook_event_name":"PreToolUse","session_id":"s","cwd":"%s","tool_name":"Read","tool_input":{"file_path":"%s/x"},"tool_use_id":"t"}' "$PWD" "$PWD" | "$1" hook claude >/dev/null
for c in "review w" "apply w" "drop --force w"; do "$1" sessions $c; done
`), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(agent, in.bin)
	cmd.Dir, cmd.Env = in.ws, in.env
	out, _ := cmd.CombinedOutput()
	if n := strings.Count(string(out), "reeve: "); n != 3 || strings.Contains(string(out), "taken") {
		t.Errorf("an agent's process got:\n%s", out)
	}
	if _, err := os.Lstat(filepath.Join(in.ws, "one")); err == nil {
		t.Error("an agent took its work over")
	}
	in.run(t, nil, "sessions", "apply", "w")
	if _, err := os.Lstat(filepath.Join(in.ws, "one")); err != nil {
		t.Error(err)
	}
}

// TestADaemonThatIsKilledLosesNoView: the next one finds it, also one of a run
// that ended meanwhile.
func TestADaemonThatIsKilledLosesNoView(t *testing.T) {
	in := newRig(t, "")
	in.needsSandbox(t)
	in.run(t, nil, "run", "--review", "--name", "ended", "--", "sh", "-c", "echo 1 > one")
	in.run(t, nil, "run", "--review", "--detach", "--name", "runs", "--", "sh", "-c", "echo 2 > two; echo ready; sleep 600")
	for until := time.Now().Add(20 * time.Second); !strings.Contains(string(in.run(t, nil, "sessions", "logs", "runs")), "ready"); {
		if time.Now().After(until) {
			t.Fatal("it does not begin")
		}
	}
	// One with its caller's own streams ends with the daemon, and its work stays.
	mid := exec.Command(in.bin, "run", "--review", "--name", "mid", "--", "sh", "-c", "echo 3 > three; echo ready; sleep 600")
	mid.Dir, mid.Env = in.ws, in.env
	said, err := mid.StdoutPipe()
	if err == nil {
		err = mid.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(in.home(), "state", "sessions", "01a00000-0000-7000-8000-000000000000", "view")
	if err := os.MkdirAll(filepath.Join(orphan, "tree"), 0o700); err != nil {
		t.Fatal(err)
	}
	in.killDaemon(t)
	mid.Wait()
	if out := string(in.run(t, nil, "sessions")); !strings.Contains(out, "mid") {
		t.Errorf("the next daemon does not know it:\n%s", out)
	}
	if _, err := os.Lstat(orphan); err == nil {
		t.Error("a view that no session knows of is left")
	}
	in.run(t, nil, "sessions", "apply", "mid")
	in.run(t, nil, "sessions", "stop", "runs")
	in.run(t, nil, "sessions", "apply", "runs")
	in.run(t, nil, "sessions", "apply", "ended")
	for _, name := range []string{"one", "two", "three"} {
		if _, err := os.Lstat(filepath.Join(in.ws, name)); err != nil {
			t.Error(err)
		}
	}
}
