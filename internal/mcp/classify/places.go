package classify

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Places says where a call sends the program by an argument of its own: the
// host that a browser is to open, the file. Nothing means: nowhere that is
// known. They come before the class, so that a tool that only reads still asks
// about a host that no rule opens, and is refused what no rule lets be read
// (contract G13, G41: the domain is checked first). An error is a refusal of
// the call.
func Places(t Tool, args []byte) ([]reeve.Effect, error) {
	e, err := destination(t, args)
	if e == nil || err != nil {
		return nil, err
	}
	return []reeve.Effect{*e}, nil
}

// destination is the effect of being sent to an address, or nil where the tool
// takes none or was given none.
func destination(t Tool, args []byte) (*reeve.Effect, error) {
	argument := addresses[t.Known][t.Name]
	if argument == "" || len(args) == 0 {
		return nil, nil
	}
	o, err := message.Members(args)
	if err != nil {
		return nil, fmt.Errorf("%w: the arguments of %s are no object: %w", reeve.ErrUsage, t.Name, err)
	}
	raw := o.Get(argument)
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	text, ok := message.Text(raw)
	if !ok {
		return nil, fmt.Errorf("%w: %s of %s is no text", reeve.ErrUsage, argument, t.Name)
	}
	if text == "" || text == "about:blank" {
		return nil, nil
	}
	e := addressed(text)
	return &e, nil
}

// addressed is the effect of opening an address. What two readers of it could
// take for different hosts is a host that cannot be told, which no rule opens.
func addressed(text string) reeve.Effect {
	unclear := reeve.Effect{Kind: reeve.EffectConnect, Why: "the address cannot be read: " + short(text)}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f || r > 0x7e && r < 0xa1 }) {
		return unclear
	}
	u, err := url.Parse(text)
	if err != nil {
		return unclear
	}
	if u.Scheme == "" && u.Host == "" { // a browser takes a bare name for an address
		if u, err = url.Parse("https://" + text); err != nil {
			return unclear
		}
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
	case "file":
		if u.Host != "" && !strings.EqualFold(u.Host, "localhost") || !strings.HasPrefix(u.Path, "/") {
			return unclear
		}
		return reeve.Effect{Kind: reeve.EffectRead, Path: path.Clean(u.Path)}
	default:
		return unclear
	}
	if u.Hostname() == "" || u.Opaque != "" || u.User != nil {
		return unclear
	}
	port := 443
	if strings.EqualFold(u.Scheme, "http") {
		port = 80
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return unclear
		}
	}
	return reeve.Effect{Kind: reeve.EffectConnect, Host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), Port: port}
}

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}
