package message

import (
	"errors"
	"fmt"
	"strings"
)

// Keys of _meta that belong to one hop (MCP 2026-07-28, general fields).
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
	MetaProgress     = "progressToken"
)

// Reserved reports whether a key of _meta belongs to the protocol, which is so
// where the second label of its prefix is modelcontextprotocol or mcp, and for
// the progress token.
func Reserved(key string) bool {
	if key == MetaProgress {
		return true
	}
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	labels := strings.SplitN(prefix, ".", 3)
	return len(labels) > 1 && (strings.EqualFold(labels[1], "modelcontextprotocol") || strings.EqualFold(labels[1], "mcp"))
}

// Meta reads the _meta of params or a result. The zero Object is none.
func Meta(v []byte) (Object, error) {
	if v == nil {
		return nil, nil
	}
	o, err := Members(v)
	if err != nil {
		return nil, err
	}
	return o.Meta()
}

// Meta reads the member _meta.
func (o Object) Meta() (Object, error) {
	m := o.Get("_meta")
	if m == nil {
		return nil, nil
	}
	meta, err := Members(m)
	if err != nil {
		return nil, fmt.Errorf("_meta: %w", err)
	}
	return meta, nil
}

// Rewrite gives params or a result as they go to the next hop: of _meta the
// keys that belong to the protocol are dropped and own are put in their place;
// every other member, and every other key of _meta, keeps the bytes it had. An
// empty _meta is left out. v may be nil, which is an empty object.
func Rewrite(v []byte, own ...Member) ([]byte, error) {
	var o Object
	if v != nil {
		var err error
		if o, err = Members(v); err != nil {
			return nil, err
		}
	}
	o, err := o.Rewrite(own...)
	if err != nil {
		return nil, err
	}
	return o.Bytes(), nil
}

// Rewrite is [Rewrite] of an object that was read already. It takes o over.
func (o Object) Rewrite(own ...Member) (Object, error) {
	meta, err := o.Meta()
	if err != nil {
		return nil, err
	}
	meta = meta.Without(Reserved)
	for _, m := range own {
		if !Reserved(m.Name) {
			return nil, errors.New("only the protocol's own keys are written anew")
		}
		meta = append(meta, m)
	}
	if len(meta) == 0 {
		return o.Without(func(name string) bool { return name == "_meta" }), nil
	}
	return o.Set(Own("_meta", meta.Bytes())), nil
}
