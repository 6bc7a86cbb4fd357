package redact

// partly reads the value at j, of which step says how many bytes at a place go
// on with it, and reports whether a mark, a known value or a token is only a
// part of it: it begins with one and goes on, or has one right behind a letter
// or a digit. Whoever writes that by a secret's name has put a secret beside
// what is hidden, so that the value is masked whole: a mark that somebody wrote
// hides nothing that follows it. blanks says that the value may have some.
//
// What another rule masks inside of the value is never that: an operator or a
// blank stands before it.
func (s *scan) partly(j int, blanks bool, step func(int) int) (end int, yes bool) {
	of, known := s.of, s.known
	defer func() { s.of, s.known = of, known }()
	from, first := j, false // whether it begins with what is hidden, and no blank came since
	for j < s.Hi {
		if to := s.hidden(j); to > 0 {
			first = first || j == from
			yes = yes || j > from && s.wordy(j-1)
			j = to
			continue
		}
		n := step(j)
		if n == 0 {
			break
		}
		if c := s.Buf[j]; !blanks && (c == ' ' || c == '\t') {
			first = false
		}
		yes = yes || first && s.wordy(j)
		j += n
	}
	if j >= s.Hi {
		s.Short = true
	}
	return min(j, s.Hi), yes
}

func (s *scan) wordy(j int) bool { return classOf[s.Buf[j]]&alnum != 0 || s.Buf[j] == '_' }

// ofClass steps through a class of characters.
func (s *scan) ofClass(cl class) func(int) int {
	return func(j int) int {
		if classOf[s.Buf[j]]&cl == 0 {
			return 0
		}
		return 1
	}
}

// partlyIn is partly for a value whose end is known.
func (s *scan) partlyIn(from, to int) bool {
	_, yes := s.partly(from, false, func(j int) int {
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
	if s.Buf[j] == '[' {
		if n := s.markAt(j); n > 0 {
			return j + n
		}
	}
	if s.held.Start[s.Buf[j]] == 0 {
		return 0
	}
	if s.Buf[j] == '-' {
		if sp, ok := s.pem(j); ok {
			return sp.cover
		}
	}
	end, _ := s.starts(j)
	return end
}
