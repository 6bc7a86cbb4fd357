package patch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestParseNamesTheLineOfEveryFault(t *testing.T) {
	const head = "--- a/f\n+++ b/f\n"
	tests := []struct{ name, text, want string }{
		{"nothing", "just words\n", "changes no file"},
		{"empty", "", "changes no file"},
		{"no plus line", "--- a/f\n@@ -1 +1 @@\n", "line 2: a +++ line must follow"},
		{"no hunk", head, "line 3: no hunk follows"},
		{"hunk without file", "@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk without a file"},
		{"bad header", head + "@@ -1,x +1 @@\n-a\n", "line 3: not a hunk header"},
		{"empty header", head + "@@ -1,0 +1,0 @@\n", "line 3: not a hunk header"},
		{"too few lines", head + "@@ -1,2 +1 @@\n-a\n+b\n", "line 5: the hunk ends early"},
		{"too many lines", head + "@@ -1 +1,2 @@\n-a\n-b\n+c\n+d\n", "line 5: the hunk has more lines than its header at line 3"},
		{"foreign line", head + "@@ -1,2 +1,2 @@\n a\n*b\n", "line 5: a line of a hunk begins with"},
		{"mark without line", head + "@@ -1 +1 @@\n\\ No newline at end of file\n", "line 4: no line before"},
		{"twice", head + "@@ -1 +1 @@\n-a\n+b\n" + head + "@@ -1 +1 @@\n-b\n+c\n", "line 6: f is changed a second time"},
		{"rename", "diff --git a/x b/y\nrename from x\nrename to y\n", "line 2: rename from x is not done by a patch"},
		{"names differ", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "the names differ (x and y)"},
		{"both nothing", "--- /dev/null\n+++ /dev/null\n", "both names are /dev/null"},
		{"mode", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "line 2: old mode 100644"},
		{"symlink", "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n", "symbolic link"},
		{"binary", "diff --git a/x b/x\nGIT binary patch\n", "line 2"},
		{"create with context", "--- /dev/null\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n", "line 3: a new file has one hunk"},
		{"delete with rest", "--- a/f\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n", "line 3: a deleted file"},
		{"envelope", "*** Begin Patch\n*** Update File: f\n", "another patch format"},
		{"no name", "--- \n+++ b/f\n", "line 1: no file name"},
	}
	for _, tt := range tests {
		if p, err := Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want an error with %q", tt.name, p, err, tt.want)
		}
	}
}

