// Package patch reads unified diffs and applies them exactly.
//
// The unified diff, as diff -u and git diff print it and patch and git apply
// take it, was chosen over the "*** Begin Patch" envelope because it can be
// checked against line numbers, be undone by swapping its sides, be read by a
// person, and be made and tried by tools that everybody has.
//
//	patch = { file }
//	file  = { git header } "--- " name NL "+++ " name NL hunk { hunk }
//	hunk  = "@@ -" L [ "," N ] " +" L [ "," N ] " @@" ... NL { line }
//	line  = ( " " | "-" | "+" ) text NL | "\ No newline at end of file" NL
//
// The name /dev/null makes a file (old side) or deletes one (new side). Where
// both names carry git's a/ and b/, these are cut off. A tab and what follows
// it after a name is a time stamp. Renames, mode changes and binary patches
// are refused: other tools do these.
//
// [Parse] reads a text; [File.Apply] gives the new text of one file. The
// package touches no file itself.
package patch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Patch is a list of changed files; no file stands in it twice.
type Patch []File

// File is the change of one file.
type File struct {
	Path   string // as the patch names it
	Create bool   // the file must not exist
	Remove bool   // the file must end up empty and goes away
	Line   int    // of the patch text, where the file's part begins
	hunks  []hunk
}

// Sides are the lines that the patch has of the file, before and after.
func (f *File) Sides() (was, is string) {
	for _, h := range f.hunks {
		was += strings.Join(h.old, "")
		is += strings.Join(h.new, "")
	}
	return was, is
}

// hunk is one change: the lines that must be there and those that replace them.
type hunk struct {
	at       int // line of the old text that the hunk begins with, from 1
	old, new []string
	line     int // of the patch text
}

// Bounds of a patch.
const (
	maxFiles = 200
	maxHunks = 2000 // in one file
)

// reader reads a patch line by line; lines keep their newline.
type reader struct {
	rest string
	line int
}

func (r *reader) peek() string {
	if i := strings.IndexByte(r.rest, '\n'); i >= 0 {
		return r.rest[:i+1]
	}
	return r.rest
}

func (r *reader) next() string {
	l := r.peek()
	r.rest = r.rest[len(l):]
	r.line++
	return l
}

func (r *reader) fault(format string, args ...any) error {
	return fmt.Errorf("patch line %d: %s", r.line, fmt.Sprintf(format, args...))
}

// Parse reads a patch; an error names the line of the patch text.
func Parse(text string) (Patch, error) {
	r := &reader{rest: text}
	var p Patch
	seen := map[string]int{}
	for r.rest != "" {
		switch l := r.peek(); {
		case strings.HasPrefix(l, "--- "):
			f, err := r.file()
			if err != nil {
				return nil, err
			}
			if first, twice := seen[f.Path]; twice {
				return nil, fmt.Errorf("patch line %d: %s is changed a second time (first at line %d)", f.Line, f.Path, first)
			}
			if len(p) >= maxFiles {
				return nil, r.fault("more than %d files", maxFiles)
			}
			seen[f.Path] = f.Line
			p = append(p, f)
		case refusedHeader(l) != "":
			r.next()
			return nil, r.fault("%s is not done by a patch here: %s", strings.TrimSpace(l), refusedHeader(l))
		case strings.HasPrefix(l, "@@ "):
			r.next()
			return nil, r.fault("a hunk without a file before it (--- and +++)")
		case strings.HasPrefix(l, "*** Begin Patch"):
			r.next()
			return nil, r.fault("this is another patch format; send a unified diff (--- a/file, +++ b/file, @@ -1,2 +1,3 @@)")
		default:
			r.next() // what stands between files is for people: diff, index, similarity, a message
		}
	}
	if len(p) == 0 {
		return nil, errors.New("the patch changes no file; it needs --- and +++ lines")
	}
	return p, nil
}

// refusedHeader says what to do instead of the git header l; "" where l is none
// of those.
func refusedHeader(l string) string {
	for _, h := range []string{"rename from ", "rename to ", "copy from ", "copy to "} {
		if strings.HasPrefix(l, h) {
			return "use move_path or copy_path, then patch"
		}
	}
	switch {
	case strings.HasPrefix(l, "old mode "), strings.HasPrefix(l, "new mode "):
		return "change the mode by a command"
	case strings.HasPrefix(l, "new file mode 120000"), strings.HasPrefix(l, "deleted file mode 120000"):
		return "a symbolic link is made and removed by a command"
	case strings.HasPrefix(l, "GIT binary patch"), strings.HasPrefix(l, "Binary files "):
		return "write the file"
	}
	return ""
}

