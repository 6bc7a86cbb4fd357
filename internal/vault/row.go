package vault

import (
	"cmp"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/reeve-gate/reeve/internal/vault/ref"
)

const schema = `
CREATE TABLE meta(
 one INTEGER PRIMARY KEY CHECK(one = 1), format INTEGER NOT NULL, vault TEXT NOT NULL, made TEXT NOT NULL,
 root BLOB NOT NULL, counter INTEGER NOT NULL, mac BLOB NOT NULL) STRICT;
CREATE TABLE kek(
 id TEXT PRIMARY KEY, state TEXT NOT NULL CHECK(state IN ('coming', 'active', 'going')),
 holder TEXT NOT NULL, note BLOB NOT NULL, wrapped BLOB NOT NULL, created TEXT NOT NULL) STRICT;
CREATE TABLE secret(
 service TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, kek TEXT NOT NULL,
 wrapped BLOB NOT NULL, sealed BLOB NOT NULL, created TEXT NOT NULL, origin TEXT NOT NULL,
 PRIMARY KEY(service, key)) STRICT, WITHOUT ROWID;`

const format = 1

// row is one secret as it lies in the file.
type row struct {
	name    ref.Name
	version int64
	kek     string
	wrapped []byte // the data key
	sealed  []byte // the value
	created string
	origin  string
}

const rowColumns = "service, key, version, kek, wrapped, sealed, created, origin"

func readRow(v []driver.Value) row {
	var r row
	r.name.Service, _ = v[0].(string)
	r.name.Key, _ = v[1].(string)
	r.version, _ = v[2].(int64)
	r.kek, _ = v[3].(string)
	r.wrapped, _ = v[4].([]byte)
	r.sealed, _ = v[5].([]byte)
	r.created, _ = v[6].(string)
	r.origin, _ = v[7].(string)
	return r
}

func (r *row) values() []driver.Value {
	return []driver.Value{r.name.Service, r.name.Key, r.version, r.kek, r.wrapped, r.sealed, r.created, r.origin}
}

// digest is of everything in the row.
func (r *row) digest() [sha256.Size]byte {
	var b []byte
	for _, t := range [...]string{r.name.Service, r.name.Key, r.kek, string(r.wrapped), string(r.sealed), r.created, r.origin} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(t)))
		b = append(b, t...)
	}
	return sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(r.version)))
}

func (r *row) withKey(vault string) []byte {
	return bound("reeve vault key 1", vault, r.kek, r.name.Service, r.name.Key, strconv.FormatInt(r.version, 10))
}

func (r *row) withValue(vault string) []byte {
	return bound("reeve vault value 1", vault, r.name.Service, r.name.Key, strconv.FormatInt(r.version, 10))
}

// listing is the digest of every row.
type listing map[ref.Name][sha256.Size]byte

// mac is what meta.mac must be.
func (l listing) mac(k *keys, vault string, counter int64) []byte {
	names := make([]ref.Name, 0, len(l))
	for n := range l {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b ref.Name) int { return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Key, b.Key)) })
	all := make([]byte, 0, len(names)*sha256.Size)
	for _, n := range names {
		d := l[n]
		all = append(all, d[:]...)
	}
	return mac(k.list, vault, strconv.FormatInt(counter, 10), string(all))
}

// Entry is what a listing tells of one secret: everything but the value.
type Entry struct {
	Name    ref.Name
	Version int64
	Created time.Time // of this version
	Origin  string    // where it came from: "typed", "env NAME", "import"
}
