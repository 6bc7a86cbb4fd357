package chain

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reeve-gate/reeve"
)

// Bounds on what one row holds.
const (
	MaxArguments = 64 << 10 // bytes; longer arguments are kept as size and SHA-256
	MaxSummary   = 500      // characters (contract G29)
	maxText      = 4 << 10  // bytes of any other text
)

// TimeLayout is how timestamps are written: UTC, six decimals, so that they
// sort as text.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Hash is one link of the chain. The zero Hash stands before row 1.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Row is one row of the record. As an execution (one line for one call) a
// call without an outcome has Status unknown.
type Row struct {
	ID int64
	reeve.Record
	Prev, Hash Hash
}

// Leaf is the hash of a row's own content.
func Leaf(cols []driver.Value) Hash {
	var buf [1024]byte
	b := append(buf[:0], 0)
	b = append(b, "reeve audit v1"...)
	for _, v := range cols {
		switch v := v.(type) {
		case nil:
			b = append(b, 0)
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 1), uint64(v))
		case string:
			b = binary.BigEndian.AppendUint64(append(b, 2), uint64(len(v)))
			b = append(b, v...)
		case []byte:
			b = binary.BigEndian.AppendUint64(append(b, 3), uint64(len(v)))
			b = append(b, v...)
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, 4), math.Float64bits(v))
		default: // the driver gives no other; if it did, no hash of ours matches
			b = append(b, 0xff)
		}
	}
	return sha256.Sum256(b)
}

// Link chains a leaf to the row before.
func Link(prev Hash, id int64, leaf Hash) Hash {
	b := make([]byte, 0, 1+32+8+32)
	b = append(b, 1)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(id))
	b = append(b, leaf[:]...)
	return sha256.Sum256(b)
}

// Check refuses a record that the table could not hold truthfully.
func Check(r *reeve.Record) error {
	switch {
	case r.CallID == "":
		return errors.New("it has no call id")
	case r.Session == "":
		return errors.New("it has no session")
	case r.Tool == "":
		return errors.New("it names no tool")
	case r.Phase != reeve.PhaseIntent && r.Phase != reeve.PhaseOutcome:
		return fmt.Errorf("its phase is %q", r.Phase)
	case r.Phase == reeve.PhaseIntent && r.Status != "":
		return fmt.Errorf("it is an intent and has the status %q", r.Status)
	}
	if r.Phase == reeve.PhaseIntent {
		return nil
	}
	switch r.Status {
	case reeve.StatusSuccess, reeve.StatusError, reeve.StatusDenied, reeve.StatusTimeout, reeve.StatusUnknown:
		return nil
	}
	return fmt.Errorf("its status is %q", r.Status)
}

// Values are the columns from call_id to parent_id.
func Values(r *reeve.Record) [LeafColumns]driver.Value {
	var status, summary, duration driver.Value
	if r.Phase == reeve.PhaseOutcome {
		status, summary, duration = string(r.Status), Summary(r.Summary), r.Duration.Milliseconds()
	}
	return [LeafColumns]driver.Value{
		text(r.CallID), string(r.Phase), r.Time.UTC().Format(TimeLayout), text(r.Session),
		text(r.Tool), text(r.Source), r.Tier.String(), arguments(r.Args),
		status, summary, flag(r.Confirmed), duration, text(string(r.Channel)),
		text(string(r.Actor)), r.Origin.String(), r.Mode.String(), r.Decision.String(), text(string(r.Step)),
		optional(r.Rule), optional(r.RuleAt), optional(r.Approval),
		flag(r.Dangerous), r.Sandbox.String(), flag(r.Contained), optional(r.Parent),
	}
}

func flag(b bool) driver.Value {
	if b {
		return int64(1)
	}
	return int64(0)
}

func optional(s string) driver.Value {
	if s == "" {
		return nil
	}
	return text(s)
}

// text makes s fit a column: valid UTF-8 without NUL, which SQLite's own
// functions would take for the end.
func text(s string) string { return clip(clean(s), maxText) }

func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// clip cuts valid UTF-8 at a character's edge and shows that it did.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// Summary is s as the record keeps it: at most [MaxSummary] characters.
func Summary(s string) string {
	s = clean(s)
	if len(s) <= MaxSummary {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == MaxSummary {
			if rest := s[i:]; utf8.RuneCountInString(rest) > 1 {
				return s[:i] + "…"
			}
			break
		}
	}
	return s
}

func arguments(args string) driver.Value {
	switch {
	case args == "":
		return nil
	case len(args) > MaxArguments:
		return fmt.Sprintf(`{"bytes":%d,"sha256":"%x"}`, len(args), sha256.Sum256([]byte(args)))
	}
	return clean(args)
}

// Of reads a row as stored. It never fails: a value that we did not write
// becomes the zero value of its kind, which is the most cautious one, and
// Verify names the row.
func Of(v []driver.Value) Row {
	str := func(i int) string { s, _ := v[i].(string); return s }
	num := func(i int) int64 { n, _ := v[i].(int64); return n }
	r := Row{ID: num(ColID)}
	r.CallID, r.Phase, r.Session = str(1), reeve.Phase(str(2)), str(4)
	r.Time, _ = time.Parse(TimeLayout, str(3))
	r.Tool, r.Source, r.Args = str(5), str(6), str(8)
	r.Tier, _ = reeve.ParseTier(str(7))
	r.Status, r.Summary = reeve.Status(str(9)), str(10)
	r.Confirmed, r.Duration = num(11) != 0, time.Duration(num(12))*time.Millisecond
	r.Channel, r.Actor = reeve.Channel(str(13)), reeve.Actor(str(14))
	r.Origin, _ = reeve.ParseOrigin(str(15))
	r.Mode, _ = reeve.ParseMode(str(16))
	r.Decision, _ = reeve.ParseVerdict(str(17))
	r.Step, r.Rule, r.RuleAt, r.Approval = reeve.Step(str(18)), str(19), str(20), str(21)
	r.Dangerous = num(22) != 0
	r.Sandbox, _ = reeve.ParseSandbox(str(23))
	r.Contained, r.Parent = num(24) != 0, str(25)
	r.Prev, r.Hash = HashOf(v[ColPrev]), HashOf(v[ColHash])
	return r
}

// HashOf gives the zero Hash for what is none.
func HashOf(v driver.Value) Hash {
	b, _ := v.([]byte)
	var h Hash
	if len(b) == len(h) {
		copy(h[:], b)
	}
	return h
}
