package cmdline

import (
	"fmt"
	"strings"
	"testing"
)

func TestAWrongFlagIsNamedAsItIsTyped(t *testing.T) {
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{"--frob"}, "reeve: there is no flag --frob\n"},
		{[]string{"-frob=1"}, "reeve: there is no flag --frob\n"},
		{[]string{"--count"}, "reeve: --count needs a value\n"},
		{[]string{"--count", "lots"}, "reeve: invalid value \"lots\" for --count: parse error\n"},
		{[]string{"--size", "\" for flag -x"}, "reeve: invalid value \"\\\" for flag -x\" for --size: no size\n"},
		{[]string{"--yes=perhaps"}, "reeve: invalid boolean value \"perhaps\" for --yes: parse error\n"},
		{[]string{"--help"}, ""},
	} {
		var out strings.Builder
		f := New(&out, "sessions ls")
		f.Int("count", 0, "")
		f.Bool("yes", false, "")
		f.Func("size", "", func(string) error { return fmt.Errorf("no size") })
		if f.Parse(one.args) == nil {
			t.Errorf("%q is taken", one.args)
		}
		if got, want := out.String(), one.want+"reeve help sessions tells more\n"; got != want {
			t.Errorf("%q: %q, want %q", one.args, got, want)
		}
	}
}
