package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/localsock"
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
	near, far, err := localsock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	keeper := attach.On(near)
	conn, err := attach.FromFile(far)
	if err != nil {
		t.Fatal(err)
	}
	r := openRelay(screen, screen, conn, true)
	if err := keeper.Send(attach.Output, []byte("\x1b[?1049h\x1b[8m\x1b(0")); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Tell(attach.Ended, attach.End{Code: 3}); err != nil {
		t.Fatal(err)
	}
	<-r.over
	if end, left := r.close(); left || end == nil || end.Code != 3 {
		t.Errorf("ended with %+v, left %v; want 3", end, left)
	}
	got := make([]byte, 400)
	n := 0
	for !strings.HasSuffix(string(got[:n]), attach.Plain) {
		m, err := person.Read(got[n:])
		if err != nil || n+m == len(got) {
			t.Fatalf("the screen shows %q %v, which does not end in %q", got[:n+m], err, attach.Plain)
		}
		n += m
	}
}
