package reeve_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRunReport reads what `go test -json` wrote in a whole run, in the files
// that REEVE_TEST_JSON names, separated by blanks, and writes an account of it
// to the file that REEVE_TEST_REPORT names: what failed with its output, each
// skip with its reason, and the closing count. It fails on a skip that
// docs/skips.md does not list and on a claimed test that did not run and pass.
func TestRunReport(t *testing.T) {
	files := strings.Fields(os.Getenv("REEVE_TEST_JSON"))
	if len(files) == 0 {
		t.Skip("REEVE_TEST_JSON is not set; ./script/test sets it")
	}
	run := &testRun{done: map[string]string{}, output: map[string]*strings.Builder{}}
	for _, file := range files {
		run.read(t, file)
	}
	var report strings.Builder
	run.account(t, &report)
	run.checkClaims(t, &report)
	passed, failed, skipped := run.count()
	fmt.Fprintf(&report, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if err := os.WriteFile(os.Getenv("REEVE_TEST_REPORT"), []byte(report.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if failed > 0 {
		t.Errorf("%d tests failed", failed)
	}
	if passed == 0 {
		t.Error("no test ran")
	}
}

type testRun struct {
	done   map[string]string // "room.TestName/sub", or a room alone, to pass, fail or skip
	output map[string]*strings.Builder
}

type testEvent struct {
	Action, Package, ImportPath, Test, Output string
}

func (r *testRun) read(t *testing.T, file string) {
	t.Helper()
	for line := range strings.Lines(readFile(t, file)) {
		if !strings.HasPrefix(line, "{") {
			continue // what a process wrote past the test's own output
		}
		var e testEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%s: %v in %.80q", file, err, line)
			continue
		}
		if e.Package == "" {
			e.Package, _, _ = strings.Cut(e.ImportPath, " ")
		}
		key := ourRoom(e.Package)
		if e.Test != "" {
			key += "." + e.Test
		}
		switch e.Action {
		case "output", "build-output":
			if r.output[key] == nil {
				r.output[key] = &strings.Builder{}
			}
			r.output[key].WriteString(e.Output)
		case "pass", "fail", "skip":
			if r.done[key] != "fail" && r.done[key] != "skip" || e.Action == "fail" {
				r.done[key] = e.Action // a failure or a skip in one run is not undone by another
			}
		case "build-fail":
			r.done[key] = "fail"
		}
	}
}

// account writes failures and skips, and fails on a skip that is not listed.
func (r *testRun) account(t *testing.T, report *strings.Builder) {
	t.Helper()
	listed := readSkips(t)
	var names []string
	for name := range r.done {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out := ""
		if r.output[name] != nil {
			out = r.output[name].String()
		}
		switch r.done[name] {
		case "fail":
			fmt.Fprintf(report, "FAILED %s\n%s\n", name, out)
		case "skip":
			if !strings.Contains(name, ".") {
				continue // a package without tests
			}
			says := skipReason(out)
			fmt.Fprintf(report, "skipped %s: %s\n", name, says)
			if !slices.ContainsFunc(listed, func(s skip) bool { return s.covers(name, says) }) {
				t.Errorf("%s was skipped (%s) and is not listed in %s", name, says, skipsFile)
				fmt.Fprintf(report, "FAILED %s: a skip that %s does not list\n", name, skipsFile)
			}
		}
	}
}

// checkClaims fails on each claimed test that neither passed nor was skipped
// for a listed reason.
func (r *testRun) checkClaims(t *testing.T, report *strings.Builder) {
	t.Helper()
	claims, _, _ := readClaims(t)
	for _, c := range claims {
		for _, name := range c.tests {
			if got := r.done[name]; got != "pass" && got != "skip" {
				t.Errorf("%s:%d: the claimed test %s did not pass (%s)", threatModel, c.line, name, cmpOr(got, "it did not run"))
				fmt.Fprintf(report, "FAILED claim %s: %s did not run and pass\n", c.row, name)
			}
		}
	}
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// count counts tests at the top level, and rooms that failed without one.
func (r *testRun) count() (passed, failed, skipped int) {
	blamed := map[string]bool{}
	for name, action := range r.done {
		roomName, test, isTest := splitTest(name)
		if !isTest || strings.Contains(test, "/") {
			continue
		}
		switch action {
		case "pass":
			passed++
		case "skip":
			skipped++
		case "fail":
			failed++
			blamed[roomName] = true
		}
	}
	for name, action := range r.done {
		if _, _, isTest := splitTest(name); !isTest && action == "fail" && !blamed[name] {
			failed++
		}
	}
	return passed, failed, skipped
}

// skipReason is the last line a test wrote before it was skipped, without
// the place in the source.
func skipReason(output string) string {
	reason := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "===") {
			continue
		}
		if _, after, found := strings.Cut(line, ": "); found && strings.Contains(line, ".go:") {
			line = after
		}
		reason = line
	}
	return reason
}

// skip is one row of docs/skips.md: | test | says | why |. A row covers the
// test and its subtests when the reason printed contains the words of says.
type skip struct{ test, says string }

func (s skip) covers(name, says string) bool {
	return (name == s.test || strings.HasPrefix(name, s.test+"/")) && strings.Contains(says, s.says)
}

func readSkips(t *testing.T) []skip {
	t.Helper()
	var all []skip
	for _, r := range tableRows(t, skipsFile) {
		if strings.Join(r.header, " ") != "test says why" {
			continue
		}
		if len(r.cells) != 3 || slices.Contains(r.cells, "") {
			t.Errorf("%s:%d: a skip needs a test, the words it prints, and why that is right", skipsFile, r.line)
			continue
		}
		all = append(all, skip{strings.Trim(r.cells[0], "`"), r.cells[1]})
	}
	return all
}

func TestListedSkipsNameTestsThatExist(t *testing.T) {
	funcs := testFuncs(t)
	for _, s := range readSkips(t) {
		roomName, test, ok := splitTest(s.test)
		base, _, _ := strings.Cut(test, "/")
		if !ok || funcs[dirOf(roomName)+"."+base] == nil {
			t.Errorf("%s lists %q, which is no test", skipsFile, s.test)
		}
	}
}
