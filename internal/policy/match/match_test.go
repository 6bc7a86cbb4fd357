package match

import (
	"path"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

// words splits at blanks; "_" in a word is a blank inside it, a word that
// starts with $ is not known, with "$ not known and quoted.
func words(s string) []reeve.Word {
	var all []reeve.Word
	for _, w := range strings.Fields(s) {
		unknown := strings.ContainsAny(w, "$")
		all = append(all, reeve.Word{Text: strings.ReplaceAll(w, "_", " "), Known: !unknown, Quoted: strings.HasPrefix(w, `"`)})
	}
	return all
}

func TestCommandPatternsReadAsWordsJoinedByBlanks(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		wide, narrow     bool
	}{
		{"ls", "ls", true, true},
		{"ls", "ls -l", false, false},
		{"ls*", "lsof", true, true},
		{"ls *", "lsof", false, false},
		{"ls *", "ls", true, true},
		{"ls *", "ls -l /a/b", true, true},
		{"ls:*", "ls", true, true},
		{"ls:*", "ls -l", true, true},
		{"ls:*", "lsof", false, false},
		{"npm run test:*", "npm run test", true, true},
		{"npm run test:*", "npm run test:unit", false, false},
		{"git  push   *", "git push origin", true, true},
		{"git * main", "git push origin main", true, true},
		{"git * main", "git main", false, false},
		{"*", "anything at all", true, true},
		{"* --force*", "git push --force-with-lease", true, true},
		{`echo \*`, "echo *", true, true},
		{`echo \*`, "echo x", false, false},
		{`git commit -m "fix it"`, "git commit -m fix_it", true, true},
		{`git commit -m "fix it"`, "git commit -m fix it", true, false},
		{"git commit -m fix it", "git commit -m fix_it", true, false},
		{"npm run *", "npm run_x", true, false},
		{"echo it's*", "echo it's", true, true},
		{"pytest *", `pytest "$x"`, true, true},
		{"pytest $x", "pytest $x", true, false},
		{"rm -rf /", "rm -rf /x", false, false},
		{"a*b", "ab", true, true},
		{"ab*b", "ab", false, false},
	} {
		l, err := ParseLine(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		cmd := reeve.Command{Words: words(c.command)}
		text := cmd.Line()
		if got := l.Wide(text, false); got != c.wide {
			t.Errorf("%q wide on %q: %v", c.pattern, c.command, got)
		}
		if got := l.Narrow(NarrowText(cmd.Words)); got != c.narrow {
			t.Errorf("%q narrow on %q: %v", c.pattern, c.command, got)
		}
		if c.wide && !l.Sig().Within(SigOf(text)) {
			t.Errorf("%q: the fingerprint hides a match of %q", c.pattern, c.command)
		}
	}
}

func TestUnknownWordsThatCouldBecomeADeniedCommandAreSeen(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             bool
	}{
		{"cargo publish*", "cargo $p", true},
		{"cargo publish*", `cargo "$p"`, true},
		{"cargo publish*", `cargo test "$p"`, false},
		{"cargo publish", "cargo $a $b", true},
		{"cargo publish", `cargo publish "$b"`, false},
		{"cargo publish", "cargo publish $b", true}, // may vanish
		{"sudo *", "pytest $x", false},
		{"sudo *", "$x id", true},
		{"git push --force*", "git push $x", true},
		{"git push --force*", `git push --dry-run=$x`, false},
		{"rm -rf *", "rm -r$x y", true},
		{"rm -rf *", "rm -i$x y", false},
		{"kubectl delete*", "kubectl get $x", false},
		{"* --force*", "git push $x", true},
		{"ls *", "ls$x", true},
	} {
		l, _ := ParseLine(c.pattern)
		if got := l.Could(TemplateOf(words(c.command), false), false); got != c.want {
			t.Errorf("%q could be %q: %v", c.command, c.pattern, got)
		}
	}
	l, _ := ParseLine("kubectl delete*")
	if !l.Could(TemplateOf(words("kubectl"), true), false) {
		t.Error("words that xargs adds could make it a denied command")
	}
}

var testBases = Bases{Workspace: "/w", Home: "/home/u"}

