package view

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	edit "github.com/reeve-gate/reeve/internal/view/lines"
)

// Bounds on what is shown.
const (
	maxText  = 1 << 20 // bytes of a file that is compared line by line
	maxShown = 2_000   // lines of one file
	maxDiff  = 20_000  // lines in all
	maxLine  = 1_000   // bytes of one line
	around   = 3       // lines of context
)

// Name is a path as one line can show it: with quotation marks where a
// character in it is not plain.
func Name(p string) string {
	plain := utf8.ValidString(p) && !strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == '\\' })
	if plain && strings.TrimSpace(p) == p {
		return p
	}
	return strconv.Quote(p)
}

// Line says in one line what a change does.
func (c Change) Line() string {
	s := fmt.Sprintf("%-8s %s", c.Kind, Name(c.Path))
	switch {
	case c.Kind == Mode:
		s += fmt.Sprintf(" (%04o, was %04o)", perm(c.Is), perm(c.Was))
	case c.Kind == Deleted:
		s += " (" + sort(c.Was) + ")"
	case c.Is&fs.ModeSymlink != 0:
		s += " -> " + Name(c.Link)
	default:
		s += fmt.Sprintf(" (%s, %04o)", sort(c.Is), perm(c.Is))
	}
	if c.Kind == Modified && c.Was.Type() != c.Is.Type() {
		s += ", was a " + sort(c.Was)
	}
	if c.Held != "" {
		s += ": held back, it " + c.Held
	}
	return s
}

func sort(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m.IsRegular():
		return "file"
	}
	return "special file"
}

// Diff writes the changes for a person, within bounds. show masks secrets in a
// text and makes what steers a terminal visible; a file goes through it as a
// whole, before it is cut into lines. A line that begins with "=== " is never
// one of a file's.
func (v View) Diff(to io.Writer, changes []Change, show func(string) string) error {
	root, err := beneath.Open(v.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	tree, err := beneath.Open(v.Tree())
	if err != nil {
		return err
	}
	defer tree.Close()
	w := bufio.NewWriter(to)
	left := maxDiff
	for _, c := range changes {
		if left <= 0 {
			fmt.Fprintln(w, "=== more than is shown at once: name files or directories to see them")
			break
		}
		fmt.Fprintln(w, "=== "+show(c.Line()))
		left--
		if c.Kind == Mode || c.Is&fs.ModeSymlink != 0 && !c.Was.IsRegular() || c.Is.IsDir() && !c.Was.IsRegular() || c.Kind == Deleted && !c.Was.IsRegular() {
			continue
		}
		if safepath.Credential("/" + c.Path) {
			fmt.Fprintln(w, "=== its content is not shown: it is a credential by its name")
			continue
		}
		a, aText := side(root, c.Path, c.Kind != Added && c.Was.IsRegular())
		b, bText := side(tree, c.Path, c.Kind != Deleted && c.Is.IsRegular())
		if !aText || !bText {
			fmt.Fprintln(w, "=== binary, or too large to be shown")
			continue
		}
		n := hunks(w, split(show(a)), split(show(b)), min(left, maxShown))
		if left -= n; n == 0 && c.Kind == Modified {
			fmt.Fprintln(w, "=== nothing that is shown differs: a masked value, or the end of the last line")
		}
	}
	return w.Flush()
}

// side is the text of one side; ok is false for what is none.
func side(top beneath.Dir, path string, there bool) (text string, ok bool) {
	if !there {
		return "", true
	}
	up, err := top.At(filepath.Dir(path), nil)
	if err != nil {
		return "", true
	}
	defer up.Close()
	f, info, err := up.File(filepath.Base(path))
	if err != nil {
		return "", true // it is gone: the other side is shown
	}
	defer f.Close()
	if info.Size() > maxText {
		return "", false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(b), err == nil && utf8.Valid(b) && strings.IndexByte(string(b), 0) < 0
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// hunks writes at most most lines and says how many.
func hunks(w io.Writer, a, b []string, most int) int {
	all := edit.Edits(a, b)
	written, shownTo := 0, -1
	for i := 0; i < len(all); i++ {
		if all[i].Op == ' ' {
			continue
		}
		from := max(i-around, shownTo+1)
		end := i
		for j := i; j < len(all) && j <= end+2*around+1; j++ {
			if all[j].Op != ' ' {
				end = j
			}
		}
		to := min(end+around, len(all)-1)
		if from > shownTo+1 || shownTo < 0 {
			fmt.Fprintf(w, "@@ -%d +%d @@\n", all[from].A+1, all[from].B+1)
			written++
		}
		for ; from <= to; from++ {
			if written >= most {
				fmt.Fprintln(w, "=== the rest of this file is not shown")
				return written
			}
			e := all[from]
			text := ""
			if e.Op == '+' {
				text = b[e.B]
			} else {
				text = a[e.A]
			}
			fmt.Fprintf(w, "%c%s\n", e.Op, cutLine(text))
			written++
		}
		shownTo, i = to, to
	}
	return written
}

func cutLine(s string) string {
	if len(s) <= maxLine {
		return s
	}
	end := maxLine
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
