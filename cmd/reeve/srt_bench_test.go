package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkBesideSandboxRuntime times reeve run -- true, with the network by
// rule, beside the program that Claude Code's own sandbox is made of, as npx
// starts it and by itself. It needs bubblewrap, socat and ripgrep, and REEVE_SRT,
// the directory in which npm installed @anthropic-ai/sandbox-runtime. Budget: 20
// times faster than with npx.
func BenchmarkBesideSandboxRuntime(b *testing.B) {
	srt := os.Getenv("REEVE_SRT")
	if srt == "" {
		b.Skip("REEVE_SRT does not name the directory of an @anthropic-ai/sandbox-runtime")
	}
	in := newRig(b, "")
	home := filepath.Join(filepath.Dir(in.ws), "theirs")
	if err := os.Mkdir(home, 0o700); err != nil {
		b.Fatal(err)
	}
	var ours, npx, alone []time.Duration
	timed := func(into *[]time.Duration, argv ...string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = in.ws, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", argv, err, out)
		}
		*into = append(*into, time.Since(start))
	}
	for b.Loop() {
		start := time.Now()
		in.run(b, nil, "run", "--no-receipt", "--", "true")
		ours = append(ours, time.Since(start))
		timed(&npx, "npx", "--prefix", srt, "srt", "true")
		timed(&alone, filepath.Join(srt, "node_modules", ".bin", "srt"), "true")
	}
	o, n, a := median(ours), median(npx), median(alone)
	b.ReportMetric(float64(o.Microseconds())/1000, "run-ms")
	b.ReportMetric(float64(n.Microseconds())/1000, "npx-ms")
	b.ReportMetric(float64(a.Microseconds())/1000, "srt-ms")
	b.ReportMetric(float64(n)/float64(o), "ratio-npx")
	b.ReportMetric(float64(a)/float64(o), "ratio-srt")
}
