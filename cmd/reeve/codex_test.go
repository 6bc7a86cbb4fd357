//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/ingress/codex"
	"github.com/reeve-gate/reeve/internal/openaitest"
)

// codexProgram is the real Codex: $REEVE_CODEX, else the tested version.
var codexProgram = sync.OnceValues(func() (string, error) {
	if at := os.Getenv("REEVE_CODEX"); at != "" {
		return at, nil
	}
	return installCodex()
})

// installCodex has script/codex fetch the tested version from npm, where it is
// not there yet.
func installCodex(env ...string) (string, error) {
	cmd := exec.Command("../../script/codex")
	cmd.Env = append(os.Environ(), env...)
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case strings.Contains(says.String(), "codex: npm is missing"):
		return "", errNoNPM
	case unreachable.Match(says.Bytes()):
		return "", fmt.Errorf("%w: %.200s", errNoRegistry, says.Bytes())
	}
	return "", fmt.Errorf("script/codex: %w\n%s", err, says.Bytes())
}

// TestOnlyASilentRegistryExcusesCodex: a registry that answers and has not got
// it, and a package with another digest, are failures.
func TestOnlyASilentRegistryExcusesCodex(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(errNoNPM)
	}
	answers := httptest.NewServer(http.NotFoundHandler())
	defer answers.Close()
	fresh := func(more ...string) []string {
		return append([]string{"XDG_CACHE_HOME=" + t.TempDir(), "npm_config_cache=" + t.TempDir(), "npm_config_fetch_retries=0"}, more...)
	}
	if _, err := installCodex(fresh("npm_config_registry=http://127.0.0.1:1")...); !errors.Is(err, errNoRegistry) {
		t.Errorf("nobody listens: %v, want %v", err, errNoRegistry)
	}
	if _, err := installCodex(fresh("npm_config_registry=" + answers.URL)...); err == nil || errors.Is(err, errNoRegistry) {
		t.Errorf("a registry without it: %v, want a failure", err)
	}
	versions, err := os.ReadFile("../../script/codex.version")
	if err != nil {
		t.Fatal(err)
	}
	main := strings.Fields(strings.Split(string(versions), "\n")[1])
	for digest, good := range map[string]bool{main[1]: true, "sha512-AAAA": false} {
		bin := t.TempDir()
		npm := "#!/bin/sh\nwhile [ \"$1\" != --prefix ]; do shift; done\nmkdir -p \"$2/node_modules/.bin\"\n: > \"$2/node_modules/.bin/codex\"\nchmod +x \"$2/node_modules/.bin/codex\"\n" +
			"echo '{\"packages\":{\"node_modules/" + main[0] + "\":{\"integrity\":\"" + digest + "\"}}}' > \"$2/node_modules/.package-lock.json\"\n"
		if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(npm), 0o700); err != nil {
			t.Fatal(err)
		}
		at, err := installCodex(fresh("PATH=" + bin + ":" + os.Getenv("PATH"))...)
		if (err == nil) != good || errors.Is(err, errNoRegistry) || !good && !strings.Contains(err.Error(), "which script/codex.version does not name") {
			t.Errorf("a package with digest %s: %q, %v; want it taken: %v", digest, at, err, good)
		}
	}
}

// codexDesk is a desk with Codex. The model is one whose tools are called one
// by one; codeMode is one whose tools a script calls.
type codexDesk struct {
	*desk
	program string
	model   string
	sandbox []string // how Codex's own is set
}

const (
	oneByOne = "gpt-5.5"
	codeMode = "gpt-6.2-sol"
)

func newCodexDesk(t *testing.T, policy, conf string) *codexDesk {
	t.Helper()
	program, err := codexProgram()
	if errors.Is(err, errNoRegistry) || errors.Is(err, errNoNPM) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &codexDesk{bareDesk(t, ".codex", policy, conf), program, oneByOne, []string{"-s", "danger-full-access"}}
	d.actor = "hook:codex"
	d.put("config.toml", "# the person's\nmodel_reasoning_effort = \"low\"\n")
	return d
}

