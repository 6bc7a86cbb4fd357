package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/flow"
	"github.com/reeve-gate/reeve/internal/kernel"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/safepath"
)

// memory stands in for sessions and the record, so that a benchmark takes the
// judgement with the facts of the real disk, and no sync of the record.
type memory struct{ s kernel.Session }

func (m memory) Find(string) (kernel.Session, error)      { return m.s, nil }
func (memory) Catalog(string, string) reeve.Catalog       { return 0 }
func (memory) Taint(string) flow.Taint                    { return flow.Taint{} }
func (memory) AddTaint(string, flow.Taint)                {}
func (memory) Spend(string) error                         { return nil }
func (memory) Append(context.Context, reeve.Record) error { return nil }

// twoHundred is a policy of two hundred rules of all kinds, and two that the
// benchmarks' calls match.
func twoHundred(tb testing.TB) *policy.Set {
	tb.Helper()
	l, err := policy.Parse(policy.LayerUser, "policy.toml", []byte(twoHundredText()))
	if err != nil {
		tb.Fatal(err)
	}
	return policy.Join(l)
}

func twoHundredText() string {
	var b strings.Builder
	for _, list := range []string{"deny", "ask", "allow"} {
		fmt.Fprintf(&b, "%s = [\n", list)
		for i := range 66 {
			fmt.Fprintf(&b, "  %q,\n", []string{
				fmt.Sprintf("bash(%s%d sub *)", list, i), fmt.Sprintf("read(**/%s%d/**)", list, i), fmt.Sprintf("write(%s%d/*.go)", list, i)}[i%3])
		}
		if list == "allow" {
			b.WriteString("  \"read(src/**)\", \"bash(go test *)\",\n")
		}
		b.WriteString("]\n")
	}
	return b.String()
}

func benchDecide(b *testing.B, tool, args string) {
	root := b.TempDir()
	ws := filepath.Join(root, "w")
	for _, dir := range []string{filepath.Join(ws, "src", "sub", "deep"), filepath.Join(ws, "sub"), filepath.Join(ws, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(ws, "src", "sub", "deep", "a.go"), []byte("package a\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	paths := config.Paths{Config: filepath.Join(root, "c"), State: filepath.Join(root, "s"), Data: filepath.Join(root, "d"), Home: filepath.Join(root, "h")}
	if err := os.MkdirAll(paths.Home, 0o755); err != nil {
		b.Fatal(err)
	}
	disk := safepath.NewDisk(safepath.Options{Home: paths.Home, State: own(paths)})
	conf, err := config.Parse("config.toml", nil)
	if err != nil {
		b.Fatal(err)
	}
	tools, err := newToolbox(&paper{state: reeve.SandboxReady}, paths, disk, conf, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	m := memory{kernel.Session{ID: "s", Workspace: ws, Home: paths.Home, Mode: reeve.ModeDefault, Sandbox: reeve.SandboxReady, Policy: twoHundred(b)}}
	k := kernel.New(kernel.Config{Tools: tools, Check: tools, Sessions: m, Disk: disk, Audit: m, Clean: cleaned{redact.New()}, Now: time.Now, NewID: newID,
		Limits: kernel.Limits{Intent: time.Second, Hook: time.Second, Run: time.Minute, Depth: 8}})
	inv := &reeve.Invocation{ID: "i", Session: "s", Actor: "hook:claude", Channel: reeve.ChannelHook, Tool: tool, Args: []byte(args), Contained: true}
	b.ReportAllocs()
	for b.Loop() {
		if d := k.Decide(b.Context(), inv); d.Verdict != reeve.Allow {
			b.Fatalf("%+v", d)
		}
		_ = k.Report(b.Context(), "i", reeve.Result{Status: reeve.StatusSuccess})
	}
}

// BenchmarkDecideRead is the whole of Decide and Report for a file read under
// 200 rules, the facts of the disk included. Budget: 20 µs, 20 allocations for
// Decide.
func BenchmarkDecideRead(b *testing.B) {
	benchDecide(b, "claude:read", `{"file_path":"src/sub/deep/a.go"}`)
}

// BenchmarkDecideBash is the same for a line of three parts. Budget: 60 µs.
func BenchmarkDecideBash(b *testing.B) {
	benchDecide(b, "claude:bash", `{"command":"cd sub && git status -sb 2>/dev/null | head -n 20"}`)
}
