package seatbelt

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail"
)

const (
	here   = true
	system = "darwin"
)

// release is the kernel's version.
func release() string {
	v, err := unix.Sysctl("kern.osrelease")
	if err != nil {
		return "Darwin"
	}
	return "Darwin " + v
}

// spelled gives each path of the plan that exists the spelling that the kernel
// knows it by: most disks take .GIT for .git, and a profile does not. A path
// that leads to another place by now is an error: a link took part of it.
func spelled(plan jail.Plan) (jail.Plan, error) {
	var err error
	one := func(path string) string {
		real, e := kernelPath(path)
		switch {
		case e == unix.ENOENT:
			return path
		case e != nil:
			err = fmt.Errorf("look at %s: %w", path, e)
		case !strings.EqualFold(real, path):
			err = fmt.Errorf("%s changed while the sandbox was made: it is %s", path, real)
		}
		return real
	}
	plan.Workspace, plan.Dir = one(plan.Workspace), one(plan.Dir)
	for _, list := range []*[]string{&plan.Write, &plan.Read, &plan.Pin, &plan.Protect, &plan.Private, &plan.Mask} {
		*list = slices.Clone(*list)
		for i, path := range *list {
			(*list)[i] = one(path)
		}
	}
	plan.Links = slices.Clone(plan.Links)
	for i, l := range plan.Links {
		plan.Links[i].Path = one(l.Path)
	}
	plan.Expose = slices.Clone(plan.Expose)
	for i, e := range plan.Expose {
		plan.Expose[i].From = one(e.From)
		if e.To == e.From {
			plan.Expose[i].To = plan.Expose[i].From
		}
	}
	return plan, err
}

// kernelPath asks the kernel for its own name of what stands at path, the last
// element not followed where it is a link (fcntl(2), F_GETPATH).
func kernelPath(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_SYMLINK|unix.O_CLOEXEC, 0)
	if err != nil && err != unix.ENOENT && path != "/" {
		// A socket, or what we may not read ourselves: its directory is asked.
		dir, err := kernelPath(filepath.Dir(path))
		return filepath.Join(dir, filepath.Base(path)), err
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [1024]byte // MAXPATHLEN
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETPATH, uintptr(unsafe.Pointer(&buf[0]))); errno != 0 {
		return "", errno
	}
	end := bytes.IndexByte(buf[:], 0)
	if end <= 0 {
		return "", unix.EINVAL
	}
	return string(buf[:end]), nil
}