// put writes a file of Codex's settings.
func (d *codexDesk) put(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.config, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *codexDesk) get(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.config, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// codexRun is one run of Codex against the scripted model.
type codexRun struct {
	model *openaitest.Server
	done  chan error
	out   *bytes.Buffer // its output; read it after done
}

// start runs before..., codex exec and then more.... It is killed with the
// test. Codex's own sandbox is off, but where a test says otherwise: what stops
// a call here is the gate.
func (d *codexDesk) start(script openaitest.Script, before []string, more ...string) *codexRun {
	d.t.Helper()
	r := &codexRun{model: openaitest.New(d.t, script), done: make(chan error, 1), out: new(bytes.Buffer)}
	argv := append(slices.Clone(reaching(before, r.model.URL)), d.argv(r.model.URL, more...)...)
	cmd := exec.CommandContext(d.t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.work, d.env
	cmd.Stdout, cmd.Stderr = r.out, r.out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() { r.done <- cmd.Wait() }() // ends with the process, which ends with the test
	return r
}

// argv is Codex with the model behind url and more arguments.
func (d *codexDesk) argv(url string, more ...string) []string {
	argv := []string{d.program, "exec", "--skip-git-repo-check",
		"-c", "model=" + d.model, "-c", "model_provider=scripted", "-c", `model_providers.scripted={name="scripted",base_url="` + url + `",wire_api="responses"}`}
	return slices.Concat(argv, d.sandbox, more, []string{"go on"})
}

func (d *codexDesk) wait(r *codexRun) {
	t := d.t
	t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			t.Fatalf("codex: %v\n%s", err, r.out)
		}
	case <-time.After(patience):
		pending, err := d.person(d.bin, "approvals", "ls")
		t.Fatalf("codex did not end; %d requests to the model\npending: %s%v", len(r.model.Requests()), pending, err)
	}
}

// told is what the model was told of a call.
func (r *codexRun) told(t *testing.T, id string) string {
	t.Helper()
	text, ok := r.model.Told(id)
	if !ok {
		t.Fatalf("the model was told nothing of %s\n%s", id, r.out)
	}
	return text
}

// shellCall is a turn of one shell command.
func shellCall(id, text string) []openaitest.Item {
	return []openaitest.Item{openaitest.Say("I will run a command."), openaitest.Call(id, "exec_command", map[string]string{"cmd": text})}
}

// newFile is a turn of one patch that makes a file.
func newFile(id, path string) []openaitest.Item {
	return []openaitest.Item{openaitest.Free(id, "apply_patch", "*** Begin Patch\n*** Add File: "+path+"\n+x\n*** End Patch\n")}
}

const codexPolicy = `
deny = [{ rule = "bash(touch denied*)", reason = "this name is kept for the owner" }, "write(denied*)"]
ask = ["bash(touch asked*)"]
allow = ["bash(touch allowed*)", "write(allowed*)"]
`

const refusedByGate = "Reeve denied this call; it was not run."

