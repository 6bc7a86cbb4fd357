package bell

import (
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/approval"
)

func asked(id, what string) approval.Event {
	return approval.Event{State: approval.Pending, Question: approval.Question{ID: id, Operation: what, Expires: time.Date(2026, 1, 2, 15, 4, 0, 0, time.Local)}}
}

func settled(id string) approval.Event {
	return approval.Event{State: approval.Allowed, Question: approval.Question{ID: id}}
}

const lines = "reeve: this waits for your word until 15:04: connect to a.example:443\r\n       answer in another terminal, or here after ^] d:\r\n" +
	"       reeve approvals allow q1 (or deny)\r\n"

const title = "\x1b[22;2t\x1b]2;reeve approvals: connect to a.example:443 waits\x1b\\"

func TestAQuestionIsToldWithoutTearingTheScreen(t *testing.T) {
	q := asked("q1", "connect to a.example:443")
	for name, c := range map[string]struct {
		do   []any // written, or told
		want string
	}{
		"text":                       {[]any{"a line\n", q}, "a line\n\a" + lines},
		"the middle of a line":       {[]any{"50%", q, "60%"}, "50%\a\r\n" + lines + "60%"},
		"a hidden cursor":            {[]any{"\x1b[?25l|", q}, "\x1b[?25l|\a\r\n" + lines},
		"settled":                    {[]any{q, settled("q1"), "on\n"}, "\a" + lines + "on\n"},
		"the other screen":           {[]any{"\x1b[?1049h", q, "x", settled("q1")}, "\x1b[?1049h\a" + title + "x\x1b[23;2t"},
		"pastes in brackets":         {[]any{"\x1b[?2004h", q}, "\x1b[?2004h\a" + title},
		"the other screen is left":   {[]any{"\x1b[?1049h", q, "\x1b[?1049l"}, "\x1b[?1049h\a" + title + "\x1b[?1049l\r\n" + lines + "\x1b[23;2t"},
		"the middle of a sequence":   {[]any{"\x1b[3", q, "1mred"}, "\x1b[31mred\a\r\n" + lines},
		"text that steers":           {[]any{asked("q1", "connect to \x1b[2Ja.example:443")}, "\a" + strings.Replace(lines, "to a", `to \x1b[2Ja`, 1)},
		"another one that is told":   {[]any{q, q}, "\a" + lines + "\a" + lines},
		"one that nobody knows ends": {[]any{settled("q2")}, ""},
	} {
		var out strings.Builder
		b := New(&out, true)
		for _, d := range c.do {
			switch d := d.(type) {
			case string:
				if n, err := b.Write([]byte(d)); n != len(d) || err != nil {
					t.Errorf("%s: wrote %d, %v", name, n, err)
				}
			case approval.Event:
				b.Told(d)
			}
		}
		if out.String() != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, out.String(), c.want)
		}
	}
}

func TestTheTitleIsGivenBackAtTheEnd(t *testing.T) {
	var out strings.Builder
	b := New(&out, true)
	b.Write([]byte("\x1b[?1049h"))
	b.Told(asked("q1", "connect to a.example:443"))
	b.Close()
	b.Close()
	if want := "\x1b[?1049h\a" + title + "\x1b[23;2t"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
