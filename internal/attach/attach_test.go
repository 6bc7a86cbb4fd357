package attach

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/localsock"
)

func TestFramesArriveInOrderAndLongOnesInPieces(t *testing.T) {
	a, far, err := localsock.Pair()
	if err != nil {
		t.Fatal(err)
	}
	near := On(a)
	other, err := FromFile(far)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	long := bytes.Repeat([]byte("0123456789"), MaxData/4)
	go func() {
		near.Send(Output, long)
		near.Send(Leave, nil)
		near.Tell(Window, Size{Rows: 3, Cols: 4})
		near.Close()
	}()
	var got []byte
	for {
		kind, data, err := other.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if kind == Leave {
			break
		}
		if kind != Output || len(data) > MaxData {
			t.Fatalf("a frame %q of %d bytes", kind, len(data))
		}
		got = append(got, data...)
	}
	if !bytes.Equal(got, long) {
		t.Errorf("%d bytes arrived, want %d", len(got), len(long))
	}
	var s Size
	if kind, data, err := other.Receive(); err != nil || kind != Window || Read(data, &s) != nil || s != (Size{3, 4}) {
		t.Errorf("a size came as %q %q, %v", kind, data, err)
	}
	if _, _, err := other.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end %v", err)
	}
}

func TestTheDetachKeyIsFoundAndEverythingElsePasses(t *testing.T) {
	for _, c := range []struct {
		typed []string
		out   string
		leave bool
	}{
		{[]string{"plain text\r"}, "plain text\r", false},
		{[]string{"ab\x1dd"}, "ab", true},
		{[]string{"\x1d", "d"}, "", true},
		{[]string{"\x1d\x1d"}, "\x1d", false},
		{[]string{"\x1d\x1dd"}, "\x1dd", false},
		{[]string{"\x1dx", "d"}, "\x1dxd", false},
		{[]string{"\x1d", "\x1d", "\x1d", "d"}, "\x1d", true},
		{[]string{"\x1b[93;5u", "d"}, "", true},
		{[]string{"\x1b[93;5u\x1b[100u"}, "", true},
		{[]string{"\x1b[27;5;93~", "d"}, "", true},
		{[]string{"\x1b[A\x1b[93;5ux"}, "\x1b[A\x1b[93;5ux", false},
		{[]string{"d\x1b[93;5u\x1b[93;5u"}, "d\x1b[93;5u", false},
		{[]string{"\x1dD"}, "\x1dD", false},
	} {
		var k Keys
		out, leave := "", false
		for _, in := range c.typed {
			o, l := k.Typed([]byte(in))
			out, leave = out+string(o), leave || l
		}
		if out != c.out || leave != c.leave {
			t.Errorf("%q gives %q and %v, want %q and %v", c.typed, out, leave, c.out, c.leave)
		}
	}
}

// FuzzKeys: what a person types reaches the program whole, but for the key.
func FuzzKeys(f *testing.F) {
	f.Add("a\x1dd", 1)
	f.Add("\x1b[93;5u\x1d\x1dx", 3)
	f.Fuzz(func(t *testing.T, in string, at int) {
		if at < 0 || at > len(in) {
			at = 0
		}
		var k Keys
		var out []byte
		for _, part := range []string{in[:at], in[at:]} {
			o, leave := k.Typed([]byte(part))
			if out = append(out, o...); leave {
				return
			}
		}
		if got := string(out) + string(k.held); len(got) > len(in) || !strings.Contains(in, "\x1d") && !strings.Contains(in, "\x1b[") && got != in {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

func TestAnotherTerminalIsSetAsTheProgramSetItsOwn(t *testing.T) {
	for _, c := range []struct {
		wrote, want string
		other       bool
	}{
		{"text \x1b[1mbold\x1b[0m", "", false},
		{"\x1b[?2004h\x1b[?1049h\x1b[?25l", "\x1b[?1049h\x1b[?25l\x1b[?2004h", true},
		{"\x1b[?1049h\x1b[?25l\x1b[?1049l\x1b[?25h", "", false},
		{"\x1b[?1000;1006h\x1b[?1000l", "\x1b[?1006h", false},
		{"\x1b=\x1b[>4;2m\x1b[>1u\x1b[>5u\x1b[<u", "\x1b=\x1b[>4;2m\x1b[>1u", false},
		{"\x1b[?1h\x1b[?2004hx\x1bc", "", false},
		{"\x1b[?1h\x1b[!p", "", false},
		{"\x1b]0;\x1b[?1049h\x07", "\x1b[?1049h", true}, // a title that is cut off by a sequence
		{"\x1b]0;title [?1049h\x07", "", false},
		{"\x1b[?7l", "\x1b[?7l", false},
		{strings.Repeat("\x1b[?1;2;3;4;5;6;8;9h", 3), "\x1b[?1h\x1b[?2h\x1b[?3h\x1b[?4h\x1b[?5h\x1b[?6h\x1b[?8h\x1b[?9h", false},
	} {
		for _, pieces := range [][]string{{c.wrote}, strings.Split(c.wrote, "")} {
			var m Modes
			for _, p := range pieces {
				m.Write([]byte(p))
			}
			if got := string(m.Restore()); got != c.want || m.Other() != c.other {
				t.Errorf("%q in %d pieces: %q and %v, want %q and %v", c.wrote, len(pieces), got, m.Other(), c.want, c.other)
			}
			var again Modes
			again.Write(m.Restore())
			if string(again.Restore()) != c.want {
				t.Errorf("%q restored gives %q, want %q", c.wrote, again.Restore(), c.want)
			}
		}
	}
}

func TestAProgramDrawsWhereItSetMoreThanTheCursor(t *testing.T) {
	for wrote, want := range map[string]bool{
		"text \x1b[1mbold": false, "\x1b[?25l": false, "\x1b[?1049h": true, "\x1b[?1049h\x1b[?1049l": false, "\x1b[?2004h": true, "\x1b[?1000h": true,
		"\x1b=": true, "\x1b[>1u": true, "\x1b[>4;2m": true, "\x1b[?7l": true, "\x1b[?25l\x1bc": false,
	} {
		var m Modes
		m.Write([]byte(wrote))
		if m.Drawn() != want || !m.Whole() {
			t.Errorf("%q: drawn %v, whole %v", wrote, m.Drawn(), m.Whole())
		}
	}
	for _, part := range []string{"\x1b", "\x1b[", "\x1b[3", "\x1b]2;title", "\x1b]2;title\x1b"} {
		var m Modes
		if m.Write([]byte(part)); m.Whole() {
			t.Errorf("%q counts as whole", part)
		}
	}
}

// FuzzModes: whatever a program writes, little is remembered of it.
func FuzzModes(f *testing.F) {
	f.Add("\x1b[?1049h\x1b[>1u")
	f.Fuzz(func(t *testing.T, in string) {
		var m Modes
		m.Write([]byte(in))
		if len(m.Restore()) > 1024 || len(m.set) > maxModes || len(m.keys) > maxKeys {
			t.Fatalf("%q makes it remember %q", in, m.Restore())
		}
	})
}
