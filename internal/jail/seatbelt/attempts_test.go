//go:build linux

package seatbelt

import (
	"slices"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail/jailtest"
)

// likeOnLinux says, for each attempt of the suite that the walls of Linux
// must pass, what it is on a Mac: the acts of which one at least must be
// refused in the profiles agent and strict, both without a network. An attempt
// that has no meaning there says why.
var likeOnLinux = func() map[string]like {
	outside, state := home+"/outside", home+"/.local/state/reeve"
	f := func(op string, paths ...string) (acts []act) {
		for _, p := range paths {
			acts = append(acts, act{op: op, path: p})
		}
		return acts
	}
	move := func(from, to string) []act {
		return slices.Concat(f("file-write-unlink", from), f("file-write-create", to))
	}
	m := map[string]like{
		"write out: create a file":                    {acts: f("file-write-create", outside+"/new")},
		"write out: truncate by path":                 {acts: f("file-write-data", outside+"/victim")},
		"write out: append":                           {acts: f("file-write-data", outside+"/victim")},
		"write out: move a file there":                {acts: f("file-write-create", outside+"/tool")},
		"write out: make a directory":                 {acts: f("file-write-create", outside+"/dir")},
		"write out: remove a file":                    {acts: f("file-write-unlink", outside+"/victim")},
		"write out: change a mode":                    {acts: f("file-write-mode", outside+"/victim")},
		"write out: change an owner":                  {acts: f("file-write-owner", outside+"/victim")},
		"write out: change the times":                 {acts: f("file-write-times", outside+"/victim")},
		"write out: set an attribute":                 {acts: f("file-write-xattr", outside+"/victim")},
		"write out: make a symbolic link":             {acts: f("file-write-create", outside+"/sym")},
		"write out: make a pipe":                      {acts: f("file-write-create", outside+"/fifo")},
		"write out: from a handle of a directory":     {acts: f("file-write-data", outside+"/victim")},
		"metadata: plant a hook":                      {acts: f("file-write-create", ws+"/.git/hooks/pre-commit")},
		"metadata: change a hook":                     {acts: f("file-write-data", ws+"/.git/hooks/post-commit")},
		"metadata: change the configuration":          {acts: f("file-write-data", ws+"/.git/config")},
		"metadata: change an editor's tasks":          {acts: f("file-write-data", ws+"/.vscode/tasks.json")},
		"metadata: add to an editor's settings":       {acts: f("file-write-create", ws+"/.vscode/settings.json")},
		"metadata: change the list of servers":        {acts: f("file-write-data", ws+"/.mcp.json")},
		"metadata: change a directory's shell start":  {acts: f("file-write-data", ws+"/.envrc")},
		"metadata: change an agent's settings":        {acts: f("file-write-data", home+"/.claude/settings.json")},
		"metadata: change an agent's gate":            {acts: f("file-write-data", home+"/.claude/hooks/gate.sh")},
		"metadata: add an agent's command":            {acts: f("file-write-create", home+"/.claude/commands/y.md")},
		"metadata: change another agent's settings":   {acts: f("file-write-data", home+"/.codex/config.toml")},
		"metadata: move .git away":                    {acts: move(ws+"/.git", ws+"/g")},
		"metadata: move the hooks away":               {acts: move(ws+"/.git/hooks", ws+"/.git/h")},
		"metadata: move an editor's folder away":      {acts: move(ws+"/.vscode", ws+"/v")},
		"metadata: move the agent's folder away":      {acts: move(home+"/.claude", home+"/c")},
		"metadata: put a file over the configuration": {acts: f("file-write-create", ws+"/.git/config")},
		"metadata: remove the configuration":          {acts: f("file-write-unlink", ws+"/.git/config")},
		"metadata: make a hook runnable":              {acts: f("file-write-mode", ws+"/.git/hooks/post-commit")},
		"metadata: write an object":                   {acts: f("file-write-create", ws+"/.git/objects/x"), only: "strict"},

		"metadata: change a nested repository's configuration": {acts: f("file-write-data", ws+"/sub/.git/config")},
		"metadata: plant a hook in a nested repository":        {acts: f("file-write-create", ws+"/sub/.git/hooks/post-merge")},
		"metadata: move a nested repository's parent away":     {acts: move(ws+"/sub", ws+"/s")},
		"metadata: exchange .git for another directory":        {acts: f("file-write-unlink", ws+"/.git")},
		"write out: through the root of proc":                  {none: "there is no /proc"},
		"write out: through the directory of proc":             {none: "there is no /proc"},
		"write out: reopen a handle for writing":               {acts: f("file-write-data", outside+"/victim")},
		"write out: a file without a name":                     {none: "the system makes none"},
		"write out: by a file handle":                          {none: "fhopen is root's alone, and the file it opens is judged by its path: " + outside},
		"credential: read Reeve's state":                       {acts: f("file-read-data", state+"/secret")},
		"credential: by another name of the file":              {acts: f("file-read-data", ws+"/deep/alias-of-netrc")},
		"credential: through a symbolic link":                  {acts: f("file-read-data", home+"/.netrc")}, // the kernel asks with the file's own path
		"credential: through the root of proc":                 {none: "there is no /proc"},
		"credential: from a handle of the home directory":      {acts: f("file-read-data", home+"/.ssh/id")},
		"credential: move what hides it":                       {acts: move(home+"/.ssh", home+"/ssh")},
		"credential: write where it is hidden":                 {acts: f("file-write-create", home+"/.ssh/authorized_keys")},
		"credential: open up the empty file":                   {acts: f("file-write-mode", home+"/.netrc")},
		"link: a hard link to a file outside":                  {acts: f("file-link", ws+"/a1", outside+"/victim")},
		"link: a hard link to a hook":                          {acts: f("file-link", ws+"/a2", ws+"/.git/hooks/post-commit")},
		"link: a hard link to a credential":                    {acts: f("file-link", ws+"/a3", home+"/.netrc")},
		"link: a hard link into the hooks":                     {acts: f("file-link", ws+"/.git/hooks/pre-rebase", ws+"/tool")},
		"unix socket: connect by path":                         {acts: f("network-outbound", home+"/sock/stream", ws+"/deep/sock", "/private/var/run/docker.sock", home+"/.docker/run/docker.sock"), all: true},
		"unix socket: send by path":                            {acts: f("network-outbound", home+"/sock/datagram")},
		"unix socket: send without connecting":                 {acts: f("network-outbound", home+"/sock/datagram")},
		"unix socket: connect to an abstract name":             {none: "an invention of Linux"},
		"unix socket: through a symbolic link":                 {acts: f("network-outbound", home+"/sock/stream")},
		"unix socket: through the root of proc":                {none: "there is no /proc"},
		"unix socket: through a handle":                        {none: "there is no /proc"},
		"unix socket: by a relative path":                      {acts: f("network-outbound", home+"/sock/stream")},
		"unix socket: point half of a pair at it":              {acts: f("network-outbound", home+"/sock/datagram")},
		"unix socket: point half of a raw pair at it":          {acts: f("network-outbound", home+"/sock/datagram")},
		"process: signal one outside":                          {acts: []act{{op: "signal", target: "others"}}},
		"process: signal a thread outside":                     {acts: []act{{op: "signal", target: "others"}}},
		"process: read the environment of one outside":         {acts: []act{{op: "sysctl-read", name: "kern.procargs2"}}},
		"privilege: a program that runs as its owner":          {acts: f("file-write-setugid", ws+"/tool")},
		"privilege: the same from a handle":                    {acts: f("file-write-setugid", ws+"/tool")},
		"privilege: the same at birth":                         {acts: f("file-write-setugid", ws+"/born")},
		"privilege: the same by the newest call":               {acts: f("file-write-setugid", ws+"/newborn")},
		"privilege: change the kernel's settings":              {none: "needs root and a rule for sysctl-write, of which there is none"},
		"listener: without an address":                         {none: "a listener is known by its address here: the others"},
		"listener: abstract":                                   {none: "an invention of Linux"},
		"listener: unix sequenced packets":                     {none: "the system has none"},
		"network: a raw socket":                                {none: "root's alone, and no rule allows another family than those listed"},
		"network: see the machine's interfaces":                {none: "interfaces are read from the routing table, which names no secret; left open"},
		"network: see the machine's connections":               {acts: []act{{op: "sysctl-read", name: "net.inet.tcp.pcblist64"}}},
		"network: connect by the mapped address":               {acts: []act{{op: "network-outbound", ip: "127.0.0.1:7"}}},
		"network: connect":                                     {acts: []act{{op: "network-outbound", ip: "127.0.0.1:7"}, {op: "network-outbound", ip: "203.0.113.7:443"}}, all: true},
		"network: connect by IPv6":                             {acts: []act{{op: "network-outbound", ip: "203.0.113.7:443"}}},
		"network: send a datagram":                             {acts: []act{{op: "network-outbound", ip: "127.0.0.1:53"}}},
		"network: connect while sending":                       {acts: []act{{op: "network-outbound", ip: "127.0.0.1:7"}}},
		"network: a routing socket":                            {acts: []act{{op: "system-socket", name: "AF_ROUTE"}}},
		"network: a packet socket":                             {none: "Linux's own family"},
		"listener: tcp":                                        {acts: []act{{op: "network-bind", ip: "127.0.0.1:8080"}}},
		"listener: tcp on every address":                       {acts: []act{{op: "network-bind", ip: "0.0.0.0:8080"}}},
		"listener: tcp by IPv6":                                {acts: []act{{op: "network-bind", ip: "0.0.0.0:8080"}}},
		"listener: udp":                                        {acts: []act{{op: "network-bind", ip: "127.0.0.1:8080"}}},
		"listener: udp by IPv6":                                {acts: []act{{op: "network-bind", ip: "0.0.0.0:8080"}}},
		"listener: unix":                                       {acts: f("network-bind", ws+"/l1"), only: "strict"},
		"listener: unix packets":                               {acts: f("network-bind", ws+"/l2"), only: "strict"},
		"link: exchange a name inside for one outside":         {acts: f("file-write-unlink", outside+"/victim")},
	}
	for _, name := range []string{".netrc", ".npmrc", ".git-credentials", ".cargo/credentials.toml", ".ssh/id", ".aws/credentials", ".docker/config.json", ".kube/config", ".gnupg/private-keys-v1.d/k.key",
		".config/gh/hosts.yml", ".config/gcloud/application_default_credentials.json"} {
		m["credential: read "+name] = like{acts: f("file-read-data", home+"/"+name)}
	}
	return m
}()

