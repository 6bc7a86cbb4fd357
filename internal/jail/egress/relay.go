package egress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// errNoFiles: the process has no file descriptor left.
const errNoFiles = syscall.EMFILE

// pulse is when something last moved in a pair of connections, and whether
// what moves it is to stop.
type pulse struct {
	at      atomic.Int64
	stopped atomic.Bool
}

// stop ends a copyN that reads from src, now or before its next read.
func (p *pulse) stop(src *net.TCPConn) {
	p.stopped.Store(true)
	src.SetReadDeadline(time.Unix(1, 0)) // copyN sets its own before it looks at stopped
}

func (p *pulse) beat()                        { p.at.Store(time.Now().UnixNano()) }
func (p *pulse) last() time.Time              { return time.Unix(0, p.at.Load()) }
func (p *pulse) dead(idle time.Duration) bool { return time.Since(p.last()) >= idle }

// chunk is how much is handed to the kernel at once: between two of them the
// pulse is taken.
const chunk = 16 << 20

// copyN moves n bytes, or with n < 0 all there are, from src to dst, and
// returns how many. What r has read ahead of src goes first; the rest is moved
// by the kernel where it can (splice, Linux). It ends with os.ErrDeadlineExceeded
// when nothing has moved for idle, also not in the other direction of p.
func copyN(dst, src *net.TCPConn, r *bufio.Reader, n int64, idle time.Duration, p *pulse) (moved int64, err error) {
	p.beat()
	if ahead := r.Buffered(); ahead > 0 {
		if n >= 0 {
			ahead = int(min(int64(ahead), n))
		}
		b, _ := r.Peek(ahead)
		dst.SetWriteDeadline(time.Now().Add(idle))
		m, err := dst.Write(b)
		r.Discard(m)
		if moved = int64(m); err != nil {
			return moved, err
		}
	}
	for n < 0 || moved < n {
		want := int64(chunk)
		if n >= 0 {
			want = min(want, n-moved)
		}
		now := time.Now()
		src.SetReadDeadline(now.Add(idle))
		dst.SetWriteDeadline(now.Add(idle))
		if p.stopped.Load() {
			return moved, os.ErrDeadlineExceeded
		}
		m, err := dst.ReadFrom(&io.LimitedReader{R: src, N: want})
		if moved += m; m > 0 {
			p.beat()
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !p.dead(idle) && !p.stopped.Load():
			continue
		case err != nil:
			return moved, err
		case m < want: // the end of src
			if n >= 0 && moved < n {
				return moved, io.ErrUnexpectedEOF
			}
			return moved, nil
		}
	}
	return moved, nil
}
