// Package orders is what a wall and the first process inside its boundary say
// to each other.
//
// The wall writes [Orders] into a sealed memory file before it starts
// anything. The process reads them once, does them in their order, and reports
// over a pair of sockets that keep messages apart: one [Report] each. Both
// ends are of one build, so the format has neither version nor room to grow;
// an order that is cut short or too long is refused as a whole.
//
// The package knows nothing but text and numbers, so that the small program
// inside stays small.
package orders

// Orders is everything the first process is to do.
type Orders struct {
	Gate     bool     // the boundary stands already: only Listen, TTY and the program are left to do
	UID, GID uint32   // who we are, inside as outside
	Mounts   []Mount  // in this order
	Loopback bool     // bring up the loopback of a network namespace of our own
	Listen   uint16   // port of 127.0.0.1 to listen on and hand out; 0 = none
	Layer    Layer    // rules of Landlock below the mounts; zero = none
	TTY      bool     // standard input becomes the controlling terminal
	Umask    int32    // of the program; negative = as it is
	Filter   []byte   // struct sock_filter, as the kernel reads it
	Dir      string   // working directory
	Argv     []string // the program and its arguments
	Env      []string // all of its environment
	Paths    []string // the files to try for Argv[0], in this order
}

// Layer is a set of Landlock's rules (landlock(7)), in its own numbers: the
// rights that it handles are refused but where they are allowed.
type Layer struct {
	Files   uint64 // rights to files that are handled
	OfFile  uint64 // those of them that a rule for a file, not a directory, may name
	Scoped  uint64 // what is kept inside: signals, abstract unix sockets
	Allowed []Allowed
}

// Allowed are rights at a place inside and below it. A place that is not there,
// or cannot be got to, allows nothing.
type Allowed struct {
	Path   string
	Rights uint64
}

// Mount is one step of the mounting.
type Mount struct {
	What     What
	At, From string // the place inside; of Bind, what of the host is shown there; of Copy, Hide and Empty, what of it stands at the place before
	Write    bool   // of Host and Bind; else they are read-only
	Mode     uint32 // of Memory
	Size     uint64 // of Memory, in bytes
	Data     []byte // of Copy
}

// What is done in one step. All but Host and Seal put something at a place,
// which must exist unless it lies in a memory file system of these steps;
// there it is made.
type What uint8

const (
	Host      What = iota // the whole machine, before anything else
	Memory                // a memory file system
	Devices               // a /dev with what every program needs
	Processes             // a /proc of the process namespace
	Bind                  // a part of the host with all that is mounted below it
	Copy                  // a writable file that begins with Data and is dropped at the end
	Hide                  // an empty directory; Seal follows
	Empty                 // a file that nobody may open
	Seal                  // what stands here is read-only from now on
)

// Variable names descriptors in the environment of the first process, each
// with a comma behind it: the orders, the door, the file that it was started
// from and, except at a gate, where it writes how the program ended (one byte,
// the code), once nothing but itself is left.
const Variable = "REEVE_FIRST"

// Max bounds the orders of one start, in bytes: files that are copied in are
// part of them.
const Max = 256 << 20

// Encode writes the orders.
func (o *Orders) Encode() []byte {
	var w writer
	w.flag(o.Gate)
	w.u32(o.UID)
	w.u32(o.GID)
	w.u32(uint32(len(o.Mounts)))
	for _, m := range o.Mounts {
		w.u32(uint32(m.What))
		w.text(m.At)
		w.text(m.From)
		w.flag(m.Write)
		w.u32(m.Mode)
		w.u64(m.Size)
		w.text(string(m.Data))
	}
	w.flag(o.Loopback)
	w.u32(uint32(o.Listen))
	w.u64(o.Layer.Files)
	w.u64(o.Layer.OfFile)
	w.u64(o.Layer.Scoped)
	w.u32(uint32(len(o.Layer.Allowed)))
	for _, a := range o.Layer.Allowed {
		w.text(a.Path)
		w.u64(a.Rights)
	}
	w.flag(o.TTY)
	w.u32(uint32(o.Umask))
	w.text(string(o.Filter))
	w.text(o.Dir)
	w.list(o.Argv)
	w.list(o.Env)
	w.list(o.Paths)
	return w
}

// Decode reads what Encode wrote, to its last byte. The texts share the
// memory of b.
func Decode(b []byte) (o Orders, ok bool) {
	r := reader{rest: b}
	o.Gate = r.flag()
	o.UID, o.GID = r.u32(), r.u32()
	for range r.count(29) {
		o.Mounts = append(o.Mounts, Mount{What: What(r.u32()), At: r.text(), From: r.text(), Write: r.flag(), Mode: r.u32(), Size: r.u64(), Data: []byte(r.text())})
	}
	o.Loopback = r.flag()
	o.Listen = uint16(r.u32())
	o.Layer.Files, o.Layer.OfFile, o.Layer.Scoped = r.u64(), r.u64(), r.u64()
	for range r.count(12) {
		o.Layer.Allowed = append(o.Layer.Allowed, Allowed{r.text(), r.u64()})
	}
	o.TTY = r.flag()
	o.Umask = int32(r.u32())
	o.Filter = []byte(r.text())
	o.Dir = r.text()
	o.Argv, o.Env, o.Paths = r.list(), r.list(), r.list()
	return o, !r.bad && len(r.rest) == 0
}

type writer []byte

func (w *writer) flag(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	*w = append(*w, n)
}

func (w *writer) u32(n uint32) { *w = append(*w, byte(n), byte(n>>8), byte(n>>16), byte(n>>24)) }

func (w *writer) u64(n uint64) {
	w.u32(uint32(n))
	w.u32(uint32(n >> 32))
}

func (w *writer) text(s string) {
	w.u32(uint32(len(s)))
	*w = append(*w, s...)
}

func (w *writer) list(all []string) {
	w.u32(uint32(len(all)))
	for _, s := range all {
		w.text(s)
	}
}

// reader answers zero once something was missing.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
	}
	if r.bad {
		return make([]byte, min(n, 8))
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) flag() bool { return r.take(1)[0] == 1 }

func (r *reader) u32() uint32 {
	b := r.take(4)
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func (r *reader) u64() uint64 {
	low := r.u32()
	return uint64(low) | uint64(r.u32())<<32
}

// count reads how many things of at least size bytes follow.
func (r *reader) count(size int) int {
	n := r.u32()
	if uint64(n)*uint64(size) > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.count(1))) }

func (r *reader) list() []string {
	var all []string
	for range r.count(4) {
		all = append(all, r.text())
	}
	return all
}

// String says what cannot be done where a mount fails, for a person.
func (m Mount) String() string {
	switch m.What {
	case Host:
		return "cannot show the machine read-only"
	case Memory:
		return "cannot make a private " + m.At
	case Devices, Processes:
		return "cannot make a new " + m.At
	case Bind:
		if m.Write {
			return "cannot make " + m.From + " writable"
		}
		return "cannot show " + m.From + " read-only"
	case Copy:
		return "cannot give the program a copy of " + m.At
	case Hide, Empty:
		return "cannot hide " + m.At
	}
	return "cannot make " + m.At + " read-only"
}
