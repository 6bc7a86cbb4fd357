package jail

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail/environ"
	"github.com/reeve-gate/reeve/internal/jail/services"
)

// AgentHosts are the hosts of the service that the started agent CLI is made
// of, in a profile that knows the agents; none for another program. given are
// those that its variables in env name instead, each as HOST:PORT.
func (p Profile) AgentHosts(argv, env []string) (program string, hosts, given []string) {
	cli := cliOf(argv)
	if cli == nil || !p.AgentState {
		return "", nil, nil
	}
	for _, name := range services.BaseURLs[cli.program] {
		u, err := url.Parse(environ.Lookup(env, name))
		if err != nil || u.Hostname() == "" {
			continue
		}
		port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
		if port != "" {
			given = append(given, strings.TrimSuffix(u.Host, ":"+u.Port())+":"+port)
		}
	}
	return cli.program, slices.Clone(services.OfAgents[cli.program]), given
}
