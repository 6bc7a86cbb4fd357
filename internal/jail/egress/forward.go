package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/reeve-gate/reeve/internal/netguard"
)

// upstream is an open connection to a site, and the pass it is open by.
type upstream struct {
	site
	pass           Pass
	conn           *net.TCPConn
	r              *bufio.Reader
	used           bool        // an exchange has ended on it
	stop           func() bool // it is no longer closed with the session
	sent, received int64
}

func (u *upstream) close() {
	if u != nil {
		u.stop()
		u.conn.Close()
		u.pass.Done(u.sent, u.received)
	}
}

// http serves requests until the connection ends. tunnel is the site that the
// connection is a tunnel to, with up open to it; nil for a proxy's.
func (c *client) http(tunnel *site, up *upstream) {
	defer func() { up.close() }()
	for begun := false; ; begun = true {
		if begun {
			if _, err := c.await(); err != nil {
				return
			}
		}
		q, err := readRequest(c.r, c.s.Limits.Head, tunnel)
		if err != nil {
			c.misread(q, tunnel, err)
			return
		}
		if q.method == "CONNECT" {
			up.close()
			up = nil
			c.connect(q)
			return
		}
		if up, err = c.reach(q, up); err != nil {
			c.refuse(q, err)
			return
		}
		keep, err := c.exchange(q, up)
		if err != nil || !keep {
			c.linger()
			return
		}
		up.used = true
	}
}

// misread answers a request that could not be read. It is recorded where the
// client sent something, and not where it was slow or went away.
func (c *client) misread(q *request, tunnel *site, err error) {
	var bad errHead
	switch {
	case errors.As(err, &bad):
		a := Asked{}
		switch {
		case tunnel != nil:
			a = Asked{tunnel.host, tunnel.port}
		case q != nil:
			a = Asked{q.host, q.port}
		}
		c.s.Gate.Fault(c.ctx, a, bad.why)
		c.say(q, 400, "Bad Request", "Reeve's proxy does not take this request: "+bad.why+".\n", "bad request")
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.say(q, 408, "Request Timeout", "Reeve's proxy waited too long for the rest of the request.\n", "too slow")
	}
}

// connect serves CONNECT.
func (c *client) connect(q *request) {
	a := Asked{q.host, q.port}
	pass, err := c.allow(a)
	if err != nil {
		c.refuse(q, err)
		return
	}
	up, err := pass.Dial(c.ctx)
	if err != nil {
		pass.Done(0, 0)
		c.refuse(q, err)
		return
	}
	if _, err := io.WriteString(c.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		up.Close()
		pass.Done(0, 0)
		return
	}
	c.tunnel(a, pass, up)
}

// reach gives the connection that a request goes out by: the one that is open
// where it leads to the same site and its pass still holds, else a new one.
func (c *client) reach(q *request, up *upstream) (*upstream, error) {
	at := site{q.host, q.port}
	if up != nil && up.site == at && up.pass.Holds(c.ctx) == nil {
		return up, nil
	}
	up.close()
	pass, err := c.allow(Asked{q.host, q.port})
	if err != nil {
		return nil, err
	}
	conn, err := pass.Dial(c.ctx)
	if err != nil {
		pass.Done(0, 0)
		return nil, err
	}
	fresh := &upstream{site: at, pass: pass}
	c.over(fresh, conn)
	return fresh, nil
}

// refuse answers a request that is not carried out.
func (c *client) refuse(q *request, err error) {
	var no *Refusal
	if !errors.As(err, &no) {
		c.say(q, 502, "Bad Gateway", fmt.Sprintf("Reeve allowed the connection to %s, and it could not be made: %v\n", q.authority(), err), "not reached")
		return
	}
	text := "Reeve refused the connection to " + site{no.Host, no.Port}.authority(0) + ".\n" + no.Why
	reason := no.Why
	if no.Rule != "" {
		text += " (" + no.Rule + ")"
		reason += " (" + no.Rule + ")"
	}
	text += ".\n"
	if no.Help != "" {
		text += no.Help + "\n"
	}
	c.say(q, 403, "Refused by Reeve", text, reason)
}

