package testuser

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBothRunsAsAnOrdinaryUserWithItsOwnHome(t *testing.T) {
	Both(t, func(t *testing.T) {
		home := os.Getenv("HOME")
		file := filepath.Join(t.TempDir(), "own")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if os.Getenv(again) == "" {
			return
		}
		if os.Getuid() < 1000 || os.Getuid() == 65534 {
			t.Errorf("runs as %d, want an ordinary user", os.Getuid())
		}
		if err := os.WriteFile("/etc/reeve-test-was-here", nil, 0o600); err == nil {
			os.Remove("/etc/reeve-test-was-here")
			t.Error("the ordinary user writes to /etc")
		}
		if err := os.WriteFile(filepath.Join(home, "x"), nil, 0o600); err != nil {
			t.Errorf("its own home: %v", err)
		}
	})
}
