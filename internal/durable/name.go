package durable

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName bounds a name that [Name] accepts, in bytes.
const MaxName = 128

// Name refuses a string that is not safe as one file name below a directory
// of ours (contract Y101): letters, digits, dot, dash and underscore only, no
// dot at either end, at most [MaxName] bytes, and not what Windows keeps for a
// device, since a state directory may lie on a disk that such a machine reads.
// What it accepts holds no separator and no traversal on any system.
func Name(s string) error {
	switch {
	case s == "":
		return errors.New("name is empty")
	case len(s) > MaxName:
		return fmt.Errorf("name is %d bytes long; at most %d are allowed", len(s), MaxName)
	case s[0] == '.':
		return fmt.Errorf("name %q starts with a dot", s)
	case s[len(s)-1] == '.':
		return fmt.Errorf("name %q ends with a dot", s)
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return fmt.Errorf("name %q holds %q; letters, digits, dot, dash and underscore are allowed", s, c)
		}
	}
	if device(s) {
		return fmt.Errorf("name %q is that of a device on Windows", s)
	}
	return nil
}

// device reports whether Windows opens a device by this name, in any case and
// with any ending (Naming Files, Paths, and Namespaces, learn.microsoft.com).
// Those with other characters than Name allows are not asked about.
func device(s string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(s), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && '0' <= stem[3] && stem[3] <= '9'
}
