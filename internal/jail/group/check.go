package group

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
)

// Check refuses, before anything is started, a plan or a command that no
// boundary can be made for: no workspace ([reeve.ErrBoundary]), no program, a
// zero byte or a directory as a stream ([reeve.ErrUsage]), a broken variable.
// A directory as a stream would be a way to everything below and above it.
func Check(plan jail.Plan, cmd jail.Cmd) error {
	if plan.Workspace == "" || plan.Dir == "" {
		return fmt.Errorf("start in sandbox: %w: the plan names no workspace", reeve.ErrBoundary)
	}
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return fmt.Errorf("start in sandbox: %w: no program named", reeve.ErrUsage)
	}
	for _, a := range cmd.Argv {
		if strings.Contains(a, "\x00") {
			return fmt.Errorf("start in sandbox: %w: argument %q holds a zero byte", reeve.ErrUsage, a)
		}
	}
	for _, kv := range plan.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.Contains(kv, "\x00") {
			return fmt.Errorf("start in sandbox: %w: environment entry %q is not NAME=value", reeve.ErrBoundary, kv)
		}
	}
	for i, f := range []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return fmt.Errorf("start in sandbox: %w: descriptor %d is a directory, which no boundary could hold", reeve.ErrUsage, i)
		}
	}
	return nil
}

// Find looks a program up in the plan's own PATH and directory, so that a
// misspelt name is told as such ([jail.ErrNoProgram]) before anything starts.
func Find(name string, plan jail.Plan) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(plan.Dir, name)
		}
		info, err := os.Stat(name)
		if err == nil && (!info.Mode().IsRegular() || unix.Access(name, unix.X_OK) != nil) {
			err = &fs.PathError{Op: "execute", Path: name, Err: fs.ErrPermission}
		}
		return name, err
	}
	for _, kv := range plan.Env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			full := filepath.Join(dir, name)
			if !filepath.IsAbs(full) {
				continue // a relative entry would run what lies in the workspace
			}
			if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && unix.Access(full, unix.X_OK) == nil {
				return full, nil
			}
		}
	}
	return "", jail.ErrNoProgram
}

// Input is what a program reads. A file on the disk is read for it: a program
// that holds the file itself could open it anew for writing by its descriptor.
func Input(f *os.File) io.Reader {
	if f == nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return struct{ io.Reader }{f}
	}
	return f
}
