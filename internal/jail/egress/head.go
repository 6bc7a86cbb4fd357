package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve/internal/netguard"
)

// maxFields bounds the field lines of one head.
const maxFields = 128

// head is the start of an HTTP message: its first line in three parts, and
// its fields as they were written.
type head struct {
	first  [3]string
	fields []field
}

type field struct{ name, value string }

// errHead marks what is wrong with a message, as opposed to a connection that
// ended.
type errHead struct{ why string }

func (e errHead) Error() string { return e.why }

func badHead(format string, args ...any) error { return errHead{fmt.Sprintf(format, args...)} }

// readHead reads the start of a message, at most limit bytes. It reads more
// strictly than RFC 9112 lets it, so that no server behind reads it
// differently: lines end with CRLF, no line is folded, no blank stands before
// a colon, no control character stands anywhere.
func readHead(r *bufio.Reader, limit int) (*head, error) {
	h := &head{}
	left := limit
	line, err := readLine(r, &left)
	if err == nil && line == "" { // one empty line may stand before a request (RFC 9112, 2.2)
		line, err = readLine(r, &left)
	}
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(line, " ", 3)
	if len(parts) < 2 {
		return nil, badHead("its first line is not HTTP's")
	}
	copy(h.first[:], parts)
	for {
		line, err := readLine(r, &left)
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case line == "":
			return h, nil
		case len(h.fields) >= maxFields:
			return nil, badHead("its head has more than %d fields", maxFields)
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !token(name) {
			return nil, badHead("a field of its head has no name: %s", netguard.Show(line))
		}
		h.fields = append(h.fields, field{name, strings.Trim(value, " \t")})
	}
}

// readLine reads one line without its CRLF.
func readLine(r *bufio.Reader, left *int) (string, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return "", badHead("its head is longer than may be")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) && len(long)+len(part) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		if long != nil {
			part = append(long, part...)
		}
		line, ok := bytes.CutSuffix(part, []byte("\r\n"))
		if !ok {
			return "", badHead("a line of its head does not end with CRLF")
		}
		for _, c := range line {
			if c < ' ' && c != '\t' || c == 0x7f {
				return "", badHead("its head holds a control character")
			}
		}
		return string(line), nil
	}
}

// token reports whether s is a token (RFC 9110, 5.6.2).
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// all returns the values of a field.
func (h *head) all(name string) []string {
	var out []string
	for _, f := range h.fields {
		if strings.EqualFold(f.name, name) {
			out = append(out, f.value)
		}
	}
	return out
}

