package attach

import "bytes"

// Prefix is the key that a person types before a command to the attachment
// itself: control and right bracket.
const Prefix = 0x1d

// prefixes are the forms in which terminals send that key: the plain byte, the
// form of the keyboard protocol of kitty (CSI u) and that of xterm's
// modifyOtherKeys, which a program may have switched on.
var prefixes = [][]byte{{Prefix}, []byte("\x1b[93;5u"), []byte("\x1b[27;5;93~")}

// leaving are the forms of the key d behind it.
var leaving = [][]byte{[]byte("d"), []byte("\x1b[100u"), []byte("\x1b[100;1u"), []byte("\x1b[27;1;100~")}

// Keys finds the detach keys, ^] d, in what a person types. The zero Keys is
// ready for use.
type Keys struct {
	held []byte // the prefix, as it was typed; empty = it was not the last key
}

// Typed takes what was just typed and returns what of it is for the program,
// and whether the person wants to leave; what came after that is dropped.
// ^] ^] gives the program one ^]; before any other key ^] is passed on with
// it. An escape sequence that is split between two calls is passed on as it
// is, which costs a person a second try.
func (k *Keys) Typed(in []byte) (out []byte, leave bool) {
	for len(in) > 0 {
		if n := match(in, prefixes); n > 0 {
			if len(k.held) > 0 {
				out, k.held = append(out, in[:n]...), nil
			} else {
				k.held = append([]byte(nil), in[:n]...)
			}
			in = in[n:]
			continue
		}
		if len(k.held) > 0 {
			if match(in, leaving) > 0 {
				k.held = nil
				return out, true
			}
			out, k.held = append(out, k.held...), nil
		}
		next := len(in)
		for _, p := range prefixes {
			if i := bytes.Index(in[1:], p); i >= 0 {
				next = min(next, i+1)
			}
		}
		out, in = append(out, in[:next]...), in[next:]
	}
	return out, false
}

func match(in []byte, forms [][]byte) int {
	for _, f := range forms {
		if bytes.HasPrefix(in, f) {
			return len(f)
		}
	}
	return 0
}