func TestCodexWorksInsideTheGate(t *testing.T) {
	d := newCodexDesk(t, codexPolicy, "")
	theirs := "{\n\t\"description\": \"mine\",\n\t\"hooks\": {\"PreToolUse\": [{\"matcher\": \"^Bash$\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}"
	d.put("hooks.json", theirs)
	settings := d.get("config.toml")
	d.reeve("install", "codex")

	r := d.start(openaitest.Turns(
		shellCall("call_allowed", "touch allowed.out"),
		shellCall("call_denied", "touch denied.out"),
		shellCall("call_asked", "touch asked.out"),
		newFile("call_patch", "allowed.patch"),
		newFile("call_patch_denied", "denied.patch"),
	), nil)
	q := d.question()
	if d.exists("asked.out") {
		t.Error("the call ran while its question was open")
	}
	if !strings.Contains(q.Preview, "touch asked.out") || q.Actor != "hook:codex" {
		t.Errorf("question = %+v", q)
	}
	d.says("approvals", "allow", q.ID)
	d.wait(r)

	for id, file := range map[string]string{"call_allowed": "allowed.out", "call_asked": "asked.out", "call_patch": "allowed.patch"} {
		if text := r.told(t, id); !d.exists(file) || strings.Contains(text, "blocked") {
			t.Errorf("%s was to run: %q, file %v", id, text, d.exists(file))
		}
	}
	if text := r.told(t, "call_denied"); d.exists("denied.out") || !strings.Contains(text, refusedByGate) ||
		!strings.Contains(text, "this name is kept for the owner") || !strings.Contains(text, "bash(touch denied*)") {
		t.Errorf("the denied call: %q, file %v", text, d.exists("denied.out"))
	}
	if text := r.told(t, "call_patch_denied"); d.exists("denied.patch") || !strings.Contains(text, refusedByGate) || !strings.Contains(text, "write(denied*)") {
		t.Errorf("the denied patch: %q, file %v", text, d.exists("denied.patch"))
	}
	d.recorded(map[string]string{
		"touch allowed.out": "allow success", "touch denied.out": "deny denied", "touch asked.out": "allow success",
		"allowed.patch": "allow success", "denied.patch": "deny denied",
	})

	d.reeve("uninstall", "codex")
	if got := d.get("hooks.json"); got != theirs {
		t.Errorf("hooks after uninstall: %q, want %q", got, theirs)
	}
	if got := d.get("config.toml"); got != settings {
		t.Errorf("settings after uninstall: %q, want %q", got, settings)
	}
}

func TestEachToolOfCodexsCodeModeIsDecided(t *testing.T) {
	d := newCodexDesk(t, codexPolicy, "")
	d.model = codeMode
	d.reeve("install", "codex")
	r := d.start(openaitest.Turns([]openaitest.Item{openaitest.Free("call_script", "exec", `
for (const cmd of ["touch allowed.out", "touch denied.out"]) {
	try { text(JSON.stringify(await tools.exec_command({cmd}))) } catch (e) { text("refused: " + e) }
}
try { await tools.apply_patch("*** Begin Patch\n*** Add File: denied.patch\n+x\n*** End Patch\n") } catch (e) { text("refused: " + e) }
`)}), nil)
	d.wait(r)
	text := r.told(t, "call_script")
	if !d.exists("allowed.out") || d.exists("denied.out") || d.exists("denied.patch") || strings.Count(text, refusedByGate) != 2 {
		t.Errorf("the script was told %q; files %v %v %v", text, d.exists("allowed.out"), d.exists("denied.out"), d.exists("denied.patch"))
	}
	d.recorded(map[string]string{"touch allowed.out": "allow success", "touch denied.out": "deny denied", "denied.patch": "deny denied"})
}

// A command's own directory is the one it is judged in, and never becomes the
// session's workspace.
func TestACommandOfCodexIsJudgedWhereItRuns(t *testing.T) {
	d := newCodexDesk(t, "allow = [\"bash(touch allowed*)\"]\ndefault = \"deny\"\n", "")
	elsewhere := filepath.Join(d.root, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	d.reeve("install", "codex")
	in := func(id, dir string) []openaitest.Item {
		return []openaitest.Item{openaitest.Call(id, "exec_command", map[string]string{"cmd": "touch allowed.out", "workdir": dir})}
	}
	r := d.start(openaitest.Turns(in("call_out", elsewhere), in("call_in", d.work)), nil)
	d.wait(r)
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 0 || !strings.Contains(r.told(t, "call_out"), refusedByGate) {
		t.Errorf("the command outside: %q; it left %v, %v", r.told(t, "call_out"), left, err)
	}
	if !d.exists("allowed.out") {
		t.Errorf("the command inside: %q", r.told(t, "call_in"))
	}
}

// Codex asks before a call leaves its own sandbox. The gate has decided that
// call: what it allowed runs, without a word of Codex's reviewer.
func TestCodexsOwnQuestionIsAnsweredByWhatTheGateDecided(t *testing.T) {
	d := newCodexDesk(t, "allow = [\"bash(touch allowed*)\"]\n", "")
	d.sandbox = []string{"--approve-for-me"}
	d.reeve("install", "codex")
	r := d.start(openaitest.Turns([]openaitest.Item{openaitest.Call("call_1", "exec_command", map[string]string{
		"cmd": "touch allowed.out", "sandbox_permissions": "require_escalated", "justification": "may I?",
	})}), nil)
	d.wait(r)
	if text := r.told(t, "call_1"); !d.exists("allowed.out") || !strings.Contains(text, "exited with code 0") {
		t.Errorf("the model was told %q, file %v\n%s", text, d.exists("allowed.out"), r.out)
	}
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times, want 2: by nobody but the conversation", n)
	}
	d.recorded(map[string]string{"touch allowed.out": "allow success"})
}

