package use

import (
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// of reads a line whose words are divided by blanks; a word that starts with
// $ is not known, one with a star is a pattern.
func of(line string) Facts {
	var ws []words.Word
	for _, f := range strings.Fields(line) {
		w := words.Plain(f)
		switch {
		case strings.HasPrefix(f, "$"):
			w = words.Unknown(f)
		case strings.Contains(f, "*"):
			w.Glob, w.Lead = true, f[:strings.IndexByte(f, '*')]
		}
		ws = append(ws, w)
	}
	return Of(ws)
}

func TestAProgramOfTheSameNameElsewhereIsAnotherProgram(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": true, "/bin/ls": true, "/usr/bin/ls": true, "./ls": false, "/tmp/ls": false, "bin/ls": false, "~/ls": false, "/usr/bin/../tmp/ls": false, "/w/usr/bin/ls": false,
	} {
		if got := of(line).ReadOnly; got != want {
			t.Errorf("%s: read-only %v, want %v", line, got, want)
		}
	}
	if f := of("/tmp/rm -r x"); !f.Marks.Has(reeve.CommandDestructive) {
		t.Error("what is dangerous is so wherever the program stands")
	}
	if f := of("./nice x"); f.Unlisted || f.Inner[0].Wrapper.Harmless {
		t.Error("a wrapper from elsewhere is not harmless")
	}
}

func TestAProgramThatIsNotKnownIsAnOrdinaryOne(t *testing.T) {
	f := of("frobnicate --deploy -rf x")
	if f.Marks != 0 || f.ReadOnly || len(f.Files)+len(f.Hosts)+len(f.Inner)+len(f.Unknown) > 0 {
		t.Errorf("got %+v", f)
	}
	if f := of("frobnicate $x"); f.Marks != reeve.CommandUnknownWords {
		t.Errorf("a word that is not known: %b", f.Marks)
	}
}

func TestAbbreviationsOfDangerousOptionsCountAsThem(t *testing.T) {
	for line, mark := range map[string]reeve.CommandMark{
		"sort --compress-p x": reeve.CommandRunsProgram, "sort --o x": reeve.CommandWritesFile, "tar cf a b --to-c x": reeve.CommandRunsProgram, "tar cf a b --use=x": reeve.CommandRunsProgram, "git grep --open x": reeve.CommandRunsProgram, "rm --recur x": reeve.CommandDestructive,
		"sed --in-pl s/a/b/ f": reeve.CommandWritesFile, "man --pag x y": reeve.CommandRunsProgram, "curl --outp x y": reeve.CommandWritesFile, "wget --post-d x y": reeve.CommandExternal, "npm publi": reeve.CommandExternal,
	} {
		if f := of(line); !f.Marks.Has(mark) {
			t.Errorf("%s is not marked", line)
		}
	}
}

func TestAnOptionIsNotMistakenForItsValue(t *testing.T) {
	// grep -e takes the next word, so that -f after it is a pattern
	f := of("grep -e -f a")
	if len(f.Files) != 1 || f.Files[0].Path.Text != "a" {
		t.Errorf("grep -e -f a reads %+v", f.Files)
	}
	// after -- nothing is an option
	if f := of("rm -- -rf"); f.Marks != 0 || f.Files[0].Path.Text != "-rf" {
		t.Errorf("rm -- -rf: %+v", f)
	}
	// options of a wrapped command are not the wrapper's
	if f := of("nice ls -n 5"); len(f.Inner) != 1 || len(f.Inner[0].Words) != 3 {
		t.Errorf("nice ls -n 5: %+v", f.Inner)
	}
	// a word that is not known is no value that hides an option
	if f := of("sort -k $x"); !f.Marks.Has(reeve.CommandUnknownWords) {
		t.Errorf("sort -k $x: %b", f.Marks)
	}
}

func TestEnvTakesEveryWordWithAnEqualsSignForAVariable(t *testing.T) {
	for _, line := range []string{"env A=1 p", "env =A=1 p", "env = p", "env -S =A=1_p2 p"} {
		f := of(line)
		if len(f.Inner) != 1 || f.Inner[0].Words[0].Text != "p" {
			t.Errorf("%s: starts %+v, want p", line, f.Inner)
		}
	}
}

