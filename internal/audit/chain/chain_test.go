package chain

import (
	"bytes"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
)

// TestHashesAreMadeAsDocumented does by hand what the package doc says.
func TestHashesAreMadeAsDocumented(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("\x00reeve audit v1")
	b.WriteString("\x02\x00\x00\x00\x00\x00\x00\x00\x03abc")
	b.WriteString("\x00")
	b.WriteString("\x02\x00\x00\x00\x00\x00\x00\x00\x00")
	b.WriteString("\x01\xff\xff\xff\xff\xff\xff\xff\xfe")
	b.WriteString("\x03\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01")
	b.WriteString("\x04\x3f\xf8\x00\x00\x00\x00\x00\x00")
	leaf := Leaf([]driver.Value{"abc", nil, "", int64(-2), []byte{0, 1}, 1.5})
	if want := Hash(sha256.Sum256(b.Bytes())); leaf != want {
		t.Errorf("leaf is %s, want %s", leaf, want)
	}
	prev := Hash{1, 2, 3}
	b.Reset()
	b.WriteByte(1)
	b.Write(prev[:])
	b.WriteString("\x00\x00\x00\x00\x00\x00\x01\x00")
	b.Write(leaf[:])
	if got, want := Link(prev, 256, leaf), Hash(sha256.Sum256(b.Bytes())); got != want {
		t.Errorf("link is %s, want %s", got, want)
	}
}

// TestEveryFieldOfARecordIsInItsHash changes one field after the other.
func TestEveryFieldOfARecordIsInItsHash(t *testing.T) {
	base := reeve.Record{CallID: "c", Phase: reeve.PhaseOutcome, Session: "s", Tool: "t", Status: reeve.StatusError, Time: time.Unix(0, 0)}
	seen := map[Hash]string{}
	for name, change := range map[string]func(*reeve.Record){
		"nothing":   func(*reeve.Record) {},
		"call":      func(r *reeve.Record) { r.CallID = "d" },
		"phase":     func(r *reeve.Record) { r.Phase = reeve.PhaseIntent },
		"time":      func(r *reeve.Record) { r.Time = r.Time.Add(time.Microsecond) },
		"session":   func(r *reeve.Record) { r.Session = "d" },
		"tool":      func(r *reeve.Record) { r.Tool = "d" },
		"source":    func(r *reeve.Record) { r.Source = "d" },
		"tier":      func(r *reeve.Record) { r.Tier = reeve.TierRead },
		"args":      func(r *reeve.Record) { r.Args = "{}" },
		"status":    func(r *reeve.Record) { r.Status = reeve.StatusSuccess },
		"summary":   func(r *reeve.Record) { r.Summary = "d" },
		"confirmed": func(r *reeve.Record) { r.Confirmed = true },
		"duration":  func(r *reeve.Record) { r.Duration = time.Millisecond },
		"channel":   func(r *reeve.Record) { r.Channel = "d" },
		"actor":     func(r *reeve.Record) { r.Actor = "d" },
		"origin":    func(r *reeve.Record) { r.Origin = reeve.OriginHost },
		"mode":      func(r *reeve.Record) { r.Mode = reeve.ModeAuto },
		"decision":  func(r *reeve.Record) { r.Decision = reeve.Allow },
		"step":      func(r *reeve.Record) { r.Step = "d" },
		"rule":      func(r *reeve.Record) { r.Rule = "d" },
		"rule at":   func(r *reeve.Record) { r.RuleAt = "d" },
		"approval":  func(r *reeve.Record) { r.Approval = "d" },
		"dangerous": func(r *reeve.Record) { r.Dangerous = true },
		"sandbox":   func(r *reeve.Record) { r.Sandbox = reeve.SandboxReady },
		"contained": func(r *reeve.Record) { r.Contained = true },
		"parent":    func(r *reeve.Record) { r.Parent = "d" },
	} {
		r := base
		change(&r)
		vals := Values(&r)
		h := Leaf(vals[:])
		if other, have := seen[h]; have {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}

func TestATextIsNeverNullAndNullNeverEmpty(t *testing.T) {
	in := reeve.Record{CallID: "c", Phase: reeve.PhaseIntent, Session: "s", Tool: "t"}
	out := in
	out.Phase, out.Status = reeve.PhaseOutcome, reeve.StatusSuccess
	for _, c := range []struct {
		name string
		r    reeve.Record
		want []driver.Value
	}{{"intent", in, []driver.Value{nil, nil, nil}}, {"outcome", out, []driver.Value{"success", "", int64(0)}}} {
		v := Values(&c.r)
		got := []driver.Value{v[ColStatus-ColFirst], v[ColStatus-ColFirst+1], v[ColStatus-ColFirst+3]}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: status, summary and duration are %v, want %v", c.name, got, c.want)
		}
	}
}

func TestLongArgumentsAreKeptAsSizeAndDigest(t *testing.T) {
	long := `{"content":"` + strings.Repeat("x", MaxArguments) + `"}`
	r := reeve.Record{Args: long}
	got, _ := Values(&r)[7].(string)
	want := fmt.Sprintf(`{"bytes":%d,"sha256":"%x"}`, len(long), sha256.Sum256([]byte(long)))
	if got != want {
		t.Errorf("arguments are kept as %q, want %q", got, want)
	}
	r.Args = long[:MaxArguments]
	if got, _ := Values(&r)[7].(string); got != r.Args {
		t.Error("arguments at the bound were not kept whole")
	}
}

func FuzzTextsFitTheirColumns(f *testing.F) {
	for _, s := range []string{"", "plain", strings.Repeat("é", 600), strings.Repeat("x", 500), "a\x00b", "\xff\xfe", strings.Repeat("日", 3000), strings.Repeat("x", 499) + "é", strings.Repeat("x", 500) + "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sum := Summary(s)
		const most = 500 // contract G29
		if n := utf8.RuneCountInString(sum); n > most {
			t.Errorf("summary has %d characters", n)
		}
		if utf8.ValidString(s) && !strings.Contains(s, "\x00") && utf8.RuneCountInString(s) <= most && sum != s {
			t.Errorf("a summary that fits was changed")
		}
		for _, got := range []string{sum, text(s), clean(s)} {
			if !utf8.ValidString(got) || strings.Contains(got, "\x00") {
				t.Errorf("text for a column is %q", got)
			}
		}
		if len(text(s)) > maxText {
			t.Errorf("text for a column has %d bytes", len(text(s)))
		}
		if Summary(sum) != sum || text(text(s)) != text(s) {
			t.Error("a text that fits was changed")
		}
	})
}

