package kernel

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/redact/writeback"
	"github.com/reeve-gate/reeve/internal/tool"
)

// unmasks says why the call would put one of our marks into a file in place of
// the value that it hides, or "". A person may write what they like.
func (k *Kernel) unmasks(c *call) string {
	if !c.inv.Origin.Governed() || !writeback.Suspect(c.inv.Args) {
		return ""
	}
	for _, t := range k.texts(c) {
		if !writeback.In(t.New) {
			continue
		}
		held, _ := k.Disk.Contents(t.Path)
		change := writeback.Change{New: t.New, Old: t.Old, Whole: t.Whole}
		m := writeback.Lost(change, held, k.Clean.Text(held))
		if m == "" || strings.Contains(t.Path, m) {
			continue
		}
		return fmt.Sprintf("the text for %s holds %s, which stands for a value that was masked and is not that value; "+
			"change the lines around it with an edit that leaves the masked value out, name a secret of the vault as reeve://SERVICE/KEY, or ask the person to type it", t.Path, m)
	}
	return ""
}

// texts are what the call would put into files. Of a shell line it is the
// line, for each file that it redirects to or whose writer is fed by it, and
// the command for what else it writes. Of a tool that nothing is known of it is
// all its arguments, for each file that one of them names.
func (k *Kernel) texts(c *call) (all []tool.Text) {
	author, ok := c.tool.(tool.Author)
	switch {
	case c.spec.Class == tool.ClassBash:
		line := strings.Join(words(c.inv.Args), "\n")
		for i := range c.in.Effects {
			e := &c.in.Effects[i]
			if e.Kind != reeve.EffectWrite || e.Path == "" || e.Facts.Exists && e.Facts.Links == 0 {
				continue // what is there is no regular file
			}
			t := tool.Text{Path: e.Path, New: line}
			if e.Command != nil && !fed[e.Command.Program()] {
				t.New = e.Command.Text
			}
			all = append(all, t)
		}
	case ok && c.spec.Class == tool.ClassWrite:
		return author.Texts(c.inv.Args, c.place)
	case c.spec.Tier != reeve.TierRead:
		args := words(c.inv.Args)
		for _, w := range args {
			if path := c.path(w); path != "" {
				if _, there := k.Disk.Contents(path); there {
					all = append(all, tool.Text{Path: path, New: strings.Join(args, "\n")})
				}
			}
		}
	}
	return all
}

// fed are programs that write what they read.
var fed = map[string]bool{"tee": true, "dd": true, "sponge": true}

// path is the path that an argument may be, or "".
func (c *call) path(arg string) string {
	switch {
	case arg == "" || len(arg) > 4096 || strings.ContainsAny(arg, "\x00\n"):
		return ""
	case strings.HasPrefix(arg, "~/") && c.place.Home != "":
		return filepath.Join(c.place.Home, arg[1:])
	case filepath.IsAbs(arg):
		return filepath.Clean(arg)
	}
	return filepath.Join(c.place.Dir, arg)
}

// words are all strings in JSON arguments, names of members too.
func words(args []byte) (all []string) {
	d := jsontext.NewDecoder(bytes.NewReader(args))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return slices.Clip(all)
		}
		if t.Kind() == '"' {
			all = append(all, t.String())
		}
	}
}
