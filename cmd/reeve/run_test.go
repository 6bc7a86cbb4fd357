package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/creack/pty"
)

func TestNoFileNameForgesALineOfTheReceipt(t *testing.T) {
	var b bytes.Buffer
	writeReceipt(&b, []string{"1s in profile agent, exit 0", "moved out: settings\x1b[2J\x1b[8m\nreeve: all is well\u202e.json"})
	want := "reeve: 1s in profile agent, exit 0\n       moved out: settings\\x1b[2J\\x1b[8m\\nreeve: all is well\\u202e.json\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestTheTerminalIsPlainBeforeTheReceipt(t *testing.T) {
	person, screen, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer person.Close()
	defer screen.Close()
	master, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	r := openRelay(screen, screen, master)
	hidden := "\x1b[?1049h\x1b[8m\x1b(0"
	if _, err := program.WriteString(hidden); err != nil {
		t.Fatal(err)
	}
	program.Close()
	r.close()
	got := make([]byte, 200)
	n := 0
	for !strings.HasSuffix(string(got[:n]), plain) {
		m, err := person.Read(got[n:])
		if err != nil || n+m == len(got) {
			t.Fatalf("the screen shows %q %v, which does not end in %q", got[:n+m], err, plain)
		}
		n += m
	}
}
