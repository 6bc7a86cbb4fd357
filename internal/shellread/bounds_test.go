package shellread

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHostileTextIsReadInBoundedTime: no text takes long, whatever it is made
// of. Tests share their machine, so the measure is ordinary text of the same
// length in the same run; what is guarded against takes a thousand times it.
func TestHostileTextIsReadInBoundedTime(t *testing.T) {
	units := []string{
		"(", "{ ", "$(", "`", "\"$(", "${a:-", "$((", "((", "[[ (", "if a;then ", "case a in a) ", "a[", "<(", "! ", "a|", "a&&", "a;", "a\n", "while a;do ", "f(){ ", "{a,", "{1..64} ", "{a,b}", "time ", "coproc ", "\"${a:-", "((a?", "$((-", "<<a\n", "$((1+", "@(", "$[", "for a in b;do ",
		"\\`", "a=1;", "export a=1;", "a=$b;", "f(){ a;};f;", "( \")\" ", "$(\")\"", "$((\"))\"+", "((a=", "eval 'a';", "bash -c 'a';", "bash -c \"", "sudo ", "env ", "nice ", "xargs ", "find -exec ", "timeout 1 ", "cat a/../b;", "echo $x;", "trap a 0;", "alias a=b;", "a <<<b;", "a >b;", "x+=1;", "cd a;",
		"cd a||", "while a;do b;done;", "if a;then x=1;fi;", "case a in a)x=1;;esac;", "x=(a b);", "a 'b' \"c\" $'d' \\e;", "''", "\"\"", "$'\\x61'", "~/", "*", "[a]", "#\n", "\\\n", " ", "git -c a=b ", "sed s/a/b/;", "awk 1;", "echo ${a[", "x=$(", "set -a;", "unset f;", "local a=1;", "declare -i a=1;",
	}
	ordinary := time.Hour
	for range 3 {
		start := time.Now()
		Read(strings.Repeat("go build ./... && go test ./internal/x -run 'TestFoo|TestBar' | tail -n 30\n", MaxText/80), testAt)
		ordinary = min(ordinary, time.Since(start))
	}
	slowest, which := time.Duration(0), ""
	for _, u := range units {
		for _, n := range []int{16 << 10, MaxText} {
			text := strings.Repeat(u, n/len(u))
			for _, closed := range []string{text, text + "p", "bash -c " + quote(text)} {
				start := time.Now()
				effects := Read(closed, testAt)
				if d := time.Since(start); d > slowest {
					slowest, which = d, fmt.Sprintf("%q x %d", u, n/len(u))
				}
				if len(effects) > 4*maxSteps {
					t.Errorf("%q x %d: %d effects", u, n/len(u), len(effects))
				}
				for _, e := range effects {
					if strings.HasPrefix(e.Why, "could not be read") {
						t.Errorf("%q x %d: %s", u, n/len(u), e.Why)
					}
				}
			}
		}
	}
	t.Logf("the slowest text took %v: %s; ordinary text of that length takes %v", slowest, which, ordinary)
	if slowest > 100*ordinary {
		t.Errorf("%s took %v; ordinary text of that length takes %v", which, slowest, ordinary)
	}
}

func TestEachBoundIsNamed(t *testing.T) {
	for text, why := range map[string]string{
		strings.Repeat("a", MaxText+1):                                       "longer than 65536 bytes",
		strings.Repeat("(", 250):                                             "nested more than 200 deep",
		strings.Repeat("[a]", 5000):                                          "holds more than 4000 brackets",
		strings.Repeat("a[0];", 500):                                         "holds more than 200 subscripts",
		strings.Repeat("a=1;", 3000):                                         "sets more variables than are followed",
		strings.Repeat("{1..60} ", 800):                                      "longer than can be read in bounded time",
		strings.Repeat("eval \"$(", 3) + strings.Repeat(")\"", 3):            "not certain",
		strings.Repeat("if a;then ", 250) + "b" + strings.Repeat(";fi", 250): "nested more than 200 deep",
		"a\x01":   "control character 0x01",
		"a\u200d": "invisible character U+200D",
		"a\xff":   "not valid UTF-8",
	} {
		effects := Read(text, testAt)
		if !slices.ContainsFunc(told(effects), func(s string) bool { return s == "unknown" }) {
			t.Errorf("%.20q... is certain", text)
		}
		found := false
		for _, e := range effects {
			found = found || strings.Contains(e.Why, why)
		}
		if !found {
			t.Errorf("%.20q...: no effect says %q", text, why)
		}
	}
}
