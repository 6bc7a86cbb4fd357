package git

import (
	"errors"
	"fmt"
	"strings"
)

// revisions are none, one or two commits, as an argument names them.
type revisions struct {
	from, to string
	dots     string // "", "..", "..."
}

// parseRevisions reads a revision of the arguments: A, A..B or A...B. What
// could be a flag, or name something else than a commit, is refused: a dash
// at the beginning, a colon (REV:PATH is a file, and not only of the
// workspace), blanks, and characters that no name of a commit holds.
func parseRevisions(s string) (revisions, error) {
	if s == "" {
		return revisions{}, nil
	}
	if len(s) > 250 {
		return revisions{}, errors.New("the revision is longer than 250 bytes")
	}
	for _, c := range s {
		if c <= ' ' || c == 0x7f || strings.ContainsRune(`:\?*[`, c) {
			return revisions{}, fmt.Errorf("%q cannot name a commit: %q is not taken; name a branch, a tag or a hash", s, c)
		}
	}
	var r revisions
	for _, dots := range []string{"...", ".."} {
		if from, to, ok := strings.Cut(s, dots); ok {
			r = revisions{from, to, dots}
			break
		}
	}
	if r.dots == "" {
		r.from = s
	}
	for _, side := range []*string{&r.from, &r.to} {
		if *side == "" && r.dots != "" {
			*side = "HEAD"
		}
		if strings.HasPrefix(*side, "-") || strings.HasPrefix(*side, "^") || strings.Contains(*side, "..") || strings.HasPrefix(*side, ".") || strings.HasPrefix(*side, "/") {
			return revisions{}, fmt.Errorf("%q cannot name a commit", *side)
		}
	}
	return r, nil
}

// words are the revisions for git. Each is peeled to a commit, so that the
// hash of a file's content or of a directory names nothing.
func (r revisions) words() []string {
	const commit = "^{commit}"
	switch {
	case r.from == "":
		return nil
	case r.dots == "":
		return []string{r.from + commit}
	}
	return []string{r.from + commit + r.dots + r.to + commit}
}
