package seatbelt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// policy is a profile as an evaluator of our own reads it: the subset that is
// emitted, and nothing besides. An operation or a filter that it does not know
// is an error, so that a profile cannot say something the tests do not see.
type policy struct {
	rules  []rule
	params map[string]string
}

type rule struct {
	allow   bool
	op      string
	filters []node // any of them; none = always
}

// node is an S-expression: a list, or an atom, or a string.
type node struct {
	list []node
	atom string
	text bool // the atom stood in quotes
}

// parents of an operation: the group that decides where no rule of its own
// matches. These are the operations that are known.
var parents = map[string]string{
	"file-read*": "default", "file-read-data": "file-read*", "file-read-metadata": "file-read*", "file-map-executable": "default",
	"file-write*": "default", "file-write-create": "file-write*", "file-write-data": "file-write*", "file-write-unlink": "file-write*",
	"file-write-mode": "file-write*", "file-write-owner": "file-write*", "file-write-times": "file-write*", "file-write-xattr": "file-write*",
	"file-write-setugid": "file-write*", "file-ioctl": "default", "file-link": "default", "file-clone": "default",
	"process-exec*": "default", "process-fork": "default", "process-info*": "default", "signal": "default", "mach-host*": "default",
	"ipc-posix-sem": "default", "ipc-posix-shm*": "default", "sysctl-read": "default", "mach-lookup": "default", "pseudo-tty": "default",
	"system-socket": "default", "network-outbound": "default", "network-inbound": "default", "network-bind": "default",
	"appleevent-send": "default", "lsopen": "default", "job-creation": "default",
}

// act is one thing a program does.
type act struct {
	op     string
	path   string // of a file or a unix socket
	ip     string // HOST:PORT at the other end, or here
	name   string // of a service, a setting, a socket's domain
	target string // "same-sandbox" or another
	pty    bool   // the terminal was made inside
}

func parseProfile(p Profile) (*policy, error) {
	var out policy
	out.params = map[string]string{}
	for _, d := range p.Params {
		name, value, _ := strings.Cut(d, "=")
		out.params[name] = value
	}
	forms, err := read(p.Text)
	if err != nil {
		return nil, err
	}
	for i, f := range forms {
		if len(f.list) < 2 || f.list[0].text {
			return nil, fmt.Errorf("form %d is no rule: %v", i, f)
		}
		verb := f.list[0].atom
		if i == 0 {
			if verb != "version" || f.list[1].atom != "1" {
				return nil, fmt.Errorf("the profile begins with %v", f)
			}
			continue
		}
		if verb != "allow" && verb != "deny" {
			return nil, fmt.Errorf("form %d is neither allow nor deny: %v", i, f)
		}
		var ops []string
		var filters []node
		for _, n := range f.list[1:] {
			switch {
			case n.list != nil:
				filters = append(filters, n)
			case n.text || len(filters) > 0:
				return nil, fmt.Errorf("form %d: %v stands where an operation does not", i, n)
			default:
				if _, known := parents[n.atom]; !known && n.atom != "default" {
					return nil, fmt.Errorf("form %d: unknown operation %q", i, n.atom)
				}
				ops = append(ops, n.atom)
			}
		}
		for _, f := range filters {
			if err := out.check(f); err != nil {
				return nil, fmt.Errorf("form %d: %w", i, err)
			}
		}
		for _, op := range ops {
			out.rules = append(out.rules, rule{verb == "allow", op, filters})
		}
	}
	return &out, nil
}

// allows decides as the kernel is taken to: rules of the operation itself
// first, of them the last that matches, then those of its group.
func (p *policy) allows(a act) bool {
	for op := a.op; ; op = parents[op] {
		verdict, found := false, false
		for _, r := range p.rules {
			if r.op == op && (len(r.filters) == 0 || slices.ContainsFunc(r.filters, func(f node) bool { return p.matches(f, a) })) {
				verdict, found = r.allow, true
			}
		}
		if found || op == "default" {
			return verdict
		}
		if parents[op] == "" {
			panic("unknown operation " + op)
		}
	}
}

