package reeve_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/reeve-gate/reeve/internal/config"
)

var update = flag.Bool("update", false, "write the generated pages of docs/ instead of comparing them")

func TestEveryPackageHasADoc(t *testing.T) {
	docs := map[string]string{}
	names := map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		names[s.dir] = s.ast.Name.Name
		if s.ast.Doc != nil {
			docs[s.dir] += s.ast.Doc.Text()
		}
	}
	for dir, name := range names {
		opening := "Package " + name + " "
		if name == "main" {
			opening = "Command " + path.Base(dir) + " "
		}
		switch doc := docs[dir]; {
		case !strings.HasPrefix(doc, opening):
			t.Errorf("%s: the package's doc must open with %q", dir, opening)
		case len(strings.Fields(doc)) < 12:
			t.Errorf("%s: the package's doc is too short for a newcomer to start from", dir)
		}
	}
}

func TestManualsAreFresh(t *testing.T) {
	fresh(t, "docs/config.md", config.Manual())
	help := exec.Command("go", "run", "./cmd/reeve", "help", "--markdown")
	var stderr bytes.Buffer
	help.Stderr = &stderr
	out, err := help.Output()
	if err != nil {
		t.Fatalf("reeve help --markdown: %v\n%s", err, stderr.String())
	}
	fresh(t, "docs/cli.md", string(out))
}

// fresh compares a generated page with what stands in the tree.
func fresh(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run go test -run TestManualsAreFresh . -update", file, err)
	}
}

// texts lists the files of the tree that people wrote, relative to the root.
func texts(t *testing.T, keep func(path string) bool) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules" || d.Name() == "build"):
			return filepath.SkipDir
		case d.Type().IsRegular() && keep(filepath.ToSlash(path)):
			all = append(all, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func isMarkdown(path string) bool { return strings.HasSuffix(path, ".md") }

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

func TestLinksInTheDocsLead(t *testing.T) {
	for _, file := range texts(t, func(p string) bool { return isMarkdown(p) && !strings.Contains(p, "testdata/") }) {
		text := fence.ReplaceAllString(readFile(t, file), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another place
			}
			at := file
			if target != "" {
				at = path.Join(path.Dir(file), target)
			}
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, at), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", file, m[1], at)
			}
		}
	}
}

// anchors lists the names of a page's headings, as repository hosts make them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(readFile(t, file)) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		heading := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return r
			}
			return -1
		}, heading))
	}
	return names
}

var changeKinds = []string{"Added", "Changed", "Fixed", "Removed", "Security"}

func TestChangesAreWrittenInTheirForm(t *testing.T) {
	files := texts(t, func(p string) bool { return strings.HasPrefix(p, "changelog/unreleased/") })
	if len(files) == 0 {
		t.Error("changelog/unreleased holds no change")
	}
	for _, file := range files {
		text := readFile(t, file)
		first, rest, _ := strings.Cut(text, "\n")
		kind, title, found := strings.Cut(first, ": ")
		switch {
		case path.Ext(file) != ".md":
			t.Errorf("%s: a change is a .md file", file)
		case !found || !slices.Contains(changeKinds, kind):
			t.Errorf("%s: the first line is KIND: SENTENCE, with a kind of %v", file, changeKinds)
		case title == "" || len(title) > 100 || strings.HasSuffix(title, "."):
			t.Errorf("%s: the first line's sentence has 1 to 100 characters and no full stop", file)
		case !strings.HasPrefix(rest, "\n") || strings.TrimSpace(rest) == "":
			t.Errorf("%s: after an empty line it says what a user notices", file)
		}
	}
}

// modules lists the modules that go.mod requires.
func modules(t *testing.T) (all []string, indirect map[string]bool) {
	t.Helper()
	indirect = map[string]bool{}
	in := false
	for line := range strings.Lines(readFile(t, "go.mod")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (":
			in = true
		case line == ")":
			in = false
		case in || strings.HasPrefix(line, "require "):
			name := strings.Fields(strings.TrimPrefix(line, "require "))[0]
			all = append(all, name)
			indirect[name] = strings.HasSuffix(line, "// indirect")
		}
	}
	return all, indirect
}

