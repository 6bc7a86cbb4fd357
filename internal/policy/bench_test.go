package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

// twoHundred is 200 rules of the kinds that people write.
func twoHundred(tb testing.TB) *Set {
	var b strings.Builder
	list := func(key string, n int, rule func(i int) string) {
		fmt.Fprintf(&b, "%s = [\n", key)
		for i := range n {
			fmt.Fprintf(&b, "'%s',\n", rule(i))
		}
		b.WriteString("]\n")
	}
	programs := strings.Fields("npm cargo go make pytest ruff docker kubectl terraform git gh helm node yarn pnpm pip uv mvn gradle bazel")
	list("deny", 60, func(i int) string {
		switch i % 4 {
		case 0:
			return fmt.Sprintf("read(**/secret%d/**)", i)
		case 1:
			return fmt.Sprintf("write(**/*.key%d)", i)
		case 2:
			return fmt.Sprintf("bash(%s remove%d*)", programs[i%20], i)
		}
		return fmt.Sprintf("web(domain:*.evil%d.com)", i)
	})
	list("ask", 40, func(i int) string {
		if i%2 == 0 {
			return fmt.Sprintf("bash(%s publish%d *)", programs[i%20], i)
		}
		return fmt.Sprintf("write(/config%d/**)", i)
	})
	list("allow", 100, func(i int) string {
		switch i % 5 {
		case 0, 1:
			return fmt.Sprintf("bash(%s task%d *)", programs[i%20], i)
		case 2:
			return fmt.Sprintf("read(/lib%d/**)", i)
		case 3:
			return fmt.Sprintf("write(/src%d/**/*.go)", i)
		}
		return fmt.Sprintf("mcp__server%d__get_*", i)
	})
	return Join(layer(tb, b.String()))
}

func benchmark(b *testing.B, in *Input, want reeve.Verdict) {
	set := twoHundred(b)
	if d := set.Judge(in); d.Verdict != want {
		b.Fatalf("%s by %s", d.Verdict, d.Rule)
	}
	b.ReportAllocs()
	for b.Loop() {
		set.Judge(in)
	}
}

func BenchmarkJudgeRead(b *testing.B) {
	benchmark(b, call("read_file", read("internal/kernel/decide_test.go")), reeve.Allow)
}

func BenchmarkJudgeWriteByRule(b *testing.B) {
	benchmark(b, call("write_file", write("src8/a/b.go")), reeve.Allow)
}

func BenchmarkJudgeThreePartLine(b *testing.B) {
	benchmark(b, call("bash", run("cd sub", reeve.CommandReadOnly|reeve.CommandBuiltin), run("git status -sb", reeve.CommandReadOnly|reeve.CommandGitConfig),
		write("/dev/null", reeve.PathDevice), run("head -n 20", reeve.CommandReadOnly)), reeve.Allow)
}

func BenchmarkJudgeThreePartLineByRules(b *testing.B) {
	benchmark(b, call("bash", run("npm task0 build"), run("cargo task1 --all"), run("+timeout 60|npm task40 x")), reeve.Allow)
}

func BenchmarkJudgeUnknownWords(b *testing.B) {
	benchmark(b, call("bash", run("cargo $p", reeve.CommandUnknownWords)), reeve.Ask)
}

func BenchmarkTurn(b *testing.B) {
	in := call("bash", run("make x")).in(reeve.ModeDefault, reeve.SandboxReady)
	d := Join().Judge(in)
	b.ReportAllocs()
	for b.Loop() {
		Turn(d, in.Facts)
	}
}
