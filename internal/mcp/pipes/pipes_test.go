package pipes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/upstream"
)

// kept collects what a journal passes on.
type kept struct {
	mu    sync.Mutex
	lines []string
	bytes int
}

func (k *kept) write(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, line)
	k.bytes += len(line)
}

func (k *kept) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.lines, "\n")
}

func TestAProgramIsSpokenToByItsPipes(t *testing.T) {
	k := &kept{}
	c := process(t, "dual,noise", upstream.Options{}, Options{Journal: NewJournal(k.write, plain)})
	for i := range 200 {
		if got := echo(t, c, fmt.Sprint("héllo ", i)); got != fmt.Sprint("héllo ", i) {
			t.Fatalf("call %d: %q", i, got)
		}
	}
	c.Close()
	text := k.text()
	for _, want := range []string{"mcptest: started as dual,noise", "on standard output, no message: Starting server...", `{"level":"info"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the journal lacks %q:\n%s", want, text)
		}
	}
	if n := c.Oddities()[upstream.Noise]; n < 200 {
		t.Errorf("%d noisy lines counted", n)
	}
}

func TestAProgramThatEndsTellsItsLastWords(t *testing.T) {
	k := &kept{}
	c := process(t, "legacy", upstream.Options{Known: upstream.EraLegacy}, Options{Journal: NewJournal(k.write, plain)})
	_, err := c.Call(t.Context(), tool("crash", `{}`))
	var gone *upstream.Gone
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), "exited with 3; its last words: fatal: the disk is on fire") {
		t.Errorf("%v", err)
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Error("the connection has not ended")
	}
}

// TestAnAnswerOf100MiB: it is passed over, bounded memory, and the server goes
// on.
func TestAnAnswerOf100MiB(t *testing.T) {
	c := process(t, "legacy", upstream.Options{Known: upstream.EraLegacy}, Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Call(t.Context(), tool("big", `{"bytes":104857600}`))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, upstream.ErrLong) {
		t.Errorf("%v", err)
	}
	if got := echo(t, c, "next"); got != "next" {
		t.Errorf("after it: %q", got)
	}
	if grown := int64(after.Sys) - int64(before.Sys); grown > 96<<20 {
		t.Errorf("memory grew by %d MiB for an answer that is not taken", grown>>20)
	}
	if got, err := c.Call(t.Context(), tool("big", `{"bytes":8000000}`)); err != nil || len(got) < 8000000 {
		t.Errorf("an answer below the bound: %d bytes, %v", len(got), err)
	}
}

// TestAFloodOfWords: 32 MiB on standard error at a call neither block it nor
// are they kept.
func TestAFloodOfWords(t *testing.T) {
	k := &kept{}
	c := process(t, "legacy,loud", upstream.Options{Known: upstream.EraLegacy}, Options{Journal: NewJournal(k.write, plain)})
	if got := echo(t, c, "x"); got != "x" {
		t.Errorf("echo: %q", got)
	}
	c.Close()
	if k.bytes > journalBudget || k.bytes < journalBudget/2 {
		t.Errorf("%d bytes were kept, the budget is %d", k.bytes, journalBudget)
	}
}

func TestAProgramThatReadsNothingIsStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the stall limit")
	}
	c := process(t, "legacy,stuck", upstream.Options{Known: upstream.EraLegacy}, Options{})
	began := time.Now()
	big := `{"text":"` + strings.Repeat("x", 1<<20) + `"}` // more than a pipe holds
	_, err := c.Call(t.Context(), tool("echo", big))
	if err == nil || !strings.Contains(err.Error(), "read nothing for 10s") {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	select {
	case <-c.Done():
	case <-time.After(closeGrace + termGrace + 5*time.Second):
		t.Error("it was not stopped")
	}
}

func TestAProgramThatLingersIsKilled(t *testing.T) {
	c := process(t, "legacy,lingers", upstream.Options{Known: upstream.EraLegacy}, Options{})
	began := time.Now()
	c.Close()
	took := time.Since(began)
	if took < closeGrace || took > closeGrace+termGrace+3*time.Second {
		t.Errorf("stopped after %s; its input is closed for %s, then it is told for %s, then killed", took, closeGrace, termGrace)
	}
}

func TestAProgramThatEndsWithItsInputIsNotWaitedFor(t *testing.T) {
	c := process(t, "legacy", upstream.Options{Known: upstream.EraLegacy}, Options{})
	began := time.Now()
	c.Close()
	if took := time.Since(began); took > closeGrace {
		t.Errorf("stopped after %s", took)
	}
}

// TestManyCallsLeaveNothingBehind: goroutines and files are as many after ten
// thousand calls and fifty connections as before.
func TestManyCallsLeaveNothingBehind(t *testing.T) {
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here")
		}
		return len(all)
	}
	warm := process(t, "modern", upstream.Options{}, Options{})
	echo(t, warm, "x")
	warm.Close()
	f, g := files(), runtime.NumGoroutine()
	for range 10 {
		c := process(t, "modern", upstream.Options{}, Options{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 250 {
					if got := echo(t, c, "x"); got != "x" {
						t.Errorf("echo: %q", got)
						return
					}
				}
			})
		}
		all.Wait()
		c.Close()
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > g && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if files() > f || runtime.NumGoroutine() > g {
		t.Errorf("files %d before, %d after; goroutines %d before, %d after", f, files(), g, runtime.NumGoroutine())
	}
}

// BenchmarkEcho is one call and its answer over pipes.
func BenchmarkEcho(b *testing.B) {
	for _, era := range []string{"legacy", "modern"} {
		b.Run(era, func(b *testing.B) {
			c := process(b, era, upstream.Options{}, Options{})
			r := tool("echo", `{"text":"0123456789abcdef0123456789abcdef"}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Call(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
