package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Acts are what doctor and every first session try.
func Acts() []Act {
	const eperm, eacces, erofs, enoent = syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.ENOENT
	errs := func(e ...syscall.Errno) []syscall.Errno { return e }
	return []Act{
		{Name: "write outside the workspace", Want: errs(erofs), Do: func(s Stage) error { return create(filepath.Join(s.Outside, "new")) }},
		{Name: "write through a link that leads outside", Want: errs(erofs), Do: func(s Stage) error { return overwrite(filepath.Join(s.Workspace, "link")) }},
		{Name: "write into Reeve's own state", Want: errs(erofs, eacces, enoent), Do: func(s Stage) error { return create(filepath.Join(s.State, "new")) }},
		{Name: "read Reeve's own state", Want: errs(enoent), Do: func(s Stage) error { return read(filepath.Join(s.State, "secret")) }},
		{Name: "read a credential file", Want: errs(eacces), Do: func(s Stage) error { return read(filepath.Join(s.Home, ".netrc")) }},
		{Name: "read a credential by another name of its file", Want: errs(eacces), Do: func(s Stage) error { return read(filepath.Join(s.Workspace, "alias-of-netrc")) }},
		{Name: "read in a credential directory", Want: errs(enoent), Do: func(s Stage) error { return read(filepath.Join(s.Home, ".ssh", "id")) }},
		{Name: "link a file from outside into the workspace", Want: errs(syscall.EXDEV), Do: func(s Stage) error {
			return os.Link(filepath.Join(s.Outside, "victim"), filepath.Join(s.Workspace, "alias"))
		}},
		{Name: "plant a git hook", Want: errs(erofs), Do: func(s Stage) error { return create(filepath.Join(s.Workspace, ".git/hooks/pre-commit")) }},
		{Name: "move a protected directory away", Want: errs(syscall.EBUSY), Do: func(s Stage) error {
			from, to := filepath.Join(s.Workspace, ".git"), filepath.Join(s.Workspace, "moved")
			if err := os.Rename(from, to); err != nil {
				return err
			}
			return os.Rename(to, from)
		}},
		{Name: "unmount what hides a credential", Want: errs(eperm), Privileged: true, Do: func(s Stage) error {
			return unix.Unmount(filepath.Join(s.Home, ".ssh"), unix.MNT_DETACH)
		}},
		{Name: "remount read-only files writable", Want: errs(eperm), Privileged: true, Do: func(s Stage) error {
			return unix.Mount("", s.Outside, "", unix.MS_REMOUNT|unix.MS_BIND, "")
		}},
		{Name: "mount a file system", Want: errs(eperm), Privileged: true, Do: func(s Stage) error {
			dir := filepath.Join(s.Workspace, "mnt")
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
				return err
			}
			return unix.Unmount(dir, unix.MNT_DETACH)
		}},
		{Name: "enter a namespace", Want: errs(eperm), Privileged: true, Do: func(Stage) error { return setns() }},
		{Name: "make a user namespace", Want: errs(eperm), Do: func(Stage) error { return newUserNamespace() }, Lacking: errs(eperm, syscall.ENOSPC, syscall.EUSERS)},
		{Name: "connect to a port of this machine", Want: errs(syscall.ECONNREFUSED, syscall.ENETUNREACH, eperm), Do: func(s Stage) error { return dial("tcp", s.TCP) }},
		{Name: "listen on a port", In: []string{"strict"}, Want: errs(eperm), Do: func(Stage) error { return listen() }},
		{Name: "connect to a unix socket of this machine", Want: errs(eperm, eacces, syscall.ECONNREFUSED), Do: func(s Stage) error { return dial("unix", s.Stream) }},
		{Name: "connect to an abstract socket", Want: errs(eperm, syscall.ECONNREFUSED), Do: func(s Stage) error { return dial("unix", s.Abstract) }},
		{Name: "send through a pair of datagram sockets", In: []string{"strict"}, Want: errs(eperm), Do: func(s Stage) error { return datagramPair(s.Datagram) }},
		{Name: "trace a process", Want: errs(eperm), Do: func(Stage) error { return trace() }},
		{Name: "signal a process outside", Want: errs(syscall.ESRCH), Do: func(s Stage) error { return unix.Kill(s.PID, 0) }},
		{Name: "look at a process outside", Want: errs(enoent), Do: func(s Stage) error { return read("/proc/" + strconv.Itoa(s.PID) + "/environ") }},
		{Name: "push input into a terminal", Want: errs(eperm), Do: func(Stage) error { return pushInput() }, Lacking: errs(syscall.EIO)},
		{Name: "call the kernel as a 32-bit program", Want: errs(syscall.ENOSYS, syscall.ENOEXEC), Do: func(s Stage) error { return foreignCall(filepath.Join(s.Workspace, "mnt")) }, Lacking: errs(syscall.ENOEXEC)},
		{Name: "make a program that runs as its owner", Want: errs(eperm), Do: func(s Stage) error {
			return os.Chmod(filepath.Join(s.Workspace, "tool"), os.ModeSetuid|0o755)
		}},
		{Name: "find a secret in the environment", Want: errs(enoent), Do: func(s Stage) error {
			if _, ok := os.LookupEnv(s.Canary); !ok {
				return enoent
			}
			return nil
		}},
		{Name: "hold a capability", Want: errs(eperm), Privileged: true, Do: func(Stage) error { return capabilities() }},
	}
}

