package table

import "strings"

// NumberVars are set by bash itself, to numbers.
var NumberVars = map[string]bool{
	"RANDOM": true, "SRANDOM": true, "SECONDS": true, "LINENO": true, "UID": true, "EUID": true, "PPID": true, "BASHPID": true, "EPOCHSECONDS": true, "OPTIND": true, "BASH_SUBSHELL": true,
}

// Digits reports whether a text is a whole number.
func Digits(s string) bool {
	s = strings.TrimPrefix(s, "-")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// CountsOnly reports whether a command, its program first, prints one number
// with these words; the program also may print several.
func CountsOnly(words []string, also string) bool {
	name, rest := words[0], words[1:]
	switch name {
	case "nproc":
		return len(rest) == 0
	case "date":
		return len(rest) == 1 && (rest[0] == "+%s" || rest[0] == "+%Y" || rest[0] == "+%s%N")
	case "wc":
		return len(rest) == 1 && (rest[0] == "-l" || rest[0] == "-c" || rest[0] == "-w")
	case "seq":
		for _, w := range rest {
			if !Digits(w) {
				return false
			}
		}
		return also == name
	}
	return false
}
