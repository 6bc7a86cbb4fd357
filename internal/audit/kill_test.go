package audit

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var kills = flag.Int("kills", 0, "how often the writer is killed; 0 = 200 times, 40 with the race detector")

// TestKilledWriterLosesNoAcknowledgedRecord kills a writing process with
// SIGKILL after a random number of acknowledgements, again and again over the
// same record, and looks for every record that it acknowledged.
func TestKilledWriterLosesNoAcknowledgedRecord(t *testing.T) {
	if dir := os.Getenv("AUDIT_TEST_WRITER"); dir != "" {
		writeUntilKilled(dir)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	n := *kills
	if n == 0 {
		if n = 200; raced {
			n = 40
		}
	}
	if testing.Short() {
		n = min(n, 20)
	}
	var dir string
	rows := int64(0)
	for round := range n {
		if round%25 == 0 { // a long record makes every check slow
			dir, rows = filepath.Join(t.TempDir(), "state"), 0
		}
		acked := killOnce(t, dir, fmt.Sprintf("round%d", round), 1+rnd.IntN(60))
		rep := mustVerify(t, dir)
		if rep.Broken != nil {
			t.Fatalf("round %d: %v", round, rep.Broken)
		}
		rows += int64(len(acked))
		if rep.Rows < rows {
			t.Fatalf("round %d: %d rows, but %d were acknowledged", round, rep.Rows, rows)
		}
		rows = rep.Rows
		have := map[string]bool{}
		for _, r := range list(t, dir, Filter{Session: fmt.Sprintf("round%d", round)}) {
			have[r.CallID] = true
		}
		for _, id := range acked {
			if !have[id] {
				t.Fatalf("round %d: %s was acknowledged and is lost", round, id)
			}
		}
	}
}

// killOnce runs a writer, kills it after so many acknowledgements, and returns
// every acknowledgement that it had sent by then.
func killOnce(t *testing.T, dir, session string, after int) (acked []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestKilledWriterLosesNoAcknowledgedRecord$")
	cmd.Env = append(os.Environ(), "AUDIT_TEST_WRITER="+dir, "AUDIT_TEST_SESSION="+session)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // what has no line end was not acknowledged
			break
		}
		id, isAck := strings.CutPrefix(line, "ack ")
		if !isAck {
			t.Fatalf("writer says %q", line)
		}
		acked = append(acked, strings.TrimSpace(id))
		if len(acked) == after {
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || len(acked) < after {
		t.Fatalf("writer ended by itself after %d acknowledgements: %v", len(acked), err)
	}
	return acked
}

// writeUntilKilled appends from 16 goroutines and prints the id of each record
// that was acknowledged.
func writeUntilKilled(dir string) {
	l, err := Open(dir, clock)
	if err == nil {
		err = l.Broken()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	session := os.Getenv("AUDIT_TEST_SESSION")
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for n := 0; ; n++ {
				r := outcome(n)
				r.Session, r.CallID = session, fmt.Sprintf("%s-%d-%d", session, w, n)
				if err := l.Append(context.Background(), r); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				os.Stdout.WriteString("ack " + r.CallID + "\n")
			}
		})
	}
	wg.Wait()
}
