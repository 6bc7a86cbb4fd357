package rule

import (
	"fmt"

	"github.com/reeve-gate/reeve"
)

// AllowHosts is a layer that allows hosts, each as HOST or HOST:PORT. from is
// where its rules are said to stand, why is their reason.
func AllowHosts(name, from, why string, hosts []string) (*Layer, error) {
	l := &Layer{Name: name, File: from}
	for _, host := range hosts {
		r, err := Compile(reeve.Allow, "web(domain:"+host+")")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		r.At, r.Reason = from, why
		l.Rules = append(l.Rules, r)
	}
	return l, nil
}
