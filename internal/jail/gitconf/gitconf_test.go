package gitconf

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyConfigurationsThatStartNothingAreHarmless(t *testing.T) {
	for text, want := range map[string]bool{
		"": true,
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n": true,
		"[user] name = x\n":                                   true,
		"# comment\n; another\n[core]\n\tbare\n":              true,
		"[remote \"o\"]\nurl = git@example.org:x/y.git\n":     true,
		"[remote \"o\"]\nurl = http://[::1]/x\n":              true,
		"[core]\n\tfsmonitor = evil\n":                        false,
		"[core]\nhooksPath=x":                                 false,
		"[CORE]\nSSHCOMMAND = x\n":                            false,
		"[core] editor = x":                                   false,
		"[core]\n\tbare = false \\\n\tx\n\tpager = x\n":       false,
		"[include]\n\tpath = x\n":                             false,
		"[includeIf \"gitdir:/\"]\n\tpath = x\n":              false,
		"[filter \"lfs\"]\n\tclean = x\n":                     false,
		"[diff \"x\"]\n\ttextconv = x\n":                      false,
		"[alias]\n\tx = !evil\n":                              false,
		"[credential]\n\thelper = x\n":                        false,
		"[gpg]\n\tprogram = x\n":                              false,
		"[remote \"o\"]\nuploadpack = x\n":                    false,
		"[remote \"o\"]\nurl = ext::sh -c evil\n":             false,
		"[remote \"o\"]\nvcs = x\n":                           false,
		"[url \"ext::x\"]\ninsteadOf = https://x\n":           false,
		"[core]\nworktree = /\n":                              false,
		"[submodule \"x\"]\nupdate = !evil\n":                 false,
		"name = x\n":                                          false,
		"[core\nbare = true\n":                                false,
		"[core]\nba re = true\n":                              false,
		"[remote \"a]\nb\"]\nurl = x\n":                       false,
		"[remote \"x\\\"]\n[core]\nfsmonitor=x\n":             false,
		"\uFEFF[core]\nfsmonitor=x\n":                         false,
		"[core]\r\n\tfsmonitor = x\r\n":                       false,
		"[user]\nname = \"a\\nb\"\n[core]\nfsmonitor = y":     false,
		"[remote \"o\"]\nurl = \"https://x # not a comment\"": true,
	} {
		if got := Harmless([]byte(text)); got != want {
			t.Errorf("%q: harmless %v, want %v", text, got, want)
		}
	}
	if Harmless([]byte("#" + strings.Repeat("x", MaxSize))) {
		t.Error("a text over the bound is harmless")
	}
}

// gitReads asks the real git for every setting of a text. ok is false where
// git refuses the text.
func gitReads(t testing.TB, text []byte) (settings map[string][]string, ok bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "config", "--file", file, "--no-includes", "--list", "--null").Output()
	if err != nil {
		return nil, false
	}
	settings = map[string][]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if entry != "" {
			key, value, _ := strings.Cut(entry, "\n")
			settings[key] = append(settings[key], value)
		}
	}
	return settings, true
}

// FuzzHarmless: what we call harmless, and what we keep of the rest, is
// harmless as git itself reads it.
func FuzzHarmless(f *testing.F) {
	for _, seed := range []string{
		"[core]\n\tbare = false\n", "[remote \"o\"]\nurl = x\\\n y\n", "[a \"b\\\"]\"] c = d # e", "[core] ; x\nfsmonitor=1", "[user]\nname=\"a\\tb\" c", "[core]\nbare = \"x\\\"\"\n[alias]x=!y",
	} {
		f.Add([]byte(seed))
	}
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("git is not installed")
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		for what, text := range map[string][]byte{"the text": text, "its harmless part": HarmlessPart(text)} {
			if what == "the text" && !Harmless(text) {
				continue
			}
			settings, ok := gitReads(t, text)
			if !ok {
				if what != "the text" {
					t.Fatalf("git refuses the harmless part %q", text)
				}
				continue
			}
			for key := range settings {
				if !harmlessKeys[generalKey(key)] {
					t.Fatalf("%s %q is called harmless; git reads %s", what, text, key)
				}
			}
		}
	})
}

// TestGitReadsNothingElse tries texts made of the pieces that git's grammar
// gives a meaning.
func TestGitReadsNothingElse(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	pieces := []string{"[core]", "[", "]", "\"", "\\", "\n", "\r\n", " ", "\t", "=", "#", ";", "bare", "fsmonitor", "user", "name", "[user]", "[remote \"o\"]", "[remote \"", "\"]", "url",
		"x", "\\\"", "\\\\", "\\n", ".", "[core.sub]", "\uFEFF", "true", "ext::x", "[user \"a\"]", "\x00", "-"}
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	harmless := 0
	for range 80 {
		var b strings.Builder
		b.WriteString([]string{"[core]\n", "[user]\n", "", "[remote \"o\"]\n"}[r.IntN(4)])
		for range r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := []byte(b.String())
		if Harmless(text) {
			harmless++
		}
		settings, ok := gitReads(t, text)
		if ok && Harmless(text) {
			for key := range settings {
				if !harmlessKeys[generalKey(key)] {
					t.Errorf("%q is called harmless; git reads %s", text, key)
				}
			}
		}
		if settings, ok = gitReads(t, HarmlessPart(text)); !ok {
			t.Errorf("git refuses the harmless part of %q: %q", text, HarmlessPart(text))
		}
		for key := range settings {
			if !harmlessKeys[generalKey(key)] {
				t.Errorf("the harmless part of %q has %s", text, key)
			}
		}
	}
	if harmless < 5 {
		t.Errorf("only %d of the texts were called harmless: the test says little", harmless)
	}
}

func TestAFormerConfigurationTakesOnlyHarmlessAdditions(t *testing.T) {
	former := "[core]\n\tbare = false\n[alias]\n\tx = !mine\n"
	for _, c := range []struct {
		text string
		fine bool
	}{
		{former, true},
		{former + "[user]\n\tname = A\n", true},
		{"[user]\n\tname = A\n", true},
		{former + "[core]\n\tfsmonitor = evil\n", false},
		{"[alias]\n\tx = !other\n", false},
		{former + "[", false},
	} {
		if got := HarmlessSince([]byte(former), []byte(c.text)); got != c.fine {
			t.Errorf("%q: %v, want %v", c.text, got, c.fine)
		}
	}
	got, ok := Merge([]byte(former), []byte("[user]\n\tname = A\n[core]\n\tfsmonitor = evil\n"))
	want := "[core]\n\tbare = \"false\"\n[alias]\n\tx = \"!mine\"\n[user]\n\tname = \"A\"\n"
	if !ok || string(got) != want {
		t.Errorf("merged %q %v, want %q", got, ok, want)
	}
}
