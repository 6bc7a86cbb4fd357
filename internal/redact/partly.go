package redact

// partly reads the value at j, of which step says how many bytes at a place go
// on with it, and reports whether a mark, a known value or a token is only a
// part of one of its words, which are kept apart by blanks. Whoever writes
// such a word by a secret's name has put a secret beside what is hidden, so
// that the value is masked whole: a mark that somebody wrote hides nothing
// that follows it.
func (s *scan) partly(j int, step func(int) int) (end int, yes bool) {
	of, known := s.of, s.known
	defer func() { s.of, s.known = of, known }()
	hidden, beside := false, false
	for j < s.hi {
		if to := s.hidden(j); to > 0 {
			hidden, j = true, to
			continue
		}
		n := step(j)
		if n == 0 {
			break
		}
		switch c := s.buf[j]; {
		case c == ' ' || c == '\t':
			yes = yes || hidden && beside
			hidden, beside = false, false
		case classOf[c]&alnum != 0:
			beside = true
		}
		j += n
	}
	if j >= s.hi {
		s.short = true
	}
	return min(j, s.hi), yes || hidden && beside
}

// ofClass steps through a class of characters.
func (s *scan) ofClass(cl class) func(int) int {
	return func(j int) int {
		if classOf[s.buf[j]]&cl == 0 {
			return 0
		}
		return 1
	}
}

// partlyIn is partly for a value whose end is known.
func (s *scan) partlyIn(from, to int) bool {
	_, yes := s.partly(from, func(j int) int {
		if j >= to {
			return 0
		}
		return 1
	})
	return yes
}

// hidden is where the mark, the known value or the token at j ends; 0 = there
// is none.
func (s *scan) hidden(j int) int {
	if s.buf[j] == '[' {
		if n := s.markAt(j); n > 0 {
			return j + n
		}
	}
	if s.held.Start[s.buf[j]] == 0 {
		return 0
	}
	end, _ := s.starts(j)
	return end
}