// file reads the part of one file, from its "---" line.
func (r *reader) file() (f File, err error) {
	from, ok := fileName(r.next()[len("--- "):])
	f.Line = r.line
	if !ok {
		return f, r.fault("no file name after ---")
	}
	if !strings.HasPrefix(r.peek(), "+++ ") {
		r.next()
		return f, r.fault("a +++ line must follow the --- line")
	}
	to, ok := fileName(r.next()[len("+++ "):])
	if !ok {
		return f, r.fault("no file name after +++")
	}
	if err := f.name(from, to); err != nil {
		return f, r.fault("%v", err)
	}
	for strings.HasPrefix(r.peek(), "@@ ") {
		h, err := r.hunk()
		if err != nil {
			return f, err
		}
		if f.hunks = append(f.hunks, h); len(f.hunks) > maxHunks {
			return f, r.fault("more than %d hunks", maxHunks)
		}
	}
	if len(f.hunks) == 0 {
		r.line++
		return f, r.fault("no hunk follows the names of %s", f.Path)
	}
	return f, f.check()
}

// name settles which file the two names mean.
func (f *File) name(from, to string) error {
	const nothing = "/dev/null"
	switch {
	case from == nothing && to == nothing:
		return errors.New("both names are /dev/null")
	case from == nothing:
		f.Create, f.Path = true, strings.TrimPrefix(to, "b/")
		return nil
	case to == nothing:
		f.Remove, f.Path = true, strings.TrimPrefix(from, "a/")
		return nil
	}
	if a, ok := strings.CutPrefix(from, "a/"); ok {
		if b, ok := strings.CutPrefix(to, "b/"); ok {
			from, to = a, b
		}
	}
	if from != to {
		return fmt.Errorf("the names differ (%s and %s); use move_path, then patch", from, to)
	}
	f.Path = to
	return nil
}

// check tests what creating and deleting mean for the hunks.
func (f *File) check() error {
	for _, h := range f.hunks {
		if f.Create && (len(h.old) > 0 || h.at != 0 || len(f.hunks) > 1) {
			return fmt.Errorf("patch line %d: a new file has one hunk, @@ -0,0 +1,N @@, with added lines only", h.line)
		}
		if f.Remove && (len(h.new) > 0 || len(f.hunks) > 1) {
			return fmt.Errorf("patch line %d: a deleted file has one hunk with removed lines only", h.line)
		}
	}
	return nil
}

// fileName reads a name up to a tab, in quotes as git writes odd names.
func fileName(l string) (string, bool) {
	l = strings.TrimRight(l, "\r\n")
	if strings.HasPrefix(l, `"`) {
		quoted, err := strconv.QuotedPrefix(l)
		if err != nil {
			return "", false
		}
		name, err := strconv.Unquote(quoted)
		return name, err == nil && name != ""
	}
	name, _, _ := strings.Cut(l, "\t")
	name = strings.TrimRight(name, " ")
	return name, name != ""
}