func TestAnchorsReadBackAsWritten(t *testing.T) {
	for _, a := range []Anchor{{}, {1, Hash{1}}, {1<<63 - 1, Hash(bytes.Repeat([]byte{0xff}, 32))}} {
		if got, err := ParseAnchor(a.String()); err != nil || got != a {
			t.Errorf("%v read back as %v, %v", a, got, err)
		}
		if len(a.String()) != len(Anchor{}.String()) {
			t.Errorf("%q has another length", a.String())
		}
	}
}

func FuzzOnlyWholeAnchorsAreAccepted(f *testing.F) {
	good := Anchor{12, Hash{9}}.String()
	for _, s := range []string{good, good + "\n", strings.ToUpper(good), good[:len(good)-1], "", "reeve-audit-head v1 12 00 00\n", strings.Replace(good, "12", "13", 1), strings.Replace(good, " v1 ", " v2 ", 1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAnchor(s)
		if err == nil && a.String() != s {
			t.Errorf("%q was accepted; it is not what we write", s)
		}
		if err != nil && !errors.Is(err, ErrAnchor) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRowsAreJSONWhateverTheyHold(t *testing.T) {
	for _, args := range []string{"", "{}", `{"a":[1,2]}`, "no json", `{"a":`, "\u2028<>&"} {
		b, err := json.Marshal(Row{Record: reeve.Record{Args: args, Summary: "\x1b[31m", Rule: `"`}})
		if err != nil || !json.Valid(b) {
			t.Errorf("arguments %q: %v: %s", args, err, b)
		}
	}
}

func TestHashOfWhatIsNoneIsZero(t *testing.T) {
	for _, v := range []driver.Value{nil, "text", []byte{1}, make([]byte, 33), int64(1)} {
		if h := HashOf(v); h != (Hash{}) {
			t.Errorf("HashOf(%v) = %s", v, h)
		}
	}
	want := Hash{1, 2}
	if HashOf(want[:]) != want || want.String() != hex.EncodeToString(want[:]) {
		t.Error("a hash did not come back")
	}
}

func TestPathsWithAnyNameAreOpened(t *testing.T) {
	for _, name := range []string{"plain", "with blank", "a?b&c=d", "a#b", "a%20b", "ünïcode", "_pragma=x"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f := In(dir)
		if err := f.Create(); err != nil {
			t.Fatal(err)
		}
		c, err := Dial(f.DB, "mode=rw")
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if err := c.Exec("CREATE TABLE t(x)"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		c.Close()
		if info, err := os.Stat(f.DB); err != nil || info.Size() == 0 {
			t.Errorf("%q: the database is elsewhere (%v)", name, err)
		}
	}
}

func BenchmarkLeaf(b *testing.B) {
	r := reeve.Record{CallID: "01989c00-0000-7000-8000-000000000001", Phase: reeve.PhaseOutcome, Session: "01989c00-0000-7000-8000-00000000aaaa",
		Tool: "bash", Source: "native", Args: `{"command":"` + strings.Repeat("x", 200) + `"}`, Status: reeve.StatusSuccess, Summary: "ok"}
	vals := Values(&r)
	b.ReportAllocs()
	for b.Loop() {
		Leaf(vals[:])
	}
}
