// Package flow keeps one promise about a whole session: once it has read text
// from an untrusted place and also private data, nothing goes out without a
// person's word (DESIGN 3 step 7, contract Y112).
//
// Text from outside can carry instructions, and a model cannot be relied on to
// tell them from its orders. The combination of the three (untrusted text,
// private data, a way out) is what turns an injection into a leak, so the
// third is asked for when the first two have happened. The package is pure:
// a [Taint] is a value, and it only grows.
package flow

import "github.com/reeve-gate/reeve"

// Taint says what a session has read so far. The zero Taint is a fresh session.
type Taint struct {
	Untrusted bool // text from the network, another program or another machine
	Private   bool // content of files, secrets
}

// Join is the taint of both histories together.
func (t Taint) Join(o Taint) Taint {
	return Taint{t.Untrusted || o.Untrusted, t.Private || o.Private}
}

// From is the taint that a call with these effects leaves behind. A source
// that is neither native nor the person's own agent program brings text from
// outside.
func From(source string, effects []reeve.Effect) Taint {
	t := Taint{Untrusted: outside(source)}
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case reeve.EffectRead:
			t.Private = t.Private || !e.Facts.Marks.Any(reeve.PathDevice|reeve.PathScratch)
		case reeve.EffectReadSecret, reeve.EffectUseSecret:
			t.Private = true
		case reeve.EffectConnect:
			t.Untrusted = t.Untrusted || !own(e)
		case reeve.EffectUnknown:
			t.Private = t.Private || e.Private
		}
	}
	return t
}

// outside reports whether a tool source hands over text made elsewhere:
// "mcp:SERVER", "addon:ID", "skill:NAME".
func outside(source string) bool {
	for _, p := range [...]string{"mcp:", "addon:", "skill:"} {
		if len(source) >= len(p) && source[:len(p)] == p {
			return true
		}
	}
	return false
}

// own reports whether a connection is the agent's to the service that it is
// made of: its answers are the agent's words, and the agent is what is judged.
func own(e *reeve.Effect) bool { return e.Dial != nil && e.Dial.Own }

// Check returns the reason why a call with these effects needs a person's
// word in a session with this taint, or "".
func Check(t Taint, effects []reeve.Effect) string {
	if !t.Untrusted || !t.Private {
		return ""
	}
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case reeve.EffectExternal:
			return "this session has read text from outside and private data, and this would send something out"
		case reeve.EffectConnect:
			return "this session has read text from outside and private data, and this would connect to " + e.Host
		case reeve.EffectUnknown:
			if e.Sends {
				return "this session has read text from outside and private data, and what this is given can leave the machine"
			}
		case reeve.EffectRun:
			if e.Command != nil && e.Command.Marks.Any(reeve.CommandExternal|reeve.CommandLeaves) {
				return "this session has read text from outside and private data, and " + e.Command.Program() + " can send it out"
			}
		}
	}
	return ""
}
