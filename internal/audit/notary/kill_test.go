package notary

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/audit"
)

var kills = flag.Int("kills", 40, "how often the notary is killed")

// TestAKilledNotaryLeavesARecordThatVerifies kills a process that records,
// signs and prunes without a pause, at a random moment, again and again over
// one record. Each time the record verifies, with what the vault remembers, and
// has every row that was acknowledged.
func TestAKilledNotaryLeavesARecordThatVerifies(t *testing.T) {
	if root := os.Getenv("NOTARY_TEST_ROOT"); root != "" {
		workUntilKilled(t, root)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	n := *kills
	if testing.Short() {
		n = min(n, 10)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "safe"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, dir: filepath.Join(root, "state"), safe: &safe{dir: filepath.Join(root, "safe")}}
	pruned := int64(0)
	for round := range n {
		acked := killOne(t, root, 1+rnd.IntN(12), time.Duration(rnd.IntN(4000))*time.Microsecond)
		rep := verify(t, h.dir, audit.Known{Memory: h.memory()})
		if rep.Broken != nil {
			t.Fatalf("round %d: %v", round, rep.Broken)
		}
		if rep.Head.ID < acked || rep.Pruned < pruned {
			t.Fatalf("round %d: the record ends at row %d and begins behind row %d; row %d was acknowledged, and %d pruned before", round, rep.Head.ID, rep.Pruned, acked, pruned)
		}
		pruned = rep.Pruned
	}
	if pruned == 0 {
		t.Error("nothing was ever pruned")
	}
}

// killOne runs the work, kills it a moment after so many acknowledgements, and
// returns the last row that was acknowledged.
func killOne(t *testing.T, root string, after int, moment time.Duration) (acked int64) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestAKilledNotaryLeavesARecordThatVerifies$")
	cmd.Env = append(os.Environ(), "NOTARY_TEST_ROOT="+root)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		id, isAck := strings.CutPrefix(line, "ack ")
		if !isAck {
			t.Fatalf("it says %q", line)
		}
		if acked, err = strconv.ParseInt(strings.TrimSpace(id), 10, 64); err != nil {
			t.Fatal(err)
		}
		if n+1 == after {
			time.AfterFunc(moment, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it ended by itself")
	}
	return acked
}

// workUntilKilled records, signs and prunes, and prints the newest row after
// each step.
func workUntilKilled(t *testing.T, root string) {
	h := &house{t: t, dir: filepath.Join(root, "state"), safe: &safe{dir: filepath.Join(root, "safe")}, now: day(0)}
	h.open()
	for n := int(h.log.Newest().ID); ; n++ {
		h.now = day(n)
		for _, r := range rowsOf(n) {
			if err := h.log.Append(t.Context(), r); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		if _, err := h.n.Checkpoint(t.Context()); err != nil {
			fmt.Println("checkpoint:", err)
			os.Exit(1)
		}
		if n%3 == 2 {
			if _, err := h.n.Prune(t.Context(), 5*24*time.Hour, false); err != nil {
				fmt.Println("prune:", err)
				os.Exit(1)
			}
		}
		os.Stdout.WriteString(fmt.Sprintf("ack %d\n", h.log.Newest().ID))
	}
}
