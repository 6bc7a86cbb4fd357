package git

import (
	"fmt"
	"strings"
)

// plainDiff are the options that keep a diff free of programs and in the form
// that [sections] reads.
var plainDiff = []string{
	"--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--no-relative",
}

var status = command{
	name: "git_status", about: "Show the branch, the remotes and the changed and untracked files of the workspace.",
	schema: `"properties":{}`,
	argv: func(_ args, _ revisions, where string) []string {
		return []string{"status", "--porcelain=v1", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames", "--", where}
	},
	shown: showStatus,
}

// showStatus writes one line for each file and each remote.
func showStatus(_ args, out string, cut bool, w *worktree) string {
	var b strings.Builder
	if cut { // the first kept entry may be half of one
		_, out, _ = strings.Cut(out, "\x00")
		b.WriteString("(the beginning is not shown)\n")
	}
	n := 0
	for entry := range strings.SplitSeq(out, "\x00") {
		if entry == "" {
			continue
		}
		if !strings.HasPrefix(entry, "## ") {
			n++
		}
		b.WriteString(entry + "\n")
	}
	if n == 0 && !cut {
		b.WriteString("nothing changed\n")
	}
	for _, r := range w.Remotes {
		fmt.Fprintf(&b, "remote %s %s\n", r.Name, r.URL)
	}
	return b.String()
}

var diff = command{
	name: "git_diff", about: "Show changes of the workspace: not staged ones, staged ones, or since a revision (rev may be A, A..B or A...B), below path.",
	schema: `"properties":{"path":{"type":"string","minLength":1},"staged":{"type":"boolean"},"rev":{"type":"string","minLength":1}}`,
	argv: func(a args, r revisions, where string) []string {
		words := append([]string{"diff"}, plainDiff...)
		if a.Staged {
			words = append(words, "--cached")
		}
		words = append(words, "--end-of-options")
		words = append(words, r.words()...)
		return append(words, "--", where)
	},
	shown: func(_ args, out string, cut bool, _ *worktree) string { return allowed(out, cut, "no change\n") },
}

var log = command{
	name: "git_log", about: "List commits that touch the workspace, the newest first: at most max (20), below path, from rev or in a range A..B.",
	schema: fmt.Sprintf(`"properties":{"path":{"type":"string","minLength":1},"rev":{"type":"string","minLength":1},"max":{"type":"integer","minimum":1,"maximum":%d}}`, maxCommits),
	argv: func(a args, r revisions, where string) []string {
		n := a.Max
		if n <= 0 {
			n = 20
		}
		words := []string{
			"log", fmt.Sprintf("--max-count=%d", min(n, maxCommits)), "--no-show-signature", "--no-color", "--no-decorate", "--no-ext-diff", "--no-textconv", "--no-patch", "--no-notes",
			"--date=iso-strict", "--format=%h %ad %an: %s", "--end-of-options",
		}
		if words = append(words, r.words()...); len(r.words()) == 0 {
			words = append(words, "HEAD")
		}
		return append(words, "--", where)
	},
	shown: func(_ args, out string, cut bool, _ *worktree) string {
		if out == "" {
			return "no commit\n"
		}
		if cut {
			_, out, _ = strings.Cut(out, "\n")
			out = "(the beginning is not shown)\n" + out
		}
		return out
	},
}

var show = command{
	name: "git_show", about: "Show the commit rev with its changes in the workspace; with path, the content that the file or directory had in that commit.",
	schema: `"required":["rev"],"properties":{"rev":{"type":"string","minLength":1},"path":{"type":"string","minLength":1}}`,
	argv: func(a args, r revisions, where string) []string {
		words := append([]string{"show", "--no-show-signature", "--no-decorate", "--no-notes", "--diff-merges=first-parent", "--date=iso-strict",
			"--format=commit %H%nauthor %an <%ae>%ndate %ad%n%n%w(0,4,4)%B"}, plainDiff...)
		words = append(words, "--end-of-options")
		if a.Path != "" {
			return append(words, r.words()[0]+":./"+where, "--")
		}
		return append(append(words, r.words()...), "--", where)
	},
	shown: func(a args, out string, cut bool, _ *worktree) string {
		if a.Path != "" { // the content of one file whose name was judged
			return strings.ToValidUTF8(out, "\ufffd")
		}
		return allowed(out, cut, "")
	},
}
