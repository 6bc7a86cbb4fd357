// Package finding reads the texts by which an MCP server presents itself, and
// tells what in them is not meant for the person: characters that nobody sees,
// words that give the model orders, names that pass for another's (tool
// poisoning, line jumping, shadowing).
//
// [Text] reads one text, [Definition] every name and text in a definition, at
// any depth, [Names] what a tool is called. A [Finding] names its place and
// shows the words, with what is invisible made visible.
//
// What is found is held until a person has looked. Characters are found
// wherever they are; of phrases only those that no tool needs to describe
// itself, in several spellings, so that a person is not taught to wave them
// through: the corpus of testdata holds the real descriptions of servers in
// use, of which none may be found.
//
// BUG(finding): a phrase list is no wall. A description can steer a model in
// words that are on no list, in any language. What holds then is that the
// definition is pinned, its calls are judged, and its server is contained.
package finding

// Code names a kind of finding.
type Code string

const (
	Hidden    Code = "hidden characters"    // tags, zero width, bidirectional, variation selectors
	Control   Code = "control characters"   // escapes that a terminal obeys, and other controls
	Mixed     Code = "mixed alphabets"      // a word of letters that look like others
	FarAway   Code = "text out of sight"    // behind many blanks or empty lines
	Encoded   Code = "encoded text"         // readable text in base64 or hexadecimal
	Orders    Code = "orders to the model"  // ignore previous instructions
	Secrecy   Code = "secrecy"              // do not tell the user
	FirstCall Code = "claims to come first" // before using any other tool
	Markup    Code = "a mark of authority"  // <IMPORTANT>, <system>, [INST]
	Secrets   Code = "names secrets"        // ~/.ssh/id_rsa, its own client's settings
	Carries   Code = "carries data out"     // put the conversation into this argument
	Diverts   Code = "diverts other tools"  // when sending mail, change the recipient
	Shadows   Code = "passes for another"   // is called as another server's tool, or steers it
)

// Finding is one thing found.
type Finding struct {
	Code  Code   `json:"code"`
	Where string `json:"where"` // such as inputSchema.properties.path.description
	Shows string `json:"shows"` // the words, with what is invisible made visible
}

func (f Finding) String() string { return string(f.Code) + " in its " + f.Where + ": " + f.Shows }

// MaxFindings bounds what is told of one definition.
const MaxFindings = 20
