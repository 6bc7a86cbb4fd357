//go:build linux

package jailtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
)

// project is somebody else's code with its own tests, pinned.
type project struct {
	name    string
	fetch   func(t *testing.T, dir string) string // puts it below dir and returns its root
	argv    []string                              // runs its tests
	count   *regexp.Regexp                        // what is counted in the output
	atLeast int
	write   func(t *testing.T) (dirs, set []string)
}

// projects are the three of amendment 43.
func projects() []project {
	return []project{
		{"github.com/google/uuid v1.6.0", goModule, []string{"go", "test", "-count=1", "-v", "./..."}, regexp.MustCompile(`(?m)^\s*--- PASS`), 40, func(t *testing.T) ([]string, []string) {
			dir := buildCache(t)
			return []string{dir}, []string{"GOCACHE=" + dir, "GOFLAGS=-mod=mod", "GOPROXY=off"}
		}},
		{"minimist 1.2.8", npmPackage, []string{"node", "node_modules/tape/bin/tape", "package/test/*.js"}, regexp.MustCompile(`(?m)^ok \d+`), 150, nil},
		{"python's own tests", pythonTests, []string{"python3", "-m", "unittest", "-v", "test.test_json", "test.test_textwrap", "test.test_shelve"}, regexp.MustCompile(`(?m)\.\.\. ok$`), 200, nil},
	}
}

// RealWork runs the projects' own tests outside and then inside, without the
// network: the same number must pass. What they need is fetched before, and
// kept between test runs.
func RealWork(t *testing.T, wall jail.Wall) {
	for _, p := range projects() {
		t.Run(p.name, func(t *testing.T) {
			if _, err := exec.LookPath(p.argv[0]); err != nil {
				t.Skipf("%s is not installed", p.argv[0])
			}
			b := NewBench(t, wall)
			b.Workspace = p.fetch(t, b.Workspace)
			var opts jail.Options
			opts.Net = new(jail.NetMode)
			if p.write != nil {
				opts.Write, opts.Set = p.write(t)
			}
			outside := p.outside(t, b, opts.Set)
			if outside < p.atLeast {
				t.Fatalf("%d passed outside, want at least %d", outside, p.atLeast)
			}
			c, err := unbounded(t, b, opts, p.argv)
			if err != nil {
				t.Fatal(err)
			}
			inside := len(p.count.FindAllString(c, -1))
			if inside != outside {
				t.Errorf("%d passed inside, %d outside:\n%s", inside, outside, tail(c))
			}
			t.Logf("%d passed on both sides", inside)
		})
	}
}

func (p project) outside(t *testing.T, b *Bench, set []string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.argv[0], p.argv[1:]...)
	cmd.Dir = b.Workspace
	cmd.Env = append(append(os.Environ(), "TMPDIR="+t.TempDir()), set...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("outside: %v\n%s", err, tail(string(out)))
	}
	return len(p.count.FindAllString(string(out), -1))
}

// unbounded runs a program inside and keeps all it says.
func unbounded(t *testing.T, b *Bench, opts jail.Options, argv []string) (string, error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	proc, err := b.Wall.Start(ctx, b.Permit(), digest, b.Plan(t, "agent", opts), jail.Cmd{Argv: argv, Stdout: file, Stderr: file})
	if err != nil {
		return "", err
	}
	exit, err := proc.Wait()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file.Name())
	if exit.Code != 0 {
		t.Errorf("inside it ended with %d", exit.Code)
	}
	return string(text), err
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

// fetched is a directory where downloads stay between test runs.
func fetched(t *testing.T, name string, get func(dir string) error) string {
	t.Helper()
	dir := filepath.Join("/var/tmp", "reeve-realwork-"+strconv.Itoa(os.Getuid()), name)
	if _, err := os.Stat(filepath.Join(dir, ".done")); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "get-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	if err := get(work); err != nil && silence.MatchString(err.Error()) {
		t.Skipf("nothing answers where %s is fetched: %v", name, err)
	} else if err != nil {
		t.Fatalf("fetch %s: %v", name, err)
	}
	if err := os.WriteFile(filepath.Join(work, ".done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(dir)
	if err := os.Rename(work, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// silence is how go and npm say that no answer came.
var silence = regexp.MustCompile(`(?i)npm (?:error|ERR!) code (?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b|dial tcp|no such host|i/o timeout|network is unreachable|module lookup disabled by GOPROXY=off`)

// command runs a fetching program, for at most two minutes. Its error holds what
// the program said.
func command(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, tail(string(out)), tail(errs.String()))
	}
	return string(out), err
}

func goModule(t *testing.T, ws string) string {
	dir := fetched(t, "uuid-1.6.0", func(dir string) error {
		out, err := command(t, dir, "go", "mod", "download", "-json", "github.com/google/uuid@v1.6.0")
		if err != nil {
			return err
		}
		var info struct{ Dir string }
		if err := json.Unmarshal([]byte(out), &info); err != nil {
			return err
		}
		return os.CopyFS(filepath.Join(dir, "src"), os.DirFS(info.Dir))
	})
	if err := os.CopyFS(filepath.Join(ws, "uuid"), os.DirFS(filepath.Join(dir, "src"))); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(ws, "uuid")
}

func npmPackage(t *testing.T, ws string) string {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	dir := fetched(t, "minimist-1.2.8", func(dir string) error {
		if _, err := command(t, dir, "npm", "install", "--prefix", ".", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "tape@3.6.1"); err != nil {
			return err
		}
		if _, err := command(t, dir, "npm", "pack", "--silent", "minimist@1.2.8"); err != nil {
			return err
		}
		_, err := command(t, dir, "tar", "xzf", "minimist-1.2.8.tgz")
		return err
	})
	root := filepath.Join(ws, "minimist")
	if err := os.CopyFS(root, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return root
}

func pythonTests(t *testing.T, ws string) string {
	if err := exec.Command("python3", "-c", "import test.test_json").Run(); err != nil {
		t.Skip("python's own tests are not installed (Debian: libpython3-testsuite)")
	}
	return ws
}
