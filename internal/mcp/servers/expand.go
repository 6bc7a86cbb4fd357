package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// References are the variables that a server's settings stand on, sorted.
func (s *Server) References() []string {
	seen := map[string]bool{}
	note := func(text string) {
		expand(text, func(name string) (string, bool) { seen[name] = true; return "", true })
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

// Resolved is the server with every ${NAME} replaced by the value that getenv
// gives, and these values. One that is not set is an error that names it.
func (s Server) Resolved(getenv func(string) string) (Server, []string, error) {
	var values []string
	var missing error
	fill := func(text string) string {
		out := expand(text, func(name string) (string, bool) {
			v := getenv(name)
			if v == "" && missing == nil {
				missing = fmt.Errorf("server %s: the variable %s is not set where the daemon was started; end it with reeve down and start it where it is set", s.Name, name)
			}
			values = append(values, v)
			return v, true
		})
		return out
	}
	s.URL = fill(s.URL)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = fill(s.Args[i])
	}
	for _, m := range []*map[string]string{&s.Env, &s.Headers} {
		if *m == nil {
			continue
		}
		out := make(map[string]string, len(*m))
		for k, v := range *m {
			out[k] = fill(v)
		}
		*m = out
	}
	return s, values, missing
}

// expand replaces each ${NAME} in text. What has not that form stays.
func expand(text string, value func(name string) (string, bool)) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed || !variable.MatchString(name) {
			if !found {
				b.WriteString(text)
				return b.String()
			}
			b.WriteString(before + "${")
			text = rest
			continue
		}
		v, _ := value(name)
		b.WriteString(before + v)
		text = after
	}
}
