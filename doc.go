// Package reeve holds the nouns of Reeve, the one gate through which
// everything an AI agent does on a machine must pass.
//
// An [Actor] asks, over a [Channel] and with the authority of an [Origin],
// for one [Invocation] of a tool. What the invocation would do to the world
// is a list of [Effect] values from a closed set; a shell line becomes one
// [Command] for every program it would start. The kernel answers with a
// [Decision], carries an allowed invocation out inside its boundary, returns
// a [Result] and writes two [Record] values: the intent before the hand
// moves, the outcome after.
//
// The package imports nothing of ours and every other package imports it.
// Zero values are the safe ones: the zero Decision denies, the zero Tier is
// denied, the zero Mode is plan, the zero Origin is agent, the zero Sandbox
// is missing.
package reeve
