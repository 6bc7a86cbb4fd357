package install

import (
	"github.com/reeve-gate/reeve/internal/jsonc"
)

// Remove takes Reeve's hooks, of every path, out of the text of a settings
// file. exists is false where the file was only there for them. Text without
// them comes back as it is. An error names line and column.
func (c *Client) Remove(src []byte) (after []byte, exists bool, err error) {
	root, err := jsonc.Read(src)
	if err != nil {
		return nil, true, err
	}
	if root == nil || root.Kind != '{' {
		return src, true, nil
	}
	cut := &cutter{client: c, src: src}
	if gone := cut.root(root); gone {
		// Add laid a new file out over several lines and ended it with one
		// line end, and an object for an empty file in one line.
		if src[root.Start+1] == ' ' {
			cut.spans = []jsonc.Span{{From: root.Start, To: root.End}}
		} else if root.Start == 0 && string(src[root.End:]) == "\n" {
			return nil, false, nil
		} else {
			cut.spans = []jsonc.Span{{From: root.Kids[0].Start, To: root.Kids[len(root.Kids)-1].Value.End}}
		}
	}
	return jsonc.Splice(src, cut.spans), true, nil
}

// cutter collects what is cut. Each of its methods reports whether the whole
// value goes, and then leaves the cut to the caller.
type cutter struct {
	client *Client
	src    []byte
	spans  []jsonc.Span
}

func (c *cutter) root(root *jsonc.Node) bool {
	return c.prune(root, func(k jsonc.Kid) bool { return k.Name == "hooks" && c.hooks(k.Value) })
}

func (c *cutter) hooks(hooks *jsonc.Node) bool {
	return c.prune(hooks, func(k jsonc.Kid) bool { return c.groups(k.Value) })
}

func (c *cutter) groups(groups *jsonc.Node) bool {
	if groups.Kind != '[' {
		return false
	}
	return c.prune(groups, func(k jsonc.Kid) bool { return c.group(k.Value) })
}

// group goes when every hook in it is ours.
func (c *cutter) group(g *jsonc.Node) bool {
	hooks, _ := g.Member("hooks")
	if hooks == nil || hooks.Kind != '[' || len(hooks.Kids) == 0 {
		return false
	}
	for _, h := range hooks.Kids {
		if !c.client.isOurs(h.Value.Str("command")) {
			c.prune(hooks, func(k jsonc.Kid) bool { return c.client.isOurs(k.Value.Str("command")) })
			return false
		}
	}
	return true
}

// prune cuts the kids that go. A container of which all go goes too, unless
// content stands directly after its bracket (then it was there, and empty) or
// it holds a comment, which is nobody's to cut.
func (c *cutter) prune(n *jsonc.Node, goes func(jsonc.Kid) bool) bool {
	gone := map[int]bool{} // by where they begin; each is asked once, since asking cuts below it
	for _, k := range n.Kids {
		if goes(k) {
			gone[k.Start] = true
		}
	}
	switch {
	case len(gone) == 0:
	case len(gone) < len(n.Kids):
		c.spans = append(c.spans, jsonc.Cut(c.src, n, func(k jsonc.Kid) bool { return gone[k.Start] })...)
	case n.Kids[0].Start > n.Start+1 && jsonc.Bare(c.src, n):
		return true
	default:
		c.spans = append(c.spans, jsonc.Span{From: n.Kids[0].Start, To: n.Kids[len(n.Kids)-1].Value.End})
	}
	return false
}