func TestApply(t *testing.T) {
	const head = "--- a/f\n+++ b/f\n"
	tests := []struct{ name, patch, before, want, fault string }{
		{"one line", head + "@@ -2 +2 @@\n-b\n+B\n", "a\nb\nc\n", "a\nB\nc\n", ""},
		{"context", head + "@@ -1,3 +1,4 @@\n a\n+x\n b\n c\n", "a\nb\nc\n", "a\nx\nb\nc\n", ""},
		{"two hunks", head + "@@ -1 +1 @@\n-a\n+A\n@@ -3 +3 @@\n-c\n+C\n", "a\nb\nc\n", "A\nb\nC\n", ""},
		{"moved lines", head + "@@ -1,2 +1,2 @@\n b\n-c\n+C\n", "new\nnew\na\nb\nc\n", "new\nnew\na\nb\nC\n", ""},
		{"insertion after a line", head + "@@ -1,0 +2 @@\n+x\n", "a\nb\n", "a\nx\nb\n", ""},
		{"insertion at the start", head + "@@ -0,0 +1 @@\n+x\n", "a\n", "x\na\n", ""},
		{"lost blank of an empty line", head + "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nb\n", "a\n\nB\n", ""},
		{"carriage returns are text", head + "@@ -1 +1 @@\n-a\r\n+b\r\n", "a\r\n", "b\r\n", ""},
		{"no newline before and after", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "a", "b", ""},
		{"newline added", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a", "a\n", ""},
		{"newline removed", head + "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a\n", "a", ""},
		{"last line of the patch has none", head + "@@ -1 +1 @@\n-a\n+b", "a\n", "b\n", ""},
		{"everything removed", head + "@@ -1 +0,0 @@\n-a\n", "a\n", "", ""},
		{"not there", head + "@@ -1,2 +1,2 @@\n a\n-x\n+y\n", "a\nb\n", "", `f: the hunk at patch line 3 does not fit: its old lines are not in the file (line 2 is "b\n", the patch has "x\n")`},
		{"two places", head + "@@ -9 +9 @@\n-a\n+b\n", "a\nx\na\n", "", "fits at lines 1 and 3"},
		{"right line among equal ones", head + "@@ -3 +3 @@\n-a\n+b\n", "a\nx\na\n", "a\nx\nb\n", ""},
		{"out of order", head + "@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n", "a\nb\nc\n", "", "the hunk at patch line 6 does not fit"},
		{"insertion past the end", head + "@@ -9,0 +10 @@\n+x\n", "a\n", "", "adds lines after line 9; the file has 1"},
		{"would join lines", head + "@@ -1,0 +2 @@\n+x\n", "a", "", "would run into the next"},
		{"no newline in the middle", head + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "a\nc\n", "", "would run into the next"},
		{"delete what is more", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a\nb\n", "", "not all of its lines"},
	}
	for _, tt := range tests {
		p, err := Parse(tt.patch)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := p[0].Apply([]byte(tt.before))
		if tt.fault == "" && (err != nil || string(got) != tt.want) || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: %q, %v, want %q or an error with %q", tt.name, got, err, tt.want, tt.fault)
		}
	}
}

func TestNamesAreReadAsGitWritesThem(t *testing.T) {
	for names, want := range map[string]string{
		"--- a/x y\t2026-01-01\n+++ b/x y\t2026-01-02\n": "x y",
		"--- x\n+++ x\n":         "x",
		"--- a/a/x\n+++ b/a/x\n": "a/x",
		"--- \"a/\\303\\244\\t\"\n+++ \"b/\\303\\244\\t\"\n":           "ä\t",
		"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n":    "x",
		"From: somebody\n\ntext\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n": "x",
	} {
		p, err := Parse(names + "@@ -1 +1 @@\n-a\n+b\n")
		if err != nil || len(p) != 1 || p[0].Path != want {
			t.Errorf("%q: %+v, %v", names, p, err)
		}
	}
}

// reverse swaps the sides of a patch.
func (f File) reverse() File {
	back := File{Path: f.Path, Create: f.Remove, Remove: f.Create}
	shift := 0
	for _, h := range f.hunks {
		at := h.at + shift
		switch {
		case len(h.old) == 0 && len(h.new) > 0:
			at++
		case len(h.new) == 0 && len(h.old) > 0:
			at--
		}
		back.hunks = append(back.hunks, hunk{at: at, old: h.new, new: h.old, line: h.line})
		shift += len(h.new) - len(h.old)
	}
	return back
}

// FuzzApply holds two properties of any patch and any file: what is applied
// and then applied in reverse gives the original, where the hunks stand at
// their own lines; and nothing is applied where the old lines are not there.
func FuzzApply(f *testing.F) {
	const head = "--- a/f\n+++ b/f\n"
	for _, seed := range [][2]string{
		{head + "@@ -2 +2 @@\n-b\n+B\n", "a\nb\nc\n"}, {head + "@@ -1,3 +1,4 @@\n a\n+x\n b\n c\n@@ -9 +10 @@\n-z\n+y\n", "a\nb\nc\n1\n2\n3\n4\n5\nz\n"},
		{head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "a"}, {"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", ""},
		{"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "x\n"}, {head + "@@ -1,0 +2 @@\n+x\n", "a\nb\n"}, {head + "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nb\n"},
		{head + "@@ -1,2 +1 @@\n-a\n-b\n+c\n@@ -3,0 +3 @@\n+d\n", "a\nb\nc\n"}, {head + "@@ -4294967295 +1 @@\n-a\n+b\n", "a\n"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, before string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		for _, file := range p {
			after, err := file.Apply([]byte(before))
			if err != nil {
				continue
			}
			for _, h := range file.hunks {
				if !strings.Contains(before, strings.Join(h.old, "")) {
					t.Fatalf("applied a hunk whose old lines %q are not in %q", h.old, before)
				}
				if !strings.Contains(string(after), strings.Join(h.new, "")) {
					t.Fatalf("the new lines %q are not in the result %q", h.new, after)
				}
			}
			if !inPlace(file, before) {
				continue
			}
			back := file.reverse()
			if undone, err := back.Apply(after); err != nil || string(undone) != before {
				t.Fatalf("patch %q of %q gives %q, and in reverse %q, %v", text, before, after, undone, err)
			}
		}
	})
}

// inPlace reports whether every hunk fits at the line its header names.
func inPlace(f File, before string) bool {
	lines := strings.SplitAfter(before, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for _, h := range f.hunks {
		if len(h.old) > 0 && !h.matches(lines, h.at-1) {
			return false
		}
	}
	return true
}

// TestDiffsOfARealDiffApply makes random files, asks diff for their
// difference, and applies it both ways.
func TestDiffsOfARealDiffApply(t *testing.T) {
	if _, err := exec.LookPath("diff"); err != nil {
		t.Skip("diff is not installed")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	text := func(like []string) []string {
		var lines []string
		for _, l := range like {
			switch r.IntN(8) {
			case 0:
			case 1:
				lines = append(lines, fmt.Sprintf("new %d\n", r.IntN(9)), l)
			case 2:
				lines = append(lines, fmt.Sprintf("changed %d\n", r.IntN(9)))
			default:
				lines = append(lines, l)
			}
		}
		return lines
	}
	dir := t.TempDir()
	for i := range 100 {
		var base []string
		for range r.IntN(40) {
			base = append(base, fmt.Sprintf("%d\n", r.IntN(12)))
		}
		if i%5 == 0 && len(base) > 0 {
			base[len(base)-1] = strings.TrimSuffix(base[len(base)-1], "\n")
		}
		before, after := strings.Join(base, ""), strings.Join(text(base), "")
		os.WriteFile(dir+"/a", []byte(before), 0o600)
		os.WriteFile(dir+"/b", []byte(after), 0o600)
		out, _ := exec.Command("diff", fmt.Sprintf("-U%d", r.IntN(4)), "--label", "f", "--label", "f", dir+"/a", dir+"/b").Output()
		if len(out) == 0 {
			continue
		}
		p, err := Parse(string(out))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
		if got, err := p[0].Apply([]byte(before)); err != nil || string(got) != after {
			t.Fatalf("seed %d: %q, %v, want %q\n%s", seed, got, err, after, out)
		}
		back := p[0].reverse()
		if got, err := back.Apply([]byte(after)); err != nil || string(got) != before {
			t.Fatalf("seed %d, in reverse: %q, %v, want %q\n%s", seed, got, err, before, out)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	before := strings.Repeat("line\n", 5_000) + "here\n" + strings.Repeat("line\n", 5_000)
	p, err := Parse("--- a/f\n+++ b/f\n@@ -5001 +5001 @@\n-here\n+there\n")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p[0].Apply([]byte(before)); err != nil {
			b.Fatal(err)
		}
	}
}
