package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/api"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// present returns nil where a person at a terminal types word, for what no
// daemon can vouch for: the process descends from no agent, was not left behind
// by one, and sits at a terminal, which its streams are too. What was typed
// ahead does not count.
func present(env *cmdEnv, what, word string) error {
	me := localsock.Peer{UID: os.Getuid(), PID: os.Getpid()}
	if err := new(api.Governed).Person(me, api.Clients()); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := api.Seated(me.PID); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, stream := range []any{env.Stdin, env.Stderr} {
		if f, ok := fileOf(stream); !ok || !term.IsTerminal(int(f.Fd())) {
			return fmt.Errorf("%s: %w: its input and its errors must be the terminal; type it there, without a pipe", what, reeve.ErrPresence)
		}
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%s: %w: open the terminal: %w", what, reeve.ErrPresence, err)
	}
	defer tty.Close()
	if err := flushInput(int(tty.Fd())); err != nil {
		return fmt.Errorf("%s: drop what was typed ahead: %w", what, err)
	}
	fmt.Fprintf(env.Stderr, "Type %s to go on: ", word)
	line, err := bufio.NewReader(tty).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != word {
		return fmt.Errorf("%s: %w: %s was not typed; nothing was changed", what, reeve.ErrPresence, word)
	}
	return nil
}
