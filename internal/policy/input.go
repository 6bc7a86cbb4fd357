package policy

import (
	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Input is everything the judge looks at: a tool call turned into effects,
// and facts that the kernel looked up. The judge knows neither clock, disk
// nor network.
type Input struct {
	Tool   string // canonical name, lower-case
	Class  tool.Class
	Source string
	Tier   reeve.Tier
	Args   []byte // for rules on tools that have neither path nor command

	Effects []reeve.Effect
	Facts   Facts
}

// Facts are values about the session and the world.
type Facts struct {
	Workspace, Home, Dir string
	Mode                 reeve.Mode
	Sandbox              reeve.Sandbox
	Interactive          bool // somebody can answer a question
	Actor                reeve.Actor
	Origin               reeve.Origin
	FoldCase             bool   // the file system folds case
	RepoRuns             string // a key in the repository's configuration that starts a program; empty = none
	Catalog              reeve.Catalog
	HookAsk              string // reason of a hook that wants a question; empty = none
}
