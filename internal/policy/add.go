package policy

import (
	"bytes"
	"fmt"

	"github.com/reeve-gate/reeve/internal/policy/tree"
)

// AddAllow returns the policy file src, TOML, with one allow rule more and
// everything else byte for byte as it was. A rule that is there already
// changes nothing. It fails where src or the result does not read.
func AddAllow(file string, src []byte, rule string) ([]byte, error) {
	root, err := tree.Read(file, src)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(src, " \t\r\n"), []byte("{")) {
		return nil, fmt.Errorf("%s is JSON; add the rule %s by hand", file, rule)
	}
	quoted := tree.Quote(rule)
	var out []byte
	switch allow := root.Find("allow"); {
	case allow == nil:
		out = append([]byte("allow = ["+quoted+"]\n"), src...)
	case allow.Kind != tree.List:
		return nil, &tree.Error{File: file, Pos: allow.Pos, Msg: "allow is not a list"}
	default:
		for _, n := range allow.List {
			if n.Str == rule {
				return src, nil
			}
		}
		at := offset(src, allow.Pos)
		if at >= len(src) || src[at] != '[' {
			return nil, &tree.Error{File: file, Pos: allow.Pos, Msg: "the place of the allow list is not clear; add the rule " + rule + " by hand"}
		}
		if len(allow.List) > 0 {
			quoted += ", "
		}
		out = append(out, src[:at+1]...)
		out = append(out, quoted...)
		out = append(out, src[at+1:]...)
	}
	if _, err := Parse(LayerUser, file, out); err != nil {
		return nil, err
	}
	return out, nil
}

// offset turns a place into an index; len(src) where there is no such place.
func offset(src []byte, p tree.Pos) int {
	at := 0
	for line := 1; line < p.Line; line++ {
		n := bytes.IndexByte(src[at:], '\n')
		if n < 0 {
			return len(src)
		}
		at += n + 1
	}
	return min(at+p.Col-1, len(src))
}
