package rule

import (
	"strings"

	"github.com/reeve-gate/reeve/internal/policy/tree"
)

// AllowHosts is a layer that allows hosts, each as HOST or HOST:PORT. from is
// where its rules are said to stand, why is their reason.
func AllowHosts(name, from, why string, hosts []string) (*Layer, error) {
	var b strings.Builder
	b.WriteString("allow = [\n")
	for _, host := range hosts {
		b.WriteString("{ rule = " + tree.Quote("web(domain:"+host+")") + ", reason = " + tree.Quote(why) + " },\n")
	}
	b.WriteString("]\n")
	l, err := Parse(name, from, []byte(b.String()))
	if err != nil {
		return nil, err
	}
	for _, r := range l.Rules {
		r.At = from
	}
	return l, nil
}
