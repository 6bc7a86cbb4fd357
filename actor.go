package reeve

import (
	"fmt"
	"strings"
)

// Actor names who asks: "user", "agent:NAME", "child:PARENT/NAME",
// "addon:ID", "monitor", "watcher:TASK", "mcp:CLIENT", "hook:CLIENT",
// "remote:DEVICE", "chat:PLATFORM/USER/CHANNEL", "api:CLIENT" or
// "schedule:NAME" (contract Y47, Y48, A35).
type Actor string

// ActorUser is the person at this machine.
const ActorUser Actor = "user"

// actorKinds says for each kind whether a name must follow the colon.
var actorKinds = map[string]bool{
	"user": false, "monitor": false,
	"agent": true, "child": true, "addon": true, "watcher": true, "mcp": true, "hook": true,
	"remote": true, "chat": true, "api": true, "schedule": true,
}

// ParseActor checks the form of s: a known kind, a name where the kind has
// one, at most 200 bytes and no control characters.
func ParseActor(s string) (Actor, error) {
	if len(s) > 200 {
		return "", fmt.Errorf("actor name is longer than 200 bytes")
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
		return "", fmt.Errorf("actor %q holds a control character", s)
	}
	kind, name, named := strings.Cut(s, ":")
	wants, known := actorKinds[kind]
	switch {
	case !known:
		return "", fmt.Errorf("unknown kind of actor %q; known kinds are user, agent, child, addon, monitor, watcher, mcp, hook, remote, chat, api, schedule", kind)
	case wants && name == "":
		return "", fmt.Errorf("actor %q needs a name, as in %s:NAME", s, kind)
	case !wants && named:
		return "", fmt.Errorf("actor %q takes no name", kind)
	}
	return Actor(s), nil
}

// Kind is the part before the colon.
func (a Actor) Kind() string {
	kind, _, _ := strings.Cut(string(a), ":")
	return kind
}

// Channel is the door an invocation came in by; the audit column
// input_channel (contract G28).
type Channel string

const (
	ChannelCLI       Channel = "cli"
	ChannelDesktopUI Channel = "desktop_ui"
	ChannelAPI       Channel = "api"
	ChannelMCP       Channel = "mcp"
	ChannelHook      Channel = "hook"
	ChannelRemote    Channel = "remote"
	ChannelAddon     Channel = "addon"
	ChannelSchedule  Channel = "schedule"
)

// Origin is the authority an invocation carries (contract A36 to A41, A51).
// The zero value is the most governed one.
type Origin uint8

const (
	OriginAgent      Origin = iota // a model asked
	OriginNested                   // a child of a governed call: every step again
	OriginHost                     // a person, or the embedding program, at the top
	OriginHostNested               // built-in orchestration that a host chose
)

var originNames = [...]string{"agent", "nested", "host", "host_nested"}

func (o Origin) String() string { return name(originNames[:], int(o)) }

// Governed reports whether every step of the kernel applies to the origin.
// An origin that is not known is governed.
func (o Origin) Governed() bool { return o != OriginHost && o != OriginHostNested }

// ParseOrigin reads the name of an origin.
func ParseOrigin(s string) (Origin, error) {
	i, err := parse("origin", originNames[:], s)
	return Origin(i), err
}

// name and parse serve the small enumerations of this package.
func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

func parse(what string, names []string, s string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q; it is one of %s", what, s, strings.Join(names, ", "))
}