type like struct {
	acts []act
	all  bool   // each of them must be refused
	only string // the profile it must fail in; empty = both
	none string // why there is nothing to try
}

// TestTheAttemptsOfTheSuiteAreRefused goes through the attempts of the suite:
// each file attempt must have its like here, so that a new one is not missed.
func TestTheAttemptsOfTheSuiteAreRefused(t *testing.T) {
	profiles := map[string]*policy{}
	for _, name := range []string{"agent", "strict"} {
		plan := plans()[map[string]string{"agent": "agent-none", "strict": "strict"}[name]]
		_, profiles[name] = written(t, plan)
	}
	tried := map[string]bool{}
	for _, a := range jailtest.Attempts() {
		l, known := likeOnLinux[a.Name]
		tried[a.Name] = true
		class, _, _ := strings.Cut(a.Name, ": ")
		switch {
		case known:
		case class == "link": // each of the others writes through a symbolic link: judged by where it leads
			l = like{acts: []act{{op: "file-write-data", path: home + "/outside/victim"}, {op: "file-write-create", path: home + "/outside/made"}}, all: true}
		case slices.Contains([]string{"process", "privilege", "environment"}, class), strings.HasPrefix(a.Name, "network: a socket of family"):
			continue // system calls of Linux, and the environment, which is the plan's
		default:
			t.Errorf("attempt %q has no like on a Mac", a.Name)
			continue
		}
		if l.none != "" {
			continue
		}
		for name, pol := range profiles {
			if l.only != "" && l.only != name {
				continue
			}
			refused := 0
			for _, a := range l.acts {
				if !pol.allows(a) {
					refused++
				}
			}
			if refused == 0 || l.all && refused < len(l.acts) {
				t.Errorf("%s: %s: %d of %d acts are refused", name, a.Name, refused, len(l.acts))
			}
		}
	}
	for name := range likeOnLinux {
		if !tried[name] {
			t.Errorf("%q is no attempt of the suite", name)
		}
	}
}
