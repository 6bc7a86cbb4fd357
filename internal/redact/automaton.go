package redact

import "sync"

// automaton finds all of many words in one pass (Aho and Corasick, 1975), as a
// dense table: one row for each state, one column for each byte.
type automaton struct {
	next  [][256]int32
	match [][]int32 // words that end in a state
	words []string
	first [256]bool // bytes that leave the root: the rest of the text is skipped
}

// newAutomaton builds the table. With fold, words are lower-case and match
// without regard to the case of ASCII letters.
func newAutomaton(words []string, fold bool) *automaton {
	a := &automaton{words: words}
	add := func() int32 {
		a.next = append(a.next, [256]int32{})
		a.match = append(a.match, nil)
		return int32(len(a.next) - 1)
	}
	add()
	for i, w := range words {
		at := int32(0)
		for j := range len(w) {
			if a.next[at][w[j]] == 0 {
				n := add()
				a.next[at][w[j]] = n
			}
			at = a.next[at][w[j]]
		}
		a.match[at] = append(a.match[at], int32(i))
	}
	a.link()
	if fold {
		for s := range a.next {
			for c := 'a'; c <= 'z'; c++ {
				a.next[s][c-32] = a.next[s][c]
			}
		}
	}
	for c := range 256 {
		a.first[c] = a.next[0][c] != 0
	}
	return a
}

// link turns the tree into the automaton: where a word ends early, its longest
// suffix that begins another word goes on.
func (a *automaton) link() {
	fail := make([]int32, len(a.next))
	var queue []int32
	for c := range 256 {
		if n := a.next[0][c]; n != 0 {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		a.match[s] = append(a.match[s], a.match[fail[s]]...)
		for c := range 256 {
			n := a.next[s][c]
			if n == 0 {
				a.next[s][c] = a.next[fail[s]][c]
				continue
			}
			fail[n] = a.next[fail[s]][c]
			queue = append(queue, n)
		}
	}
}

// each calls f for every place where a word stands, in the order of their
// ends.
func (a *automaton) each(s string, f func(id, from, to int)) {
	state := int32(0)
	for i := 0; i < len(s); i++ {
		if state == 0 {
			for i < len(s) && !a.first[s[i]] {
				i++
			}
			if i == len(s) {
				return
			}
		}
		state = a.next[state][s[i]]
		for _, id := range a.match[state] {
			f(int(id), i+1-len(a.words[id]), i+1)
		}
	}
}

// in reports whether any word stands in b.
func (a *automaton) in(b []byte) bool {
	state := int32(0)
	for _, c := range b {
		if state = a.next[state][c]; len(a.match[state]) > 0 {
			return true
		}
	}
	return false
}

// suspects is the automaton of everything that makes a JSON value worth
// reading: the leads, the words of names, and the escape that can hide them.
var suspects = sync.OnceValue(func() *automaton {
	words := []string{"key", `\u`, `\/`}
	for _, p := range patterns {
		words = append(words, p.lead)
	}
	for w := range sensitive {
		words = append(words, w)
	}
	return newAutomaton(words, true)
})

// leads is the automaton over the leads of all patterns, built once.
var leads = sync.OnceValue(func() *automaton {
	words := make([]string, len(patterns))
	for i, p := range patterns {
		words[i] = p.lead
	}
	return newAutomaton(words, true)
})
