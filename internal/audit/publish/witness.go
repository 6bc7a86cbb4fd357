package publish

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/reeve-gate/reeve/internal/audit/seal"
	"github.com/reeve-gate/reeve/internal/durable"
)

// Witness has each checkpoint signed by somebody who has seen that it goes on
// from the one before (c2sp.org/tlog-witness).
type Witness struct {
	At     *url.URL // add-checkpoint is below it
	Key    WitnessKey
	File   string // keeps the newest checkpoint with both signatures
	client *http.Client
}

var _ Publisher = (*Witness)(nil)

// Name is that of the witness's key.
func (w *Witness) Name() string { return "witness " + w.Key.Name() }

// Publish proves to the witness that the checkpoint goes on from the one that it
// has signed last, and keeps its signature where that holds.
func (w *Witness) Publish(ctx context.Context, signed string, prove func(older int64) (tlog.TreeProof, error)) error {
	older := int64(0)
	if had, err := os.ReadFile(w.File); err == nil && sameOrigin(string(had), signed) {
		older = seal.SizeOf(string(had))
	}
	for try := 0; ; try++ {
		status, kind, answer, err := w.ask(ctx, signed, older, prove)
		switch {
		case err != nil:
			return err
		case status == http.StatusOK:
			return w.keep(signed, string(answer))
		case status == http.StatusConflict && try == 0:
			if older, err = size(kind, answer); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the witness answers %d", status)
		}
	}
}

func sameOrigin(a, b string) bool {
	x, _, _ := strings.Cut(a, "\n")
	y, _, _ := strings.Cut(b, "\n")
	return x == y
}

func (w *Witness) ask(ctx context.Context, signed string, older int64, prove func(int64) (tlog.TreeProof, error)) (int, string, []byte, error) {
	proof, err := prove(older)
	if err != nil {
		return 0, "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", older)
	for _, h := range proof {
		b.WriteString(h.String() + "\n")
	}
	b.WriteString("\n" + signed)
	resp, err := post(ctx, w.client, w.At.JoinPath("add-checkpoint"), b.String())
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), bytes.TrimSpace(answer), err
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 10

// keep checks the signature and writes the checkpoint with both.
func (w *Witness) keep(signed, lines string) error {
	both := signed + lines + "\n"
	n, err := note.Open([]byte(both), note.VerifierList(w.Key))
	if err != nil {
		return fmt.Errorf("what the witness answers is no signature of it: %w", err)
	}
	if body, _, _ := strings.Cut(signed, "\n\n"); n.Text != body+"\n" {
		return fmt.Errorf("the witness answers with a signature of another text")
	}
	return durable.WriteFile(w.File, []byte(both), 0o600)
}

// WitnessKey checks cosignatures (c2sp.org/tlog-cosignature).
type WitnessKey struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

var _ note.Verifier = WitnessKey{}

// cosignature is the kind of its key and signatures.
const cosignature = 4

// ParseWitness reads the verifier key of a witness: NAME+HASH+KEY.
func ParseWitness(text string) (WitnessKey, error) {
	bad := fmt.Errorf("%q is no key of a witness; it is NAME+HASH+KEY, as the witness tells it", text)
	name, rest, _ := strings.Cut(text, "+")
	id, encoded, _ := strings.Cut(rest, "+")
	hash, err := strconv.ParseUint(id, 16, 32)
	raw, err2 := base64.StdEncoding.DecodeString(encoded)
	if err != nil || err2 != nil || name == "" || strings.ContainsAny(name, " \t\n") || len(id) != 8 || len(raw) != 1+ed25519.PublicKeySize || raw[0] != cosignature {
		return WitnessKey{}, bad
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), raw...))
	if binary.BigEndian.Uint32(sum[:]) != uint32(hash) {
		return WitnessKey{}, bad
	}
	return WitnessKey{name, uint32(hash), raw[1:]}, nil
}

// Name, KeyHash and Verify are those of a note's verifier.
func (k WitnessKey) Name() string { return k.name }

// KeyHash tells keys of one name apart.
func (k WitnessKey) KeyHash() uint32 { return k.hash }

// Verify checks the signature of a time and a text.
func (k WitnessKey) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(k.key, []byte(signed), sig[8:])
}
