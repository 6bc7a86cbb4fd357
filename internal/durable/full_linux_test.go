package durable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestADiskThatTakesNothingLeavesTheFormerFile runs in a mount namespace of
// its own, on a small disk that is full, and then on one that is read-only.
func TestADiskThatTakesNothingLeavesTheFormerFile(t *testing.T) {
	if dir := os.Getenv("DURABLE_TEST_DISK"); dir != "" {
		if err := onSmallDisk(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("came to its end")
		return
	}
	cmd := child(t, "DURABLE_TEST_DISK="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{21}, // CAP_SYS_ADMIN, in its own namespace
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "came to its end") {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
			t.Skipf("no user namespace here: %v", err)
		}
		t.Fatalf("%v: %s", err, out)
	}
}

func onSmallDisk(dir string) error {
	if err := syscall.Mount("small", dir, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	f := newFile(filepath.Join(dir, "f"))
	if _, err := f.Read(); err != nil {
		return err
	}
	if err := f.Write(text('a')); err != nil {
		return err
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		return err
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	filler.Close()
	if err := refuses(f, syscall.ENOSPC); err != nil {
		return err
	}
	if err := os.Truncate(filepath.Join(dir, "f"), 1); err != nil {
		return err
	}
	if err := syscall.Mount("small", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("remount: %w", err)
	}
	note := ""
	f.Told = func(n string) { note = n }
	data, err := f.Read()
	if err != nil || !bytes.Equal(data, text('a')) || !strings.Contains(note, "cannot be written back") {
		return fmt.Errorf("on a read-only disk: %d bytes, note %q, %v", len(data), note, err)
	}
	if err := f.Write(text('b')); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("write to a read-only disk: %v, want EROFS", err)
	}
	return nil
}

// refuses tries to write, and looks for what that left.
func refuses(f *File, want error) error {
	for _, write := range []func() error{
		func() error { return f.Write(text('b')) },
		func() error { return WriteFile(f.Path, text('b'), 0o600) },
		func() error { return WriteFileBackup(f.Path, text('b'), 0o600, f.Path, 2) },
	} {
		if err := write(); !errors.Is(err, want) {
			return fmt.Errorf("write: %v, want %v", err, want)
		}
	}
	for _, path := range []string{f.Path, f.backup()} {
		if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, text('a')) {
			return fmt.Errorf("%s holds %d bytes, want it as it was: %v", path, len(data), err)
		}
	}
	names, err := os.ReadDir(filepath.Dir(f.Path))
	if err != nil || len(names) > 4 { // the file, its backup, its lock, the filler
		return fmt.Errorf("left: %v, %v", names, err)
	}
	return nil
}