func TestPathPatternsReadAsInGitignore(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		wide, narrow  bool
	}{
		{"src/*.rs", "/w/src/main.rs", true, true}, // P10
		{"src/*.rs", "/w/src/foo/bar.rs", false, false},
		{"lib/**", "/w/lib/a/b.ts", true, true},
		{"lib/**", "/w/vendor/lib/x.ts", true, false},
		{"lib/**", "/elsewhere/lib/x.ts", true, false},
		{"lib/**", "/w/lib", true, false},
		{"lib", "/w/lib/a", true, true},
		{"lib/", "/w/lib/a", true, true},
		{"lib/*", "/w/lib/a/b", true, false},
		{"lib/*", "/w/lib/a", true, true},
		{".env", "/w/a/b/.env", true, false},
		{".env", "/w/.env", true, true},
		{"*.pem", "/w/deep/er/x.pem", true, false},
		{"**/*.pem", "/w/x.pem", true, true},
		{"**/*.pem", "/w/deep/x.pem", true, true},
		{"**/*.pem", "/other/x.pem", true, false},
		{"**/.env*", "/w/.env.local", true, true},
		{"**/private/**", "/w/private/key.txt", true, true},
		{"**/private/**", "/w/lib/private/a/b", true, true},
		{"**/private/**", "/w/privateer/a", false, false},
		{"a/**/b", "/w/a/b", true, true},
		{"a/**/b", "/w/a/x/y/b", true, true},
		{"/build", "/w/build/x", true, true},
		{"/build", "/w/sub/build/x", false, false},
		{"//etc/**", "/etc/hosts", true, true},
		{"//etc/**", "/w/etc/hosts", false, false},
		{"//**", "/anything", true, true},
		{"~/.ssh/**", "/home/u/.ssh/id", true, true},
		{"~/.ssh/**", "/home/v/.ssh/id", false, false},
		{"~", "/home/u/x", true, false},
		{"./conf/x", "/w/conf/x", true, true},
		{"*.{pem,key}", "/w/a.key", true, true},
		{"*.{pem,key}", "/w/a.kex", false, false},
		{"x[0-9].txt", "/w/x7.txt", true, true},
		{"x[!0-9].txt", "/w/x7.txt", false, false},
		{"x?.txt", "/w/xé.txt", true, true},
		{`\*.txt`, "/w/*.txt", true, true},
		{`\*.txt`, "/w/a.txt", false, false},
	} {
		p, err := ParsePath(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		sig := SigOf(c.path)
		if got := p.Wide(c.path, sig, testBases, false); got != c.wide {
			t.Errorf("%q wide on %s: %v", c.pattern, c.path, got)
		}
		if got := p.Narrow(c.path, sig, testBases, false); got != c.narrow {
			t.Errorf("%q narrow on %s: %v", c.pattern, c.path, got)
		}
	}
	p, _ := ParsePath("**/Secret/**")
	folded := "/w/secret/a"
	if !p.Wide(folded, SigOf(folded), testBases, true) {
		t.Error("a folded path is not seen")
	}
}

