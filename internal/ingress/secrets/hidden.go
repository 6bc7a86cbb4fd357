package secrets

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/reeve-gate/reeve/internal/vault/ref"
)

// maxLine bounds what is typed, in bytes.
const maxLine = 64 << 10

// Hidden asks at a terminal and reads a line that is not shown. The echo is off
// before the question stands there, so that a quick answer is not shown either.
func Hidden(tty *os.File, prompt string) ([]byte, error) {
	was, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return nil, fmt.Errorf("turn the terminal's echo off: %w", err)
	}
	defer term.Restore(int(tty.Fd()), was)
	if _, err := io.WriteString(tty, prompt); err != nil {
		return nil, fmt.Errorf("ask at the terminal: %w", err)
	}
	line, err := typed(tty)
	io.WriteString(tty, "\r\n")
	return line, err
}

// typed reads up to the end of a line, with the keys of a terminal: rubout takes
// the last byte of a letter back, ^U everything, ^C and ^D end it.
func typed(from io.Reader) ([]byte, error) {
	line := make([]byte, 0, maxLine) // one piece: growing would leave copies
	key := make([]byte, 1)
	for {
		if _, err := from.Read(key); err != nil {
			ref.Wipe(line)
			return nil, fmt.Errorf("read the terminal: %w", err)
		}
		switch c := key[0]; {
		case c == '\r', c == '\n':
			return line, nil
		case c == 0x03, c == 0x04:
			ref.Wipe(line)
			return nil, errors.New("nothing was typed; nothing was changed")
		case c == 0x15:
			line = line[:0]
		case c == 0x7f, c == 0x08:
			for len(line) > 0 {
				last := line[len(line)-1]
				if line = line[:len(line)-1]; last < 0x80 || last >= 0xc0 {
					break
				}
			}
		case len(line) == maxLine:
			ref.Wipe(line)
			return nil, fmt.Errorf("more than %d bytes were typed; nothing was changed", maxLine)
		default:
			line = append(line, c)
		}
	}
}
