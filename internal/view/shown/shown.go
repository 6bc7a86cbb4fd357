// Package shown writes the changes of a view for a person ([Diff]), within
// bounds on what is read, compared and written.
package shown

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/view"
	edit "github.com/reeve-gate/reeve/internal/view/lines"
)

// Bounds on what is shown.
const (
	maxText  = 512 << 10 // bytes of a file that is compared line by line
	maxBytes = 32 << 20  // of all files
	maxShown = 2_000     // lines of one file
	maxDiff  = 20_000    // lines in all
	maxLine  = 1_000     // bytes of one line
	around   = 3         // lines of context
)

// Diff writes the changes for a person, within bounds. show masks secrets in a
// text and makes what steers a terminal visible; a file goes through it as a
// whole, before it is cut into lines. A line that begins with "=== " is never
// one of a file's.
func Diff(ctx context.Context, v view.View, to io.Writer, changes []view.Change, show func(string) string) error {
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
	left, read := maxDiff, 0
	for _, c := range changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if left <= 0 || read > maxBytes {
			fmt.Fprintln(w, "=== more than is shown at once: name files or directories to see them")
			break
		}
		fmt.Fprintln(w, "=== "+show(c.Line()))
		left--
		if c.Kind == view.Mode || c.Is&fs.ModeSymlink != 0 && !c.Was.IsRegular() || c.Is.IsDir() && !c.Was.IsRegular() || c.Kind == view.Deleted && !c.Was.IsRegular() {
			continue
		}
		if safepath.Credential("/" + c.Path) {
			fmt.Fprintln(w, "=== its content is not shown: it is a credential by its name")
			continue
		}
		a, aText := side(root, c.Path, c.Kind != view.Added && c.Was.IsRegular())
		b, bText := side(tree, c.Path, c.Kind != view.Deleted && c.Is.IsRegular())
		if !aText || !bText {
			fmt.Fprintln(w, "=== binary, or too large to be shown")
			continue
		}
		read += len(a) + len(b)
		n := hunks(w, split(show(a)), split(show(b)), min(left, maxShown))
		if left -= n; n == 0 && c.Kind == view.Modified {
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
