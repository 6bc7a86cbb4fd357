package corpus

import (
	"encoding/base32"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/reeve-gate/reeve/internal/redact/shape"
)

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// pick is n random bytes of a set.
func pick(rng *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[rng.IntN(len(set))]
	}
	return string(b)
}

func uuid(rng *rand.Rand) string {
	hex := func(n int) string { return pick(rng, "0123456789abcdef", n) }
	return hex(8) + "-" + hex(4) + "-4" + hex(3) + "-a" + hex(3) + "-" + hex(12)
}

// Sample is a random token of a shape.
func Sample(rng *rand.Rand, sh *shape.Shape) string {
	set := ""
	for _, c := range []byte(lowers + uppers + digits) {
		if shape.Classes[c]&sh.Class != 0 {
			set += string(c)
		}
	}
	n := sh.Min + 2
	if sh.Max > 0 {
		n = sh.Max - 1
	}
	switch {
	case len(sh.Prefix) >= 6:
	case sh.Check == shape.CRC16:
		return sampleSeed(rng, sh)
	case sh.Check == shape.Base58Check:
		return sample58(rng, sh)
	case sh.Check == shape.Bech32:
		return sample32(rng, sh)
	}
	for {
		b := pick(rng, set, n) + digits[:1]
		if sh.Check == shape.UUID {
			b = uuid(rng)
		}
		if _, ok := sh.Fits(b); ok {
			return sh.Prefix + b
		}
	}
}

var plain32 = base32.StdEncoding.WithPadding(base32.NoPadding)

// sampleSeed is 34 bytes, of which the first two say what it is, and their sum.
func sampleSeed(rng *rand.Rand, sh *shape.Shape) string {
	raw := make([]byte, 36)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	first, err := plain32.DecodeString(sh.Prefix + "AAAAAA")
	if err != nil {
		panic(err)
	}
	raw[0], raw[1] = first[0], first[1]&0xc0|raw[1]&0x3f
	sum := shape.CRC16Sum(raw[:34])
	raw[34], raw[35] = byte(sum), byte(sum>>8)
	return plain32.EncodeToString(raw)
}

// sample32 is 32 bytes in the digits of BIP 173, and their sum.
func sample32(rng *rand.Rand, sh *shape.Shape) string {
	sum, text := shape.Polymod32(strings.TrimSuffix(sh.Prefix, "1")), sh.Prefix
	for range 52 {
		v := rng.Uint32N(32)
		sum, text = shape.Step32(sum, v), text+string(shape.Alphabet32[v])
	}
	for range 6 {
		sum = shape.Step32(sum, 0)
	}
	sum ^= 1
	for i := range 6 {
		text += string(shape.Alphabet32[sum>>(5*(5-i))&31])
	}
	return text
}

// sample58 tries random numbers until one is written with the prefix.
func sample58(rng *rand.Rand, sh *shape.Shape) string {
	size := 34
	switch {
	case len(sh.Prefix) == 4:
		size = 78
	case sh.Prefix[0] == '5':
		size = 33
	}
	for {
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = byte(rng.Uint32())
		}
		switch sh.Prefix {
		case "xprv":
			copy(raw, []byte{0x04, 0x88, 0xad, 0xe4, 0})
		case "tprv":
			copy(raw, []byte{0x04, 0x35, 0x83, 0x94, 0})
		default:
			raw[0] = 0x80
			if size == 34 {
				raw[33] = 1
			}
		}
		n := new(big.Int).SetBytes(append(raw, shape.Sum58(raw)...))
		text := ""
		for n.Sign() > 0 {
			var digit big.Int
			n.DivMod(n, big.NewInt(58), &digit)
			text = string(shape.Alphabet58[digit.Int64()]) + text
		}
		if strings.HasPrefix(text, sh.Prefix) && len(text) == len(sh.Prefix)+sh.Max {
			return text
		}
	}
}
