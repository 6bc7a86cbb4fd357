package shape

import (
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// Check is a checksum that a format carries.
type Check uint8

const (
	NoCheck     Check = iota
	CRC32             // the last six bytes are the CRC-32 of those before, in base 62 (GitHub, npm)
	CRC16             // base32 whose last two bytes are the CRC-16/XMODEM of those before (NATS)
	Base58Check       // base58 whose last four bytes begin the double SHA-256 of those before (Bitcoin)
	Bech32            // BIP 173
	UUID              // no checksum: dashes where a UUID has them, hex between (RFC 9562)
)

// Holds reports whether the checksum of a token is right. The prefix is a part
// of what is summed but for CRC32, which covers what stands behind it.
func (c Check) Holds(prefix, body string) bool {
	switch c {
	case CRC32:
		n := len(body) - 6
		return n >= 24 && body[n:] == Sum62(body[:n])
	case CRC16:
		return crc16Holds(prefix + body)
	case Base58Check:
		return base58Holds(prefix + body)
	case UUID:
		return uuid(body)
	case Bech32:
		return bech32Holds(strings.ToLower(prefix + body))
	}
	return true
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Sum62 is the CRC-32 of s as six digits in base 62.
func Sum62(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var b [6]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = base62[sum%62]
		sum /= 62
	}
	return string(b[:])
}

// crc16Holds reads unpadded base32 (RFC 4648).
func crc16Holds(text string) bool {
	var raw []byte
	acc, bits := uint32(0), 0
	for _, c := range []byte(text) {
		v := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", c)
		if v < 0 {
			return false
		}
		acc, bits = acc<<5|uint32(v), bits+5
		if bits >= 8 {
			bits -= 8
			raw = append(raw, byte(acc>>bits))
		}
	}
	n := len(raw) - 2
	if n < 1 {
		return false
	}
	return CRC16Sum(raw[:n]) == uint16(raw[n])|uint16(raw[n+1])<<8
}

// CRC16Sum is the CRC-16/XMODEM of b.
func CRC16Sum(b []byte) (sum uint16) {
	for _, c := range b {
		sum ^= uint16(c) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}

// Alphabet58 is the digits of base58.
const Alphabet58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func base58Holds(text string) bool {
	var raw []byte // the number, lowest byte first
	for _, c := range []byte(text) {
		carry := strings.IndexByte(Alphabet58, c)
		if carry < 0 {
			return false
		}
		for i := range raw {
			carry += int(raw[i]) * 58
			raw[i] = byte(carry)
			carry >>= 8
		}
		for ; carry > 0; carry >>= 8 {
			raw = append(raw, byte(carry))
		}
	}
	if len(raw) < 5 {
		return false
	}
	all := make([]byte, len(raw))
	for i, c := range raw {
		all[len(raw)-1-i] = c
	}
	n := len(all) - 4
	return string(Sum58(all[:n])) == string(all[n:])
}

// Sum58 is the four bytes that follow b in base58check.
func Sum58(b []byte) []byte {
	once := sha256.Sum256(b)
	twice := sha256.Sum256(once[:])
	return twice[:4]
}

// Alphabet32 is the digits of bech32.
const Alphabet32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

func bech32Holds(text string) bool {
	sep := strings.LastIndexByte(text, '1')
	if sep < 1 || len(text)-sep < 7 {
		return false
	}
	sum := Polymod32(text[:sep])
	for _, c := range []byte(text[sep+1:]) {
		v := strings.IndexByte(Alphabet32, c)
		if v < 0 {
			return false
		}
		sum = Step32(sum, uint32(v))
	}
	return sum == 1
}

// Polymod32 is the state of bech32's checksum behind the human-readable part.
func Polymod32(human string) uint32 {
	sum := uint32(1)
	for _, c := range []byte(human) {
		sum = Step32(sum, uint32(c>>5))
	}
	sum = Step32(sum, 0)
	for _, c := range []byte(human) {
		sum = Step32(sum, uint32(c&31))
	}
	return sum
}

// Step32 takes one more digit into bech32's checksum.
func Step32(sum, v uint32) uint32 {
	top := sum >> 25
	sum = sum&0x1ffffff<<5 ^ v
	for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
		if top>>i&1 != 0 {
			sum ^= g
		}
	}
	return sum
}

func uuid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && Classes[s[i]]&Hex == 0 {
			return false
		}
	}
	return true
}