// datagramPair points one half of a pair at a socket of the host: no call to
// socket is needed for that.
func datagramPair(path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func setns() error {
	f, err := os.Open("/proc/self/ns/uts")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWUTS)
}

func newUserNamespace() error {
	cmd, err := self("exit")
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

func trace() error {
	cmd, err := self("wait")
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	err = unix.PtraceSeize(cmd.Process.Pid)
	if err == nil {
		cmd.Process.Kill()
	}
	return err
}

// pushInput gives a helper a terminal and lets it put a character into its
// own input. The helper's exit code is the errno.
func pushInput() error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	cmd, err := self("push")
	if err != nil {
		return err
	}
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return exitErrno(cmd.Run())
}

// exitErrno turns a helper's exit code back into the errno it means.
func exitErrno(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGSYS {
		return syscall.ENOSYS
	}
	if exit.ExitCode() > 0 {
		return syscall.Errno(exit.ExitCode())
	}
	return err
}

// i386 is a complete 32-bit program: mov eax,1; xor ebx,ebx; int 0x80.
var i386 = []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x02\x00\x03\x00\x01\x00\x00\x00\x54\x80\x04\x08\x34\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x34\x00\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
	"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x80\x04\x08\x00\x80\x04\x08\x5d\x00\x00\x00\x5d\x00\x00\x00\x05\x00\x00\x00\x00\x10\x00\x00" +
	"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80")

// foreignCall runs a program whose calls have other numbers than ours. A
// filter that does not look at the architecture takes them for others.
func foreignCall(dir string) error {
	path := filepath.Join(dir, "i386")
	if err := os.WriteFile(path, i386, 0o755); err != nil {
		return err
	}
	defer os.Remove(path)
	return exitErrno(exec.Command(path).Run())
}

// capabilities succeeds where any of the five sets holds one.
func capabilities() error {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "Cap") && strings.Trim(value, "0 \t\n") != "" {
			return nil
		}
	}
	return syscall.EPERM
}

// helper runs the small roles that acts start our own program in.
func helper(args []string) (code int, ok bool) {
	switch args[0] {
	case "exit":
		return 0, true
	case "wait": // says that it is up, and ends with its input
		os.Stdout.Write([]byte{1})
		os.Stdin.Read(make([]byte, 1))
		return 0, true
	case "push":
		if err := unix.IoctlSetPointerInt(0, unix.TIOCSTI, 'x'); err != nil {
			var errno syscall.Errno
			errors.As(err, &errno)
			return int(errno), true
		}
		return 0, true
	}
	return 0, false
}

// ownMounts gives this program mounts of its own, where it may have them. A
// wall that does not bite lets the acts happen on the machine itself: what one
// mounts there must end with this program, however it ends. Inside a boundary
// that holds it is refused, as the mount is. From here on the program's own
// thread acts, for a thread has its mounts to itself (unshare(2)).
func ownMounts() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keep the probe's mounts from the machine: %w", err)
	}
	return nil
}

// unmountBelow takes away what is mounted below a folder in the mounts that
// this program sees: the newest first, as the list ends with it.
func unmountBelow(dir string) {
	list, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	for _, line := range slices.Backward(strings.Split(string(list), "\n")) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			_ = unix.Unmount(fields[4], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // the folder's own names hold nothing that is escaped there
		}
	}
}

// namespaces are what a control run of the privileged acts has to itself, so
// that it holds every capability there.
func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// prepareNamespace puts up, in the control run's own namespaces, the mounts
// that privileged acts take down.
func prepareNamespace(s Stage) {
	ssh := filepath.Join(s.Home, ".ssh")
	for _, err := range []error{
		unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""),
		unix.Mount("tmpfs", ssh, "tmpfs", 0, ""),
		unix.Mount(s.Outside, s.Outside, "", unix.MS_BIND, ""),
		unix.Mount("", s.Outside, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""),
	} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "prepare the control run:", err)
		}
	}
}

// boot tells one start of the machine from another.
func boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// stamp tells one state of a file from another.
func stamp(st *syscall.Stat_t) string {
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim)
}

// advice names the usual causes of a boundary that cannot be built.
func advice(wall, problem string) string {
	switch {
	case strings.Contains(problem, "namespace") && wall == "native":
		return "it needs user namespaces and programs in memory: set the sysctls kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0 and vm.memfd_noexec below 2, " +
			"and on Ubuntu 24.04 and later kernel.apparmor_restrict_unprivileged_userns=0; or install bubblewrap, which auto takes instead"
	case strings.Contains(problem, "uid map"), strings.Contains(problem, "RTM_NEWADDR"), strings.Contains(problem, "namespace"), strings.Contains(problem, "ermission"):
		return "allow user namespaces for bubblewrap: on Ubuntu 24.04 and later install the AppArmor profile bwrap-userns-restrict (package apparmor-profiles), " +
			"elsewhere set the sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0"
	case strings.Contains(problem, "proc"):
		return "inside a container, /proc must be mounted whole: start the container with an unmasked /proc"
	}
	return "reeve doctor shows each promise"
}
