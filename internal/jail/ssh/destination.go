package ssh

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/reeve-gate/reeve"
)

// Program is the ssh that is used: never one from PATH.
const Program = "/usr/bin/ssh"

// Defaults are the options of every connection, in ssh_config(5)'s words. What
// a person sets comes first and wins; nothing is forwarded unless they say so.
var Defaults = []string{
	"BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=10", "ServerAliveCountMax=3",
	"ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "ControlPath=none",
	"EscapeChar=none", "LogLevel=INFO",
}

var (
	destination = regexp.MustCompile(`^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?(?:[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.%]+\]|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)$`)
	option      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*[= ][^\x00-\x1f]+$`)
)

// CheckHost refuses a destination that is not a name or an address with a user
// before it, such as ada@build.example.com: whatever else ssh would read there
// could be a flag or a command.
func CheckHost(host string) error {
	if len(host) > 255 || !destination.MatchString(host) {
		return fmt.Errorf("%w: host %q: write user@machine, or a name of your ssh settings", reeve.ErrUsage, host)
	}
	return nil
}

// CheckOptions refuses what is no option of one line, Name=value.
func CheckOptions(options []string) error {
	for _, o := range options {
		if !option.MatchString(o) {
			return fmt.Errorf("%q is no option of ssh: write Name=value, as in ssh_config(5)", o)
		}
	}
	return nil
}

// arguments of ssh for one connection; command is read by the login shell
// there and must mean the same to every one.
func arguments(host string, options []string, tty bool, log, command string) []string {
	args := []string{"ssh"}
	for _, o := range append(append([]string{}, options...), Defaults...) {
		args = append(args, "-o", o)
	}
	if log != "" {
		args = append(args, "-E", log)
	}
	if tty {
		args = append(args, "-tt")
	} else {
		args = append(args, "-T")
	}
	return append(args, "--", host, command)
}

// quote makes one word of s for POSIX sh: nothing inside single quotes is
// special but the single quote itself.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}
