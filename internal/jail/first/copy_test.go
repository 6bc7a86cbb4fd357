//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestACopiedProcessCallsNothingOfTheRuntime reads what the compiler made of
// the functions that run in a copy of the process: each call in them is a
// system call, another of them, or the end of a program that is wrong. With a
// check for more stack or an allocation in there, one start of thousands would
// wait for ever.
func TestACopiedProcessCallsNothingOfTheRuntime(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "first")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	const copied = `main\.\(\*program\)\.(become|stop|exec)|main\.\(\*first\)\.tell|orders\.Report\.Encode`
	out, err := exec.Command("go", "tool", "objdump", "-s", copied, bin).CombinedOutput()
	if err != nil {
		t.Fatalf("disassemble: %v\n%s", err, out)
	}
	fine := regexp.MustCompile(`^(syscall\.RawSyscall6?|runtime\.panicBounds|runtime\.gcWriteBarrier\d|` + copied + `)$`)
	call := regexp.MustCompile(`\b(?:CALL|JMP|BL|B) ([^\s()]+(?:\(\*\w+\)[^\s()]*)?)\(SB\)`)
	found := 0
	for line := range strings.Lines(string(out)) {
		if m := call.FindStringSubmatch(line); m != nil {
			found++
			if !fine.MatchString(m[1]) {
				t.Errorf("a copied process calls %s: %s", m[1], strings.TrimSpace(line))
			}
		}
	}
	if found < 10 {
		t.Errorf("%d calls found in:\n%s", found, out)
	}
}
