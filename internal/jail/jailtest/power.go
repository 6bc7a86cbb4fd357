//go:build linux

package jailtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/probe"
)

func itoa(n int) string { return strconv.Itoa(n) }

// child starts a helper of ours that waits until it is let go.
func child(do func(pid int) error) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, probe.Command, "wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return err
	}
	return do(cmd.Process.Pid)
}

// call is a system call that the packages at hand have no function for. The
// first result is of no interest.
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	fd, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	switch nr {
	case unix.SYS_IO_URING_SETUP, unix.SYS_BPF, unix.SYS_USERFAULTFD:
		unix.Close(int(fd))
	}
	return nil
}

// processes: look into or steer another process.
func processes() []probe.Act {
	copyMemory := func(pid int, nr uintptr) error {
		word := make([]byte, 8)
		local := unix.Iovec{Base: &word[0], Len: 8}
		remote := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&marker)), Len: 8}
		return call(nr, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	}
	return []probe.Act{
		act("process: trace one", errs(eperm), func(probe.Stage) error {
			return child(func(pid int) error {
				err := unix.PtraceSeize(pid)
				if err == nil {
					unix.Kill(pid, unix.SIGKILL)
				}
				return err
			})
		}),
		act("process: ask to be traced", errs(eperm), func(probe.Stage) error {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			cmd := exec.Command(exe, probe.Command, "exit")
			cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
			if err := cmd.Start(); err != nil {
				return err
			}
			cmd.Process.Kill()
			return ignoreKilled(cmd.Wait())
		}),
		act("process: read memory", errs(eperm), func(probe.Stage) error {
			return child(func(pid int) error { return copyMemory(pid, unix.SYS_PROCESS_VM_READV) })
		}),
		act("process: write memory", errs(eperm), func(probe.Stage) error {
			return child(func(pid int) error { return copyMemory(pid, unix.SYS_PROCESS_VM_WRITEV) })
		}),
		act("process: take a descriptor", errs(eperm), func(probe.Stage) error {
			return child(func(pid int) error {
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				got, err := unix.PidfdGetfd(fd, 0, 0)
				if err == nil {
					unix.Close(got)
				}
				return err
			})
		}),
		act("process: compare two", errs(eperm), func(probe.Stage) error {
			return child(func(pid int) error { return call(unix.SYS_KCMP, uintptr(pid), uintptr(os.Getpid()), 1) })
		}),
		act("process: signal one outside", errs(esrch), func(s probe.Stage) error { return unix.Kill(s.PID, 0) }),
		act("process: signal a thread outside", errs(esrch), func(s probe.Stage) error { return unix.Tgkill(s.PID, s.PID, 0) }),
		act("process: hold one outside", errs(esrch), func(s probe.Stage) error {
			fd, err := unix.PidfdOpen(s.PID, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		act("process: slow one outside", errs(esrch), func(s probe.Stage) error {
			prio, err := unix.Getpriority(unix.PRIO_PROCESS, s.PID)
			if err != nil {
				return err
			}
			return unix.Setpriority(unix.PRIO_PROCESS, s.PID, 20-prio)
		}),
		act("process: limit one outside", errs(esrch), func(s probe.Stage) error {
			var old unix.Rlimit
			return unix.Prlimit(s.PID, unix.RLIMIT_NOFILE, nil, &old)
		}),
		act("process: read the environment of one outside", errs(enoent), func(s probe.Stage) error { return get("/proc/" + itoa(s.PID) + "/environ") }),
		act("process: the root of one outside", errs(enoent), func(s probe.Stage) error {
			_, err := os.ReadDir("/proc/" + itoa(s.PID) + "/root" + s.Outside)
			return err
		}),
		act("process: the memory of one outside", errs(enoent), func(s probe.Stage) error {
			f, err := os.Open("/proc/" + itoa(s.PID) + "/mem")
			if err == nil {
				f.Close()
			}
			return err
		}),
	}
}

// marker is some memory at the same place in every copy of this program.
var marker uint64 = 1

func ignoreKilled(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// privileges: get a power that the boundary took.
func privileges() []probe.Act {
	up := func(name string, do func(probe.Stage) error) probe.Act {
		return probe.Act{Name: "privilege: " + name, Want: errs(eperm), Privileged: true, Do: do}
	}
	lacking := func(a probe.Act, e ...syscall.Errno) probe.Act {
		a.Lacking = e
		return a
	}
	all := []probe.Act{
		up("unmount", func(s probe.Stage) error {
			if err := unix.Unmount(filepath.Join(s.Home, ".ssh"), unix.MNT_DETACH); err != nil {
				return err
			}
			return unix.Mount("tmpfs", filepath.Join(s.Home, ".ssh"), "tmpfs", 0, "")
		}),
		up("remount writable", func(s probe.Stage) error { return unix.Mount("", s.Outside, "", unix.MS_REMOUNT|unix.MS_BIND, "") }),
		up("mount", func(s probe.Stage) error { return unix.Mount("tmpfs", ws(s, "mnt"), "tmpfs", 0, "") }),
		up("bind", func(s probe.Stage) error { return unix.Mount(s.Outside, ws(s, "mnt"), "", unix.MS_BIND, "") }),
		up("move a mount", func(s probe.Stage) error { return unix.Mount(ws(s, "mnt"), ws(s, "other"), "", unix.MS_MOVE, "") }),
		up("detach a tree", func(s probe.Stage) error { return openTree(s.Outside, 0x80001) }),
		up("change a mount's attributes", func(s probe.Stage) error {
			return unix.MountSetattr(unix.AT_FDCWD, s.Outside, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}),
		up("open a file system", func(probe.Stage) error {
			fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		up("make another mount namespace", func(probe.Stage) error { return helper(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}) }),
		up("make another process namespace", func(probe.Stage) error { return helper(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}) }),
		up("make another network namespace", func(probe.Stage) error { return helper(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}) }),
		up("unshare", func(probe.Stage) error { return helper(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWIPC}) }),
		up("enter a namespace", func(probe.Stage) error {
			f, err := os.Open("/proc/self/ns/ipc")
			if err != nil {
				return err
			}
			defer f.Close()
			return unix.Setns(int(f.Fd()), unix.CLONE_NEWIPC)
		}),
		up("change the root", func(s probe.Stage) error {
			return ignoreMissing(helper(&syscall.SysProcAttr{Chroot: s.Outside}))
		}),
		up("change the name of the machine", func(probe.Stage) error { return unix.Sethostname([]byte("x")) }),
		up("hold a capability", func(probe.Stage) error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var data [2]unix.CapUserData
			if err := unix.Capget(&header, &data[0]); err != nil {
				return err
			}
			if data[0].Effective|data[0].Permitted|data[1].Effective|data[1].Permitted == 0 {
				return eperm
			}
			return nil
		}),
		up("change which capabilities programs may get", func(probe.Stage) error {
			return unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_AUDIT_READ, 0, 0, 0)
		}),
		{Name: "privilege: a user namespace", Want: errs(eperm), Do: func(probe.Stage) error {
			return helper(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER})
		}},
		{Name: "privilege: a user namespace by clone3", Want: errs(syscall.ENOSYS), Privileged: true, Do: func(probe.Stage) error { return clone3() }},
		lacking(act("privilege: add a key", errs(eperm), func(probe.Stage) error {
			id, err := unix.AddKey("user", "reeve", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			_ = id
			return err
		}), syscall.ENOSYS),
		lacking(act("privilege: read the keyring", errs(eperm), func(probe.Stage) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
			return err
		}), syscall.ENOSYS),
		lacking(act("privilege: calls that no filter sees", errs(eperm), func(probe.Stage) error {
			params := make([]byte, 120)
			return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])))
		}), syscall.ENOSYS, eperm),
		lacking(act("privilege: load a program into the kernel", errs(eperm), func(probe.Stage) error {
			attr := make([]byte, 128)
			attr[0], attr[4], attr[8], attr[12] = 2, 4, 4, 1 // an array of one
			return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr[0])), 128)
		}), eperm),
		lacking(act("privilege: handle faults for others", errs(eperm), func(probe.Stage) error { return call(unix.SYS_USERFAULTFD, 1) }), eperm, syscall.ENOSYS),
		lacking(act("privilege: watch the processor", errs(eperm), func(probe.Stage) error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: 64, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
			fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}), eacces, eperm, enoent, syscall.ENOSYS),
		lacking(act("privilege: change the kernel's settings", errs(erofs, eacces), func(probe.Stage) error {
			f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}), eacces, erofs),
		lacking(act("privilege: press the magic key", errs(erofs, eacces, enoent), func(probe.Stage) error {
			f, err := os.OpenFile("/proc/sysrq-trigger", os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}), eacces, erofs, enoent),
		act("privilege: a program that runs as its owner", errs(eperm), func(s probe.Stage) error { return os.Chmod(ws(s, "tool"), 0o755|os.ModeSetuid) }),
		act("privilege: the same from a handle", errs(eperm), func(s probe.Stage) error {
			f, err := os.Open(ws(s, "tool"))
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Chmod(0o755 | os.ModeSetgid)
		}),
		act("privilege: the same at birth", errs(eperm), func(s probe.Stage) error {
			fd, err := unix.Open(ws(s, "born"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		lacking(act("privilege: the same by the newest call", errs(syscall.ENOSYS), func(s probe.Stage) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, ws(s, "newborn"), &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
			if err == nil {
				unix.Close(fd)
			}
			return err
		}), syscall.ENOSYS),
	}
	return all
}

func openTree(path string, flags uint) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// helper runs our own program with attributes and looks only at whether it
// could be started so.
func helper(attr *syscall.SysProcAttr) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, probe.Command, "exit")
	cmd.SysProcAttr = attr
	return cmd.Run()
}

// ignoreMissing: after a change of root our own program is not there, which
// shows that the root was changed.
func ignoreMissing(err error) error {
	if errors.Is(err, enoent) {
		return nil
	}
	return err
}

// clone3 asks for a process in a new user namespace and lets it end at once.
// The child shares nothing writable with us, so that it may come back here.
func clone3() error {
	args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }{
		flags: syscall.CLONE_NEWUSER, exitSignal: uint64(syscall.SIGCHLD),
	}
	pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}
