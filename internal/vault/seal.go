package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"github.com/reeve-gate/reeve/internal/vault/ref"
)

const keySize = 32

// newKey is 32 random bytes.
func newKey() []byte {
	k := make([]byte, keySize)
	rand.Read(k) // never fails (crypto/rand)
	return k
}

// sealer seals under one key, with a random nonce that stands in front.
func sealer(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // a key of another size is a programmer's mistake
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return a
}

// bound is additional data: each text with its length before it.
func bound(texts ...string) []byte {
	var b []byte
	for _, t := range texts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

// sealKey seals a key under another one.
func sealKey(under cipher.AEAD, key, with []byte) []byte { return under.Seal(nil, nil, key, with) }

// openKey opens what sealKey sealed.
func openKey(under cipher.AEAD, sealed, with []byte) ([]byte, bool) {
	key, err := under.Open(nil, nil, sealed, with)
	if err != nil || len(key) != keySize {
		return nil, false
	}
	return key, true
}

// derive is the key for one purpose.
func derive(root []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, root, nil, purpose, keySize)
	if err != nil {
		panic(err) // only for lengths that are asked for nowhere
	}
	return k
}

// keys are what an unlocked vault holds.
type keys struct {
	kek   string      // id
	wrap  cipher.AEAD // under the KEK
	list  []byte      // key of meta.mac
	head  []byte      // key of vault.head
	cache []byte      // key that authenticates caches
}

func newKeys(id string, kek, root []byte) *keys {
	return &keys{kek: id, wrap: sealer(kek), list: derive(root, "reeve vault listing 1"), head: derive(root, "reeve vault head 1"), cache: derive(root, "reeve cache 1")}
}

func (k *keys) wipe() {
	ref.Wipe(k.list, k.head, k.cache)
	k.wrap = nil
}

// mac is the HMAC of some texts.
func mac(key []byte, texts ...string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(bound(texts...))
	return h.Sum(nil)
}
