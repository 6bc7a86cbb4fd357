// Package cache keeps what can be had again in files that only this
// installation can have written (contract G70 to G72).
//
// A [Cache] holds values of one kind, each as JSON below a name. Nothing in a
// file is decoded before its size and its authentication code were checked.
// What was changed, comes from elsewhere, is too large or of an older form is
// thrown away, told, and had anew; it is never an error.
//
// The code is made with a key that is not in the file and does not follow from
// it (an amendment of G71: whoever can write a file can compute what follows
// from its content): one that the vault's root gives, or, where there is no
// vault, one of the installation ([InstallationKey]). While the vault is locked
// there is no key and so no cache: values are then had anew.
//
// A file is
//
//	"REEVE CACHE 1\n"  magic, and the version of this form
//	4 bytes            version of the value, big-endian
//	8 bytes            size of the value, big-endian
//	32 bytes           HMAC-SHA256 over purpose, name, version, size and value
//	the value          JSON
//
// What it does not do: notice that a file is an older one of its own. Who can
// write the directory can put such a one back.
package cache

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve/internal/durable"
)

// Cache is the files of one purpose. Every field but Told is required. It keeps
// no state of its own; callers that write one name at once agree among
// themselves.
type Cache struct {
	Dir     string                 // made when it is needed
	Purpose string                 // part of the code: a file of another purpose is a foreign one
	Version uint32                 // of the value: another one is an older form
	Max     int64                  // bytes of a value
	Key     func() ([]byte, error) // an error is no key now
	Told    func(note string)      // hears what was thrown away and why; nil = nobody
}

const (
	magic  = "REEVE CACHE 1\n"
	header = len(magic) + 4 + 8 + sha256.Size

	// KeySize is the size of a key, in bytes.
	KeySize = 32
)

// Get reads a value into out, and says whether it was there. It is thrown away
// where it cannot be trusted.
func (c *Cache) Get(name string, out any) bool {
	key, err := c.Key()
	if err != nil {
		return false
	}
	all, err := c.read(name)
	var body []byte
	if err == nil {
		body, err = c.open(key, name, all)
	}
	if err == nil {
		err = json.Unmarshal(body, out, json.RejectUnknownMembers(true))
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, fs.ErrNotExist):
		return false
	}
	if rerr := os.Remove(c.file(name)); rerr != nil {
		err = fmt.Errorf("%w; it cannot be removed: %w", err, rerr)
	}
	if c.Told != nil {
		c.Told(fmt.Sprintf("%s was thrown away and is made anew: %v", c.file(name), err))
	}
	return false
}

// read takes a file of ours, whole, and no more than may be in it.
func (c *Cache) read(name string) ([]byte, error) {
	f, err := os.OpenFile(c.file(name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	most := int64(header) + c.Max
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("it is no regular file of at most %d bytes", most)
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// open gives the value in a file, once everything that stands before it holds.
func (c *Cache) open(key []byte, name string, all []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(all, []byte(magic))
	if !ok || len(all) < header {
		return nil, errors.New("it has another form than this version of Reeve writes")
	}
	version, size, code, body := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint64(rest[4:]), rest[12:12+sha256.Size], rest[12+sha256.Size:]
	switch {
	case uint64(len(body)) != size || int64(len(body)) > c.Max:
		return nil, fmt.Errorf("it has %d bytes, says %d, and %d are allowed", len(body), size, c.Max)
	case !hmac.Equal(code, c.code(key, name, version, body)):
		return nil, errors.New("it was changed, or this installation did not write it under this name with the key that holds now")
	case version != c.Version:
		return nil, fmt.Errorf("its content has form %d, and this version of Reeve reads form %d", version, c.Version)
	}
	return body, nil
}

// code authenticates a value in its place.
func (c *Cache) code(key []byte, name string, version uint32, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	var head []byte
	for _, text := range []string{magic, c.Purpose, name} {
		head = binary.BigEndian.AppendUint64(head, uint64(len(text)))
		head = append(head, text...)
	}
	head = binary.BigEndian.AppendUint32(head, version)
	h.Write(binary.BigEndian.AppendUint64(head, uint64(len(body))))
	h.Write(body)
	return h.Sum(nil)
}

// Put keeps a value in place of the one before. Without a key nothing is kept,
// which is no error.
func (c *Cache) Put(name string, value any) error {
	key, err := c.Key()
	if err != nil {
		return nil
	}
	if err := durable.Name(name); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("cache %s: %w", name, err)
	}
	if int64(len(body)) > c.Max {
		return fmt.Errorf("cache %s: %d bytes; at most %d are kept", name, len(body), c.Max)
	}
	if err := durable.Private(c.Dir); err != nil {
		return fmt.Errorf("cache %s: %w", name, err)
	}
	return durable.WriteFile(c.file(name), c.seal(key, name, body), 0o600)
}

func (c *Cache) seal(key []byte, name string, body []byte) []byte {
	all := binary.BigEndian.AppendUint32([]byte(magic), c.Version)
	all = binary.BigEndian.AppendUint64(all, uint64(len(body)))
	all = append(all, c.code(key, name, c.Version, body)...)
	return append(all, body...)
}

// Drop forgets a value.
func (c *Cache) Drop(name string) error {
	if err := os.Remove(c.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// file is where a value stands; a name that leads elsewhere has none.
func (c *Cache) file(name string) string {
	if durable.Name(name) != nil {
		name = "_"
	}
	return filepath.Join(c.Dir, name+".cache")
}
