package policy

import "github.com/reeve-gate/reeve/internal/policy/rule"

// Layer is one policy file or the like, parsed; see package rule for the file.
type Layer = rule.Layer

// The names of the layers.
const (
	LayerBuiltIn = rule.LayerBuiltIn
	LayerManaged = rule.LayerManaged
	LayerUser    = rule.LayerUser
	LayerProject = rule.LayerProject
	LayerSession = rule.LayerSession
	LayerImport  = rule.LayerImport
)

// Parse reads one policy file: TOML, or JSON when file ends in .json or src
// begins with an opening brace. name is one of the Layer names of package
// rule. Errors are of the form FILE:LINE:COLUMN: what is wrong (contract A55).
func Parse(name, file string, src []byte) (*Layer, error) { return rule.Parse(name, file, src) }

// Broken stands for a layer that cannot be read: it allows nothing, and every
// call that no other layer denies is asked, with the reason in the question
// (DESIGN 3a).
func Broken(name, file string, err error) *Layer { return rule.Broken(name, file, err) }
