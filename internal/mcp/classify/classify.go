package classify

import (
	"fmt"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// Class is what a tool is. The zero Class is Unknown, which asks.
type Class uint8

const (
	Unknown     Class = iota
	Denied            // never runs
	Destructive       // what it removes may not come back: asks, with a warning
	Write             // changes something
	Read              // changes nothing
)

var classNames = [...]string{"unknown", "denied", "destructive", "write", "read"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[Unknown]
}

// Parse reads the name of a class that a person may give a tool: all but
// unknown.
func Parse(s string) (Class, error) {
	for c := Denied; c <= Read; c++ {
		if classNames[c] == s {
			return c, nil
		}
	}
	return Unknown, fmt.Errorf("%w: %q is no class of a tool; it is read, write, destructive or denied", reeve.ErrUsage, s)
}

// Tier is the class as policy and record have it: what is not known is a
// write.
func (c Class) Tier() reeve.Tier {
	switch c {
	case Read:
		return reeve.TierRead
	case Destructive:
		return reeve.TierDestructive
	case Denied:
		return reeve.TierDenied
	}
	return reeve.TierWrite
}

// Tool is what is known of a tool when it is to be classed.
type Tool struct {
	Server string // as the person calls it
	Name   string // as the server calls it
	Digest string // of its definition, as it is offered now
	Hints  Hints  // as it is offered now

	Known   Identity // which program the server is, where that was verified
	Trusted bool     // a person trusts the server, and this definition is the one that was trusted
	Held    string   // why it is in quarantine; "" = it is not
	Word    *Word    // what a person said of this tool; nil = nothing
}

// Word is what a person said of one tool.
type Word struct {
	Class  Class  `json:"class"`
	Digest string `json:"digest,omitzero"` // of the definition that the person saw; "" = none was there to see
}

// Hints are the annotations that speak of risk, with the difference between
// false and not there.
type Hints struct {
	ReadOnly, Destructive, OpenWorld Hint
}

// Hint is one annotation.
type Hint uint8

const (
	Missing Hint = iota // not there, or no boolean
	No
	Yes
)

// HintsOf reads the hints of a tool's definition as it came.
func HintsOf(definition []byte) Hints {
	def, err := message.Members(definition)
	if err != nil {
		return Hints{}
	}
	notes, err := message.Members(def.Get("annotations"))
	if err != nil {
		return Hints{}
	}
	hint := func(name string) Hint {
		switch string(notes.Get(name)) {
		case "true":
			return Yes
		case "false":
			return No
		}
		return Missing
	}
	return Hints{ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"), OpenWorld: hint("openWorldHint")}
}

// By names what decided a class.
type By string

const (
	ByQuarantine By = "quarantine"
	ByWord       By = "your word"
	ByList       By = "built-in list"
	ByHints      By = "annotations"
	ByName       By = "name"
	ByNothing    By = "nothing known"
)

// Verdict is the class of a tool and why it is that.
type Verdict struct {
	Class Class
	By    By
	Why   string // for people
}

// Of classes a tool.
func Of(t Tool) Verdict {
	if t.Held != "" {
		return Verdict{Denied, ByQuarantine, "it is held until you accept it: " + t.Held}
	}
	if w := t.Word; w != nil {
		switch {
		case w.Digest == t.Digest && w.Digest != "" && w.Class != Unknown:
			return Verdict{w.Class, ByWord, "you said that it is " + w.Class.String()}
		case w.Class == Denied || w.Class == Destructive:
			return Verdict{w.Class, ByWord, "you said that it is " + w.Class.String() + "; its definition has changed since"}
		case w.Digest == "":
			return Verdict{Unknown, ByWord, "you said that it is " + w.Class.String() + " before its definition was seen; reeve mcp trust " + t.Server + " makes that count"}
		}
		return Verdict{Unknown, ByWord, "you said that it is " + w.Class.String() + ", of another definition than it has now"}
	}
	listed, isListed := lists[t.Known][t.Name]
	if isListed {
		if listed == Read && t.Hints.Destructive == Yes {
			return Verdict{Write, ByHints, "the list says that it reads, and the server says that it may destroy"}
		}
		return Verdict{listed, ByList, fmt.Sprintf("listed for %s", t.Known)}
	}
	doing := verbOf(t.Name)
	switch {
	case t.Hints.Destructive == Yes && t.Hints.ReadOnly != Yes:
		return Verdict{Destructive, ByHints, "the server says that it may destroy"}
	case doing.destroys:
		return Verdict{Destructive, ByName, fmt.Sprintf("%q in its name", doing.verb)}
	case t.Hints.ReadOnly != Yes && doing.verb != "":
		return Verdict{Unknown, ByName, fmt.Sprintf("%q in its name; the server does not say that it only reads", doing.verb)}
	case t.Hints.ReadOnly == Missing:
		return Verdict{Unknown, ByNothing, "neither a list nor the server says what it does"}
	case t.Hints.ReadOnly == No:
		return Verdict{Unknown, ByHints, "the server says that it does not only read"}
	case doing.verb != "":
		return Verdict{Unknown, ByName, fmt.Sprintf("the server says that it only reads, against %q in its name", doing.verb)}
	case t.Hints.Destructive == Yes:
		return Verdict{Unknown, ByHints, "the server says that it only reads and that it may destroy"}
	case !t.Trusted:
		return Verdict{Unknown, ByHints, "the server says that it only reads, which counts once you trust it: reeve mcp trust " + t.Server}
	}
	return Verdict{Read, ByHints, "the server, which you trust, says that it only reads"}
}

// MarshalText writes the class by its name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name of a class that a person gave a tool.
func (c *Class) UnmarshalText(text []byte) error {
	var err error
	*c, err = Parse(string(text))
	return err
}