// say answers with a few words of ours and ends the connection.
func (c *client) say(q *request, code int, phrase, text, reason string) {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nX-Reeve-Reason: %s\r\nConnection: close\r\n\r\n",
		code, phrase, len(text), fieldText(reason))
	if q != nil && q.method == "HEAD" {
		text = ""
	}
	c.conn.SetWriteDeadline(time.Now().Add(c.s.Limits.Read))
	if _, err := io.WriteString(c.conn, head+text); err == nil {
		c.linger()
	}
}

// fieldText makes one short line of ASCII.
func fieldText(s string) string {
	const most = 300
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, s)
	return line[:min(len(line), most)]
}

// linger lets the client read our last words before the connection goes: a
// close with bytes unread would take them back (RFC 9112, 9.6).
func (c *client) linger() {
	c.conn.CloseWrite()
	c.conn.SetReadDeadline(time.Now().Add(time.Second))
	io.CopyN(io.Discard, c.conn, 256<<10)
}

// exchange sends one request and passes its answer back. keep reports whether
// another may follow on both connections.
func (c *client) exchange(q *request, up *upstream) (keep bool, err error) {
	wants := q.version == "HTTP/1.1" && !contains(q.list("connection"), "close") && !contains(q.list("proxy-connection"), "close")
	if err := q.outward(); err != nil {
		c.misread(q, nil, err)
		return false, err
	}
	if err := c.send(q, up); err != nil {
		c.refuse(q, err)
		return false, err
	}
	var p pulse
	uploaded := c.upload(q, up, &p)
	keep, err = c.answer(q, up, wants)
	select {
	case upErr := <-uploaded:
		return keep && upErr == nil, err
	default: // the answer came before the request was whole
		up.conn.Close()
		p.stop(c.conn)
		<-uploaded
		return false, err
	}
}

// send sends the head of a request. A server may have ended meanwhile a
// connection that was kept open: what has no content is then sent once more on
// a new one, and what has gets a new one at once.
func (c *client) send(q *request, up *upstream) error {
	message, empty := q.head.bytes(), !q.body.chunked && q.body.length == 0
	if up.used && !empty {
		if err := c.redial(up); err != nil {
			return err
		}
	}
	err := up.write(message, c.s.Limits.Idle)
	if !up.used {
		return err
	}
	if err == nil {
		up.conn.SetReadDeadline(time.Now().Add(c.s.Limits.Idle))
		_, err = up.r.Peek(1)
	}
	if err == nil {
		return nil
	}
	if err := c.redial(up); err != nil {
		return err
	}
	return up.write(message, c.s.Limits.Idle)
}

// outward makes the request what goes to the server.
func (q *request) outward() error {
	if err := q.head.forward(); err != nil {
		return err
	}
	q.drop("host")
	q.fields = append([]field{{"Host", q.authority()}}, q.fields...)
	if q.body.chunked {
		q.add("Transfer-Encoding", "chunked")
	}
	if q.upgrade != "" {
		q.add("Connection", "Upgrade")
		q.add("Upgrade", q.upgrade)
	}
	q.first = [3]string{q.method, q.path, "HTTP/1.1"}
	return nil
}

func (u *upstream) write(b []byte, idle time.Duration) error {
	u.conn.SetWriteDeadline(time.Now().Add(idle))
	n, err := u.conn.Write(b)
	u.sent += int64(n)
	return err
}

// redial opens up anew, by the same pass.
func (c *client) redial(up *upstream) error {
	up.stop()
	up.conn.Close()
	conn, err := up.pass.Dial(c.ctx)
	if err != nil {
		return err
	}
	c.over(up, conn)
	return nil
}

