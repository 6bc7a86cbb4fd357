// Package ruleset says what a tree may do to files, as rules of Landlock
// (landlock(7)), and puts a thread under them.
//
// A ruleset names the rights that it handles: they are refused unless a rule
// allows them at the place or above it. [Rules.Apply] is for a process that
// goes under them itself; [Layer] is the second layer of a wall that mounts,
// which the first process inside applies after the last mount, since a thread
// under rules for files may not mount any more.
package ruleset
