package secrets

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/late"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

// importEnv takes over what looks like a secret in the environment, and says
// what is to be removed where (contract G35, G38). It removes nothing itself:
// these files are the person's.
func (d *Desk) importEnv(args []string) error {
	dry, service := false, "env"
	names, err := d.parsed(args, -1, "[--dry-run] [--service S] [NAME...]", func(f *flag.FlagSet) {
		f.BoolVar(&dry, "dry-run", false, "change nothing")
		f.StringVar(&service, "service", service, "the service under which they are kept")
	})
	if err != nil {
		return err
	}
	found, err := candidates(d.Environ, names)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		fmt.Fprintln(d.Stdout, "nothing in the environment looks like a secret")
		return nil
	}
	if !dry {
		if err := d.ready(); err != nil {
			return err
		}
	}
	for _, v := range found {
		n, err := ref.ParseName(service + "/" + v.name)
		if err != nil {
			return fmt.Errorf("%w: %v", reeve.ErrUsage, err)
		}
		said := "would be kept as " + n.String()
		if !dry {
			_, err := d.do(wire.Vault{Do: "set", Name: n.String(), Origin: "env " + v.name}, []byte(v.value))
			switch {
			case errors.Is(err, reeve.ErrUsage) && strings.Contains(err.Error(), "already"):
				said = n.String() + " is there already, and stays as it is"
			case err != nil:
				return fmt.Errorf("%s: %w", v.name, err)
			default:
				said = "kept as " + n.String()
			}
		}
		fmt.Fprintf(d.Stdout, "%s: %s\n", v.name, said)
		for _, at := range d.written(v.name) {
			fmt.Fprintf(d.Stdout, "    remove it from %s\n", redact.Visible(at))
		}
		fmt.Fprintf(d.Stdout, "    in mcp.json: %s in place of ${%s}; for a program: reeve vault run --env %s=%s -- CMD\n", n.Reference(), v.name, v.name, n)
	}
	fmt.Fprintln(d.Stdout, "Until they are gone from there, every program that you start still gets them: remove them, and log in anew.")
	return nil
}

type variable struct{ name, value string }

// candidates are the variables of the given names, or all that look like
// secrets. A path that exists is none: SSH_AUTH_SOCK and its like.
func candidates(env, names []string) (found []variable, err error) {
	for _, name := range names {
		if value := environ.Lookup(env, name); value == "" {
			return nil, fmt.Errorf("%w: the variable %s is not set here", reeve.ErrUsage, name)
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || !word.MatchString(name) || slices.ContainsFunc(found, func(v variable) bool { return v.name == name }) {
			continue
		}
		if len(names) > 0 {
			if slices.Contains(names, name) {
				found = append(found, variable{name, environ.Lookup(env, name)})
			}
			continue
		}
		if _, err := os.Stat(value); filepath.IsAbs(value) && err == nil {
			continue
		}
		if environ.Secret(name, value) || redact.Sensitive(name) {
			found = append(found, variable{name, environ.Lookup(env, name)})
		}
	}
	slices.SortFunc(found, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

var word = late.New(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// The files in which people set variables, below the home directory and below
// the working directory.
var (
	homeFiles = []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".pam_environment", ".config/fish/config.fish", ".config/environment.d/*.conf", ".env"}
	hereFiles = []string{".env", ".env.local", ".envrc"}
)

// written says where a variable is set, as FILE:LINE.
func (d *Desk) written(name string) (at []string) {
	n := regexp.QuoteMeta(name)
	sets := regexp.MustCompile(`(^|[\s;])` + n + `=|^set\s+(-\S+\s+)*` + n + `\s`) // sh, and fish

	for _, place := range []struct {
		dir   string
		files []string
	}{{d.Home, homeFiles}, {d.Dir, hereFiles}} {
		for _, pattern := range place.files {
			paths, _ := filepath.Glob(filepath.Join(place.dir, pattern))
			for _, path := range paths {
				for _, line := range lines(path, sets) {
					if where := fmt.Sprintf("%s:%d", path, line); !slices.Contains(at, where) {
						at = append(at, where)
					}
				}
			}
		}
	}
	return at
}

// lines are the numbers of the lines that match, of a file of at most 1 MiB.
func lines(path string, sets *regexp.Regexp) (found []int) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if !strings.HasPrefix(line, "#") && sets.MatchString(line) {
			found = append(found, n)
		}
	}
	return found
}

// WarnOfEnvironment says of secrets that a run takes from the environment that
// the vault could keep them (contract G38).
func WarnOfEnvironment(w io.Writer, getenv func(string) string, names []string) {
	for _, name := range names {
		if v := getenv(name); v != "" && environ.Secret(name, v) {
			fmt.Fprintf(w, "reeve: %s comes from the environment, which every program that you start is given: reeve vault import-env %s keeps it, and --env %s=env/%s passes it\n", name, name, name, name)
		}
	}
}