// What is typed into a running command reaches no hook: the threat model says
// so, and so does reeve install codex.
func TestWhatIsTypedIntoARunningCommandOfCodexIsNotShown(t *testing.T) {
	d := newCodexDesk(t, "allow = [\"bash(cat)\"]\n", "")
	d.reeve("install", "codex")
	running := regexp.MustCompile(`session ID (\d+)`)
	r := d.start(func(q *openaitest.Request) []openaitest.Item {
		first, started := q.Told("call_1")
		if !started {
			return []openaitest.Item{openaitest.Call("call_1", "exec_command", map[string]any{"cmd": "cat", "tty": true, "yield_time_ms": 250})}
		}
		m := running.FindStringSubmatch(first)
		if _, typed := q.Told("call_2"); m == nil || typed {
			return []openaitest.Item{openaitest.Say("done")}
		}
		return []openaitest.Item{openaitest.Call("call_2", "write_stdin", `{"session_id":`+m[1]+`,"chars":"typed words\n\u0004"}`)}
	}, nil)
	d.wait(r)
	if text := r.told(t, "call_2"); !strings.Contains(text, "typed words") {
		t.Fatalf("nothing was typed: %q", text)
	}
	for _, row := range d.audit() {
		if bytes.Contains(row.Args, []byte("typed words")) {
			t.Errorf("it is shown now, say so: %+v", row)
		}
	}
}

// refusedCall wants one call neither run nor reported as done.
func (d *codexDesk) refusedCall(r *codexRun, file, says string) {
	d.t.Helper()
	d.wait(r)
	if text := r.told(d.t, "call_1"); !strings.Contains(text, "blocked by PreToolUse hook") || !strings.Contains(text, says) {
		d.t.Errorf("the model was told %q, want a refusal with %q", text, says)
	}
	if d.exists(file) {
		d.t.Error("the call ran")
	}
}

