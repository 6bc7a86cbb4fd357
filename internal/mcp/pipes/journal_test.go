package pipes

import (
	"io"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/redact"
)

type open struct{ io.Writer }

func (open) Close() error { return nil }

// plain masks nothing.
func plain(w io.Writer) io.WriteCloser { return open{w} }

// TestASecretIsMaskedWhereverItsLinesAreCut: a token over the end of what is kept
// of a line, a key on many lines, and both on standard output.
func TestASecretIsMaskedWhereverItsLinesAreCut(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	r := redact.New()
	var lines []string
	j := NewJournal(func(s string) { lines = append(lines, s) }, func(w io.Writer) io.WriteCloser { return r.Writer(w) })
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAq1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t0u1v2w3x4\n", 20) + "-----END RSA PRIVATE KEY-----\n"
	for at := 0; at <= len(token); at++ {
		j.Drain(strings.NewReader(strings.Repeat("x", journalLine-at-1) + " " + token + "\n"))
		j.Stray([]byte(strings.Repeat("x", journalLine-at-1) + " " + token))
	}
	j.Drain(io.MultiReader(strings.NewReader("before\n"+key[:100]), strings.NewReader(key[100:]+"after\r\nlast words "+token)))
	all := strings.Join(lines, "\n")
	for _, part := range []string{token[:12], "MIIEow", "q7r8s9t0"} {
		if i := strings.Index(all, part); i >= 0 {
			t.Errorf("%q came through: %.200s", part, all[i:])
		}
	}
	for _, want := range []string{"\nbefore\n", "\nafter\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q did not: %.300s", want, all[max(0, len(all)-300):])
		}
	}
	if last := j.Last(); !strings.HasPrefix(last, "last words ") || strings.Contains(last, token) {
		t.Errorf("the last words are %q", last)
	}
}

// TestWhatIsTooMuchToKeepIsCounted.
func TestWhatIsTooMuchToKeepIsCounted(t *testing.T) {
	kept := 0
	j := NewJournal(func(s string) { kept += len(s) + 1 }, plain)
	line := strings.Repeat("x", 99) + "\n"
	j.Drain(strings.NewReader(strings.Repeat(line, 100_000)))
	if kept > journalBudget || kept < journalBudget-200 || j.dropped < 90_000 {
		t.Errorf("%d bytes were kept, %d lines dropped", kept, j.dropped)
	}
	if j.Stray([]byte("more")); kept > journalBudget {
		t.Error("a stray line is kept above the budget")
	}
}
