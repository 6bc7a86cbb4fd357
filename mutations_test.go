package reeve_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A mutation is one line of docs/claims-mutations.tsv: it takes away what a
// claim of docs/threat-model.md rests on, and the claim's test must then fail.
// Columns, tab separated, the first line naming them:
//
//	row          the claim's handle
//	test         the test that must fail, as in the claim's row
//	file         the file to change
//	pattern      a text that stands on exactly one line of the file
//	replacement  what takes its place; empty removes it
type mutation struct {
	row, test, file, pattern, replacement string
	line                                  int
}

const mutationsFile = "docs/claims-mutations.tsv"

func readMutations(t *testing.T) []mutation {
	t.Helper()
	var all []mutation
	for i, line := range strings.Split(strings.TrimSuffix(readFile(t, mutationsFile), "\n"), "\n") {
		cols := strings.Split(line, "\t")
		if len(cols) == 4 {
			cols = append(cols, "")
		}
		if len(cols) != 5 {
			t.Errorf("%s:%d: %d columns, want row, test, file, pattern, replacement", mutationsFile, i+1, len(cols))
			continue
		}
		if i > 0 {
			all = append(all, mutation{cols[0], cols[1], cols[2], cols[3], cols[4], i + 1})
		}
	}
	return all
}

// apply returns the file's text with the mutation made.
func (m mutation) apply() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if m.pattern == "" || m.pattern == m.replacement {
		return "", fmt.Errorf("the mutation changes nothing")
	}
	if n := strings.Count(string(text), m.pattern); n != 1 {
		return "", fmt.Errorf("%q stands %d times in %s, want once", m.pattern, n, m.file)
	}
	return strings.Replace(string(text), m.pattern, m.replacement, 1), nil
}

func TestEveryClaimKeepsItsMutation(t *testing.T) {
	claims, _, _ := readClaims(t)
	tests := map[string][]string{}
	for _, c := range claims {
		tests[c.row] = c.tests
	}
	kept := map[string]bool{}
	for _, m := range readMutations(t) {
		if !slices.Contains(tests[m.row], m.test) {
			t.Errorf("%s:%d: the row %q of %s does not name %s", mutationsFile, m.line, m.row, threatModel, m.test)
		}
		if strings.HasSuffix(m.file, "_test.go") {
			t.Errorf("%s:%d: a mutation changes what is claimed, not its test", mutationsFile, m.line)
		}
		if _, err := m.apply(); err != nil {
			t.Errorf("%s:%d: %v", mutationsFile, m.line, err)
		}
		kept[m.row] = true
	}
	for _, c := range claims {
		if !kept[c.row] {
			t.Errorf("%s:%d: the claim %q has no mutation in %s", threatModel, c.line, c.row, mutationsFile)
		}
	}
}

// TestClaimMutations makes mutations one at a time and expects the claim's
// test to fail for each. REEVE_MUTATIONS is "all", the number of mutations
// to draw, or handles of rows with commas between; REEVE_MUTATIONS_SEED repeats a draw.
func TestClaimMutations(t *testing.T) {
	want := os.Getenv("REEVE_MUTATIONS")
	if want == "" {
		t.Skip("REEVE_MUTATIONS is not set; ./script/test sets it")
	}
	for _, m := range draw(t, readMutations(t), want) {
		t.Run(fmt.Sprintf("%s/%d", m.row, m.line), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			defer func() { // at once: results of parallel subtests are only told at the end
				word := "noticed"
				if t.Failed() {
					word = "MISSED"
				}
				fmt.Printf("%-8s %-15s line %-3d %s (%.1fs)\n", word, m.row, m.line, m.test, time.Since(began).Seconds())
			}()
			text, err := m.apply()
			if err != nil {
				t.Fatal(err)
			}
			roomName, test, ok := splitTest(m.test)
			if !ok {
				t.Fatalf("%q is not of the form room.TestName", m.test)
			}
			dir, env := mutate(t, m.file, text)
			out, err := runTest(dir, env, dirOf(roomName), test)
			switch {
			case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
				t.Errorf("the mutated tree does not build, which proves nothing:\n%s", out)
			case err == nil:
				t.Errorf("%s passes although %s lost %q:\n%s", m.test, m.file, m.pattern, out)
			case !failed(out, test):
				t.Errorf("%s did not run:\n%s", m.test, out)
			}
		})
	}
}

func draw(t *testing.T, all []mutation, want string) []mutation {
	n, err := strconv.Atoi(want)
	switch {
	case want == "all":
		return all
	case err != nil:
		rows := strings.Split(want, ",")
		return slices.DeleteFunc(all, func(m mutation) bool { return !slices.Contains(rows, m.row) })
	case n >= len(all):
		return all
	}
	seed, err := strconv.ParseUint(os.Getenv("REEVE_MUTATIONS_SEED"), 10, 64)
	if err != nil {
		seed, _ = strconv.ParseUint(time.Now().UTC().Format("20060102"), 10, 64)
	}
	t.Logf("%d of %d mutations drawn with REEVE_MUTATIONS_SEED=%d", n, len(all), seed)
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// mutate arranges for file to have this text: the compiler is given an
// overlay for what it reads, a tree of hard links stands in for the rest.
func mutate(t *testing.T, file, text string) (dir string, env []string) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	changed := filepath.Join(temp, "changed"+filepath.Ext(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if !compiled(file) {
		dir = filepath.Join(temp, "tree")
		linkTree(t, root, dir)
		if err := os.Rename(changed, filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		return dir, os.Environ()
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, file): changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return root, append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+list))
}

// compiled reports whether a change of the file reaches its test through the
// compiler: Go files of the rooms, and what they embed. Tests of the root
// read files as they stand.
func compiled(file string) bool {
	return strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "cmd/") || strings.HasPrefix(file, "client/") ||
		strings.HasSuffix(file, ".go") && !strings.Contains(file, "/")
}

func linkTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && rel != "." && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case d.Type().IsRegular():
			if os.Link(path, filepath.Join(to, rel)) == nil {
				return nil
			}
			text, err := os.ReadFile(path) // another file system: copy
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), text, 0o600)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func runTest(dir string, env []string, pkg, test string) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(test, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.Command("go", "test", "-count=1", "-timeout=90s", "-run", strings.Join(parts, "/"), "./"+pkg)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "REEVE_MUTATIONS") }), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failed reports whether the output shows that the test itself ran and failed.
func failed(out, test string) bool {
	base, _, _ := strings.Cut(test, "/")
	return strings.Contains(out, "--- FAIL: "+base) || strings.Contains(out, "panic: ") || strings.Contains(out, "fatal error: ")
}
