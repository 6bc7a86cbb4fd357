package web

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	e := newEvents(strings.NewReader("\ufeff: a comment\n\ndata: one\rdata:two\r\n\r\nevent: x\nid: 7\nretry: 250\ndata:  three\n\nid: 8\n\ndata\n\nunknown: y\ndata: four\n\ndata: cut off"), 100)
	for _, want := range []event{{"", "", []byte("one\ntwo")}, {"7", "x", []byte(" three")}, {"8", "", []byte("")}, {"8", "", []byte("four")}} {
		got, err := e.next()
		if err != nil || got.id != want.id || got.name != want.name || string(got.data) != string(want.data) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := e.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if e.retry != 250*time.Millisecond {
		t.Errorf("retry is %s", e.retry)
	}
	e = newEvents(strings.NewReader("data: "+strings.Repeat("x", 60)+"\ndata: "+strings.Repeat("x", 60)+"\n\n"), 100)
	if _, err := e.next(); !errors.Is(err, errLongEvent) {
		t.Errorf("a long event: %v", err)
	}
}

// FuzzEvents: what is read is never above the bound, and no event holds a line
// end that the stream did not have between two lines of data.
func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\r\ndata: c\r\r", 10)
	f.Fuzz(func(t *testing.T, in string, max int) {
		max = max&0xff + 1
		e := newEvents(strings.NewReader(in), max)
		total := 0
		for {
			ev, err := e.next()
			if err != nil {
				break
			}
			if len(ev.data) > max+1 {
				t.Errorf("an event of %d bytes, the bound is %d", len(ev.data), max)
			}
			total += len(ev.data)
			if strings.ContainsRune(string(ev.data), '\r') {
				t.Errorf("%q holds a carriage return", ev.data)
			}
		}
		if total > len(in) {
			t.Errorf("%d bytes of data out of %d", total, len(in))
		}
	})
}
