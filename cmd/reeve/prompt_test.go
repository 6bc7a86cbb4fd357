package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/approval"
)

// terminal runs reeve on a pseudo-terminal and types answer once the prompt
// stands; it returns what was shown and the exit code.
func (in *rig) terminal(t *testing.T, answer string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(in.bin, args...)
	cmd.Dir, cmd.Env = in.ws, in.env
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	master.SetReadDeadline(time.Now().Add(30 * time.Second))
	var shown bytes.Buffer
	typed, buf := false, make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		shown.Write(buf[:n])
		if !typed && strings.Contains(shown.String(), "Allow") && strings.Contains(shown.String(), "no: a word") {
			typed = true
			if _, err := master.WriteString(answer); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if !typed {
		t.Fatalf("no prompt stood: %s", shown.String())
	}
	return shown.String(), cmd.ProcessState.ExitCode()
}

func TestOnlyAClearYesAtTheTerminalAllows(t *testing.T) {
	in := newRig(t, "")
	for i, c := range []struct {
		typed string
		yes   bool
	}{
		{"y\n", true}, {"yes\n", true}, {"Y\n", true}, {"always\n", true},
		{"n\n", false}, {"\n", false}, {"\x04", false}, {"yeah\n", false}, {"no: write below gen\n", false}, {"\x03", false},
	} {
		name := fmt.Sprintf("f%d.txt", i)
		shown, code := in.terminal(t, c.typed, "exec", "--as", "agent:a", "write_file", `{"path":"`+name+`","content":"x"}`)
		_, err := os.Stat(filepath.Join(in.ws, name))
		if wrote := err == nil; wrote != c.yes || (code == 0) != c.yes {
			t.Errorf("typed %q: wrote %v, exit %d; want %v\n%s", c.typed, wrote, code, c.yes, shown)
		}
		if strings.HasPrefix(c.typed, "no:") && !strings.Contains(shown, "write below gen") {
			t.Errorf("the word did not reach the agent: %s", shown)
		}
	}
}

// TestEveryToolDeclaresItsTier: none stands at the zero value, which never
// runs.
func TestEveryToolDeclaresItsTier(t *testing.T) {
	in := newRig(t, "")
	out := in.run(t, nil, "tools", "ls", "--json")
	var all []struct {
		Name string `json:"name"`
		Tier string `json:"tier"`
	}
	if err := json.Unmarshal(out, &all); err != nil || len(all) < 50 {
		t.Fatalf("%d tools, %v:\n%s", len(all), err, out)
	}
	for _, one := range all {
		if tier, err := reeve.ParseTier(one.Tier); err != nil || tier == reeve.TierDenied {
			t.Errorf("%s: tier %q, %v", one.Name, one.Tier, err)
		}
	}
}

func TestAnAnswerIsReadStrictly(t *testing.T) {
	standing := approval.Question{ID: "q", Standing: true, Suggest: "bash(make)"}
	once := approval.Question{ID: "q"}
	for _, c := range []struct {
		q     approval.Question
		typed string
		allow bool
		scope approval.Scope
	}{
		{standing, "y", true, approval.Once},
		{standing, "always", true, approval.Session},
		{standing, "rule", true, approval.Rule},
		{once, "always", false, approval.Session},
		{once, "rule", false, approval.Rule},
		{once, "", false, approval.Once},
		{once, "y y", false, approval.Once},
	} {
		if a := answerOf(c.q, c.typed+"\n"); a.Allow != c.allow || a.Scope != c.scope {
			t.Errorf("typed %q (standing %v): %+v", c.typed, c.q.Standing, a)
		}
	}
}

// TestTwoDaemonsAtOnceServeOne: many callers start the daemon at the same
// moment; one wins, and all are served.
func TestTwoDaemonsAtOnceServeOne(t *testing.T) {
	in := newRig(t, "")
	in.run(t, nil, "down")
	var wg sync.WaitGroup
	pids := make([]string, 8)
	for i := range pids {
		wg.Go(func() {
			cmd := exec.Command(in.bin, "up")
			cmd.Dir, cmd.Env = in.ws, in.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("up: %v\n%s", err, out)
			}
			cmd = exec.Command(in.bin, "status")
			cmd.Dir, cmd.Env = in.ws, in.env
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("status: %v", err)
			}
			pids[i], _, _ = strings.Cut(string(out), ",")
		})
	}
	wg.Wait()
	for _, p := range pids[1:] {
		if p != pids[0] {
			t.Errorf("served by %q and %q", pids[0], p)
		}
	}
}
