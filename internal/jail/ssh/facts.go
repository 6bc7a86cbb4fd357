package ssh

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/places"
)

var (
	//go:embed place.sh
	placeScript string
	//go:embed facts.sh
	factsScript string
)

// thing is something that stands on the other machine.
type thing struct {
	kind byte // d directory, f file, s socket, l symbolic link
	path string
}

// facts are what the script found.
type facts struct {
	uid             string
	system, machine string // uname -s, uname -m
	home, dir       string // without symbolic links
	bwrap           string // what it says of its version
	setid           bool   // it runs as root whoever starts it
	write           []string
	stores, secrets []thing // credential stores below the home directory, and of the machine
	guarded         []thing // protected names
	gits            []thing // every .git
	sockets         []thing // in the workspace
	agents          []thing // state folders of agent CLIs that are this account's own directories
	closed          []thing // in those, what stays read-only
	private         []thing // in those, what a session has for itself
	settings        []thing // settings files of which it gets a copy
	logins          []thing // the CLIs' own log-ins
	config          []string
	listening       []string // unix sockets with a name that a process without power can get to
	resolver        string   // where /etc/resolv.conf leads
	env             []string
	found           map[string]bool // every path above
}

// asked are the names that go into the script.
func asked(bwrap, dir string, write []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "bwrap=%s\n", quote(bwrap))
	set := func(name string, words []string) { fmt.Fprintf(&b, "%s() { each %s; }\n", name, quoteAll(words)) }
	fmt.Fprintf(&b, "dir=%s\n", quote(dir))
	set("writes", write)
	set("stores", places.Stores)
	set("secrets", places.Secrets)
	set("names", jail.ProtectedNames())
	set("gitnames", jail.GitNames())
	b.WriteString("folders() {\n")
	for _, f := range jail.AgentFolders() {
		fmt.Fprintf(&b, "folder %s\n", quote(f.Folder))
		for _, names := range []struct {
			letter string
			names  []string
		}{{"c", f.Closed}, {"p", f.Private}, {"t", f.Files}, {"k", f.Secrets}} {
			fmt.Fprintf(&b, "within %s %s\n", names.letter, quoteAll(names.names))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// parse reads what a script answered: records that end with a zero byte, each a
// letter for what it is and a value.
func (f *facts) parse(text string) error {
	if f.found == nil {
		f.found = map[string]bool{}
	}
	records := strings.Split(text, "\x00")
	for _, record := range records {
		if why, ok := strings.CutPrefix(record, "!"); ok {
			return errors.New(why)
		}
	}
	one := map[byte]*string{'U': &f.uid, 'S': &f.system, 'M': &f.machine, 'H': &f.home, 'D': &f.dir, 'B': &f.bwrap, 'R': &f.resolver}
	many := map[byte]*[]thing{'m': &f.stores, 'x': &f.secrets, 'n': &f.guarded, 'g': &f.gits, 'o': &f.sockets, 'a': &f.agents, 'c': &f.closed, 'p': &f.private, 't': &f.settings, 'k': &f.logins}
	for _, record := range records {
		if record == "" {
			continue
		}
		key, value := record[0], record[1:]
		switch {
		case one[key] != nil:
			*one[key] = value
		case many[key] != nil && len(value) > 1 && strings.IndexByte("dfsl", value[0]) >= 0 && clean(value[1:]):
			*many[key] = append(*many[key], thing{value[0], value[1:]})
			f.found[value[1:]] = true
		case many[key] != nil:
			return fmt.Errorf("%q is not a path that a boundary can be laid over", value)
		case key == 'w':
			f.write = append(f.write, value)
		case key == 'G':
			f.config = append(f.config, value)
		case key == 'u':
			f.listening = append(f.listening, value)
		case key == 'E':
			f.env = append(f.env, value)
		case key == 'X':
			f.setid = true
		default:
			return fmt.Errorf("the other machine answered %.40q", record)
		}
	}
	return nil
}

// checkPlace refuses a place on which no boundary can be laid.
func (f *facts) checkPlace() error {
	for name, p := range map[string]string{"home directory": f.home, "directory": f.dir} {
		if !clean(p) {
			return fmt.Errorf("the %s there is %q, which no boundary can be laid over", name, p)
		}
	}
	if _, err := f.checkMachine(); err != nil {
		return err
	}
	_, err := sizes(f.bwrap)
	return err
}

// clean accepts an absolute path in its shortest form without control
// characters, of at most 4096 bytes.
func clean(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && len(p) <= 4096 && strings.IndexFunc(p, func(r rune) bool { return r < 0x20 || r == 0x7f }) < 0
}
