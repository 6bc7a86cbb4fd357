package methods

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The methods of the two versions, by their published schemas
// (modelcontextprotocol/modelcontextprotocol, schema/VERSION/schema.ts).
const (
	clientRequests = `
completion/complete       legacy modern
initialize                legacy
logging/setLevel          legacy
ping                      legacy
prompts/get               legacy modern
prompts/list              legacy modern
resources/list            legacy modern
resources/read            legacy modern
resources/subscribe       legacy
resources/templates/list  legacy modern
resources/unsubscribe     legacy
server/discover           modern
subscriptions/listen      modern
tasks/cancel              legacy
tasks/get                 legacy
tasks/list                legacy
tasks/result              legacy
tools/call                legacy modern
tools/list                legacy modern
`
	clientNotifications = `
notifications/cancelled           legacy modern
notifications/initialized         legacy
notifications/progress            legacy
notifications/roots/list_changed  legacy
notifications/tasks/status        legacy
`
	serverRequests = `
elicitation/create      legacy modern
ping                    legacy
roots/list              legacy modern
sampling/createMessage  legacy modern
tasks/cancel            legacy
tasks/get               legacy
tasks/list              legacy
tasks/result            legacy
`
	serverNotifications = `
notifications/cancelled                   legacy modern
notifications/elicitation/complete        legacy
notifications/message                     legacy modern
notifications/progress                    legacy modern
notifications/prompts/list_changed        legacy modern
notifications/resources/list_changed      legacy modern
notifications/resources/updated           legacy modern
notifications/subscriptions/acknowledged  modern
notifications/tasks/status                legacy
notifications/tools/list_changed          legacy modern
`
)

// TestEveryMethodOfBothVersionsHasItsDecision: none is missing, none is more,
// and each says what becomes of it.
func TestEveryMethodOfBothVersionsHasItsDecision(t *testing.T) {
	for name, c := range map[string]struct {
		spec  string
		table map[string]Rule
	}{
		"requests of clients":      {clientRequests, Requests},
		"notifications of clients": {clientNotifications, Notices},
		"requests of servers":      {serverRequests, Asks},
		"notifications of servers": {serverNotifications, Told},
	} {
		want := map[string]Eras{}
		for line := range strings.Lines(c.spec) {
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			for _, w := range words[1:] {
				want[words[0]] |= map[string]Eras{"legacy": Legacy, "modern": Modern}[w]
			}
		}
		got := map[string]Eras{}
		for method, r := range c.table {
			got[method] = r.Eras
			if method == "server/discover" { // also the question of a client that does not know yet
				got[method] = Modern
			}
			if len(r.How) < 10 {
				t.Errorf("%s: %s says %q", name, method, r.How)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the table has %q, the versions %q", name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}