func (p *policy) value(n node) (string, error) {
	if n.text {
		return n.atom, nil
	}
	if len(n.list) == 2 && n.list[0].atom == "param" && n.list[1].text {
		if v, ok := p.params[n.list[1].atom]; ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("%v is no value", n)
}

// check refuses a filter that matches would not know.
func (p *policy) check(n node) error {
	if len(n.list) == 0 {
		return fmt.Errorf("%v is no filter", n)
	}
	args := n.list[1:]
	one := func() error {
		if len(args) != 1 {
			return fmt.Errorf("%v has %d arguments", n, len(args))
		}
		v, err := p.value(args[0])
		if err == nil && n.list[0].atom == "regex" {
			_, err = regexp.Compile(v)
		}
		if err == nil && len(v) > maxString {
			err = fmt.Errorf("a string of %d bytes", len(v))
		}
		return err
	}
	switch n.list[0].atom {
	case "literal", "subpath", "regex", "global-name", "global-name-prefix", "sysctl-name-prefix", "extension":
		return one()
	case "target", "socket-domain":
		if len(args) != 1 || args[0].text || args[0].list != nil {
			return fmt.Errorf("%v takes one word", n)
		}
		return nil
	case "require-all", "require-any", "require-not":
		for _, a := range args {
			if err := p.check(a); err != nil {
				return err
			}
		}
		return nil
	case "remote", "local":
		if len(args) != 2 {
			return fmt.Errorf("%v has %d arguments", n, len(args))
		}
		if args[0].atom == "unix-socket" {
			return p.check(args[1])
		}
		if args[0].atom == "ip" && args[1].text && regexp.MustCompile(`^(\*|localhost):(\*|[0-9]+)$`).MatchString(args[1].atom) {
			return nil
		}
	}
	return fmt.Errorf("unknown filter %v", n)
}

func (p *policy) matches(n node, a act) bool {
	arg := n.list[1:]
	value := func() string {
		v, err := p.value(arg[0])
		if err != nil {
			panic(err)
		}
		return v
	}
	switch n.list[0].atom {
	case "literal":
		return a.path != "" && a.path == value()
	case "subpath":
		return a.path != "" && within(value(), a.path)
	case "regex":
		return a.path != "" && regexp.MustCompile(value()).MatchString(a.path)
	case "global-name":
		return a.name == value()
	case "global-name-prefix", "sysctl-name-prefix":
		return strings.HasPrefix(a.name, value())
	case "extension":
		return a.pty
	case "target":
		return a.target == arg[0].atom
	case "socket-domain":
		return a.name == arg[0].atom
	case "require-all":
		return !slices.ContainsFunc(arg, func(f node) bool { return !p.matches(f, a) })
	case "require-any":
		return slices.ContainsFunc(arg, func(f node) bool { return p.matches(f, a) })
	case "require-not":
		return !p.matches(arg[0], a)
	case "remote", "local":
		if (a.op == "network-outbound") != (n.list[0].atom == "remote") {
			return false
		}
		if arg[0].atom == "unix-socket" {
			return p.matches(arg[1], act{path: a.path})
		}
		host, port, _ := strings.Cut(arg[1].atom, ":")
		theirs, number, ok := strings.Cut(a.ip, ":")
		return ok && (host == "*" || theirs == "127.0.0.1") && (port == "*" || port == number)
	}
	panic("unknown filter " + n.list[0].atom)
}

// read is a reader of the language: lists, words, strings with the escapes of
// a backslash and a quotation mark, comments to the end of the line.
func read(s string) (forms []node, err error) {
	stack := []node{{list: []node{}}}
	push := func(n node) { top := &stack[len(stack)-1]; top.list = append(top.list, n) }
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\n':
			i++
		case c == ';':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case c == '(':
			stack = append(stack, node{list: []node{}})
			i++
		case c == ')':
			if len(stack) == 1 {
				return nil, fmt.Errorf("a list ends at byte %d that did not begin", i)
			}
			done := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			push(done)
			i++
		case c == '"':
			var b strings.Builder
			for i++; ; i++ {
				if i >= len(s) {
					return nil, fmt.Errorf("a string does not end")
				}
				if s[i] == '"' {
					i++
					break
				}
				if s[i] == '\\' {
					i++
					if i >= len(s) || s[i] != '\\' && s[i] != '"' {
						return nil, fmt.Errorf("unknown escape at byte %d", i)
					}
				}
				b.WriteByte(s[i])
			}
			push(node{atom: b.String(), text: true})
		default:
			end := i
			for end < len(s) && strings.IndexByte(" \n()\";", s[end]) < 0 {
				end++
			}
			if strings.ContainsAny(s[i:end], `#'\`) {
				return nil, fmt.Errorf("unknown word %s", strconv.Quote(s[i:end]))
			}
			push(node{atom: s[i:end]})
			i = end
		}
	}
	if len(stack) != 1 {
		return nil, fmt.Errorf("%d lists do not end", len(stack)-1)
	}
	return stack[0].list, nil
}
