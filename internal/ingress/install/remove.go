package install

import "bytes"

// Remove takes Reeve's hooks, of every path, out of the text of a settings
// file. exists is false where the file was only there for them. Text without
// them comes back as it is. An error names line and column.
func (c *Client) Remove(src []byte) (after []byte, exists bool, err error) {
	root, err := read(src)
	if err != nil {
		return nil, true, err
	}
	if root == nil || root.kind != '{' {
		return src, true, nil
	}
	cut := &cutter{client: c, src: src}
	if gone := cut.root(root); gone {
		// Add laid a new file out over several lines and ended it with one
		// line end, and an object for an empty file in one line.
		if src[root.start+1] == ' ' {
			cut.spans = []span{{root.start, root.end, ""}}
		} else if root.start == 0 && string(src[root.end:]) == "\n" {
			return nil, false, nil
		} else {
			cut.spans = []span{{root.kids[0].start, root.kids[len(root.kids)-1].value.end, ""}}
		}
	}
	return splice(src, cut.spans), true, nil
}

// cutter collects what is cut. Each of its methods reports whether the whole
// value goes, and then leaves the cut to the caller.
type cutter struct {
	client *Client
	src    []byte
	spans  []span
}

func (c *cutter) root(root *node) bool {
	return c.prune(root, func(k kid) bool { return k.name == "hooks" && c.hooks(k.value) })
}

func (c *cutter) hooks(hooks *node) bool {
	return c.prune(hooks, func(k kid) bool { return c.groups(k.value) })
}

func (c *cutter) groups(groups *node) bool {
	if groups.kind != '[' {
		return false
	}
	return c.prune(groups, func(k kid) bool { return c.group(k.value) })
}

// group goes when every hook in it is ours.
func (c *cutter) group(g *node) bool {
	hooks, _ := g.member("hooks")
	if hooks == nil || hooks.kind != '[' || len(hooks.kids) == 0 {
		return false
	}
	for _, h := range hooks.kids {
		if !c.client.isOurs(h.value.str("command")) {
			c.prune(hooks, func(k kid) bool { return c.client.isOurs(k.value.str("command")) })
			return false
		}
	}
	return true
}

// prune cuts the kids that go. A container of which all go goes too, unless
// content stands directly after its bracket (then it was there, and empty) or
// it holds a comment, which is nobody's to cut.
func (c *cutter) prune(n *node, goes func(kid) bool) bool {
	var gone []int
	for i, k := range n.kids {
		if goes(k) {
			gone = append(gone, i)
		}
	}
	switch {
	case len(gone) == 0:
	case len(gone) < len(n.kids):
		c.some(n, gone)
	case n.kids[0].start > n.start+1 && c.bare(n):
		return true
	default:
		c.cut(n.kids[0].start, n.kids[len(n.kids)-1].value.end)
	}
	return false
}

// bare reports whether only white space and commas stand between the kids.
func (c *cutter) bare(n *node) bool {
	at := n.start + 1
	for _, k := range n.kids {
		if !blank(c.src[at:k.start]) {
			return false
		}
		at = k.value.end
	}
	return blank(c.src[at : n.end-1])
}

func blank(b []byte) bool { return len(bytes.Trim(b, " \t\r\n,")) == 0 }

// some cuts kids out of a container that keeps others, each with one comma.
func (c *cutter) some(n *node, gone []int) {
	kept := false // a kid that stays stands before
	next := 0
	for i, k := range n.kids {
		if next == len(gone) || gone[next] != i {
			kept = true
			continue
		}
		next++
		if kept {
			c.gap(n.kids[i-1].value.end, k.start)
		}
		c.cut(k.start, k.value.end)
		if !kept {
			c.gap(k.value.end, n.kids[i+1].start)
		}
	}
}

// gap cuts what stands between two kids: all of it, or only the comma where
// there is a comment.
func (c *cutter) gap(from, to int) {
	if blank(c.src[from:to]) {
		c.cut(from, to)
		return
	}
	r := &reader{src: c.src, at: from}
	if r.space() == nil && r.peek() == ',' {
		c.cut(r.at, r.at+1)
	}
}

func (c *cutter) cut(from, to int) {
	if from < to {
		c.spans = append(c.spans, span{from: from, to: to})
	}
}
