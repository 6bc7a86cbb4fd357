package repo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// gitlinks lists the paths that an index holds as repositories of their own
// (mode 160000): submodules, and clones that were added as they are. The
// format is gitformat-index(5), versions 2 to 4; hash is the length of an
// object name. A split index, whose entries are in another file, is an error.
func gitlinks(index []byte, hash int) ([]string, error) {
	if len(index) < 12+hash || !bytes.HasPrefix(index, []byte("DIRC")) {
		return nil, errors.New("it is no index")
	}
	version := binary.BigEndian.Uint32(index[4:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("version %d is not known", version)
	}
	r := indexReader{rest: index[12 : len(index)-hash], version: version, hash: hash}
	var links []string
	for n := binary.BigEndian.Uint32(index[8:]); n > 0; n-- {
		mode, ok := r.entry()
		if !ok {
			return nil, errors.New("it ends early")
		}
		if mode == 0o160000 {
			links = append(links, string(r.name))
		}
	}
	if bytes.HasPrefix(r.rest, []byte("link")) {
		return nil, errors.New("it is split")
	}
	return links, nil
}

// indexReader reads one entry after the other.
type indexReader struct {
	rest    []byte
	version uint32
	hash    int
	name    []byte // of the entry that was read
}

// entry reads one entry: what stat said, mode, owner, size, object name,
// flags, path.
func (r *indexReader) entry() (mode uint32, ok bool) {
	fixed := 40 + r.hash + 2
	if len(r.rest) < fixed {
		return 0, false
	}
	start := r.rest
	mode = binary.BigEndian.Uint32(r.rest[24:])
	extended := r.version >= 3 && r.rest[fixed-2]&0x40 != 0
	r.rest = r.rest[fixed:]
	if extended {
		if len(r.rest) < 2 {
			return 0, false
		}
		r.rest = r.rest[2:]
	}
	if r.version == 4 && !r.cutName() {
		return 0, false
	}
	end := bytes.IndexByte(r.rest, 0)
	if end < 0 {
		return 0, false
	}
	if r.version < 4 {
		r.name = r.name[:0]
	}
	r.name = append(r.name, r.rest[:end]...)
	r.rest = r.rest[end+1:]
	if r.version < 4 { // padded with NULs to a multiple of eight bytes
		pad := -(len(start) - len(r.rest)) & 7
		if len(r.rest) < pad {
			return 0, false
		}
		r.rest = r.rest[pad:]
	}
	return mode, true
}

// cutName takes from the name before what version 4 says: a number in the
// form of OFS_DELTA.
func (r *indexReader) cutName() bool {
	cut := 0
	for i := 0; ; i++ {
		if i >= len(r.rest) || cut > 1<<24 {
			return false
		}
		c := r.rest[i]
		cut = cut<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			r.rest = r.rest[i+1:]
			break
		}
		cut++
	}
	if cut > len(r.name) {
		return false
	}
	r.name = r.name[:len(r.name)-cut]
	return true
}