func TestPathPatternsThatCannotBeMeantAreRefused(t *testing.T) {
	for _, p := range []string{"!x", "a/../b", "~bob/x", "a[b", `a\`, "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}", "a\nb"} {
		if _, err := ParsePath(p); err == nil {
			t.Errorf("%q is taken", p)
		}
	}
}

func TestAFolderAboveWhatAPatternNamesIsKnown(t *testing.T) {
	for _, c := range []struct {
		pattern, dir      string
		certain, possible bool
	}{
		{"/config/prod/**", "/w/config", true, true},
		{"/config/prod/**", "/w", true, true},
		{"/config/prod/**", "/w/src", false, false},
		{"/config/*.pem", "/w/config", false, true},
		{"**/private/**", "/w/src", false, true},
		{"**/private/**", "/w", false, true},
		{"/**/x", "/w", false, true},
		{"~/.ssh/**", "/home", true, true},
		{"//etc/**", "/", true, true},
	} {
		p, _ := ParsePath(c.pattern)
		certain, possible := p.Below(c.dir, testBases, false)
		if certain != c.certain || possible != c.possible {
			t.Errorf("%q below %s: %v, %v", c.pattern, c.dir, certain, possible)
		}
	}
}

func TestHostPatternsAreNarrowInAllowAndWideInDeny(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		wide, narrow  bool
	}{
		{"example.com", "example.com", true, true},
		{"example.com", "a.example.com", false, false},
		{"*.example.com", "a.example.com", true, true},
		{"*.example.com", "a.b.example.com", true, true},
		{"*.example.com", "example.com", true, false},
		{"*.example.com", "evilexample.com", false, false},
		{"*.example.com", "example.com.evil.com", false, false},
		{"Example.COM.", "example.com.", true, true},
		{"127.0.0.1", "::ffff:127.0.0.1", true, true},
		{"::1", "[0:0::1]", true, true},
		{"*", "whatever.org", true, true},
		{"localhost", "LOCALHOST", true, true},
	} {
		h, err := ParseHost(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		host, clean := CleanHost(c.host)
		if !clean {
			t.Errorf("%q is not clean", c.host)
		}
		if got := h.Wide(host, 0); got != c.wide {
			t.Errorf("%q wide on %s: %v", c.pattern, c.host, got)
		}
		if got := h.Narrow(host, 0, false); got != c.narrow {
			t.Errorf("%q narrow on %s: %v", c.pattern, c.host, got)
		}
	}
	for _, h := range []string{"127.1", "0x7f000001", "2130706433", "ｅxample.com", "exämple.com", "", "a..b", "a b", "a/b"} {
		if got, clean := CleanHost(h); clean {
			t.Errorf("%q is taken for the host %q", h, got)
		}
	}
}

func TestHostPatternsMayNameAPort(t *testing.T) {
	for _, c := range []struct {
		pattern, host             string
		port                      int
		wide, named, dial, spells bool // named: an allow for what a program names; dial: for what is dialled
	}{
		{"example.com", "example.com", 443, true, true, true, false},
		{"example.com", "example.com", 80, true, true, true, false},
		{"example.com", "example.com", 8443, true, true, false, false},
		{"example.com", "example.com", 0, true, true, false, false},
		{"example.com:8443", "example.com", 8443, true, true, true, true},
		{"example.com:8443", "example.com", 443, false, false, false, false},
		{"example.com:8443", "example.com", 0, true, false, false, false},
		{"example.com.:22", "example.com", 22, true, true, true, true},
		{"*.example.com:22", "a.example.com", 22, true, true, true, false},
		{"*.example.com:22", "example.com", 22, true, false, false, false},
		{"*:25", "a.example", 25, true, true, true, false},
		{"*:25", "a.example", 443, false, false, false, false},
		{"*", "a.example", 25, true, true, false, false},
		{"*", "a.example", 443, true, true, true, false},
		{"127.0.0.1:3000", "127.0.0.1", 3000, true, true, true, true},
		{"127.0.0.1", "127.0.0.1", 80, true, true, true, false},
		{"[::1]:3000", "::1", 3000, true, true, true, true},
		{"::1", "::1", 443, true, true, true, false},
		{"[::ffff:127.0.0.1]:3000", "127.0.0.1", 3000, true, true, true, true},
	} {
		h, err := ParseHost(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if w, n, d, s := h.Wide(c.host, c.port), h.Narrow(c.host, c.port, false), h.Narrow(c.host, c.port, true), h.Spells(c.host, c.port); w != c.wide || n != c.named || d != c.dial || s != c.spells {
			t.Errorf("%q on %s:%d: wide %v, named %v, dialled %v, spelled %v", c.pattern, c.host, c.port, w, n, d, s)
		}
	}
}

func TestAHostPatternCoversAnother(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		deny, allow  bool
	}{
		{"example.com", "example.com", true, true}, {"*.example.com", "example.com", true, false}, {"*.example.com", "a.example.com", true, true}, {"*.example.com", "*.a.example.com", true, true}, {"*.example.com", "*.example.com", true, true},
		{"a.example.com", "*.a.example.com", false, false}, {"*", "*.example.com", true, true}, {"example.com", "*", false, false}, {"*.example.com", "evilexample.com", false, false},
		{"example.com", "example.com:443", true, true}, {"example.com", "example.com:22", true, false}, {"example.com:22", "example.com", false, false}, {"example.com:22", "example.com:22", true, true}, {"*:22", "example.com:22", true, true}, {"*", "example.com:22", true, false},
	} {
		w, err := ParseHost(c.wide)
		n, err2 := ParseHost(c.narrow)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if d, a := w.Covers(&n, false), w.Covers(&n, true); d != c.deny || a != c.allow {
			t.Errorf("%s covers %s: in deny %v, in allow %v", c.wide, c.narrow, d, a)
		}
	}
}

func TestHostPatternsOverAPublicSuffixAreRefused(t *testing.T) {
	for _, p := range []string{"*.com", "*.co.uk", "*.github.io", "*.s3.amazonaws.com", "*.a*.com", "a.*.com", "https://x.com", "x.com:0", "x.com:", "x.com:65536", "x.com:+80", "x.com:y", "::1:80:y", "x.com/y", "*.127.0.0.1", "exämple.com", ""} {
		if _, err := ParseHost(p); err == nil {
			t.Errorf("%q is taken", p)
		}
	}
}

// slow is glob by trying every split.
func slow(p []string, s string) bool {
	if len(p) == 1 {
		return s == p[0]
	}
	rest, ok := strings.CutPrefix(s, p[0])
	for i := 0; ok && i <= len(rest); i++ {
		if slow(p[1:], rest[i:]) {
			return true
		}
	}
	return false
}

func FuzzLine(f *testing.F) {
	f.Add("git push *", "git push origin")
	f.Add(`a*"b c"*`, "ab cd")
	f.Add("a:*", "a")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		l, err := ParseLine(pattern)
		if err != nil || strings.Count(pattern, "*") > 4 || len(pattern) > 40 || len(text) > 60 {
			return
		}
		got := l.Wide(text, false)
		want := slow(l.wide, text) || l.orNone && slow(l.wide[:len(l.wide)-1], text+" ")
		if got != want {
			t.Fatalf("%q on %q: %v", pattern, text, got)
		}
		if got && !l.Sig().Within(SigOf(text)) {
			t.Fatalf("%q on %q: the fingerprint hides a match", pattern, text)
		}
		if got && !l.Could(Template{text}, false) {
			t.Fatalf("%q matches %q and could not", pattern, text)
		}
		if l.Narrow(strings.ReplaceAll(text, " ", border)) && !l.Wide(strings.ReplaceAll(text, border, " "), false) {
			t.Fatalf("%q on %q: narrow and not wide", pattern, text)
		}
	})
}

func FuzzPath(f *testing.F) {
	f.Add("**/private/**", "/w/private/x")
	f.Add("a[b-c]/{d,e}/*", "/w/ab/d/x")
	f.Add("//etc/**/x?", "/etc/a/xy")
	f.Fuzz(func(t *testing.T, pattern, p string) {
		pat, err := ParsePath(pattern)
		if err != nil || !strings.HasPrefix(p, "/") || path.Clean(p) != p || len(pattern) > 60 || len(p) > 100 {
			return
		}
		sig := SigOf(p)
		narrow, wide := pat.Narrow(p, sig, testBases, false), pat.Wide(p, sig, testBases, false)
		if narrow && !wide {
			t.Fatalf("%q on %q: narrow and not wide", pattern, p)
		}
		var all Sig // with a text that holds every pair the fingerprint filters nothing
		all[0], all[1] = ^all[0], ^all[1]
		if pat.Wide(p, all, testBases, false) != wide {
			t.Fatalf("%q on %q: the fingerprint changes the answer", pattern, p)
		}
		if parent := path.Dir(p); parent != "/" && pat.Wide(parent, SigOf(parent), testBases, false) && !wide {
			t.Fatalf("%q matches the folder %q and not %q in it", pattern, parent, p)
		}
	})
}

// TestAnEmptyAlternativeIsRefused: it would be every path.
func TestAnEmptyAlternativeIsRefused(t *testing.T) {
	for _, pattern := range []string{"{,}", "{a,}", "{,src/**}"} {
		if _, err := ParsePath(pattern); err == nil || !strings.Contains(err.Error(), "empty") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if _, err := ParsePath("a{,b}"); err != nil {
		t.Errorf("a{,b}: %v", err)
	}
}