// list returns the members of a field that is a list of tokens, in lower case.
func (h *head) list(name string) []string {
	var out []string
	for _, v := range h.all(name) {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.ToLower(strings.Trim(part, " \t")); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// hopByHop are the fields that speak of one connection (RFC 9110, 7.6.1, and
// what is in use besides).
var hopByHop = map[string]bool{
	"connection": true, "proxy-connection": true, "keep-alive": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"proxy-authenticate": true, "proxy-authorization": true, "proxy-authentication-info": true, "http2-settings": true,
}

// framing are the fields by which the other end finds a message's end or its
// site: no Connection field may take one away.
var framing = map[string]bool{"host": true, "content-length": true, "transfer-encoding": true, "authorization": true, "cookie": true}

// forward takes out what speaks of this connection alone.
func (h *head) forward() error {
	named := h.list("connection")
	for _, name := range named {
		if framing[name] {
			return badHead("its Connection field names %s", name)
		}
	}
	kept := h.fields[:0:0]
	for _, f := range h.fields {
		lower := strings.ToLower(f.name)
		drop := hopByHop[lower]
		for _, name := range named {
			drop = drop || name == lower
		}
		if !drop {
			kept = append(kept, f)
		}
	}
	h.fields = kept
	return nil
}

func (h *head) drop(name string) {
	kept := h.fields[:0:0]
	for _, f := range h.fields {
		if !strings.EqualFold(f.name, name) {
			kept = append(kept, f)
		}
	}
	h.fields = kept
}

func (h *head) add(name, value string) { h.fields = append(h.fields, field{name, value}) }

// bytes writes the head.
func (h *head) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(h.first[0] + " " + h.first[1] + " " + h.first[2] + "\r\n")
	for _, f := range h.fields {
		b.WriteString(f.name + ": " + f.value + "\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// body says how the content of a message ends.
type body struct {
	chunked bool
	open    bool  // at the end of the connection; responses only
	length  int64 // where neither
}

// length reads the framing of a message (RFC 9112, 6.3). Two ways to say it
// are none.
func (h *head) length(version string, response bool) (body, error) {
	te, cl := h.all("transfer-encoding"), h.all("content-length")
	switch {
	case len(te) > 0 && len(cl) > 0:
		return body{}, badHead("it has both a Content-Length and a Transfer-Encoding")
	case len(te) > 1 || len(te) == 1 && !strings.EqualFold(te[0], "chunked"):
		return body{}, badHead("its Transfer-Encoding is not chunked alone")
	case len(te) == 1 && version != "HTTP/1.1":
		return body{}, badHead("%s has no Transfer-Encoding", version)
	case len(te) == 1:
		return body{chunked: true}, nil
	case len(cl) > 1:
		return body{}, badHead("it has %d Content-Length fields", len(cl))
	case len(cl) == 0:
		return body{open: response}, nil
	}
	if cl[0] == "" || len(cl[0]) > 18 || strings.Trim(cl[0], "0123456789") != "" {
		return body{}, badHead("its Content-Length is %s", netguard.Show(cl[0]))
	}
	n, err := strconv.ParseInt(cl[0], 10, 64)
	if err != nil {
		return body{}, badHead("its Content-Length is %s", netguard.Show(cl[0]))
	}
	return body{length: n}, nil
}

// request is one request, understood.
type request struct {
	*head
	method  string
	version string
	host    string // in the form of Host
	port    uint16
	path    string // in origin form
	body    body
	upgrade string // "websocket", where it asks for that
}

// readRequest reads the next request. tunnel is the site that a tunnel leads
// to, whose requests are in origin form; else they are a proxy's.
func readRequest(r *bufio.Reader, limit int, tunnel *site) (*request, error) {
	h, err := readHead(r, limit)
	if err != nil {
		return nil, err
	}
	q := &request{head: h, method: h.first[0], version: h.first[2]}
	if !token(q.method) {
		return nil, badHead("its method is %s", netguard.Show(q.method))
	}
	if q.version != "HTTP/1.1" && q.version != "HTTP/1.0" {
		return nil, badHead("its version is %s", netguard.Show(q.version))
	}
	if err := q.target(h.first[1], tunnel); err != nil {
		return q, err
	}
	if q.body, err = h.length(q.version, false); err != nil {
		return q, err
	}
	if q.method == "CONNECT" && (q.body.chunked || q.body.length > 0) {
		return q, badHead("a CONNECT has no content")
	}
	for _, token := range h.list("upgrade") {
		if token == "websocket" && contains(h.list("connection"), "upgrade") && q.method == "GET" && q.version == "HTTP/1.1" {
			q.upgrade = token
		}
	}
	return q, nil
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// target understands the request's target and holds its Host field against it.
func (q *request) target(target string, tunnel *site) error {
	var err error
	implied := uint16(80)
	for i := range len(target) {
		if target[i] <= ' ' || target[i] >= 0x7f {
			return badHead("its target is %s", netguard.Show(target))
		}
	}
	switch {
	case q.method == "CONNECT":
		if tunnel != nil {
			return badHead("a tunnel leads to one site")
		}
		if strings.ContainsAny(target, "/@?#") {
			return badHead("the target of a CONNECT is HOST:PORT, not %s", netguard.Show(target))
		}
		implied = 0
		if q.host, q.port, err = netguard.HostPort(target, 0); err != nil {
			return errHead{err.Error()}
		}
	case tunnel != nil:
		if !strings.HasPrefix(target, "/") && target != "*" {
			return badHead("its target is %s", netguard.Show(target))
		}
		q.host, q.port, q.path = tunnel.host, tunnel.port, target
	default:
		scheme, rest, ok := strings.Cut(target, "://")
		switch {
		case !ok:
			return badHead("this is a proxy: the target is an absolute address, not %s", netguard.Show(target))
		case !strings.EqualFold(scheme, "http"):
			return badHead("a proxy is asked for %s by CONNECT", netguard.Show(scheme+"://"))
		}
		authority := rest
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			authority, q.path = rest[:i], rest[i:]
		}
		if strings.Contains(authority, "@") || strings.Contains(q.path, "#") {
			return badHead("its target is %s", netguard.Show(target))
		}
		if q.host, q.port, err = netguard.HostPort(authority, 80); err != nil {
			return errHead{err.Error()}
		}
		switch {
		case q.path == "" && q.method == "OPTIONS":
			q.path = "*"
		case !strings.HasPrefix(q.path, "/"):
			q.path = "/" + q.path
		}
	}
	hosts := q.all("host")
	if len(hosts) > 1 || len(hosts) == 0 && q.version == "HTTP/1.1" && q.method != "CONNECT" {
		return badHead("it has %d Host fields", len(hosts))
	}
	if len(hosts) == 0 {
		return nil
	}
	if implied == 0 || tunnel != nil && tunnel.port != 80 && !strings.Contains(hosts[0], ":") {
		implied = q.port // some clients leave the port out
	}
	host, port, err := netguard.HostPort(hosts[0], implied)
	if err != nil {
		return badHead("its Host field is %s", netguard.Show(hosts[0]))
	}
	if host != q.host || port != q.port {
		return badHead("its Host field is %s, the connection is for %s", netguard.Show(hosts[0]), q.authority())
	}
	return nil
}

// authority is host and port as they stand in a Host field.
func (q *request) authority() string { return site{q.host, q.port}.authority(80) }

// site is a host and a port.
type site struct {
	host string
	port uint16
}

// authority writes the site, without the port where it is the usual one.
func (s site) authority(usual uint16) string {
	host := s.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.port == usual {
		return host
	}
	return host + ":" + strconv.Itoa(int(s.port))
}
