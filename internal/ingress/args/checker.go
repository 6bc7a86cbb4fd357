package args

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reeve-gate/reeve/internal/tool"
)

// maxSchemas bounds how many schemas of tools outside the registry are kept.
const maxSchemas = 1000

// Checker holds arguments to the schema of their tool. A schema is compiled
// once. It is safe for concurrent use.
type Checker struct {
	mu       sync.RWMutex
	compiled map[string]compiled // by the schema's text
}

// compiled is a schema twice: as the library has it, which decides, and as a
// list of plain properties, which can only say yes (see plain.go).
type compiled struct {
	full  *jsonschema.Resolved
	plain *plain // nil where the schema is not plain
}

// NewChecker compiles the schema of every tool of a registry. A schema that
// does not compile is an error that names its tool.
func NewChecker(reg *tool.Registry) (*Checker, error) {
	c := &Checker{compiled: map[string]compiled{}}
	for _, t := range reg.All() {
		if _, err := c.schema(t.Spec().Schema); err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Spec().Name, err)
		}
	}
	return c, nil
}

// Check reads raw and holds it to the schema of t, which may be a tool that
// is not in the registry.
func (c *Checker) Check(t tool.Tool, raw []byte) error {
	s, err := c.schema(t.Spec().Schema)
	if err != nil {
		return fmt.Errorf("tool %s: %w", t.Spec().Name, err)
	}
	if s.plain != nil && s.plain.holds(raw) {
		return nil
	}
	v, err := Decode(raw)
	if err != nil {
		return err
	}
	if err := s.full.Validate(v); err != nil {
		return mismatch(err, raw)
	}
	return nil
}

func (c *Checker) schema(text string) (compiled, error) {
	c.mu.RLock()
	s := c.compiled[text]
	c.mu.RUnlock()
	if s.full != nil {
		return s, nil
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return s, fmt.Errorf("read its schema: %w", err)
	}
	// No schema is fetched: a reference outside the text is an error here.
	full, err := parsed.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return s, fmt.Errorf("compile its schema: %w", err)
	}
	s = compiled{full, plainOf(text)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.compiled) >= maxSchemas {
		clear(c.compiled)
	}
	c.compiled[text] = s
	return s, nil
}
