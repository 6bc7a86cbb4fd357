package trial

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
)

// bench is a workspace as the cases describe it: a git repository with plain
// folders.
func newBench(t testing.TB) *Bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, home := filepath.Join(dir, "ws"), filepath.Join(dir, "home")
	for _, d := range []string{"lib", "tests", "crates/core", "private", "dist", "vendor", "secrets"} {
		if err := os.MkdirAll(filepath.Join(ws, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	repository(t, ws)
	claudes := tool.NewRegistry(foreign.Tools("claude")...)
	return &Bench{
		Find: func(name string) []tool.Tool {
			name = foreign.Canonical("claude", name)
			if f, ok := claudes.Find(name); ok {
				return []tool.Tool{f}
			}
			f, _ := foreign.Find(name)
			return []tool.Tool{f}
		},
		Disk: safepath.NewDisk(safepath.Options{Home: home}), Workspace: ws, Home: home,
	}
}

// repository makes ws one, without a git program.
func repository(t testing.TB, ws string) {
	t.Helper()
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
		".git/objects/.keep": "", ".git/refs/heads/.keep": "",
	} {
		file := filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readCases(t testing.TB, name string) []Case {
	t.Helper()
	file := filepath.Join("../../../testdata/policy", name)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := ReadCases(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func allRight(t *testing.T, b *Bench, name string, cases []Case) {
	t.Helper()
	var out strings.Builder
	score, err := b.Run(&out, name, cases)
	if err != nil {
		t.Fatal(err)
	}
	if score.Right != len(cases) {
		t.Errorf("%s of %d\n%s", score, len(cases), out.String())
	}
}

func TestEveryPublicCaseIsRight(t *testing.T) {
	cases := readCases(t, "public.tsv")
	if len(cases) != 60 {
		t.Fatalf("%d cases", len(cases))
	}
	allRight(t, newBench(t), "public.tsv", cases)
}

func TestEveryFurtherCaseIsRight(t *testing.T) {
	allRight(t, newBench(t), "more.tsv", readCases(t, "more.tsv"))
}

// hostile is the rules of someone who allows much and denies one program and
// one folder.
const hostile = `{"deny":["bash(evil *)","bash(evil)","read(**/secret/**)","write(**/secret/**)"],"allow":["bash(git *)","bash(find *)","bash(sort *)",
"bash(sed *)","bash(rg *)","bash(tar *)","bash(man *)","bash(awk *)","bash(ls *)","bash(echo *)","bash(cat *)","bash(grep *)","bash(make *)","bash(npm *)",
"bash(cargo *)","bash(go *)","bash(python3 -m pytest*)","bash(xargs *)","bash(env *)","bash(printf *)","bash(less *)","bash(file *)","bash(date *)",
"bash(tee *)","bash(jq *)","bash(history *)","bash(test *)","bash([ *)","bash([[ *)","bash(read *)","bash(export *)","bash(declare *)","bash(let *)",
"bash(cp *)","bash(docker ps*)","bash(kubectl get*)","bash(curl -I *)","bash(time *)","bash(bash scripts/ok.sh)"]}`

func TestNoKnownWayRoundARuleIsAllowed(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(filepath.Join(b.Workspace, "secret"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../testdata/policy/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.Lines(string(text)) {
		d, err := b.Try(&Case{Rules: hostile, Tool: "bash", Input: `{"command":` + strings.TrimSpace(line) + `}`})
		if err != nil || d.Verdict == reeve.Allow {
			t.Errorf("%s by %s (%s), %v: %s", d.Verdict, d.Rule, d.Reason, err, line)
		}
		tried++
	}
	if tried < 250 {
		t.Errorf("%d forms were tried", tried)
	}
}

// renamed are names in the public cases that no table of programs may know:
// with any other names in their place the verdicts are the same.
var renamed = map[string][]string{
	"program": {"pytest", "ruff", "twine", "pip", "cargo", "kubectl", "terraform", "helm", "npm"},
	"path":    {"lib", "tests", "private", "dist", "vendor", "crates", "core"},
	"word":    {"publish", "upload", "install", "delete", "destroy", "apply", "clippy", "unit", "slow"},
}

func TestThePublicVerdictsDoNotHangOnNames(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	for range 5 {
		b := newBench(t)
		swap := map[string]string{}
		for _, names := range renamed {
			for _, n := range names {
				swap[n] = randomName(random, swap)
			}
		}
		for _, dir := range renamed["path"] {
			if err := os.MkdirAll(filepath.Join(b.Workspace, swap[dir]), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(b.Workspace, swap["crates"], swap["core"]), 0o755); err != nil {
			t.Fatal(err)
		}
		word := regexp.MustCompile(`[A-Za-z]+`)
		other := func(s string) string {
			return word.ReplaceAllStringFunc(s, func(w string) string {
				if n, ok := swap[w]; ok {
					return n
				}
				return w
			})
		}
		cases := readCases(t, "public.tsv")
		for i := range cases {
			cases[i].Rules, cases[i].Input = other(cases[i].Rules), other(cases[i].Input)
		}
		allRight(t, b, fmt.Sprintf("public.tsv renamed %v", swap), cases)
	}
}

// randomName is a word that no program has, and not yet taken.
func randomName(r *rand.Rand, taken map[string]string) string {
	for {
		b := make([]byte, 7+r.IntN(4))
		for i := range b {
			b[i] = "bcdfghjklmnpqrstvwz"[r.IntN(19)]
		}
		if s := string(b); !slices.Contains(slices.Collect(values(taken)), s) {
			return s
		}
	}
}

func values(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func TestNoCommandOfTheCasesStandsInTheCode(t *testing.T) {
	cases := readCases(t, "public.tsv")
	err := filepath.WalkDir("../../..", func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, c := range cases {
			for _, s := range []string{c.Rules, c.Input} {
				if len(s) > 20 && strings.Contains(string(text), s) {
					t.Errorf("%s holds %s of line %d", p, s, c.Line)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestALinkIsJudgedByWhereItLeads(t *testing.T) {
	b := newBench(t)
	for from, to := range map[string]string{"lib/inside": "../tests", "lib/out": "/etc", "lib/hidden": "../private", "lib/same": "."} {
		if err := os.Symlink(to, filepath.Join(b.Workspace, from)); err != nil {
			t.Fatal(err)
		}
	}
	rules := `{"deny":["read(**/private/**)"],"allow":["write(/lib/**)","read(/lib/**)"]}`
	for _, c := range []struct {
		tool, input string
		want        reeve.Verdict
	}{
		{"write", `{"file_path":"@W@/lib/same/x"}`, reeve.Allow},
		{"write", `{"file_path":"@W@/lib/inside/x"}`, reeve.Ask},
		{"write", `{"file_path":"@W@/lib/out/x"}`, reeve.Ask},
		{"read", `{"file_path":"@W@/lib/hidden/x"}`, reeve.Deny},
		{"bash", `{"command":"cat lib/hidden/x"}`, reeve.Deny},
		{"bash", `{"command":"cd lib/hidden && cat x"}`, reeve.Deny},
	} {
		d, err := b.Try(&Case{Rules: rules, Tool: c.tool, Input: c.input})
		if err != nil || d.Verdict != c.want {
			t.Errorf("%s %s: %s (%s), %v; want %s", c.tool, c.input, d.Verdict, d.Reason, err, c.want)
		}
	}
}

func TestAPatternOfTheShellIsJudgedByTheFilesItStandsFor(t *testing.T) {
	b := newBench(t)
	for _, f := range []string{".env", "a.md", "private/key.md", "lib/x.md"} {
		if err := os.WriteFile(filepath.Join(b.Workspace, f), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rules := `{"deny":["read(**/private/**)"],"allow":["bash(cp *)"]}`
	for _, c := range []struct {
		command string
		want    reeve.Verdict
	}{
		{"cat *.md", reeve.Allow},
		{"wc -l lib/*.md", reeve.Allow},
		{"ls -la .e*", reeve.Allow},
		{"cat .e*", reeve.Deny},
		{"cat .en?", reeve.Deny},
		{"bash -c 'cat .[e]nv'", reeve.Deny},
		{"shopt -s dotglob; cat *", reeve.Deny},
		{"cat p*/*.md", reeve.Deny},
		{"cp p*/key.md lib/y", reeve.Deny},
		{"cat < .e*", reeve.Ask},
	} {
		d, err := b.Try(&Case{Rules: rules, Tool: "bash", Input: fmt.Sprintf(`{"command":%q}`, c.command)})
		if err != nil || d.Verdict != c.want {
			t.Errorf("%s: %s by %s (%s), %v; want %s", c.command, d.Verdict, d.Rule, d.Reason, err, c.want)
		}
	}
}

func TestARepositoryThatRunsProgramsIsAskedAbout(t *testing.T) {
	b := newBench(t)
	config := filepath.Join(b.Workspace, ".git/config")
	rules := `{"allow":["bash(git diff *)"]}`
	for _, c := range []struct {
		text string
		want reeve.Verdict
	}{
		{"[core]\n\tbare = false\n", reeve.Allow},
		{"[core]\n\tfsmonitor = ./x\n", reeve.Ask},
		{"[diff]\n\texternal = ./x\n", reeve.Ask},
	} {
		if err := os.WriteFile(config, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		b.Disk = safepath.NewDisk(safepath.Options{Home: b.Home})
		for _, cmd := range []string{"git status", "git diff HEAD"} {
			d, err := b.Try(&Case{Rules: rules, Tool: "bash", Input: fmt.Sprintf(`{"command":%q}`, cmd)})
			if err != nil || d.Verdict != c.want {
				t.Errorf("%s under %q: %s (%s), %v; want %s", cmd, c.text, d.Verdict, d.Reason, err, c.want)
			}
		}
	}
}

func TestCasesAreComparedByHarm(t *testing.T) {
	for _, c := range []struct {
		want []reeve.Verdict
		got  reeve.Verdict
		is   Outcome
	}{
		{[]reeve.Verdict{reeve.Allow}, reeve.Allow, Right},
		{[]reeve.Verdict{reeve.Ask}, reeve.Allow, Unsafe},
		{[]reeve.Verdict{reeve.Deny}, reeve.Allow, Unsafe},
		{[]reeve.Verdict{reeve.Allow}, reeve.Ask, Noisy},
		{[]reeve.Verdict{reeve.Allow}, reeve.Deny, Noisy},
		{[]reeve.Verdict{reeve.Ask}, reeve.Deny, Noisy},
		{[]reeve.Verdict{reeve.Deny}, reeve.Ask, Weak},
		{[]reeve.Verdict{reeve.Ask, reeve.Deny}, reeve.Deny, Right},
		{[]reeve.Verdict{reeve.Deny, reeve.Ask}, reeve.Ask, Right},
	} {
		if got := (&Case{Want: c.want}).Compare(c.got); got != c.is {
			t.Errorf("want %v, got %s: %s, not %s", c.want, c.got, got, c.is)
		}
	}
}

func TestAFileOfCasesIsReadByItsHeader(t *testing.T) {
	cases, err := ReadCases("c.tsv", []byte("verdict\tid\ttool\twhy\tinput-json\trules-json\talso-ok\r\nask\t7\tbash\tbecause \"x\"\t{\"command\":\"a\"}\t{}\tdeny, allow\r\n\n"))
	if err != nil || len(cases) != 1 {
		t.Fatalf("%v %v", cases, err)
	}
	c := cases[0]
	if c.Line != 2 || c.Tool != "bash" || c.Why != `because "x"` || c.Input != `{"command":"a"}` || !slices.Equal(c.Want, []reeve.Verdict{reeve.Ask, reeve.Deny, reeve.Allow}) {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"tool\tverdict\n", "rules-json\ttool\tinput-json\tverdict\n{}\tbash\t{}\tmaybe\n"} {
		if _, err := ReadCases("c.tsv", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "c.tsv:") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAnUnknownKeyOfAContextIsAFaultOfTheCase(t *testing.T) {
	b := newBench(t)
	for _, ctx := range []string{`{"moode":"auto"}`, `{"mode":"fast"}`, `{"hook":"perhaps"}`, `{"sandbox":"half"}`, `{"tier":"soft"}`, `{"actor":"robot:x"}`, `[]`, `{"mode":"auto","mode":"plan"}`} {
		if _, err := b.Try(&Case{Rules: "{}", Tool: "bash", Input: `{"command":"ls"}`, Context: ctx}); err == nil {
			t.Errorf("%s is taken", ctx)
		}
	}
}

func TestArgumentsThatCannotBeReadAreADenial(t *testing.T) {
	b := newBench(t)
	for _, input := range []string{``, `[]`, `{"command":"ls","command":"rm"}`, `{"command":1}`, `{"file_path":""}`} {
		d, err := b.Try(&Case{Rules: `{"allow":["bash(*)","read(*)"]}`, Tool: map[bool]string{true: "read", false: "bash"}[strings.Contains(input, "file")], Input: input})
		if err != nil || d.Verdict == reeve.Allow {
			t.Errorf("%s: %s, %v", input, d.Verdict, err)
		}
	}
}

func TestAnExplanationNamesStepRuleAndEffects(t *testing.T) {
	b := newBench(t)
	l, err := policy.Parse(policy.LayerUser, "p.toml", []byte(`deny = ["bash(sudo *)"]`))
	if err != nil {
		t.Fatal(err)
	}
	x := b.Explain(policy.Join(l), "bash", []byte(`{"command":"ls && timeout 5 sudo id > lib/x"}`), reeve.ModeDefault, reeve.SandboxMissing)
	if x.Verdict != "deny" || x.Step != "policy" || x.Rule != "bash(sudo *)" || x.Source != "p.toml:1" || len(x.Effects) < 3 || len(x.Trace) < 3 {
		t.Errorf("%+v", x)
	}
	var out strings.Builder
	x.Print(&out)
	for _, want := range []string{"deny: a rule denies", "by bash(sudo *) (p.toml:1)", "run id (by sudo) (by timeout 5)", "write " + b.Workspace + "/lib/x", "> deny"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A real git says that the repository of the cases is one.
func TestTheWorkspaceOfTheCasesIsARepository(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	b := newBench(t)
	cmd := exec.Command(git, "-C", b.Workspace, "status", "--porcelain")
	cmd.Env = []string{"HOME=" + b.Home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func BenchmarkTryThreePartLine(b *testing.B) {
	bench := newBench(b)
	c := &Case{Rules: `{"allow":["bash(npm *)"]}`, Tool: "bash", Input: `{"command":"cd lib && git status -sb 2>/dev/null | head -n 20"}`}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := bench.Try(c); err != nil || d.Verdict != reeve.Allow {
			b.Fatal(d, err)
		}
	}
}
