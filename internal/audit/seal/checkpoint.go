package seal

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint says what the tree was at one size.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// maxNote bounds one signed checkpoint, in bytes; one of ours has about 250, and
// a witness adds as much.
const maxNote = 16 << 10

// Text is the body of the note.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// ErrCheckpoint says that a text is no checkpoint.
var ErrCheckpoint = errors.New("it is no checkpoint")

// ParseCheckpoint reads the body of a note. Lines that others have added behind
// ours are left alone (c2sp.org/tlog-checkpoint).
func ParseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) != 4 || lines[0] == "" || !strings.HasSuffix(text, "\n") {
		return Checkpoint{}, ErrCheckpoint
	}
	c.Origin = lines[0]
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 0 || strconv.FormatInt(c.Size, 10) != lines[1] {
		return Checkpoint{}, ErrCheckpoint
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize || base64.StdEncoding.EncodeToString(root) != lines[2] {
		return Checkpoint{}, ErrCheckpoint
	}
	c.Root = tlog.Hash(root)
	return c, nil
}

// Key checks signatures of one installation. It is made of a verifier key.
type Key struct {
	text string
	note.Verifier
}

// ParseKey reads a verifier key as audit.key has it.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	v, err := note.NewVerifier(text)
	if err != nil {
		return Key{}, fmt.Errorf("%q is no verifier key; it is the line that reeve audit checkpoint prints, reeve/ID+HASH+KEY", text)
	}
	return Key{text, v}, nil
}

// String is the verifier key; empty for the zero Key.
func (k Key) String() string { return k.text }

// Open reads a signed checkpoint and takes it only where this key signed it.
func (k Key) Open(signed string) (Checkpoint, error) {
	if len(signed) > maxNote {
		return Checkpoint{}, ErrCheckpoint
	}
	n, err := note.Open([]byte(signed), note.VerifierList(k.Verifier))
	if err != nil {
		return Checkpoint{}, err
	}
	c, err := ParseCheckpoint(n.Text)
	if err == nil && c.Origin != k.Name() {
		err = fmt.Errorf("%w: its origin is %q and the key's %q", ErrCheckpoint, c.Origin, k.Name())
	}
	return c, err
}

// Signer signs for one installation.
type Signer struct {
	note.Signer
	Key Key
}

// origin begins the name of every installation.
const origin = "reeve/"

// NewSecret makes a key and the name of an installation. The text is for the
// vault alone.
func NewSecret() (secret string, err error) {
	id := make([]byte, 16)
	rand.Read(id) // never fails (crypto/rand)
	secret, verifier, err := note.GenerateKey(rand.Reader, origin+hex.EncodeToString(id))
	if err != nil {
		return "", err
	}
	return secret + "\n" + verifier + "\n", nil
}

// ParseSecret reads what NewSecret made.
func ParseSecret(secret string) (*Signer, error) {
	private, verifier, _ := strings.Cut(secret, "\n")
	s, err := note.NewSigner(private)
	if err != nil {
		return nil, errors.New("what the vault holds is no signing key")
	}
	k, err := ParseKey(verifier)
	if err != nil {
		return nil, err
	}
	if k.Name() != s.Name() || k.KeyHash() != s.KeyHash() {
		return nil, errors.New("the two halves of the vault's signing key do not belong together")
	}
	return &Signer{s, k}, nil
}

// Sign signs what r is now.
func (s *Signer) Sign(r *Range) (signed string, c Checkpoint, err error) {
	c = Checkpoint{Origin: s.Name(), Size: r.Size(), Root: r.Root()}
	b, err := note.Sign(&note.Note{Text: c.Text()}, s.Signer)
	if err != nil {
		return "", c, fmt.Errorf("sign a checkpoint: %w", err)
	}
	return string(b), c, nil
}
