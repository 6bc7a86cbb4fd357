// Package hello reads the first message of TLS, the ClientHello, as far as it
// says for whom the connection is: the server name, and whether another one may
// be hidden in it (ECH). It checks nothing else and knows no keys. It reads what
// a hostile client sent: every length is bounded, and what is not a ClientHello
// in the form of RFC 8446 and RFC 6066 is [ErrNotTLS].
package hello

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Max bounds a ClientHello with its record headers, in bytes. Real ones
// have some hundred; the ones with hybrid key shares about two thousand.
const Max = 64 << 10

// Hello is what the first message shows.
type Hello struct {
	Name string // server name; "" where none is shown
	ECH  bool   // it may hold another one that cannot be seen
}

// Handshake is the first byte of a ClientHello: the type of its record.
const Handshake = 22

// ErrNotTLS: what was read is no ClientHello.
var ErrNotTLS = errors.New("what was sent is not TLS")

const (
	maxRecord       = 1<<14 + 256 // RFC 8446, 5.1; a little more is tolerated by peers
	typeClientHello = 1
	extServerName   = 0
	extECH          = 0xfe0d // RFC 9849
	extESNI         = 0xffce // its draft before
)

// Read reads one ClientHello, over as many records as it takes, and returns
// every byte that it read, also with an error.
func Read(r io.Reader) (raw []byte, h Hello, err error) {
	var message []byte
	for {
		at := len(raw)
		if raw, err = grow(r, raw, 5); err != nil {
			return raw, h, err
		}
		head := raw[at:]
		n := int(binary.BigEndian.Uint16(head[3:]))
		if head[0] != Handshake || head[1] != 3 || n == 0 || n > maxRecord {
			return raw, h, ErrNotTLS
		}
		if len(raw)+n > Max {
			return raw, h, fmt.Errorf("its first message has more than %d bytes", Max)
		}
		at = len(raw)
		if raw, err = grow(r, raw, n); err != nil {
			return raw, h, err
		}
		message = append(message, raw[at:]...)
		if message[0] != typeClientHello {
			return raw, h, ErrNotTLS
		}
		if len(message) < 4 {
			continue
		}
		length := int(message[1])<<16 | int(message[2])<<8 | int(message[3])
		if length > Max {
			return raw, h, fmt.Errorf("its first message has more than %d bytes", Max)
		}
		switch {
		case len(message) == 4+length:
			h, err = parseHello(message[4:])
			return raw, h, err
		case len(message) > 4+length:
			return raw, h, fmt.Errorf("more follows its first message than may")
		}
	}
}

// grow reads n bytes more behind b.
func grow(r io.Reader, b []byte, n int) ([]byte, error) {
	at := len(b)
	b = append(b, make([]byte, n)...)
	if m, err := io.ReadFull(r, b[at:]); err != nil {
		return b[:at+m], err
	}
	return b, nil
}

// parseHello reads the body of a ClientHello (RFC 8446, 4.1.2).
func parseHello(b []byte) (h Hello, err error) {
	p := parser{b: b}
	p.skip(2 + 32)       // version, random
	p.skip(int(p.u8()))  // session id
	p.skip(int(p.u16())) // cipher suites
	p.skip(int(p.u8()))  // compression methods
	if !p.bad && len(p.b) == 0 {
		return h, nil // no extensions: TLS of long ago
	}
	ext := parser{b: p.take(int(p.u16()))}
	if p.bad || len(p.b) != 0 {
		return h, ErrNotTLS
	}
	seen := map[uint16]bool{}
	for len(ext.b) > 0 {
		kind := ext.u16()
		body := ext.take(int(ext.u16()))
		if ext.bad || seen[kind] {
			return h, ErrNotTLS
		}
		seen[kind] = true
		switch kind {
		case extECH, extESNI:
			h.ECH = true
		case extServerName:
			if h.Name, err = serverName(body); err != nil {
				return h, err
			}
		}
	}
	return h, nil
}

// serverName reads the extension (RFC 6066, 3): one name, of the one type.
func serverName(b []byte) (string, error) {
	p := parser{b: b}
	list := parser{b: p.take(int(p.u16()))}
	kind := list.u8()
	name := list.take(int(list.u16()))
	if p.bad || list.bad || len(p.b) != 0 || len(list.b) != 0 || kind != 0 || len(name) == 0 {
		return "", ErrNotTLS
	}
	return string(name), nil
}

// parser takes bytes off the front; bad once there were too few.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) take(n int) []byte {
	if p.bad || n > len(p.b) {
		p.bad = true
		return nil
	}
	out := p.b[:n]
	p.b = p.b[n:]
	return out
}

func (p *parser) skip(n int) { p.take(n) }

func (p *parser) u8() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) u16() uint16 {
	if b := p.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}
