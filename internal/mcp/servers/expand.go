package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// References are the variables that a server's settings stand on, sorted.
func (s *Server) References() []string {
	seen := map[string]bool{}
	note := func(text string) {
		expand(text, func(name string) string {
			if !strings.HasPrefix(name, ref.Scheme) {
				seen[name] = true
			}
			return ""
		})
	}
	for _, v := range s.Env {
		note(v)
	}
	for _, v := range s.Headers {
		note(v)
	}
	for _, v := range s.Args {
		note(v)
	}
	note(s.URL)
	return slices.Sorted(maps.Keys(seen))
}

// FromEnvironment are the variables that the values of env and headers come from,
// sorted: what the vault could keep (contract G38).
func (s *Server) FromEnvironment() []string {
	only := Server{Env: s.Env, Headers: s.Headers}
	return only.References()
}

// Secrets are the secrets of the vault that env and headers stand on, sorted.
func (s *Server) Secrets() []string {
	seen := map[string]bool{}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, v := range m {
			expand(v, func(name string) string {
				if secret, found := strings.CutPrefix(name, ref.Scheme); found {
					seen[secret] = true
				}
				return ""
			})
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// checkReferences refuses references to the vault that name nothing, and those
// that stand where every process of the machine reads the value.
func (s *Server) checkReferences() error {
	for _, text := range append([]string{s.Command, s.URL, s.Dir}, s.Args...) {
		if strings.Contains(text, ref.Scheme) {
			return fmt.Errorf("%s stands in env and headers only: arguments and addresses are read by others", ref.Scheme)
		}
	}
	for _, secret := range s.Secrets() {
		if _, err := ref.ParseName(secret); err != nil {
			return err
		}
	}
	return nil
}

// Resolved is the server with every ${NAME} replaced by the value that getenv
// gives, every reference to the vault by what vault gives, and these values.
// What is not set, or not there, is an error that names it. It is asked for in
// the moment of a start; the original keeps its references.
func (s Server) Resolved(getenv func(string) string, vault ref.Resolver) (Server, []string, error) {
	var values []string
	var missing error
	fail := func(err error) string {
		if missing == nil {
			missing = fmt.Errorf("server %s: %w", s.Name, err)
		}
		return ""
	}
	value := func(name string) string {
		n, secret, err := ref.Parse(name)
		if err != nil {
			return fail(err)
		}
		if secret {
			b, err := vault.Resolve(n)
			if err != nil {
				return fail(err)
			}
			defer ref.Wipe(b)
			values = append(values, string(b))
			return string(b)
		}
		v := getenv(name)
		if v == "" {
			fail(fmt.Errorf("the variable %s is not set where the daemon was started; end it with reeve down and start it where it is set", name))
		}
		values = append(values, v)
		return v
	}
	plain := func(name string) string {
		if strings.HasPrefix(name, ref.Scheme) {
			return fail(fmt.Errorf("%s stands in env and headers only", name))
		}
		return value(name)
	}
	s.URL = expand(s.URL, plain)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i], plain)
	}
	for _, m := range []*map[string]string{&s.Env, &s.Headers} {
		if *m == nil {
			continue
		}
		out := make(map[string]string, len(*m))
		for k, v := range *m {
			out[k] = expand(v, value)
			if strings.Contains(out[k], "\x00") || m == &s.Headers && strings.ContainsAny(out[k], "\r\n") {
				fail(fmt.Errorf("the value of %s cannot stand there: it has a line end, or a zero byte", k))
			}
		}
		*m = out
	}
	return s, values, missing
}

// expand replaces each ${NAME} in text, and each reference to the vault: one
// that is the whole text, or stands in ${ }. What has not that form stays.
func expand(text string, value func(name string) string) string {
	if strings.HasPrefix(text, ref.Scheme) {
		return value(text)
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed || !variable.MatchString(name) && !strings.HasPrefix(name, ref.Scheme) {
			if !found {
				b.WriteString(text)
				return b.String()
			}
			b.WriteString(before + "${")
			text = rest
			continue
		}
		b.WriteString(before + value(name))
		text = after
	}
}
