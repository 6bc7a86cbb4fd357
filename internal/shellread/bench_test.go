package shellread

import (
	"strings"
	"testing"
)

// benchAt is an ordinary place.
var benchAt = At{Dir: "/home/u/project", Home: "/home/u", Workspace: "/home/u/project"}

func bench(b *testing.B, src string) {
	b.ReportAllocs()
	for b.Loop() {
		if len(Read(src, benchAt)) == 0 {
			b.Fatal("nothing read")
		}
	}
}

// BenchmarkReadThreeParts has a budget of 35 µs on the developer's machine.
func BenchmarkReadThreeParts(b *testing.B) {
	bench(b, "cd sub && git status -sb 2>/dev/null | head -n 20")
}

func BenchmarkReadOne(b *testing.B) { bench(b, "go test ./...") }

func BenchmarkReadHard(b *testing.B) {
	bench(b, `for f in $(git ls-files '*.go'); do env FOO=1 timeout 5 bash -c "grep -n 'x y' \"\$1\" | head -3 > /tmp/o" _ "$f" & done; wait`)
}

// BenchmarkReadNested is the deepest text that is read.
func BenchmarkReadNested(b *testing.B) {
	bench(b, strings.Repeat("$(echo ", 60)+strings.Repeat(")", 60))
}

// BenchmarkReadLong is 16 KB of ordinary lines.
func BenchmarkReadLong(b *testing.B) {
	bench(b, strings.Repeat("go build ./... && go test ./internal/x -run 'TestFoo|TestBar' | tail -n 30\n", 200))
}