// hunk reads one hunk, from its "@@" line.
func (r *reader) hunk() (h hunk, err error) {
	head := r.next()
	h.line = r.line
	at, oldN, newN, ok := hunkHead(head)
	if !ok {
		return h, r.fault("not a hunk header: %s", strings.TrimSpace(head))
	}
	h.at = at
	var last byte
	for oldN > 0 || newN > 0 || strings.HasPrefix(r.rest, `\`) {
		if r.rest == "" {
			return h, r.fault("the hunk ends early: its header promises %d more old and %d more new lines", oldN, newN)
		}
		l := strings.TrimSuffix(r.next(), "\n") + "\n"
		switch l[0] {
		case '\n', '\r': // an empty context line whose blank was lost on the way
			l = " " + l
			fallthrough
		case ' ':
			h.old, h.new = append(h.old, l[1:]), append(h.new, l[1:])
			oldN, newN = oldN-1, newN-1
		case '-':
			h.old = append(h.old, l[1:])
			oldN--
		case '+':
			h.new = append(h.new, l[1:])
			newN--
		case '\\':
			if !h.dropNewline(last) {
				return h, r.fault("no line before this one could lack its newline")
			}
		default:
			return h, r.fault("a line of a hunk begins with a blank, - or +; the header promises %d more old and %d more new lines", oldN, newN)
		}
		if oldN < 0 || newN < 0 {
			return h, r.fault("the hunk has more lines than its header at line %d says", h.line)
		}
		last = l[0]
	}
	return h, nil
}

// dropNewline takes the newline from the last line of the side, or sides, that
// the mark last stands for.
func (h *hunk) dropNewline(last byte) bool {
	drop := func(side []string) { side[len(side)-1] = strings.TrimSuffix(side[len(side)-1], "\n") }
	switch last {
	case ' ':
		drop(h.old)
		drop(h.new)
	case '-':
		drop(h.old)
	case '+':
		drop(h.new)
	default:
		return false
	}
	return true
}

// hunkHead reads "@@ -at,oldN +at,newN @@"; a count left out is 1.
func hunkHead(l string) (at, oldN, newN int, ok bool) {
	l = strings.TrimPrefix(l, "@@ -")
	left, l, found := strings.Cut(l, " +")
	right, _, closed := strings.Cut(l, " @@")
	if !found || !closed {
		return 0, 0, 0, false
	}
	at, oldN, ok1 := hunkRange(left)
	_, newN, ok2 := hunkRange(right)
	return at, oldN, newN, ok1 && ok2 && oldN+newN > 0
}

func hunkRange(s string) (at, n int, ok bool) {
	first, count, counted := strings.Cut(s, ",")
	n = 1
	at, ok = number(first)
	if ok && counted {
		n, ok = number(count)
	}
	return at, n, ok
}

func number(s string) (n int, ok bool) {
	v, err := strconv.ParseUint(s, 10, 31)
	return int(v), err == nil
}

// Apply gives the text after the change. A hunk stands where its header says,
// or at the one place below the hunk before it where its old lines are; more
// than one such place is an error, and so is none. Nothing is fuzzy.
func (f *File) Apply(text []byte) ([]byte, error) {
	if f.Create && len(text) > 0 {
		return nil, fmt.Errorf("%s: the patch creates the file, which is not empty", f.Path)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out []string
	done := 0
	for _, h := range f.hunks {
		i, err := h.find(lines, done)
		if err != nil {
			return nil, fmt.Errorf("%s: the hunk at patch line %d %w", f.Path, h.line, err)
		}
		out = append(append(out, lines[done:i]...), h.new...)
		done = i + len(h.old)
	}
	out = append(out, lines[done:]...)
	var b bytes.Buffer
	for i, l := range out {
		if i < len(out)-1 && !strings.HasSuffix(l, "\n") {
			return nil, fmt.Errorf("%s: line %d of the result would run into the next, since it has no newline", f.Path, i+1)
		}
		b.WriteString(l)
	}
	if f.Remove && b.Len() > 0 {
		return nil, fmt.Errorf("%s: the patch deletes the file but not all of its lines", f.Path)
	}
	return b.Bytes(), nil
}

// find gives the index of the line that h begins with.
func (h *hunk) find(lines []string, from int) (int, error) {
	if len(h.old) == 0 {
		if h.at < from || h.at > len(lines) {
			return 0, fmt.Errorf("adds lines after line %d; the file has %d and the hunk before ends at %d", h.at, len(lines), from)
		}
		return h.at, nil
	}
	if h.matches(lines, h.at-1) && h.at-1 >= from {
		return h.at - 1, nil
	}
	found := -1
	for i := from; i+len(h.old) <= len(lines); i++ {
		if !h.matches(lines, i) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("fits at lines %d and %d; give the right line number or more context", found+1, i+1)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("does not fit: its old lines are not in the file%s", h.nearest(lines))
	}
	return found, nil
}

func (h *hunk) matches(lines []string, at int) bool {
	if at < 0 || at+len(h.old) > len(lines) {
		return false
	}
	for i, l := range h.old {
		if lines[at+i] != l {
			return false
		}
	}
	return true
}

// nearest says where the hunk stops to fit at the line its header names.
func (h *hunk) nearest(lines []string) string {
	for i, l := range h.old {
		at := h.at - 1 + i
		if at < 0 || at >= len(lines) {
			return fmt.Sprintf(" (it has %d lines)", len(lines))
		}
		if lines[at] != l {
			return fmt.Sprintf(" (line %d is %q, the patch has %q)", at+1, clip(lines[at]), clip(l))
		}
	}
	return ""
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
