package script

import (
	"reflect"
	"testing"
)

func TestSedScriptsAreReadCommandByCommand(t *testing.T) {
	for text, want := range map[string]Facts{
		"s/a/b/g":              {},
		"1,5p":                 {},
		"$d":                   {},
		"/x/,/y/{s/a/b/;p}":    {},
		"s|a/b|c|gI":           {},
		"s/e/w/":               {},
		"/e/d":                 {},
		"1~2d;$!N;P;D":         {},
		"a\\\nw file\\\ne id":  {},
		"a w file":             {},
		"y/abc/ew /":           {},
		":a;N;$!ba;s/\\n/ /g":  {},
		"\\,a,d":               {},
		"0,/x/s//y/":           {},
		"s/[/]/x/":             {Unclear: "what follows a sed command is not clear"},
		"1e id":                {Runs: true},
		"e":                    {Runs: true},
		"s/.*/id/e":            {Runs: true},
		"s/a/b/ge":             {Runs: true},
		"/x/{e id\n}":          {Runs: true},
		"$!{e\n}":              {Runs: true},
		"w out":                {Writes: []string{"out"}},
		"s/a/b/w out":          {Writes: []string{"out"}},
		"s/a/b/gpw out":        {Writes: []string{"out"}},
		"W out\nw /dev/stdout": {Writes: []string{"out"}},
		"r /etc/passwd":        {Reads: []string{"/etc/passwd"}},
		"p;p;1!G;h;$!d":        {},
		"b end;e id\n:end":     {Runs: true},
		"}e id":                {Runs: true},
		"k":                    {Unclear: "sed has no command k that is known"},
		"s/a/b":                {Unclear: "a sed pattern has no end"},
		"1 , 3 p":              {},
		"/a/I,+3p":             {},
		"s/\\//x/;w a":         {Writes: []string{"a"}},
		"i\\hello":             {},
		"s,x,\\\n,;e":          {Runs: true},
		"l 5;=;F;z;q5":         {},
		"#n\np":                {},
		"s/x/y/;# e\ne id":     {Runs: true},
		"//d":                  {},
	} {
		got := Sed(text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Sed(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func TestAwkProgramsAreReadTokenByToken(t *testing.T) {
	for text, want := range map[string]Facts{
		"{print $1}":                                     {},
		"$3 > 100 {print $1, $2}":                        {},
		"{sum += $1} END {print sum / NR}":               {},
		"/a|b/ {n++} END {print n}":                      {},
		`{print "a > b | c"}`:                            {},
		"NR>1 && $2>3 || $4":                             {},
		`BEGIN{FS=":"} {print ($1 > 2)}`:                 {},
		`{printf "%s\n", $1}`:                            {},
		`{gsub(/x/, "y"); print}`:                        {},
		`{print > "/dev/stderr"}`:                        {},
		`{system("id")}`:                                 {Runs: true},
		`{print | "sh"}`:                                 {Runs: true},
		`BEGIN{"id" | getline x}`:                        {Runs: true, Reads: []string{""}},
		`{print > "out"}`:                                {Writes: []string{"out"}},
		`{print >> "out"; print $1}`:                     {Writes: []string{"out"}},
		`{print > $1}`:                                   {Writes: []string{""}},
		`{print > "a" $1}`:                               {Writes: []string{""}},
		`{printf("x") > "out"}`:                          {Writes: []string{"out"}},
		`BEGIN{while((getline l < "/etc/passwd")>0)n++}`: {Reads: []string{"/etc/passwd"}},
		`BEGIN{f="system";@f("id")}`:                     {Runs: true},
		`BEGIN{ARGV[1]="/etc/shadow";ARGC=2}`:            {Reads: []string{"", ""}},
		`@load "x"`:                                      {Runs: true},
		`{print |& "x"}`:                                 {Runs: true},
		`{print "x`:                                      {Unclear: "a string of the awk program has no end"},
		`$1/2 > 3 {print $1/2}`:                          {},
		`# system("x")` + "\n{print}":                    {},
		`{print $1 /x/ > "y"}`:                           {Writes: []string{"y"}},
		`{if (1) /x"/; system("id")}`:                    {Unclear: "a string of the awk program has no end"},
		`{x++ / 2; system("id") / 1}`:                    {Runs: true, Unclear: "a slash of the awk program may divide or start a pattern"},
		`{ print a[1] / 2 ; system(x) }`:                 {Runs: true},
		`{x = $1 ~ /[/]/}`:                               {Unclear: "a slash within brackets of an awk pattern"},
	} {
		got := Awk(text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Awk(%q) = %+v, want %+v", text, got, want)
		}
	}
}

func TestQueriesOfJqAndYqAreLookedThroughForFilesAndPrograms(t *testing.T) {
	for text, reads := range map[string]int{
		".a.b": 0, `.[] | select(.x == "import")`: 0, `import "a" as a; .`: 1, `"\(include)"`: 1, `.include`: 1,
	} {
		if got := Jq(text); len(got.Reads) != reads {
			t.Errorf("Jq(%q) = %+v", text, got)
		}
	}
	if got := Yq(`.a = load("x")`); len(got.Reads) != 1 {
		t.Errorf("yq load: %+v", got)
	}
	if got := Yq(`.a = system("id")`); !got.Runs {
		t.Errorf("yq system: %+v", got)
	}
}

func FuzzScripts(f *testing.F) {
	for _, s := range []string{"s/a/b/", "1e id", "{print > \"x\"}", "a\\\nb", ".a | load(\"x\")", "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, b, c, d := Sed(s), Awk(s), Jq(s), Yq(s)
		for _, more := range []string{"\ne id", "\n}\ne id"} { // a command on a line of its own is never overlooked
			if x := Sed(s + more); a.Unclear == "" && !x.Runs && x.Unclear == "" && !endsInText(s) {
				t.Errorf("Sed(%q) overlooks e", s+more)
			}
		}
		_, _, _ = b, c, d
	})
}

// endsInText: the script ends within the text of a, i or c, or in a name.
func endsInText(s string) bool { return len(s) > 0 && s[len(s)-1] == '\\' }
