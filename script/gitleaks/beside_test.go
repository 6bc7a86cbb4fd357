// Package gitleaks measures the redactor beside gitleaks and its default rules:
// what each finds of the corpus, what each wrongly takes for a secret, and how
// fast each reads an agent's log. It is a module of its own, so that nothing of
// it is a dependency of Reeve.
package gitleaks

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/redact/corpus"
)

func detector(t testing.TB) *detect.Detector {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// finds reports whether gitleaks' findings hold most of the secret: the same
// bound that the redactor's mask is held to.
func finds(d *detect.Detector, line corpus.Line) bool {
	got := line.Text
	for _, f := range d.DetectString(line.Text) {
		got = strings.ReplaceAll(got, f.Match, "")
		got = strings.ReplaceAll(got, f.Secret, "")
	}
	return !corpus.Survives(line, got)
}

func TestWhatEachFinds(t *testing.T) {
	d, r := detector(t), redact.New()
	var n struct{ secrets, ours, theirs, alike, oursWrong, theirsWrong int }
	for _, line := range corpus.Lines(rand.New(rand.NewPCG(7, 7))) {
		masked := r.Text(line.Text)
		if line.Secret == "" {
			n.alike++
			if masked != line.Text {
				n.oursWrong++
			}
			if len(d.DetectString(line.Text)) > 0 {
				n.theirsWrong++
				t.Logf("gitleaks: %q", line.Text)
			}
			continue
		}
		n.secrets++
		if !corpus.Survives(line, masked) {
			n.ours++
		}
		if finds(d, line) {
			n.theirs++
		}
		if left := d.DetectString(masked); len(left) > 0 {
			t.Errorf("gitleaks finds %s in what we masked: %q", left[0].RuleID, masked)
		}
	}
	t.Logf("of %d secrets: ours %d, gitleaks %d", n.secrets, n.ours, n.theirs)
	t.Logf("of %d look-alikes: ours %d, gitleaks %d", n.alike, n.oursWrong, n.theirsWrong)
	if n.ours*100 < n.secrets*98 || n.oursWrong*100 > n.alike {
		t.Error("ours are below what the project promises")
	}
}

// TestHowFastEachReads takes gitleaks line by line, which is its fastest way,
// and both on one core.
func TestHowFastEachReads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	log := corpus.Log(rand.New(rand.NewPCG(7, 7)), 10<<20)
	d, r := detector(t), redact.New()
	best := time.Hour
	for range 5 {
		start := time.Now()
		r.Text(log)
		best = min(best, time.Since(start))
	}
	start, size := time.Now(), 0
	for line := range strings.Lines(log) {
		if size += len(line); size > 4<<20 {
			break
		}
		d.DetectString(line)
	}
	ours, theirs := float64(len(log))/1e6/best.Seconds(), float64(size)/1e6/time.Since(start).Seconds()
	t.Logf("ours %.0f MB/s, gitleaks %.2f MB/s, %.0f times", ours, theirs, ours/theirs)
	if ours < 40*theirs {
		t.Error("less than 40 times")
	}
}
