package main

import (
	"strings"
	"testing"
)

// TestAlwaysAtTheTerminalCoversTheExactCall: one person types three calls at one
// terminal, and answers the first and the third.
func TestAlwaysAtTheTerminalCoversTheExactCall(t *testing.T) {
	in := newRig(t, "")
	w := in.windowOf(t, "sh", "-c", `call() { "$0" exec --as agent:a write_file "{\"path\":\"a.txt\",\"content\":\"$1\"}"; echo "$2 ended with $?"; }
call x first; call x again; call y other`, in.bin)
	w.until("no: a word")
	w.types("always\n")
	w.until("again ended with 0")
	_, w.seen, _ = strings.Cut(w.seen, "first ended with 0")
	w.until("no: a word")
	w.types("n\n")
	w.until("other ended with 3")
	if code := w.code(); code != 0 {
		t.Errorf("it ended with %d: %s", code, w.seen)
	}
}
