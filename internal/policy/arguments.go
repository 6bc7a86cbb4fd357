package policy

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/policy/rule"
)

// argument adds the finding of the first deny or ask rule on the tool's own
// name whose pattern speaks of the call's arguments.
func (j *judge) argument(v reeve.Verdict, subject string, column reeve.Column) bool {
	r := j.find(j.set.lists[v].calls, subject, func(r *rule.Rule) bool {
		return !r.All && r.Names(j.in.Tool) && argumentMatches(r, j.in.Args)
	})
	if r == nil {
		return false
	}
	j.add(j.by(r, subject, column))
	return true
}

// argumentMatches reports whether KEY of KEY:TEXT, or any text at all, matches.
// Arguments that are no JSON match: what cannot be read is not passed over.
func argumentMatches(r *rule.Rule, args []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(args))
	key, depth, isKey := "", 0, false
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return depth > 0 || len(bytes.TrimSpace(args)) > 0 && dec.InputOffset() == 0
		}
		switch tok.Kind() {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return false
			}
		case '"', '0', 't', 'f':
			kind, n := dec.StackIndex(dec.StackDepth())
			isKey = kind == '{' && n%2 == 1
			s := tok.String()
			switch {
			case isKey && dec.StackDepth() == 1:
				key = s
			case isKey:
			case r.Arg != "" && (key != r.Arg || !r.Value.Match(s)):
			case r.Arg == "" && !r.Value.Match(s):
			default:
				return true
			}
		}
	}
}
