package orders

import (
	"reflect"
	"strings"
	"testing"
)

var full = Orders{
	Gate: true, UID: 1000, GID: 1 << 31, Loopback: true, Listen: 3128, Layer: Layer{Files: 1 << 40, OfFile: 3, Scoped: 2, Allowed: []Allowed{{"/w", 7}, {"", 0}}}, TTY: true, Umask: -1,
	Mounts: []Mount{
		{What: Host, At: "/", Data: []byte{}},
		{What: Memory, At: "/tmp", Mode: 0o1777, Size: 1 << 40, Data: []byte{}},
		{What: Bind, From: "/a b/\xff", At: "/c", Write: true, Data: []byte{}},
		{What: Copy, At: "/d", Data: []byte("x\x00y")},
	},
	Filter: []byte{1, 2, 3, 4, 5, 6, 7, 8},
	Dir:    "/c", Argv: []string{"p", ""}, Env: []string{"A=\n"}, Paths: []string{"/bin/p", "/usr/bin/p"},
}

func TestOrdersArriveAsTheyWereGiven(t *testing.T) {
	got, ok := Decode(full.Encode())
	if !ok || !reflect.DeepEqual(got, full) {
		t.Errorf("%v\n%+v\n%+v", ok, got, full)
	}
	if empty, ok := Decode((&Orders{}).Encode()); !ok || len(empty.Argv) != 0 {
		t.Errorf("nothing: %+v %v", empty, ok)
	}
}

func TestOrdersThatAreNotWholeAreRefused(t *testing.T) {
	text := full.Encode()
	for i := range text {
		if _, ok := Decode(text[:i]); ok {
			t.Errorf("the first %d of %d bytes pass", i, len(text))
		}
	}
	if _, ok := Decode(append(text, 0)); ok {
		t.Error("one byte more passes")
	}
}

// FuzzDecode: whatever comes, what is taken for orders is written as it came.
func FuzzDecode(f *testing.F) {
	f.Add(full.Encode())
	f.Add((&Orders{}).Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		o, ok := Decode(text)
		if !ok {
			return
		}
		again, ok := Decode(o.Encode())
		if !ok || !reflect.DeepEqual(again, o) {
			t.Errorf("%v: %+v, then %+v", ok, o, again)
		}
	})
}

func TestReportsArriveAsTheyWereGiven(t *testing.T) {
	want := Report{Kind: Fault, Step: MountStep, Op: Attach, Number: 1<<63 + 5, Errno: 40}
	var b [ReportSize]byte
	want.Encode(&b)
	if got, ok := DecodeReport(b[:]); !ok || got != want {
		t.Errorf("%+v %v", got, ok)
	}
	if _, ok := DecodeReport(b[1:]); ok {
		t.Error("a short report passes")
	}
}

// TestEveryStepHasItsWords: what a person is told of a step or a call has no
// gap, and nothing else has words.
func TestEveryStepHasItsWords(t *testing.T) {
	for s := Read; s <= Start; s++ {
		if s.String() == Step(200).String() || s.String() == "" {
			t.Errorf("step %d has no words", s)
		}
	}
	for o := Look; o <= HandOver; o++ {
		if o.String() == Op(200).String() || o.String() == "" {
			t.Errorf("call %d has no words", o)
		}
	}
	for w := Host; w <= Seal; w++ {
		text := Mount{What: w, At: "/at", From: "/from"}.String()
		if w != Host && !strings.Contains(text, "/at") && !strings.Contains(text, "/from") {
			t.Errorf("mount %d names no place: %s", w, text)
		}
	}
}