// over makes conn what up stands for; it is closed with the session.
func (c *client) over(up *upstream, conn *net.TCPConn) {
	up.conn, up.r, up.used = conn, bufio.NewReaderSize(conn, 4<<10), false
	up.stop = context.AfterFunc(c.ctx, func() { conn.Close() })
}

// upload passes the request's content on beside the answer.
func (c *client) upload(q *request, up *upstream, p *pulse) <-chan error {
	done := make(chan error, 1)
	if !q.body.chunked && q.body.length == 0 {
		done <- nil
		return done
	}
	go func() {
		n, err := copyBody(up.conn, c.conn, c.r, q.body, q.body.chunked, c.s.Limits.Idle, p)
		up.sent += n
		done <- err
	}()
	return done
}

// maxInterim bounds the 1xx answers before one that counts.
const maxInterim = 16

// answer passes the answer to q back.
func (c *client) answer(q *request, up *upstream, wants bool) (keep bool, err error) {
	var h *head
	for n := 0; ; n++ {
		up.conn.SetReadDeadline(time.Now().Add(c.s.Limits.Idle))
		if h, err = readHead(up.r, c.s.Limits.Head); err == nil {
			err = h.isAnswer()
		}
		if err != nil || n > maxInterim {
			c.say(q, 502, "Bad Gateway", fmt.Sprintf("Reeve allowed the connection to %s, and its answer could not be read: %v\n", q.authority(), err), "bad answer")
			return false, errors.Join(err, io.ErrUnexpectedEOF)
		}
		if h.first[1][0] != '1' {
			break
		}
		if h.first[1] == "101" {
			return false, c.switched(q, up, h)
		}
		if err := h.forward(); err != nil {
			return false, err
		}
		if q.version == "HTTP/1.1" {
			if err := c.write(up, h.bytes()); err != nil {
				return false, err
			}
		}
	}
	b, err := h.length(h.first[0], true)
	persists := h.first[0] == "HTTP/1.1" && !contains(h.list("connection"), "close")
	if err == nil {
		err = h.forward()
	}
	if err != nil {
		c.say(q, 502, "Bad Gateway", fmt.Sprintf("Reeve allowed the connection to %s, and its answer could not be read: %v\n", q.authority(), err), "bad answer")
		return false, err
	}
	if q.method == "HEAD" || h.first[1] == "204" || h.first[1] == "304" {
		b = body{}
	}
	chunked := b.chunked && q.version == "HTTP/1.1"
	keep = wants && persists && !b.open && (chunked || !b.chunked)
	h.first[0] = "HTTP/1.1"
	if chunked {
		h.add("Transfer-Encoding", "chunked")
	}
	if !keep {
		h.add("Connection", "close")
	}
	if err := c.write(up, h.bytes()); err != nil {
		return false, err
	}
	n, err := copyBody(c.conn, up.conn, up.r, b, chunked, c.s.Limits.Idle, &pulse{})
	up.received += n
	return keep, err
}

// isAnswer checks the first line of an answer.
func (h *head) isAnswer() error {
	code := h.first[1]
	if h.first[0] != "HTTP/1.1" && h.first[0] != "HTTP/1.0" || len(code) != 3 || code[0] < '1' || strings.Trim(code, "0123456789") != "" {
		return badHead("its first line is no answer's")
	}
	return nil
}

func (c *client) write(up *upstream, b []byte) error {
	c.conn.SetWriteDeadline(time.Now().Add(c.s.Limits.Idle))
	n, err := c.conn.Write(b)
	up.received += int64(n)
	return err
}

// switched carries a web socket.
func (c *client) switched(q *request, up *upstream, h *head) error {
	if q.upgrade == "" || !contains(h.list("upgrade"), q.upgrade) {
		return badHead("the server changed the protocol and was not asked to")
	}
	if err := c.write(up, h.bytes()); err != nil {
		return err
	}
	sent, received := join(c.ctx, c.conn, up.conn, c.r, up.r, c.s.Limits.Idle, nil)
	up.sent += sent
	up.received += received
	return nil
}

