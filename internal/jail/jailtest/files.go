//go:build linux

package jailtest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/probe"
)

const (
	eperm, eacces, erofs, enoent = syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.ENOENT
	exdev, ebusy, esrch          = syscall.EXDEV, syscall.EBUSY, syscall.ESRCH
)

func errs(e ...syscall.Errno) []syscall.Errno { return e }

// act is short for an attempt in every profile.
func act(name string, want []syscall.Errno, do func(probe.Stage) error) probe.Act {
	return probe.Act{Name: name, Want: want, Do: do}
}

func victim(s probe.Stage) string { return filepath.Join(s.Outside, "victim") }

func ws(s probe.Stage, name string) string { return filepath.Join(s.Workspace, name) }

// put opens a file for writing and changes it.
func put(path string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o755)
	if err != nil {
		return err
	}
	_, err = f.WriteString("changed")
	return errors.Join(err, f.Close())
}

func get(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		return enoent
	}
	return err
}

// there and back: a rename that is undone where it succeeded.
func swap(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Rename(to, from)
}

// dirFD opens a directory as a handle only.
func dirFD(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// writes: change something outside the workspace.
func writes() []probe.Act {
	return []probe.Act{
		act("write out: create a file", errs(erofs), func(s probe.Stage) error { return put(filepath.Join(s.Outside, "new"), os.O_CREATE) }),
		act("write out: truncate by path", errs(erofs), func(s probe.Stage) error { return unix.Truncate(victim(s), 1) }),
		act("write out: append", errs(erofs), func(s probe.Stage) error { return put(victim(s), os.O_APPEND) }),
		act("write out: move a file there", errs(exdev, erofs), func(s probe.Stage) error { return swap(ws(s, "tool"), filepath.Join(s.Outside, "tool")) }),
		act("write out: make a directory", errs(erofs), func(s probe.Stage) error { return os.Mkdir(filepath.Join(s.Outside, "dir"), 0o755) }),
		act("write out: remove a file", errs(erofs), func(s probe.Stage) error {
			return errors.Join(os.Remove(victim(s)), os.WriteFile(victim(s), []byte("secret"), 0o644))
		}),
		act("write out: change a mode", errs(erofs), func(s probe.Stage) error { return os.Chmod(victim(s), 0o600) }),
		act("write out: change an owner", errs(erofs), func(s probe.Stage) error { return os.Chown(victim(s), os.Getuid(), os.Getgid()) }),
		act("write out: change the times", errs(erofs), func(s probe.Stage) error { return unix.Utimes(victim(s), make([]unix.Timeval, 2)) }),
		{Name: "write out: set an attribute", Want: errs(erofs), Lacking: errs(syscall.ENOTSUP), Do: func(s probe.Stage) error {
			return unix.Setxattr(victim(s), "user.reeve", []byte("x"), 0)
		}},
		act("write out: make a symbolic link", errs(erofs), func(s probe.Stage) error { return os.Symlink("x", filepath.Join(s.Outside, "sym")) }),
		act("write out: make a pipe", errs(erofs), func(s probe.Stage) error { return unix.Mkfifo(filepath.Join(s.Outside, "fifo"), 0o644) }),
		act("write out: through the root of proc", errs(erofs), func(s probe.Stage) error { return put("/proc/self/root"+victim(s), os.O_TRUNC) }),
		act("write out: through the directory of proc", errs(erofs), func(s probe.Stage) error {
			if err := os.Chdir(s.Workspace); err != nil {
				return err
			}
			// The thread's, since one with mounts of its own has its own directory.
			return put("/proc/thread-self/cwd/../home/outside/victim", os.O_TRUNC)
		}),
		act("write out: from a handle of a directory", errs(erofs), func(s probe.Stage) error {
			dir, err := dirFD(s.Outside)
			if err != nil {
				return err
			}
			defer unix.Close(dir)
			fd, err := unix.Openat(dir, "victim", unix.O_WRONLY|unix.O_TRUNC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		act("write out: reopen a handle for writing", errs(erofs), func(s probe.Stage) error {
			fd, err := unix.Open(victim(s), unix.O_PATH, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return put("/proc/self/fd/"+strconv.Itoa(fd), os.O_TRUNC)
		}),
		act("write out: a file without a name", errs(erofs), func(s probe.Stage) error {
			fd, err := unix.Open(s.Outside, unix.O_TMPFILE|unix.O_RDWR, 0o644)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		{Name: "write out: by a file handle", Want: errs(eperm), Lacking: errs(eperm, syscall.ENOTSUP), Do: func(s probe.Stage) error { return byHandle(victim(s)) }},
	}
}

// byHandle opens a file by its number in the file system, past every mount.
func byHandle(path string) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	root, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	fd, err := unix.OpenByHandleAt(root, h, unix.O_WRONLY)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// metadata: change what starts programs the next time.
func metadata() []probe.Act {
	home := func(name string) func(probe.Stage) string {
		return func(s probe.Stage) string { return filepath.Join(s.Home, name) }
	}
	change := func(name string, path func(probe.Stage) string) probe.Act {
		return act("metadata: "+name, errs(erofs), func(s probe.Stage) error { return put(path(s), os.O_CREATE|os.O_TRUNC) })
	}
	in := func(name string) func(probe.Stage) string {
		return func(s probe.Stage) string { return ws(s, name) }
	}
	return []probe.Act{
		change("plant a hook", in(".git/hooks/pre-commit")),
		change("change a hook", in(".git/hooks/post-commit")),
		change("change the configuration", in(".git/config")),
		change("change a nested repository's configuration", in("sub/.git/config")),
		change("plant a hook in a nested repository", in("sub/.git/hooks/post-merge")),
		change("change an editor's tasks", in(".vscode/tasks.json")),
		change("add to an editor's settings", in(".vscode/settings.json")),
		change("change the list of servers", in(".mcp.json")),
		change("change a directory's shell start", in(".envrc")),
		change("change an agent's settings", home(".claude/settings.json")),
		change("change an agent's gate", home(".claude/hooks/gate.sh")),
		change("add an agent's command", home(".claude/commands/y.md")),
		change("change another agent's settings", home(".codex/config.toml")),
		act("metadata: move .git away", errs(ebusy), func(s probe.Stage) error { return swap(ws(s, ".git"), ws(s, "g")) }),
		act("metadata: move the hooks away", errs(ebusy, erofs), func(s probe.Stage) error { return swap(ws(s, ".git/hooks"), ws(s, ".git/h")) }),
		act("metadata: move an editor's folder away", errs(ebusy), func(s probe.Stage) error { return swap(ws(s, ".vscode"), ws(s, "v")) }),
		act("metadata: move a nested repository's parent away", errs(ebusy), func(s probe.Stage) error { return swap(ws(s, "sub"), ws(s, "s")) }),
		act("metadata: move the agent's folder away", errs(ebusy, erofs), func(s probe.Stage) error {
			return swap(filepath.Join(s.Home, ".claude"), filepath.Join(s.Home, "c"))
		}),
		act("metadata: exchange .git for another directory", errs(ebusy), func(s probe.Stage) error {
			for range 2 {
				if err := unix.Renameat2(unix.AT_FDCWD, ws(s, ".git"), unix.AT_FDCWD, ws(s, "other"), unix.RENAME_EXCHANGE); err != nil {
					return err
				}
			}
			return nil
		}),
		act("metadata: put a file over the configuration", errs(ebusy, exdev, erofs), func(s probe.Stage) error {
			if err := os.WriteFile(ws(s, "config"), []byte("[core]\n"), 0o644); err != nil {
				return err
			}
			return os.Rename(ws(s, "config"), ws(s, ".git/config"))
		}),
		act("metadata: remove the configuration", errs(ebusy, erofs), func(s probe.Stage) error {
			return errors.Join(os.Remove(ws(s, ".git/config")), os.WriteFile(ws(s, ".git/config"), nil, 0o644))
		}),
		act("metadata: make a hook runnable", errs(erofs), func(s probe.Stage) error { return os.Chmod(ws(s, ".git/hooks/post-commit"), 0o755) }),
		{Name: "metadata: write an object", In: []string{"strict"}, Want: errs(erofs), Do: func(s probe.Stage) error {
			return put(ws(s, ".git/objects/x"), os.O_CREATE)
		}},
	}
}

// credentials: read what is hidden.
func credentials() []probe.Act {
	var all []probe.Act
	for _, name := range []string{".netrc", ".npmrc", ".git-credentials", ".cargo/credentials.toml"} {
		all = append(all, act("credential: read "+name, errs(eacces), func(s probe.Stage) error { return get(filepath.Join(s.Home, name)) }))
	}
	for _, name := range []string{".ssh/id", ".aws/credentials", ".docker/config.json", ".kube/config", ".gnupg/private-keys-v1.d/k.key", ".config/gh/hosts.yml", ".config/gcloud/application_default_credentials.json"} {
		all = append(all, act("credential: read "+name, errs(enoent), func(s probe.Stage) error { return get(filepath.Join(s.Home, name)) }))
	}
	return append(all,
		act("credential: read Reeve's state", errs(enoent), func(s probe.Stage) error { return get(filepath.Join(s.State, "secret")) }),
		act("credential: by another name of the file", errs(eacces), func(s probe.Stage) error { return get(ws(s, "alias-of-netrc")) }),
		act("credential: through a symbolic link", errs(eacces), func(s probe.Stage) error {
			os.Symlink(filepath.Join(s.Home, ".netrc"), ws(s, "cred"))
			return get(ws(s, "cred"))
		}),
		act("credential: through the root of proc", errs(enoent), func(s probe.Stage) error { return get("/proc/self/root" + s.Home + "/.ssh/id") }),
		act("credential: from a handle of the home directory", errs(enoent), func(s probe.Stage) error {
			dir, err := dirFD(s.Home)
			if err != nil {
				return err
			}
			defer unix.Close(dir)
			fd, err := unix.Openat(dir, ".ssh/id", unix.O_RDONLY, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}),
		act("credential: move what hides it", errs(ebusy, erofs), func(s probe.Stage) error {
			return swap(filepath.Join(s.Home, ".ssh"), filepath.Join(s.Home, "ssh"))
		}),
		act("credential: write where it is hidden", errs(erofs), func(s probe.Stage) error { return put(filepath.Join(s.Home, ".ssh/authorized_keys"), os.O_CREATE) }),
		act("credential: open up the empty file", errs(erofs, eperm), func(s probe.Stage) error { return os.Chmod(filepath.Join(s.Home, ".netrc"), 0o644) }),
	)
}

// links: use names to reach past the mounts.
func links() []probe.Act {
	link := func(name string, want []syscall.Errno, from, to func(probe.Stage) string) probe.Act {
		return act("link: "+name, want, func(s probe.Stage) error { return os.Link(from(s), to(s)) })
	}
	return []probe.Act{
		link("a hard link to a file outside", errs(exdev), victim, func(s probe.Stage) string { return ws(s, "a1") }),
		link("a hard link to a hook", errs(exdev), func(s probe.Stage) string { return ws(s, ".git/hooks/post-commit") }, func(s probe.Stage) string { return ws(s, "a2") }),
		link("a hard link to a credential", errs(exdev), func(s probe.Stage) string { return filepath.Join(s.Home, ".netrc") }, func(s probe.Stage) string { return ws(s, "a3") }),
		link("a hard link into the hooks", errs(exdev, erofs), func(s probe.Stage) string { return ws(s, "tool") }, func(s probe.Stage) string { return ws(s, ".git/hooks/pre-rebase") }),
		link("a hard link to outside", errs(exdev, erofs), func(s probe.Stage) string { return ws(s, "tool") }, func(s probe.Stage) string { return filepath.Join(s.Outside, "a4") }),
		act("link: a hard link from a handle", errs(exdev), func(s probe.Stage) error {
			fd, err := unix.Open(victim(s), unix.O_PATH, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, ws(s, "a5"), unix.AT_SYMLINK_FOLLOW)
		}),
		act("link: write through one to a file", errs(erofs), func(s probe.Stage) error { return put(ws(s, "link"), os.O_TRUNC) }),
		act("link: make a file through one to nothing", errs(erofs), func(s probe.Stage) error { return put(ws(s, "dangling"), os.O_CREATE) }),
		act("link: through a chain", errs(erofs), func(s probe.Stage) error {
			os.Symlink("link", ws(s, "l1"))
			os.Symlink("l1", ws(s, "l2"))
			return put(ws(s, "l2"), os.O_TRUNC)
		}),
		act("link: through a linked directory", errs(erofs), func(s probe.Stage) error {
			os.Symlink(s.Outside, ws(s, "out"))
			return put(ws(s, "out/made"), os.O_CREATE)
		}),
		act("link: through a relative one", errs(erofs), func(s probe.Stage) error {
			os.Symlink("../home/outside/victim", ws(s, "rel"))
			return put(ws(s, "rel"), os.O_TRUNC)
		}),
		act("link: through one to the root of proc", errs(erofs), func(s probe.Stage) error {
			os.Symlink("/proc/self/root", ws(s, "r"))
			return put(ws(s, "r"+victim(s)), os.O_TRUNC)
		}),
		act("link: exchange a name inside for one outside", errs(exdev, erofs), func(s probe.Stage) error {
			for range 2 {
				if err := unix.Renameat2(unix.AT_FDCWD, ws(s, "tool"), unix.AT_FDCWD, victim(s), unix.RENAME_EXCHANGE); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
