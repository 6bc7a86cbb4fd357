package vault_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/vault"
	"github.com/reeve-gate/reeve/internal/vault/holder"
	"github.com/reeve-gate/reeve/internal/vault/ref"
)

var ctx = context.Background()

var cheap = holder.Cost{Memory: 19 << 10, Passes: 2, Threads: 1}

// valueOf is the value of a secret in one round: the same here and in the
// process that is killed, and in no file.
func valueOf(i, round int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "killed %d %d", i, round))
	return "pw-" + base64.RawURLEncoding.EncodeToString(sum[:])
}

const secrets = 6

// TestKilledChangesLoseNothing kills a process that rotates secrets and
// changes the vault's key, at any moment: each secret is then what was
// acknowledged last or what was being written, and nothing readable is left.
// REEVE_SOAK in the environment makes it 200 times.
func TestKilledChangesLoseNothing(t *testing.T) {
	if dir := os.Getenv("VAULT_TEST_WRITER"); dir != "" {
		rotateUntilKilled(dir)
	}
	kills := 30
	if os.Getenv("REEVE_SOAK") != "" {
		kills = 200
	}
	if testing.Short() {
		kills = 8
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	p := newPlace(t)
	v := p.create(t)
	acked := make([]int, secrets)
	var values []string
	for i := range secrets {
		put(t, v, fmt.Sprintf("svc%d/key", i), valueOf(i, 0), vault.New)
		values = append(values, valueOf(i, 0))
	}
	v.Close()
	rekeys := 0
	for range kills {
		started, rekeyed := killOne(t, p.dir, 1+rnd.IntN(12), time.Duration(rnd.IntN(9000))*time.Microsecond, acked)
		rekeys += rekeyed
		v, err := p.open()
		if err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		for i := range secrets {
			got, err := v.Get(ref.Name{Service: fmt.Sprintf("svc%d", i), Key: "key"})
			switch {
			case err != nil:
				t.Fatalf("secret %d is lost: %v", i, err)
			case string(got) == valueOf(i, acked[i]):
			case i == started && string(got) == valueOf(i, acked[i]+1):
				acked[i]++ // it was durable before it was acknowledged
			default:
				t.Fatalf("secret %d is neither what it was nor what it became", i)
			}
			values = append(values, valueOf(i, acked[i]), valueOf(i, acked[i]+1))
		}
		v.Close()
		noneReadable(t, p.dir, values)
	}
	t.Logf("%d kills, %d changes of the key acknowledged, %d rotations", kills, rekeys, acked)
	if rekeys == 0 {
		t.Error("the key was never changed")
	}
	lines, err := os.ReadFile(p.file.Path)
	if err != nil || strings.Count(string(lines), "\n") != 1 {
		t.Errorf("the key file has more than the key in use: %d lines, %v", strings.Count(string(lines), "\n"), err)
	}
}

// killOne runs a writer and kills it some time after so many words. started is the
// secret that it was rotating, -1 = none.
func killOne(t *testing.T, dir string, after int, wait time.Duration, acked []int) (started, rekeys int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestKilledChangesLoseNothing$")
	rounds := make([]string, len(acked))
	for i, n := range acked {
		rounds[i] = strconv.Itoa(n)
	}
	cmd.Env = append(os.Environ(), "VAULT_TEST_WRITER="+dir, "VAULT_TEST_ROUNDS="+strings.Join(rounds, ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	started = -1
	lines := bufio.NewReader(out)
	for n := 0; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		do, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		i, _ := strconv.Atoi(arg)
		switch do {
		case "begin":
			started = i
		case "done":
			acked[i]++
			started = -1
		case "rekeyed":
			rekeys++
		default:
			t.Fatalf("the writer says %q", line)
		}
		if n++; n == after {
			time.AfterFunc(wait, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
	return started, rekeys
}

// rotateUntilKilled rotates and changes the key in turn, and says what it begins
// and what is done.
func rotateUntilKilled(dir string) {
	p := placeIn(dir)
	v, err := p.open()
	var round [secrets]int
	for i, s := range strings.Split(os.Getenv("VAULT_TEST_ROUNDS"), ",") {
		round[i], _ = strconv.Atoi(s)
	}
	for n := 0; err == nil; n++ {
		i := n % secrets
		os.Stdout.WriteString(fmt.Sprintf("begin %d\n", i))
		_, err = v.Put(ref.Name{Service: fmt.Sprintf("svc%d", i), Key: "key"}, []byte(valueOf(i, round[i]+1)), vault.Replace, "typed")
		if err == nil {
			round[i]++
			os.Stdout.WriteString(fmt.Sprintf("done %d\n", i))
			if err = v.Rekey(ctx, p.file, p.file); err == nil {
				os.Stdout.WriteString("rekeyed\n")
			}
		}
	}
	fmt.Println(err)
	os.Exit(1)
}
