package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// rig is one built program with a home of its own and a running daemon.
type rig struct {
	bin, ws string
	env     []string
}

func newRig(tb testing.TB, policy string) *rig { return newRigWith(tb, policy, "") }

// newRigWith is a rig with settings.
func newRigWith(tb testing.TB, policy, conf string) *rig {
	tb.Helper()
	root, err := os.MkdirTemp("", "rig") // short: sockets stand below it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(root) })
	return newRigIn(tb, root, policy, conf)
}

// newRigIn is newRig in a directory of one's own.
func newRigIn(tb testing.TB, root, policy, conf string) *rig {
	tb.Helper()
	bin, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	in := &rig{bin: bin, ws: filepath.Join(root, "ws")}
	for _, dir := range []string{in.ws, filepath.Join(root, "home"), filepath.Join(root, "rh", "config")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "rh", "config", "policy.toml"), []byte(policy), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "rh", "config", "config.toml"), []byte(conf), 0o600); err != nil {
		tb.Fatal(err)
	}
	in.env = []string{"HOME=" + filepath.Join(root, "home"), "REEVE_HOME=" + filepath.Join(root, "rh"), "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + root}
	in.run(tb, nil, "up")
	tb.Cleanup(func() { in.run(tb, nil, "down", "--stop-sessions") })
	return in
}

func (in *rig) run(tb testing.TB, stdin []byte, args ...string) []byte {
	tb.Helper()
	cmd := exec.Command(in.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = in.ws, in.env, bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(in.home(), "state", "daemon.log"))
		tb.Fatalf("reeve %v: %v\n%s%s\nThe daemon's log:\n%s", args, err, out, errs.Bytes(), log)
	}
	return out
}

// emptyProgram builds a Go program that does nothing.
func emptyProgram(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	src, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", bin, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build the empty program: %v\n%s", err, out)
	}
	return bin
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkHookProcess times reeve hook claude as a whole process against a
// running daemon, interleaved with an empty Go program. Budgets: 12 ms median
// on the developer's machine, 4 times the empty program in the same run.
func BenchmarkHookProcess(b *testing.B) {
	in := newRig(b, `allow = ["read(*)"]`)
	empty := emptyProgram(b)
	event := fmt.Appendf(nil, `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":%q,"permission_mode":"default","tool_name":"Read","tool_input":{"file_path":%q},"tool_use_id":"t1"}`,
		in.ws, filepath.Join(in.ws, "a.txt"))
	var ours, theirs []time.Duration
	for b.Loop() {
		start := time.Now()
		if out := in.run(b, event, "hook", "claude"); !bytes.Contains(out, []byte(`"allow"`)) {
			b.Fatalf("the hook said %s", out)
		}
		ours = append(ours, time.Since(start))
		start = time.Now()
		if err := exec.Command(empty).Run(); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(start))
	}
	o, t := median(ours), median(theirs)
	b.ReportMetric(float64(o.Microseconds())/1000, "hook-ms")
	b.ReportMetric(float64(t.Microseconds())/1000, "empty-ms")
	b.ReportMetric(float64(o)/float64(t), "ratio")
}

// BenchmarkRunTrue times reeve run -- true as a person types it, interleaved
// with bubblewrap alone under the same mounts. Budget: 5 ms more behind the
// native wall, 8 behind that of bubblewrap.
func BenchmarkRunTrue(b *testing.B) {
	if _, err := os.Stat("/usr/bin/bwrap"); err != nil {
		b.Skip("bubblewrap is not installed")
	}
	in := newRig(b, "")
	plain := in.plainBwrap(b)
	var ours, theirs []time.Duration
	for b.Loop() {
		start := time.Now()
		in.run(b, nil, "run", "--no-receipt", "--net", "none", "--", "true")
		ours = append(ours, time.Since(start))
		cmd := exec.Command("/usr/bin/bwrap", plain...)
		cmd.Dir, cmd.Env = in.ws, in.env
		start = time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("plain bubblewrap: %v\n%s", err, out)
		}
		theirs = append(theirs, time.Since(start))
	}
	o, t := median(ours), median(theirs)
	b.ReportMetric(float64(o.Microseconds())/1000, "run-ms")
	b.ReportMetric(float64(t.Microseconds())/1000, "bwrap-ms")
	b.ReportMetric(float64((o-t).Microseconds())/1000, "more-ms")
}

// plainBwrap is a bubblewrap command line with the mounts that reeve run makes
// here, read back from inside the boundary.
func (in *rig) plainBwrap(tb testing.TB) []string {
	tb.Helper()
	args := []string{"--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"}
	info := in.run(tb, nil, "run", "--no-receipt", "--net", "none", "--", "cat", "/proc/self/mountinfo")
	host, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		tb.Fatal(err)
	}
	outside := map[string]bool{}
	for _, line := range bytes.Split(host, []byte("\n")) {
		if f := bytes.Fields(line); len(f) > 4 {
			outside[string(f[4])] = true
		}
	}
	for _, line := range bytes.Split(info, []byte("\n")) {
		f := bytes.Fields(line)
		if len(f) < 9 {
			continue
		}
		at, kind := string(f[4]), string(f[slices.IndexFunc(f, func(w []byte) bool { return string(w) == "-" })+1])
		switch {
		case at == "/" || filepath.Dir(at) == "/dev" || filepath.Dir(at) == "/proc":
		case at == "/dev":
			args = append(args, "--dev", at)
		case at == "/proc":
			args = append(args, "--proc", at)
		case outside[at]:
		default:
			info, err := os.Stat(at)
			switch {
			case err != nil && kind == "tmpfs", err == nil && info.IsDir() && kind == "tmpfs":
				args = append(args, "--tmpfs", at)
			case err != nil: // made by the boundary itself, below a private directory
			case kind == "tmpfs":
				args = append(args, "--ro-bind", "/dev/null", at)
			default:
				args = append(args, "--bind", at, at)
			}
		}
	}
	return append(args, "true")
}
