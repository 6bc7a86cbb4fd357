package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// Bounds of what is allocated before main, in bytes: each page of it is one
// more that every hook waits for.
const (
	maxAtStart     = 360_000
	maxOfAPackage  = 50_000 // of ours
	ourPackageName = "github.com/reeve-gate/reeve/"
)

// TestTheStartIsLight: a hook is a start of the whole program, so that nothing
// is read or compiled before it is needed (package late).
func TestTheStartIsLight(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sum := 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes,`).FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
		if name := string(m[1]); len(name) > len(ourPackageName) && name[:len(ourPackageName)] == ourPackageName && n > maxOfAPackage {
			t.Errorf("%s allocates %d bytes at the start; at most %d", name, n, maxOfAPackage)
		}
	}
	if sum == 0 || sum > maxAtStart {
		t.Errorf("%d bytes are allocated before main, want between 1 and %d:\n%s", sum, maxAtStart, out)
	}
}
