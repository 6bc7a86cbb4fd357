// Package localsock is the local door: a unix socket that knows its peer.
//
// A [Conn] carries frames: four bytes of length, big-endian, then that many
// bytes (one JSON value), at most [MaxFrame]. A frame may carry open files
// (SCM_RIGHTS, at most [MaxFiles]). The listener's file is 0600 in a 0700
// directory and both ends check that the other belongs to the same user (or
// to root at the serving end), so another user's process cannot pose as
// either. The same user is not proof of a person: see [Peer.Descends].
package localsock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of one frame.
const (
	MaxFrame = 4 << 20
	MaxFiles = 4
	maxPath  = 100 // bytes of a socket's path; sun_path has 108 on Linux, 104 on macOS
)

// Path is where a socket named name for this state directory stands: in the
// directory itself, or below the runtime directory where that path would be
// too long to bind.
func Path(state, name string, getenv func(string) string) (string, error) {
	p := filepath.Join(state, name)
	if len(p) <= maxPath {
		return p, nil
	}
	base := getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = filepath.Join(os.TempDir(), fmt.Sprintf("reeve-%d", os.Getuid()))
	}
	p = filepath.Join(base, fmt.Sprintf("reeve-%x", fnv64(state)), name)
	if len(p) > maxPath {
		return "", fmt.Errorf("the state directory %s and the runtime directory %s are both too long for a socket (%d bytes at most)", state, base, maxPath)
	}
	return p, nil
}

// fnv64 names a directory after a path (FNV-1a).
func fnv64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Listener accepts connections of the same user.
type Listener struct {
	l    *net.UnixListener
	path string
}

// Listen binds path. A stale file from a daemon that died is removed: the
// caller holds the lock on the state directory, so nobody else serves it.
func Listen(path string) (*Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the socket: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("close the socket to others: %w", err)
	}
	return &Listener{l, path}, nil
}

// private refuses a directory that others could write or that is not ours.
func private(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != uint32(os.Getuid()) || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s must be a directory of yours that nobody else can write", dir)
	}
	return nil
}

// Path is where the listener stands.
func (l *Listener) Path() string { return l.path }

// Close stops accepting and removes the socket.
func (l *Listener) Close() error { return l.l.Close() }

// Accept waits for the next connection of this user or of root.
func (l *Listener) Accept() (*Conn, error) {
	for {
		u, err := l.l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		c, err := newConn(u)
		if err == nil && (c.Peer.UID == os.Getuid() || c.Peer.UID == 0) {
			return c, nil
		}
		u.Close()
	}
}

// Passing reports whether an error of Accept goes away by itself: no descriptor
// or memory was left for a connection, or it was gone before it was taken.
func Passing(err error) bool {
	for _, passing := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// Dial connects to path and checks that a process of this user, or of root,
// serves it.
func Dial(path string, timeout time.Duration) (*Conn, error) {
	n, err := net.DialTimeout("unix", path, timeout)
	if err != nil {
		return nil, err
	}
	c, err := newConn(n.(*net.UnixConn))
	if err != nil {
		n.Close()
		return nil, err
	}
	if c.Peer.UID != os.Getuid() && c.Peer.UID != 0 {
		n.Close()
		return nil, fmt.Errorf("%s is served by user %d, not by you", path, c.Peer.UID)
	}
	return c, nil
}

// Conn is one connection. One goroutine may read while another writes.
type Conn struct {
	Peer Peer
	u    *net.UnixConn
}

func newConn(u *net.UnixConn) (*Conn, error) {
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer Peer
	var perr error
	if err := raw.Control(func(fd uintptr) { peer, perr = peerOf(int(fd)) }); err != nil {
		return nil, err
	}
	if perr != nil {
		return nil, fmt.Errorf("ask the kernel who is at the other end: %w", perr)
	}
	return &Conn{Peer: peer, u: u}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.u.Close() }

// Hangup tells the other end that nothing more will be sent; what it still
// sends can be read.
func (c *Conn) Hangup() error { return c.u.CloseWrite() }

// SetDeadline bounds every later read and write.
func (c *Conn) SetDeadline(t time.Time) error { return c.u.SetDeadline(t) }

// SetReadDeadline bounds every later read. A read that it cut off leaves the
// connection of no use, unless nothing had come.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.u.SetReadDeadline(t) }

// SetWriteDeadline bounds every later write. A write that it cut off leaves
// the connection of no use.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.u.SetWriteDeadline(t) }

// Write sends one frame, with open files where there are any; they stay open
// at this end.
func (c *Conn) Write(frame []byte, files ...*os.File) error {
	if len(frame) > MaxFrame {
		return fmt.Errorf("a message of %d bytes is too large; at most %d", len(frame), MaxFrame)
	}
	buf := make([]byte, 4+len(frame))
	binary.BigEndian.PutUint32(buf, uint32(len(frame)))
	copy(buf[4:], frame)
	if len(files) == 0 {
		_, err := c.u.Write(buf)
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := c.u.WriteMsgUnix(buf[:4], unix.UnixRights(fds...), nil)
	if err != nil {
		return err
	}
	_, err = c.u.Write(buf[n:])
	return err
}

// Read receives one frame and the files that came with it. The caller closes
// the files. io.EOF means the other end closed between frames.
func (c *Conn) Read() (frame []byte, files []*os.File, err error) {
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(MaxFiles*4))
	n, on, _, _, err := c.u.ReadMsgUnix(head[:], oob)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	if files, err = received(oob[:on]); err != nil {
		return nil, nil, err
	}
	fail := func(err error) ([]byte, []*os.File, error) {
		for _, f := range files {
			f.Close()
		}
		return nil, nil, err
	}
	if _, err := io.ReadFull(c.u, head[n:]); err != nil {
		return fail(err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxFrame {
		return fail(fmt.Errorf("a message of %d bytes was announced; at most %d are read", size, MaxFrame))
	}
	frame = make([]byte, size)
	if _, err := io.ReadFull(c.u, frame); err != nil {
		return fail(fmt.Errorf("the message ends early: %w", err))
	}
	return frame, files, nil
}

func received(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("read the files of a message: %w", err)
	}
	var files []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}
