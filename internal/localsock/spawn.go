package localsock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Starting is set in the environment of a daemon. A process that has it never
// starts another one: a program that embeds the client and is not reeve would
// otherwise start itself without end.
const Starting = "REEVE_DAEMON"

// Spawn starts the daemon of this state directory: the program itself with
// args, in its own process session, with no stream of the caller, the root as
// working directory and a small environment, to which pass adds variables by
// name. It returns when the daemon says
// that it serves, or with the reason why not, after limit at the latest.
func Spawn(state string, args, pass []string, getenv func(string) string, limit time.Duration) error {
	if getenv(Starting) != "" {
		return errors.New("this process was started as a daemon; it starts no other")
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the reeve program: %w", err)
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	log, err := openLog(state)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the ready pipe: %w", err)
	}
	defer ready.Close()
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = daemonEnv(getenv, pass)
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	tell.Close()
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	go cmd.Wait() // it outlives us; nothing to learn from its end
	return awaitReady(ready, limit, log.Name())
}

// awaitReady reads the daemon's word: "ok", or why it cannot serve.
func awaitReady(ready *os.File, limit time.Duration, log string) error {
	if err := ready.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return fmt.Errorf("wait for the daemon: %w", err)
	}
	word, err := io.ReadAll(io.LimitReader(ready, 4096))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the daemon did not answer within %s; see %s", limit, log)
	case err != nil:
		return fmt.Errorf("wait for the daemon: %w", err)
	case string(word) == "ok":
		return nil
	case len(word) == 0:
		return fmt.Errorf("the daemon ended at once; see %s", log)
	}
	return errors.New(strings.TrimSpace(string(word)))
}

// daemonEnv is what a daemon started from anywhere gets: where things are, and
// the language, and what the settings name. Nothing else of the session it
// happened to be started from.
func daemonEnv(getenv func(string) string, pass []string) []string {
	env := []string{Starting + "=1", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	own := []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "REEVE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GOCOVERDIR"}
	for _, name := range append(own, pass...) {
		if name == "PATH" || name == Starting || strings.HasPrefix(name, "LD_") {
			continue // the daemon's programs are found and loaded as it says
		}
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}
