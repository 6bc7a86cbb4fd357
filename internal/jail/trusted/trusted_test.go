package trusted_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reeve-gate/reeve/internal/jail/trusted"
)

func TestOnlyAProgramThatRootAloneCanChangeIsTaken(t *testing.T) {
	if _, err := trusted.Program("/bin/sh"); err != nil {
		t.Errorf("/bin/sh: %v", err)
	}
	if _, err := trusted.Program("/usr/bin/no-such-program-here"); !os.IsNotExist(err) {
		t.Errorf("a missing program: %v", err)
	}
	if _, err := trusted.Program("/etc/passwd"); err == nil {
		t.Error("a file that is no program is taken for one")
	}
	own := filepath.Join(t.TempDir(), "tool") // below a directory that everybody may write, or not root's
	if err := os.WriteFile(own, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(own, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := trusted.Program(own); err == nil {
		t.Error("a program that others can write is taken")
	}
}
