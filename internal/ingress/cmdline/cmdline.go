// Package cmdline makes the flag sets of commands. What package flag says of a
// wrong command line is said in the form in which a person types it.
package cmdline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/reeve-gate/reeve"
)

// New is the flag set of the command name, such as "sessions ls". What is wrong
// goes to stderr: one line that says what, one that names the help.
func New(stderr io.Writer, name string) *flag.FlagSet {
	f := flag.NewFlagSet("reeve "+name, flag.ContinueOnError)
	f.SetOutput(said{stderr})
	f.Usage = func() { fmt.Fprintf(stderr, "reeve help %s tells more\n", strings.Fields(name)[0]) }
	return f
}

// Parse parses args; ok is false where the command must end with code.
func Parse(f *flag.FlagSet, args []string) (code int, ok bool) {
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return reeve.ExitOK, false
	case err != nil:
		return reeve.ExitUsage, false
	}
	return reeve.ExitOK, true
}

// Mixed parses flags that may stand before, between or after operands.
func Mixed(f *flag.FlagSet, args []string) (operands []string, code int, ok bool) {
	for {
		if code, ok := Parse(f, args); !ok {
			return nil, code, false
		}
		if args = f.Args(); len(args) == 0 {
			return operands, reeve.ExitOK, true
		}
		operands, args = append(operands, args[0]), args[1:]
	}
}

type said struct{ w io.Writer }

func (s said) Write(p []byte) (int, error) {
	if _, err := fmt.Fprintf(s.w, "reeve: %s\n", Said(strings.TrimSuffix(string(p), "\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Said is an error text of package flag with its flags as they are typed.
func Said(text string) string {
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return "there is no flag --" + name
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return "--" + name + " needs a value"
	}
	for _, before := range []string{"invalid value ", "invalid boolean value "} {
		if !strings.HasPrefix(text, before) {
			continue
		}
		// The value is quoted, so that its text is passed over whole.
		at := strings.LastIndex(text, "\" for flag -")
		if at < 0 {
			at = strings.LastIndex(text, "\" for -")
		}
		if at >= 0 {
			rest := strings.TrimPrefix(strings.TrimPrefix(text[at+1:], " for flag -"), " for -")
			return text[:at+1] + " for --" + rest
		}
	}
	return text
}
