package foreign

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/tool"
)

// texts are, by tool, what a call would put into which files.
var texts = map[string]func(args []byte, at tool.Place) []tool.Text{
	"claude:write":        written,
	"claude:edit":         written,
	"claude:multiedit":    written,
	"claude:notebookedit": written,
	"codex:apply_patch":   patchTexts,
}

// Texts are what the client's tool would put into which files.
func (d described) Texts(args []byte, at tool.Place) []tool.Text {
	if f := texts[d.spec.Name]; f != nil {
		return f(args, at)
	}
	return nil
}

// replaced is one edit of Claude Code.
type replaced struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

// written is what Claude Code's writers bring.
func written(args []byte, at tool.Place) (all []tool.Text) {
	var a struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Content  string `json:"content"`
		Cell     string `json:"new_source"`
		replaced
		Edits []replaced `json:"edits"`
	}
	if decode(args, &a) != nil {
		return nil
	}
	p, err := path(a.File+a.Notebook, at)
	if err != nil {
		return nil
	}
	all = append(all, tool.Text{Path: p, New: a.Content, Whole: true}, tool.Text{Path: p, New: a.Cell})
	for _, e := range append(a.Edits, a.replaced) {
		all = append(all, tool.Text{Path: p, New: e.New, Old: e.Old})
	}
	return all
}

// patchTexts is what a patch of Codex's own format brings, file by file. Of a
// file that it moves the text is judged where it was.
func patchTexts(args []byte, at tool.Place) (all []tool.Text) {
	var a asCommand
	if decode(args, &a) != nil {
		return nil
	}
	for line := range strings.Lines(a.Command) {
		if header, ok := strings.CutPrefix(strings.TrimSpace(line), "*** "); ok {
			what, name, _ := strings.Cut(header, ": ")
			if p, err := literal(name, at); err == nil && (what == "Add File" || what == "Update File") {
				all = append(all, tool.Text{Path: p})
			}
			continue
		}
		if len(all) == 0 {
			continue
		}
		switch t := &all[len(all)-1]; line[0] {
		case '-':
			t.Old += line[1:]
		case ' ':
			t.Old, t.New = t.Old+line, t.New+line
		default:
			t.New += line
		}
	}
	return all
}
