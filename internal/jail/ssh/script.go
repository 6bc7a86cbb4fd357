package ssh

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/group"
)

var (
	//go:embed control.sh
	controlScript string
	//go:embed run.sh
	runScript string
	//go:embed try.sh
	tryScript string
)

// NoBoundary is what the scripts end with where the boundary is missing or
// does not hold: nothing was started (contract Y70).
const NoBoundary = 97

// run is everything the other machine is told of one run.
type run struct {
	bwrap  string
	dir    string // the run's private directory
	plan   plan
	args   []string // of bubblewrap
	filter []byte
	argv   []string
	limits jail.Limits
	umask  uint32
}

// put is the script that fills the private directory: what bubblewrap reads,
// an empty file that nobody may open, copies of settings, and the run's own
// script. It says "put" when all is there.
func (r run) put() string {
	steps := []string{
		fmt.Sprintf("printf '%s' >\"$d/args\"", octal([]byte(strings.Join(r.args, "\x00")+"\x00"))),
		fmt.Sprintf("printf '%s' >\"$d/filter\"", octal(r.filter)),
		`: >"$d/empty"`, `chmod 000 "$d/empty"`,
	}
	for i, c := range r.plan.copies {
		steps = append(steps, fmt.Sprintf("head -c %d <%s >\"$d/copy%d\"", maxCopy, quote(c), i+1))
	}
	steps = append(steps, fmt.Sprintf("printf '%s' >\"$d/run\"", octal([]byte(r.script()))), "say P put")
	return strings.Join(steps, " &&\n") + "\n"
}

// maxCopy bounds one settings file of which the run gets a copy, in bytes.
const maxCopy = 16 << 20

// script is what the second connection runs.
func (r run) script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "d=%s\nbwrap=%s\ntry=%s\n", quote(r.dir), quote(r.bwrap), quote(r.try()))
	b.WriteString(runScript)
	fmt.Fprintf(&b, "%s && : >\"$d/ran\" && exec env -i \"$bwrap\" --args 9 --seccomp 8 -- %s 9<&9 8<&8\n", group.Limit(r.limits, r.umask), quoteAll(r.argv))
	return b.String()
}

// try is what is tried through the boundary.
func (r run) try() string {
	c := r.plan.checked
	return fmt.Sprintf("outside=%s\n%shidden %s\nkept %s\necho held\n", quote(c.outside), tryScript, quoteAll(c.hidden), quoteAll(c.kept))
}

// octal writes bytes as the format of printf (POSIX): no byte of them is read
// by the shell as anything else, whatever it is.
func octal(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '/', c == '.', c == '_', c == ' ', c == ',', c == ':':
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, `\%03o`, c)
		}
	}
	return out.String()
}

// appeared is the script that lists which of the protected names are there
// now that were not before the run.
func (p plan) appeared() string {
	return fmt.Sprintf("for p in %s; do if [ -e \"$p\" ] || [ -L \"$p\" ]; then say A \"$p\"; fi; done\n", quoteAll(p.absent))
}