func TestCodexDoesNotRunACallThatReeveCannotDecide(t *testing.T) {
	const freely = "allow = [\"bash(touch *)\"]\nask = [\"bash(touch asked*)\"]\n"
	one := func(text string) openaitest.Script { return openaitest.Turns(shellCall("call_1", text)) }

	t.Run("daemon killed while a question stands", func(t *testing.T) {
		d := newCodexDesk(t, freely, "")
		d.reeve("install", "codex")
		r := d.start(one("touch asked.out"), nil)
		d.question()
		if err := syscall.Kill(d.daemon(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.refusedCall(r, "asked.out", "could not decide it")
	})

	t.Run("daemon stopped", func(t *testing.T) {
		d := newCodexDesk(t, freely, "[gate]\nhook_deadline = \"2s\"\n")
		d.reeve("install", "codex")
		d.reeve("up")
		pid := d.daemon()
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		d.refusedCall(d.start(one("touch a.out"), nil), "a.out", "could not decide it")
	})

	t.Run("nobody answers in time", func(t *testing.T) {
		d := newCodexDesk(t, freely, "[gate]\nhook_deadline = \"2s\"\n")
		d.reeve("install", "codex")
		d.refusedCall(d.start(one("touch asked.out"), nil), "asked.out", "Reeve denied this call")
	})

	// own gives the desk a program of its own, which can be taken away.
	own := func(t *testing.T) *codexDesk {
		d := newCodexDesk(t, freely, "")
		program, err := os.ReadFile(d.bin)
		if err != nil {
			t.Fatal(err)
		}
		d.bin = filepath.Join(d.root, "reeve")
		if err := os.WriteFile(d.bin, program, 0o700); err != nil {
			t.Fatal(err)
		}
		d.reeve("install", "codex")
		if err := os.Remove(d.bin); err != nil {
			t.Fatal(err)
		}
		return d
	}

	t.Run("program removed", func(t *testing.T) {
		d := own(t)
		d.refusedCall(d.start(one("touch a.out"), nil), "a.out", "Reeve's hook did not work")
	})

	t.Run("program killed", func(t *testing.T) {
		d := own(t)
		if err := os.WriteFile(d.bin, []byte("#!/bin/sh\nkill -9 $$\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		d.refusedCall(d.start(one("touch a.out"), nil), "a.out", "Reeve's hook did not work")
	})

	t.Run("disk full", func(t *testing.T) {
		d := newCodexDesk(t, freely, "")
		if err := syscall.Mount("reeve-test", d.state, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
			t.Skipf("no small disk to be had: mount: %v", err)
		}
		t.Cleanup(func() {
			d.down() // while its socket can be reached
			_ = syscall.Unmount(d.state, syscall.MNT_DETACH)
		})
		d.reeve("install", "codex")
		d.reeve("up")
		fill(t, d.state)
		d.refusedCall(d.start(one("touch a.out"), nil), "a.out", "")
	})
}

// What Codex lets through whatever a hook does: docs/threat-model.md says it,
// and a version that no longer does so is to be noticed here.
func TestWhatCodexLetsThroughIsAsItIsSaid(t *testing.T) {
	project := func(d *codexDesk) {
		if err := os.MkdirAll(filepath.Join(d.work, ".codex"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.work, ".codex", "config.toml"), []byte("[features]\nhooks = false\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "-C", d.work, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("git init: %v %s", err, out)
		}
	}
	deny := "echo kept >&2; exit 2"
	for _, tt := range []struct {
		name    string
		hook    string // the command
		timeout int
		trusted bool
		with    func(*codexDesk)
		args    []string
		runs    bool
	}{
		{"a denial", deny, 600, true, nil, nil, false},
		{"a denial beside a printed word", "echo hello; " + deny, 600, true, nil, nil, false},
		{"a denial without a reason", "exit 2", 600, true, nil, nil, true},
		{"another exit code", "echo kept >&2; exit 1", 600, true, nil, nil, true},
		{"its shell is killed", "kill -9 $$", 600, true, nil, nil, true},
		{"its time is up", "sleep 60", 1, true, nil, nil, true},
		{"nobody trusts it", deny, 600, false, nil, nil, true},
		{"hooks are off", deny, 600, true, nil, []string{"--disable", "hooks"}, true},
		{"no settings", deny, 600, true, nil, []string{"--ignore-user-config"}, true},
		{"a project that is not trusted switches hooks off", deny, 600, true, project, nil, false},
		{"a trusted project switches hooks off", deny, 600, true, project, []string{"--trust"}, true},
		{"a trusted project, and hooks are asked for", deny, 600, true, project, []string{"--trust", "-c", "features.hooks=true"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newCodexDesk(t, "", "")
			hooks, err := json.Marshal(map[string]any{"hooks": map[string]any{"PreToolUse": []any{
				map[string]any{"hooks": []any{map[string]any{"type": "command", "command": tt.hook, "timeout": tt.timeout}}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			d.put("hooks.json", string(hooks))
			file := filepath.Join(d.config, "hooks.json")
			trust := codex.Trust{Key: codex.Key(file, "PreToolUse", 0, 0), Digest: codex.Digest("PreToolUse", nil, tt.hook, tt.timeout)}
			if tt.trusted {
				text, err := codex.Add([]byte(d.get("config.toml")), true, file, []codex.Trust{trust}, nil)
				if err != nil {
					t.Fatal(err)
				}
				d.put("config.toml", string(text))
			}
			if tt.with != nil {
				tt.with(d)
			}
			r := d.start(openaitest.Turns(shellCall("call_1", "touch ran.out")), nil, tt.args...)
			d.wait(r)
			if ran := d.exists("ran.out"); ran != tt.runs {
				t.Errorf("the call ran: %v, want %v; the model was told %q", ran, tt.runs, r.told(t, "call_1"))
			}
		})
	}
}

func TestInsideARunCodexIsHeldByTheOperatingSystem(t *testing.T) {
	// Not below /tmp, of which a session has its own: the write must fail, not
	// go elsewhere.
	outside, err := os.MkdirTemp("/var/tmp", "reeve-outside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(outside) })
	byPatch, byShell := filepath.Join(outside, "patch.out"), filepath.Join(outside, "shell.out")

	d := newCodexDesk(t, fmt.Sprintf("allow = [\"bash(sh ./*)\", %q, \"write(inside.out)\"]\n", "write(/"+byPatch+")"), "")
	if _, err := d.person(d.bin, "doctor"); err != nil {
		t.Skipf("no boundary here: %v", err)
	}
	for name, text := range map[string]string{
		"escape.sh": "echo out > " + byShell + "\n",
		"inside.sh": "echo in > script.out\n",
		"open.sh": "for f in hooks.json config.toml work.config.toml; do echo x >> ~/.codex/$f && echo wrote $f; done\n" +
			"mkdir -p ~/.codex/packages/p && echo wrote packages\n" +
			"ls ~/.codex/app-server-control ~/.codex/shell_snapshots\n" +
			"for d in tmp shell_snapshots; do echo evil > ~/.codex/$d/planted && echo own $d; done\n",
	} {
		if err := os.WriteFile(filepath.Join(d.work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.put("work.config.toml", "")
	for _, dir := range []string{"packages", "app-server-control", "shell_snapshots", "tmp"} {
		if err := os.Mkdir(filepath.Join(d.config, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"app-server-control/app-server-control.sock", "shell_snapshots/other.sh"} {
		d.put(name, "another session's")
	}
	d.reeve("install", "codex")
	hooks, settings := d.get("hooks.json"), d.get("config.toml")

	r := d.start(openaitest.Turns(
		shellCall("call_inside", "sh ./inside.sh"),
		newFile("call_patch_in", "inside.out"),
		newFile("call_patch_out", byPatch),
		shellCall("call_escape", "sh ./escape.sh"),
		shellCall("call_open", "sh ./open.sh"),
	), []string{d.bin, "run", "--"})
	d.wait(r)

	if !d.exists("script.out") || !d.exists("inside.out") {
		t.Errorf("inside the workspace: %q, %q", r.told(t, "call_inside"), r.told(t, "call_patch_in"))
	}
	for _, id := range []string{"call_patch_out", "call_escape"} {
		if text := r.told(t, id); !strings.Contains(strings.ToLower(text), "read-only file system") && !strings.Contains(text, "Failed to write file") {
			t.Errorf("%s: %q, want the operating system's refusal", id, text)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside now holds %v, %v", left, err)
	}
	text := r.told(t, "call_open")
	if strings.Contains(text, "wrote ") || strings.Contains(text, "other.sh") || strings.Contains(text, ".sock") || !strings.Contains(text, "own tmp") || !strings.Contains(text, "own shell_snapshots") {
		t.Errorf("in its state folder the contained program saw and did %q", text)
	}
	if d.get("hooks.json") != hooks || d.get("config.toml") != settings || d.get("work.config.toml") != "" {
		t.Error("the settings were changed from inside")
	}
	for _, dir := range []string{"tmp", "shell_snapshots"} {
		if _, err := os.Lstat(filepath.Join(d.config, dir, "planted")); err == nil {
			t.Errorf("%s is shared with what runs outside", dir)
		}
	}
	d.recorded(map[string]string{"sh ./inside.sh": "allow success", "sh ./escape.sh": "allow success", byPatch: "allow unknown"})
	for _, row := range d.audit() {
		if row.Actor == "hook:codex" && !row.Contained {
			t.Errorf("a call inside the run is not recorded as contained: %+v", row)
		}
	}
}
