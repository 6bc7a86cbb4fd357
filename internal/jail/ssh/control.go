package ssh

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// maxAnswer bounds what the other machine may answer to one script, in bytes.
const maxAnswer = 8 << 20

// control is the connection that stays beside the run. It is used by one
// caller at a time.
type control struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	read *bufio.Reader
	log  string // where ssh writes what went wrong
	done chan struct{}

	mu   sync.Mutex // one script at a time
	dead error
}

// ask sends a script and returns the records it says, up to its end mark. The
// error tells why there is none: the connection ended, or took too long.
func (c *control) ask(script string, patience time.Duration) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return "", c.dead
	}
	c.out.SetReadDeadline(time.Now().Add(patience))
	mark := "Z" + rand.Text() // nothing else there can say it
	sent := make(chan error, 1)
	go func() { _, err := io.WriteString(c.in, script+"\nsay '"+mark+"'\n"); sent <- err }()
	var b strings.Builder
	for {
		record, err := c.read.ReadString(0)
		if strings.HasSuffix(record, mark+"\x00") {
			if err := <-sent; err != nil {
				return "", c.fail(err)
			}
			b.WriteString(strings.TrimSuffix(record, mark+"\x00"))
			return b.String(), nil
		}
		b.WriteString(record)
		switch {
		case b.Len() > maxAnswer:
			return "", c.fail(fmt.Errorf("the other machine answers with more than %d bytes", maxAnswer))
		case errors.Is(err, os.ErrDeadlineExceeded):
			return "", c.fail(fmt.Errorf("no answer within %s", patience))
		case err != nil: // it ended: what it said may tell why
			return b.String(), c.fail(c.why())
		}
	}
}

// fail keeps the reason: after it nothing more is asked.
func (c *control) fail(err error) error {
	c.dead = err
	c.cmd.Process.Kill()
	return err
}

// why is what ssh said of the connection's end.
func (c *control) why() error { return errors.New(said(c.log, "the connection ended")) }

// said is the last line of ssh's own log, or else.
func said(log, otherwise string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return otherwise
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) != "" {
			return strings.TrimSpace(lines[i])
		}
	}
	return otherwise
}

// tell sends a script whose answer nobody waits for.
func (c *control) tell(script string) {
	_, _ = c.ask(script, 10*time.Second)
}

// close ends the connection: the script there ends what is left of the run and
// removes its directory. It is waited for, and killed where it takes too long.
func (c *control) close(patience time.Duration) {
	c.in.Close()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		c.cmd.Process.Kill()
		<-c.done
	}
	c.out.Close()
}
