package cell

import "strings"

// Wrap breaks the lines of a text at blanks, to width runes where it can: not
// within brackets, which hold one thing of a command line. What goes on on a
// further line stands hang blanks further in than the line began.
func Wrap(text string, width, hang int) string {
	var out strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		lead := len(line) - len(strings.TrimLeft(line, " "))
		out.WriteString(line[:lead])
		at, gap := lead, 0
		for _, word := range words(line[lead:]) {
			n := len([]rune(word))
			switch {
			case n == 0: // one blank more
			case at > lead && at+gap+n > width:
				at = lead + hang
				out.WriteString("\n" + strings.Repeat(" ", at) + word)
				at, gap = at+n, 0
			default:
				out.WriteString(strings.Repeat(" ", gap) + word)
				at, gap = at+gap+n, 0
			}
			gap++
		}
	}
	return out.String()
}

// words are the parts of a line between blanks that stand in no bracket.
func words(line string) (all []string) {
	depth, from := 0, 0
	for i := range len(line) {
		switch line[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ' ':
			if depth <= 0 {
				all = append(all, line[from:i])
				from = i + 1
			}
		}
	}
	return append(all, line[from:])
}
