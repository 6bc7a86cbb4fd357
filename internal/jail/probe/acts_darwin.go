package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Acts are what doctor and every first session try. Seatbelt answers every
// refusal with EPERM.
func Acts() []Act {
	errs := func(e ...syscall.Errno) []syscall.Errno { return e }
	const eperm = syscall.EPERM
	act := func(name string, do func(Stage) error) Act { return Act{Name: name, Want: errs(eperm), Do: do} }
	return []Act{
		act("write outside the workspace", func(s Stage) error { return create(filepath.Join(s.Outside, "new")) }),
		act("write through a link that leads outside", func(s Stage) error { return overwrite(filepath.Join(s.Workspace, "link")) }),
		act("write into Reeve's own state", func(s Stage) error { return create(filepath.Join(s.State, "new")) }),
		act("read Reeve's own state", func(s Stage) error { return read(filepath.Join(s.State, "secret")) }),
		act("read a credential file", func(s Stage) error { return read(filepath.Join(s.Home, ".netrc")) }),
		act("read a credential by another name of its file", func(s Stage) error { return read(filepath.Join(s.Workspace, "alias-of-netrc")) }),
		act("read in a credential directory", func(s Stage) error { return read(filepath.Join(s.Home, ".ssh", "id")) }),
		act("link a file from outside into the workspace", func(s Stage) error {
			return os.Link(filepath.Join(s.Outside, "victim"), filepath.Join(s.Workspace, "alias"))
		}),
		act("change the mode of a file outside", func(s Stage) error { return os.Chmod(filepath.Join(s.Outside, "victim"), 0o600) }),
		act("plant a git hook", func(s Stage) error { return create(filepath.Join(s.Workspace, ".git/hooks/pre-commit")) }),
		act("move a protected directory away", func(s Stage) error {
			from, to := filepath.Join(s.Workspace, ".git"), filepath.Join(s.Workspace, "moved")
			if err := os.Rename(from, to); err != nil {
				return err
			}
			return os.Rename(to, from)
		}),
		act("connect to a port of this machine", func(s Stage) error { return dial("tcp", s.TCP) }),
		{Name: "listen on a port", In: []string{"strict"}, Want: errs(eperm), Do: func(Stage) error { return listen() }},
		act("connect to a unix socket of this machine", func(s Stage) error { return dial("unix", s.Stream) }),
		act("signal a process outside", func(s Stage) error { return unix.Kill(s.PID, 0) }),
		act("make a program that runs as its owner", func(s Stage) error {
			return os.Chmod(filepath.Join(s.Workspace, "tool"), os.ModeSetuid|0o755)
		}),
		{Name: "find a secret in the environment", Want: errs(syscall.ENOENT), Do: func(s Stage) error {
			if _, ok := os.LookupEnv(s.Canary); !ok {
				return syscall.ENOENT
			}
			return nil
		}},
	}
}

// helper runs the small roles that acts start our own program in.
func helper(args []string) (code int, ok bool) { return 0, args[0] == "exit" }

// There are no namespaces and so no acts that would need them.
func namespaces() *syscall.SysProcAttr { return nil }
func prepareNamespace(Stage)           {}
func ownMounts() error                 { return nil }
func unmountBelow(string)              {}

// boot tells one start of the machine from another.
func boot() string {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return fmt.Sprint(tv.Sec)
}

// stamp tells one state of a file from another.
func stamp(st *syscall.Stat_t) string {
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtimespec, st.Ctimespec)
}

// advice names the usual causes of a boundary that cannot be built.
func advice(string, string) string {
	return "inside another sandbox no further one can be made; reeve doctor shows each promise"
}
