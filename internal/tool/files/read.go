package files

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
)

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

var readFile = act[readArgs]{
	spec: tool.Spec{
		Name:        "read_file",
		Description: "Read a text file of the workspace, whole or from line offset (first is 1) for limit lines.",
		Schema: `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string","minLength":1},` +
			`"offset":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1}}}`,
		Tier: reeve.TierRead, Class: tool.ClassRead,
	},
	effects: func(a readArgs, at tool.Place) ([]reeve.Effect, error) {
		return onPath(reeve.EffectRead, false)(pathArg{a.Path}, at)
	},
	run: func(_ context.Context, w *workspace, a readArgs) (reeve.Result, error) {
		text, err := w.readText(a.Path)
		if err != nil {
			return reeve.Result{}, err
		}
		text, cut := lineRange(text, a.Offset, a.Limit)
		return reeve.Result{Output: strings.ToValidUTF8(text, "\ufffd"), Truncated: cut}, nil
	},
}

// readText reads a text file that may be named through links which stay
// inside the workspace.
func (w *workspace) readText(path string) (string, error) {
	named, err := w.locate(path)
	if err != nil {
		return "", err
	}
	text, err := through(w, named, w.readWhole)
	if err != nil {
		return "", err
	}
	if isBinary(text) {
		return "", fmt.Errorf("%s is not text (%d bytes)", named.rel, len(text))
	}
	return string(text), nil
}

// readWhole reads the file at p, going through no link.
func (w *workspace) readWhole(p place) ([]byte, error) {
	d, name, err := w.parentOf(p, false)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	text, _, err := w.readIn(d, name, maxRead)
	return text, err
}

// readIn reads the file called name in d, which may be neither a credential
// nor another name of one, nor larger than limit.
func (w *workspace) readIn(d beneath.Dir, name string, limit int64) ([]byte, fs.FileInfo, error) {
	p := place{filepath.Join(w.at.Workspace, d.Rel(), name), filepath.Join(d.Rel(), name)}
	if err := secret(p); err != nil {
		return nil, nil, err
	}
	f, info, err := d.File(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if err := w.alias(p.rel, info); err != nil {
		return nil, nil, err
	}
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("%s has %d bytes; at most %d are read", p.rel, info.Size(), limit)
	}
	text, err := readUpTo(f, limit)
	if err != nil {
		return nil, nil, beneath.Error(p.rel, err)
	}
	return text, info, nil
}

// readUpTo reads a file that may grow while it is read.
func readUpTo(f *os.File, limit int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it grew past %d bytes", limit)
	}
	return b.Bytes(), err
}

// isBinary looks for a NUL byte near the beginning, as git does.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0
}

// lineRange cuts limit lines from line offset on, and never more than maxText
// bytes. cut says that lines after the last shown one exist.
func lineRange(text string, offset, limit int) (part string, cut bool) {
	for ; offset > 1 && text != ""; offset-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	end := len(text)
	if limit > 0 {
		end = 0
		for ; limit > 0 && end < len(text); limit-- {
			i := strings.IndexByte(text[end:], '\n')
			if i < 0 {
				end = len(text)
				break
			}
			end += i + 1
		}
	}
	if end > maxText {
		end = maxText
		if i := strings.LastIndexByte(text[:end], '\n'); i >= 0 {
			end = i + 1
		} else {
			for end > 0 && !utf8.RuneStart(text[end]) {
				end--
			}
		}
	}
	return text[:end], end < len(text)
}

var listDir = act[pathArg]{
	spec: tool.Spec{
		Name:        "list_dir",
		Description: "List a directory of the workspace: one name a line, directories end in a slash, links show their target.",
		Schema:      `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string","minLength":1}}}`,
		Tier:        reeve.TierRead, Class: tool.ClassRead,
	},
	effects: onPath(reeve.EffectRead, false),
	run: func(_ context.Context, w *workspace, a pathArg) (reeve.Result, error) {
		named, err := w.locate(a.Path)
		if err != nil {
			return reeve.Result{}, err
		}
		d, err := through(w, named, func(p place) (beneath.Dir, error) { return w.dirAt(p.rel, false) })
		if err != nil {
			return reeve.Result{}, err
		}
		defer d.Close()
		return list(d)
	},
}

// list names the entries of a directory.
func list(d beneath.Dir) (reeve.Result, error) {
	entries, more, err := d.Entries(maxEntries)
	if err != nil {
		return reeve.Result{}, err
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(shown(e.Name()))
		switch {
		case e.IsDir():
			b.WriteByte('/')
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := d.Readlink(e.Name())
			b.WriteString(" -> " + shown(to))
		}
		b.WriteByte('\n')
	}
	if more {
		fmt.Fprintf(&b, "(more than %d entries; the rest is not shown)\n", maxEntries)
	}
	return reeve.Result{Output: b.String(), Truncated: more}, nil
}

// shown is a name as one line shows it: in quotes where it holds a control
// character, so that no name looks like two.
func shown(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