// copyBody passes content on: its chunks are read and, where the other side
// takes them, written anew.
func copyBody(dst, src *net.TCPConn, r *bufio.Reader, b body, chunked bool, idle time.Duration, p *pulse) (int64, error) {
	switch {
	case b.open:
		return copyN(dst, src, r, -1, idle, p)
	case !b.chunked:
		return copyN(dst, src, r, b.length, idle, p)
	}
	var total int64
	for {
		src.SetReadDeadline(time.Now().Add(idle))
		if p.stopped.Load() {
			return total, os.ErrDeadlineExceeded
		}
		n, err := readChunkSize(r)
		if err != nil {
			return total, err
		}
		if n == 0 {
			return total, endChunks(dst, r, chunked, idle)
		}
		moved, err := copyChunk(dst, src, r, n, chunked, idle, p)
		if total += moved; err != nil {
			return total, err
		}
	}
}

// maxChunkLine bounds the line before a chunk, its extensions included.
const maxChunkLine = 4 << 10

func readChunkSize(r *bufio.Reader) (int64, error) {
	left := maxChunkLine
	line, err := readLine(r, &left)
	if err != nil {
		return 0, err
	}
	digits, _, _ := strings.Cut(line, ";")
	digits = strings.TrimRight(digits, " \t")
	if digits == "" || len(digits) > 15 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		return 0, badHead("a chunk has the size %s", netguard.Show(digits))
	}
	return strconv.ParseInt(digits, 16, 64)
}

// smallChunk is passed on in one write.
const smallChunk = 4 << 10

func copyChunk(dst, src *net.TCPConn, r *bufio.Reader, n int64, chunked bool, idle time.Duration, p *pulse) (int64, error) {
	var frame []byte
	if chunked {
		frame = append(strconv.AppendInt(nil, n, 16), '\r', '\n')
	}
	var moved int64
	if n <= smallChunk {
		at := len(frame)
		frame = append(frame, make([]byte, n)...)
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			return 0, err
		}
		moved = n
	}
	dst.SetWriteDeadline(time.Now().Add(idle))
	if moved == 0 {
		if _, err := dst.Write(frame); err != nil {
			return 0, err
		}
		var err error
		if moved, err = copyN(dst, src, r, n, idle, p); err != nil {
			return moved, err
		}
		frame = nil
	}
	var end [2]byte
	src.SetReadDeadline(time.Now().Add(idle))
	if _, err := io.ReadFull(r, end[:]); err != nil {
		return moved, err
	}
	if end != [2]byte{'\r', '\n'} {
		return moved, badHead("a chunk is longer than its size")
	}
	if chunked {
		frame = append(frame, '\r', '\n')
	}
	_, err := dst.Write(frame)
	return moved, err
}

// endChunks reads the trailer, which is not passed on, and ends the content.
func endChunks(dst *net.TCPConn, r *bufio.Reader, chunked bool, idle time.Duration) error {
	left := maxChunkLine
	for {
		line, err := readLine(r, &left)
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
	}
	if !chunked {
		return nil
	}
	dst.SetWriteDeadline(time.Now().Add(idle))
	_, err := io.WriteString(dst, "0\r\n\r\n")
	return err
}

// relay is what Relay does, with a dialer.
func relay(ctx context.Context, addr string, to site, in io.Reader, out io.Writer, dial func(context.Context, string, string) (net.Conn, error)) error {
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("reach the proxy of this boundary at %s: %w", addr, err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", to.authority(0)); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	h, err := readHead(r, 64<<10)
	if err != nil {
		return fmt.Errorf("read the proxy's answer: %w", err)
	}
	if h.first[1] != "200" {
		text, _ := io.ReadAll(io.LimitReader(r, 4<<10))
		return errors.New(strings.TrimSpace(string(text)))
	}
	back := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, r)
		back <- err
	}()
	go func() {
		io.Copy(conn, in)
		if c, ok := conn.(*net.TCPConn); ok {
			c.CloseWrite()
		}
	}()
	return <-back
}
