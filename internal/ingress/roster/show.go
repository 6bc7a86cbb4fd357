package roster

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/wire"
)

// writeInspected shows a server in words. What is the server's own text stands
// behind a bar where it has several lines, so that none of it passes for ours.
// all shows the words of each definition, also of those that were accepted.
func writeInspected(w io.Writer, s *wire.Inspected, all bool) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %-9s %s\n", label, barred(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(w, "server %s\n", s.Server)
	if s.Disabled {
		line("state", "off; reeve mcp enable %s", s.Server)
	}
	if s.URL != "" {
		line("address", "%s", s.URL)
		if len(s.Headers) > 0 {
			line("headers", "%s", strings.Join(s.Headers, " "))
		}
	} else {
		line("command", "%s", words(s.Argv))
		for _, l := range s.Package {
			label, text, _ := strings.Cut(l, ": ")
			line(label, "%s", text)
		}
		if len(s.Env) > 0 {
			line("variables", "%s", strings.Join(s.Env, " "))
		}
		line("sees", "%s", sees(s))
		line("network", "%s", network(s))
		if s.Sockets {
			line("sockets", "%s", "among its own processes; those of this machine are covered")
		}
	}
	if s.Says != "" {
		line("says", "it is %s (its own word)", s.Says)
	}
	line("trust", "%s", trustOf(s))
	for _, n := range s.Notes {
		line("note", "%s", n)
	}
	writeItems(w, s, all)
}

func sees(s *wire.Inspected) string {
	all := []string{"the system, read-only", "its own folder"}
	for _, d := range s.Read {
		all = append(all, placeWord(d)+", read-only")
	}
	for _, d := range s.Write {
		all = append(all, placeWord(d))
	}
	return strings.Join(all, "; ")
}

func placeWord(d string) string {
	if d == "." {
		return "the workspace"
	}
	return d
}

func network(s *wire.Inspected) string {
	switch s.Net {
	case "open":
		return "this machine's own, undecided and unrecorded"
	case "rules":
		if len(s.Hosts) == 0 {
			return "by rule"
		}
		return strings.Join(s.Hosts, " ") + "; others by rule"
	}
	return "none"
}

func trustOf(s *wire.Inspected) string {
	when := s.When.Local().Format("2006-01-02 15:04")
	switch {
	case s.Offered.IsZero():
		return "never asked what it offers; reeve mcp inspect " + s.Server + " starts it"
	case s.First:
		return "never looked at; every tool asks"
	case s.Moved:
		return "its settings are others than those that were looked at " + when + ": it counts as another server"
	case s.Trusted:
		return "trusted " + when
	}
	return "not trusted; seen " + when + ", every tool asks"
}

func writeItems(w io.Writer, s *wire.Inspected, all bool) {
	for _, it := range s.Items {
		name := it.Kind + " " + it.Name
		if it.Name == "" {
			name = it.Kind
		}
		what := it.Class
		if it.Why != "" {
			what += " (" + it.Why + ")"
		}
		if it.State != "same" && !s.First {
			what = strings.TrimSpace(it.State + " " + what)
		}
		if what = strings.TrimSpace(what); what != "" {
			what = ": " + what
		}
		fmt.Fprintf(w, "  %s%s\n", barred(name), barred(what))
		if it.Held != "" {
			fmt.Fprintf(w, "    HELD: %s\n", barred(it.Held))
		}
		for _, f := range it.Findings {
			fmt.Fprintf(w, "    found: %s\n", barred(f))
		}
		if all || !it.Trusted {
			for _, t := range it.Words {
				fmt.Fprintf(w, "    %s\n", barred(t))
			}
		}
		for _, d := range it.Diff {
			fmt.Fprintf(w, "    | %s\n", barred(d))
		}
	}
	for _, g := range s.Gone {
		fmt.Fprintf(w, "  %s: gone\n", barred(g))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