func TestTheWrappersOwnWordsAreNamed(t *testing.T) {
	f := of("timeout -k 5 10 nice p a")
	want := reeve.Wrapper{Name: "timeout", Text: "timeout -k 5 10", Harmless: true}
	if len(f.Inner) != 1 || f.Inner[0].Wrapper != want || f.Inner[0].Words[0].Text != "nice" || !f.Unlisted {
		t.Errorf("got %+v", f)
	}
}

// FuzzOf: no words make it panic, and what it answers hangs together.
func FuzzOf(f *testing.F) {
	for _, s := range []string{"ls -la", "git -C x push --force", "env -S a b", "find . ( -name x ) -exec y ;", "tar xzf a b", "tar czfCb", "xargs -I{} sh -c {}", "ssh -o x h y", "sed -e s/a/b/w", "awk -f", "curl -d @x -G h", "jq --arg x", "npx -c", "script -c", "flock x -c", "sudo -u", "su -c", "setarch", "docker run -v", "kubectl exec x --", "parallel :::", "ld-linux.so --library-path", "bash -o -c", "git config set", "git rebase -x", "dd of=", "socat EXEC:x", "aws s3 cp", "gh api -X", "make CC=x", "reeve", "sqlite3 a .x", "vim +x", "uv run -m", "python -m", "fd -x", "base64 --"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(strings.Fields(line)) == 0 || strings.HasPrefix(strings.TrimSpace(line), "$") {
			return
		}
		facts := of(line)
		if facts.ReadOnly && facts.Marks&^reeve.CommandGitConfig != 0 {
			t.Errorf("%q is read-only and marked %b", line, facts.Marks)
		}
		if facts.ReadOnly && slices.ContainsFunc(facts.Files, func(f File) bool { return f.Role != 'r' }) {
			t.Errorf("%q is read-only and changes a file", line)
		}
		if facts.ReadOnly && len(facts.Inner)+len(facts.Hosts)+len(facts.Unknown) > 0 {
			t.Errorf("%q is read-only and does more", line)
		}
		if facts.Marks.Has(reeve.CommandExternal) != (facts.External != "") {
			t.Errorf("%q: mark and reason of an outside effect differ", line)
		}
		for _, in := range facts.Inner {
			if in.Wrapper.Name == "" || in.Wrapper.Text == "" {
				t.Errorf("%q: an inner command without its wrapper", line)
			}
		}
	})
}

// TestASearchThatNamesAFileReadsIt: to choose a file by its name is to name it.
func TestASearchThatNamesAFileReadsIt(t *testing.T) {
	const unknown = "?"
	for line, want := range map[string]string{
		"grep -r x --include=.env .": ".env", "grep -r x --include .env .": ".env", "rg -g .env x": ".env", "rg -g.env x": ".env", "rg --glob=a/.env x": ".env", "rg --iglob .ENV x": ".ENV",
		"rg -g {.env,a} x": ".env a", "rg --type-add x:.env -tx y": ".env",
		"rg -g .e* x": unknown, "rg -g * x": unknown, "rg -g ** x": unknown, "rg -g [.]env x": unknown, "rg -g ?env x": unknown, "rg -g *.{env,go} x": unknown, "rg -g *env x": unknown, "rg -g *.env x": unknown, "rg -g *.local x": unknown,
		"rg -g *.pem x": unknown, "rg -g id_* x": unknown, "rg -g .env*.js x": unknown, "rg -g client_*.json x": unknown, "rg -g {a,{b,c}} x": unknown, "grep -r --include=*.KEY x .": unknown, `rg -g \.env x`: unknown,
		"rg -g *.go x": "", "rg -g src/**/*.ts x": "", "rg -g *.{ts,tsx} x": "", "grep -r --include=*_test.go x .": "", "rg -g *.test.ts x": "", "rg -g !.env x": "", "rg -g Makefile x": "Makefile", "grep -r --exclude=.env x .": "", "rg --type-add x:*.foo y": "",
	} {
		var ws []words.Word
		for _, w := range strings.Fields(line) {
			ws = append(ws, words.Plain(w))
		}
		var got []string
		for _, f := range Of(ws).Files {
			switch {
			case f.Path.Text == "." || f.Deep:
			case !f.Path.Known:
				got = append(got, unknown)
			default:
				got = append(got, f.Path.Text)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: reads %q, want %q", line, s, want)
		}
	}
}
