package redact

import (
	"fmt"
	"github.com/reeve-gate/reeve/internal/redact/sight"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ordinary is the text of an agent's day: logs, requests, program text,
// hashes, with the words of secrets all over and no secret.
var ordinary = strings.Repeat(strings.Join([]string{
	"2026-11-30T10:00:00.123Z INFO auth service token refreshed for key user=alice session=0190aef0-1111-7aaa-8bbb-000000000001 secret rotation ok",
	`{"level":"info","ts":1700000000.123,"caller":"server/http.go:123","msg":"request","method":"GET","path":"/api/v1/items?id=12&sort=name","status":200,"duration_ms":12.5,"max_tokens":4096}`,
	`10.0.0.1 - - [30/Nov/2026:10:00:00 +0000] "GET /static/app.js HTTP/1.1" 200 1234 "https://example.com/" "Mozilla/5.0 (X11; Linux x86_64)"`,
	"	if err := s.auth.Check(ctx, token); err != nil { return fmt.Errorf(\"check token: %w\", err) }",
	"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  go.sum h1:AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/abcd=",
	"ok  	example.com/project/internal/auth	0.012s	coverage: 81.2% of statements", "",
}, "\n"), 500)

// holding is a redactor with as many values as a person may have.
func holding(b *testing.B) *Redactor {
	r := New()
	for i := range 50 {
		if err := r.AddSecret(fmt.Sprintf("held-secret-value-%d-xyz", i)); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

// perCPU reports the rate by the time that a core was at work, which a busy
// machine does not change.
func perCPU(b *testing.B, bytes int) func() {
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := cpu()
	return func() {
		b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(cpu()-start).Seconds(), "MB/cpu-s")
	}
}

func BenchmarkOrdinaryText(b *testing.B) {
	r := holding(b)
	if got := r.Text(ordinary); got != ordinary {
		b.Fatal("ordinary text was changed")
	}
	b.SetBytes(int64(len(ordinary)))
	b.ReportAllocs()
	defer perCPU(b, len(ordinary))()
	for b.Loop() {
		r.Text(ordinary)
	}
}

func BenchmarkTextWithSecrets(b *testing.B) {
	r := holding(b)
	text := strings.Repeat("export DB_PASSWORD=s3cr3t-value-9\n"+ordinary[:1000]+"\nAuthorization: Bearer abcdef0123456789abcdef\n", 300)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	defer perCPU(b, len(text))()
	for b.Loop() {
		r.Text(text)
	}
}

func BenchmarkStream(b *testing.B) {
	r := holding(b)
	b.SetBytes(int64(len(ordinary)))
	b.ReportAllocs()
	defer perCPU(b, len(ordinary))()
	for b.Loop() {
		w := r.Writer(io.Discard)
		for rest := []byte(ordinary); len(rest) > 0; {
			n := min(4096, len(rest))
			w.Write(rest[:n])
			rest = rest[n:]
		}
		w.Close()
	}
}

func BenchmarkArguments(b *testing.B) {
	r := holding(b)
	args := []byte(`{"command":"go test ./... -run TestX","description":"run the tests","env":{"GOFLAGS":"-mod=mod"},"timeout_s":120}`)
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(args)
	}
}

// TestFewPlacesOfOrdinaryTextAreLookedAt counts what the rate hangs on, without
// a clock: at how many places something may start. A single byte said so at
// 696 of a thousand; the pairs leave 95.
func TestFewPlacesOfOrdinaryTextAreLookedAt(t *testing.T) {
	s := scan{held: heldRedactor(t).held.Load(), Sight: sight.Sight{Buf: ordinary}}
	places := 0
	for i := s.next(0); i < len(s.Buf); i = s.next(i + 1) {
		places++
	}
	if perMille := places * 1000 / len(s.Buf); perMille > 120 {
		t.Errorf("%d of a thousand bytes lead to a decision; at most 120 should", perMille)
	} else {
		t.Logf("%d of a thousand bytes lead to a decision", perMille)
	}
}
