package git

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/safepath"
)

// allowed passes on what stands before the first file of a diff and the
// changes of files that may be shown; it counts the others. A diff whose
// beginning is missing starts with the first whole file.
func allowed(out string, cut bool, none string) string {
	head, files := sections(out)
	if cut {
		head = "(the beginning is not shown)\n"
	}
	var b strings.Builder
	b.WriteString(head)
	hidden := 0
	for _, f := range files {
		if f.path == "" || safepath.Credential(f.path) {
			hidden++
			continue
		}
		b.WriteString(f.text)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "(changes of %d more left out: credentials)\n", hidden)
	}
	if b.Len() == 0 {
		return none
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// section is the part of a diff that speaks of one file; path is empty where
// it could not be read for certain.
type section struct{ path, text string }

// sections splits a diff at its "diff --" lines. No line of a file's content
// begins so: content lines begin with a blank, + or -, those of a message
// with four blanks.
func sections(out string) (head string, files []section) {
	for rest := out; rest != ""; {
		line := rest
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
		}
		rest = rest[len(line):]
		switch {
		case strings.HasPrefix(line, "diff --"):
			files = append(files, section{pathOf(strings.TrimSuffix(line, "\n")), line})
		case len(files) == 0:
			head += line
		default:
			files[len(files)-1].text += line
		}
	}
	return head, files
}

// pathOf reads "diff --git a/PATH b/PATH". Renames are off, so that both
// names are one and the line splits in its middle, whatever blanks it holds.
func pathOf(line string) string {
	names, ok := strings.CutPrefix(line, "diff --git ")
	if !ok || len(names)%2 == 0 {
		return ""
	}
	half := len(names) / 2
	a, okA := unquote(names[:half])
	b, okB := unquote(names[half+1:])
	if !okA || !okB || names[half] != ' ' {
		return ""
	}
	a, okA = strings.CutPrefix(a, "a/")
	b, okB = strings.CutPrefix(b, "b/")
	if !okA || !okB || a != b {
		return ""
	}
	return a
}

// unquote reads a name in the C form that git gives to odd ones.
func unquote(name string) (string, bool) {
	if !strings.HasPrefix(name, `"`) {
		return name, true
	}
	plain, err := strconv.Unquote(name)
	return plain, err == nil
}