// TestDependenciesAreArguedFor: docs/dependencies.md has one row for each
// module that our code imports, and names the packages that import it.
func TestDependenciesAreArguedFor(t *testing.T) {
	required, indirect := modules(t)
	users := map[string][]string{}
	for _, s := range sources(t) {
		who := roomOf(s.dir)
		if s.test {
			who = "tests"
		}
		for _, imp := range s.imports() {
			for _, m := range required {
				if (imp.path == m || strings.HasPrefix(imp.path, m+"/")) && !slices.Contains(users[m], who) {
					users[m] = append(users[m], who)
				}
			}
		}
	}
	rows := map[string]string{}
	for _, r := range tableRows(t, "docs/dependencies.md") {
		if r.header[0] != "module" || len(r.header) != 6 {
			continue
		}
		if len(r.cells) != 6 || slices.Contains(r.cells, "") {
			t.Errorf("docs/dependencies.md:%d: a row has module, used by, who keeps it, licence, weight, why", r.line)
			continue
		}
		rows[strings.Trim(r.cells[0], "`")] = r.cells[1]
	}
	for m, who := range users {
		if len(who) > 1 { // what tests use beside the code is no news
			who = slices.DeleteFunc(who, func(w string) bool { return w == "tests" })
		}
		slices.Sort(who)
		if want := strings.Join(who, ", "); rows[m] != want {
			t.Errorf("docs/dependencies.md says %s is used by %q, the code says %q", m, rows[m], want)
		}
		if indirect[m] {
			t.Errorf("go.mod marks %s as indirect and our code imports it", m)
		}
	}
	for m := range rows {
		if users[m] == nil {
			t.Errorf("docs/dependencies.md argues for %s, which nothing imports", m)
		}
	}
}

// TestNoFileNamesThisMachine keeps out what only holds here: the place of
// this checkout, and the hosts that packages come from. One file lists them for
// the profile that reaches them.
func TestNoFileNamesThisMachine(t *testing.T) {
	words := []string{"proxy." + "golang.org", "sum." + "golang.org", "registry." + "npmjs", "deb." + "debian.org", "security." + "debian.org", "archive." + "ubuntu.com"}
	if root, err := os.Getwd(); err == nil {
		if around := filepath.Dir(root); !slices.Contains([]string{"/", "/tmp", "/home", "/root", "/src", "/build"}, around) && len(around) > 4 {
			words = append(words, around+"/")
		}
	}
	generated := func(p string) bool {
		return p == "go.sum" || p == "internal/jail/services/services.go" || strings.HasSuffix(p, "package-lock.json") || strings.Contains(p, "testdata/fuzz/")
	}
	for _, file := range texts(t, func(p string) bool { return !generated(p) }) {
		text := readFile(t, file)
		if strings.ContainsRune(text, 0) {
			continue // a program or an archive that was built here
		}
		for _, word := range words {
			for i := range strings.Count(text, word) {
				at := nth(text, word, i)
				if word[0] == '/' && at > 0 && isNameByte(text[at-1]) {
					continue // in the middle of another path
				}
				t.Errorf("%s:%d names %q", file, 1+strings.Count(text[:at], "\n"), word)
			}
		}
	}
}

// nth is where word stands in text for the nth time, counted from 0.
func nth(text, word string, n int) int {
	at := strings.Index(text, word)
	for range n {
		at += len(word)
		at += strings.Index(text[at:], word)
	}
	return at
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b|(?i)\bnot yet imple` + `mented\b|\bfor n` + `ow\b`)

func TestNothingIsLeftForLater(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.ast.Comments {
			if m := unfinished.FindString(group.Text()); m != "" {
				t.Errorf("%s: a comment says %q; finish it, or say it in the threat model", s.at(group), m)
			}
		}
	}
}

// section returns the text of the page below a heading of the second level.
func section(t *testing.T, file, heading string) string {
	t.Helper()
	_, text, found := strings.Cut("\n"+readFile(t, file), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", file, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// TestThreatModelCoversTheNineSurfaces serves G3.
func TestThreatModelCoversTheNineSurfaces(t *testing.T) {
	text := section(t, threatModel, "Attack surfaces")
	for n, surface := range []string{"Ports", "MCP tools", "Shell", "Index cache", "Credentials", "Browser", "Desktop", "Messaging", "Skills"} {
		if !strings.Contains(text, fmt.Sprintf("| %d %s |", n+1, surface)) {
			t.Errorf("%s: surface %d, %s, is not covered", threatModel, n+1, surface)
		}
	}
}

// TestThreatModelNamesItsRings serves G4.
func TestThreatModelNamesItsRings(t *testing.T) {
	text := section(t, threatModel, "Whom we trust")
	for _, ring := range []string{"**Trusted**", "**Half trusted**", "**Not trusted**"} {
		if !strings.Contains(text, ring) {
			t.Errorf("%s: the ring %s is not drawn", threatModel, ring)
		}
	}
}

// TestWeaknessesAreReportedInPrivate serves M41.
func TestWeaknessesAreReportedInPrivate(t *testing.T) {
	text := readFile(t, "SECURITY.md")
	for _, words := range []string{"private vulnerability reporting", "do not open a public issue"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), words) {
			t.Errorf("SECURITY.md does not say %q", words)
		}
	}
}

// TestResidualsAreSaid serves M1: what is not defended is written where what
// is defended is.
func TestResidualsAreSaid(t *testing.T) {
	text := section(t, threatModel, "What remains")
	for _, words := range []string{"uncontained hook", "same user", "quarantine", "bubblewrap", "embedding"} {
		if !strings.Contains(text, words) {
			t.Errorf("%s: What remains says nothing of %q", threatModel, words)
		}
	}
}
