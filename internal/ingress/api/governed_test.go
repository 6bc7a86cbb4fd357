package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// TestADaemonThatBeginsAnewStillKnowsAnAgentsProcess: nothing has called the
// hook since this daemon began, as after a kill by the agent itself.
func TestADaemonThatBeginsAnewStillKnowsAnAgentsProcess(t *testing.T) {
	agent := exec.Command("/bin/sh", "-c", "read x")
	agent.Args[0] = "claude"
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); agent.Wait() }()
	peer := localsock.Peer{UID: os.Getuid(), PID: agent.Process.Pid}
	for _, c := range []struct {
		clients []string
		refused bool
	}{
		{nil, false}, // no client's hook was ever answered here
		{[]string{"a client that does not run"}, false},
		{[]string{"a client that does not run", "claude"}, true},
	} {
		if err := new(Governed).Person(peer, c.clients); errors.Is(err, reeve.ErrPresence) != c.refused {
			t.Errorf("clients %q: %v, want refused %v", c.clients, err, c.refused)
		}
	}
}

// agentRuns starts a shell that goes by the name of a client, runs script in
// it, and gives the number of the process that script prints.
func agentRuns(t *testing.T, client, script string) (pid int) {
	t.Helper()
	agent := exec.Command("/bin/sh", "-c", script+"\nread x")
	agent.Args[0] = client
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); agent.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if pid, _ = strconv.Atoi(strings.TrimSpace(line)); err != nil || pid == 0 {
		t.Fatalf("%q was printed: %v", line, err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	})
	return pid
}

// atTerminal starts a process of the person's at a terminal of its own.
func atTerminal(t *testing.T) (pid int) {
	t.Helper()
	pid, _ = closingTerminal(t)
	return pid
}

// closingTerminal is atTerminal whose window can be closed before.
func closingTerminal(t *testing.T) (pid int, shut func()) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "echo ready; read x")
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	shut = sync.OnceFunc(func() { master.Close(); cmd.Wait() })
	t.Cleanup(shut)
	if _, err := io.ReadFull(master, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, shut
}

// TestAJobThatAnAgentLeftBehindCannotActForAPerson: each way loses the
// ancestors that would tell.
func TestAJobThatAnAgentLeftBehindCannotActForAPerson(t *testing.T) {
	client := fmt.Sprintf("client%d", os.Getpid()) // none of the machine's own
	clients := []string{client}
	for what, script := range map[string]string{
		"a job in the background":          `( sh -c 'echo $$; exec sleep 100' & )`,
		"a session of its own":             `( setsid sh -c 'echo $$; exec sleep 100' & )`,
		"a terminal of its own":            `( setsid script -qc "sh -c 'echo \$\$ >&3; exec sleep 100'" /dev/null 3>&1 >/dev/null </dev/null & )`,
		"a child of a job":                 `( setsid sh -c 'sh -c "echo \$\$; exec sleep 100"; :' & )`,
		"a child that is still a child":    `sh -c 'echo $$; exec sleep 100' &`,
		"a terminal that is still a child": `setsid script -qc "sh -c 'echo \$\$ >&3; exec sleep 100'" /dev/null 3>&1 >/dev/null </dev/null &`,
	} {
		t.Run(what, func(t *testing.T) {
			peer := localsock.Peer{UID: os.Getuid(), PID: agentRuns(t, client, script)}
			if err := new(Governed).Person(peer, clients); !errors.Is(err, reeve.ErrPresence) {
				t.Errorf("it may act for a person: %v", err)
			}
			if err := new(Governed).AtTerminal(peer, clients); !errors.Is(err, reeve.ErrPresence) {
				t.Errorf("it may say yes for a person: %v", err)
			}
		})
	}
}

func TestWhileAnAgentRunsAPersonSaysYesAtATerminal(t *testing.T) {
	g, clients := new(Governed), []string{fmt.Sprintf("client%d", os.Getpid())}
	here := localsock.Peer{UID: os.Getuid(), PID: os.Getpid()}
	leader := exec.Command("setsid", "sh", "-c", "echo $$; read x") // a session without a terminal
	in, err := leader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := leader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); leader.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	noTerminal := localsock.Peer{UID: os.Getuid(), PID: pid}
	terminal := localsock.Peer{UID: os.Getuid(), PID: atTerminal(t)}

	if err := g.AtTerminal(noTerminal, clients); err != nil {
		t.Errorf("no agent runs: %v", err)
	}
	agentRuns(t, clients[0], "echo $$")
	if err := g.Person(here, clients); err != nil {
		t.Errorf("this test is not taken for a person's: %v", err)
	}
	if err := g.AtTerminal(noTerminal, clients); !errors.Is(err, reeve.ErrPresence) {
		t.Errorf("without a terminal: %v, want a refusal", err)
	}
	if err := g.AtTerminal(terminal, clients); err != nil {
		t.Errorf("at a terminal: %v", err)
	}
	if err := g.AtTerminal(terminal, nil); err != nil {
		t.Errorf("no client's hook was ever answered: %v", err)
	}
}

// TestAClientOfTheGatewayCannotActForItsPerson: what starts reeve mcp serve is
// an agent's program, whether or not it has a hook.
func TestAClientOfTheGatewayCannotActForItsPerson(t *testing.T) {
	for what, script := range map[string]string{
		"itself":              `sh -c 'echo $$; exec sleep 100' &`,
		"a script of its own": `sh -c 'sh -c "echo \$\$; exec sleep 100"; :' &`,
	} {
		t.Run(what, func(t *testing.T) {
			var g Governed
			serve := agentRuns(t, fmt.Sprintf("client%d", os.Getpid()), script)
			_, shell, _, err := localsock.Look(serve)
			if err != nil {
				t.Fatal(err)
			}
			g.Serves(localsock.Peer{UID: os.Getuid(), PID: serve})
			for of, pid := range map[string]int{"what it starts": serve, "the client": shell} {
				if err := g.Person(localsock.Peer{UID: os.Getuid(), PID: pid}, nil); !errors.Is(err, reeve.ErrPresence) {
					t.Errorf("%s may act for a person: %v", of, err)
				}
			}
		})
	}
}

func TestAPersonWhoStartsTheGatewayAtAShellStaysAPerson(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 100 & echo $!; read x; kill $!")
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fmt.Fprintln(master); cmd.Wait(); master.Close() })
	line, err := bufio.NewReader(master).ReadString('\n')
	serve, _ := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || serve == 0 {
		t.Fatalf("%q was printed: %v", line, err)
	}
	var g Governed
	g.Serves(localsock.Peer{UID: os.Getuid(), PID: serve})
	for _, pid := range []int{serve, cmd.Process.Pid, os.Getpid()} {
		if err := g.Person(localsock.Peer{UID: os.Getuid(), PID: pid}, nil); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}
