package orders

// Report is one message of the first process. A Fault is the last one, and
// nothing was started.
type Report struct {
	Kind   Kind
	Step   Step
	Op     Op     // what of the step
	Number uint64 // of Standing the inode of the process namespace; of a Fault which of the mounts
	Errno  uint32
}

// Kind tells the messages apart.
type Kind uint8

const (
	Fault    Kind = 'E' // it could not be done
	Standing Kind = 'S' // the boundary stands and nothing runs in it; the message carries the listening socket, if one was ordered, and is answered by Go
	Starting Kind = 'X' // the next thing is the program; the other end is closed once it runs
)

// Go is the answer, one byte, that lets the program begin.
const Go = 'G'

// ReportSize is the length of every report, in bytes.
const ReportSize = 15

// Encode writes the report. It allocates nothing and never asks for more
// stack: a copied process calls it, which must do neither.
//
//go:nosplit
func (r Report) Encode(b *[ReportSize]byte) {
	b[0], b[1], b[2] = byte(r.Kind), byte(r.Step), byte(r.Op)
	for i := range 8 {
		b[3+i] = byte(r.Number >> (8 * i))
	}
	for i := range 4 {
		b[11+i] = byte(r.Errno >> (8 * i))
	}
}

// DecodeReport reads one message.
func DecodeReport(b []byte) (r Report, ok bool) {
	if len(b) != ReportSize {
		return r, false
	}
	r.Kind, r.Step, r.Op = Kind(b[0]), Step(b[1]), Op(b[2])
	for i := range 8 {
		r.Number |= uint64(b[3+i]) << (8 * i)
	}
	for i := range 4 {
		r.Errno |= uint32(b[11+i]) << (8 * i)
	}
	return r, true
}

// Step is what the process was about to do, in the order in which it does it.
type Step uint8

const (
	Read Step = iota
	MapUser
	MountStep
	LoopbackStep
	ListenStep
	EnterRoot
	EnterDir
	Fork
	Session
	Terminal
	DropPower
	LayerStep
	FilterStep
	Start
)

// String names a step as the end of a sentence that begins with "cannot".
func (s Step) String() string {
	return pick(int(s), []string{
		"read its orders", "map the user into a user namespace", "mount", "bring up the loopback interface", "listen on the proxy's address",
		"make its root the root", "enter the working directory", "start a process", "begin a session", "take the terminal",
		"drop its capabilities", "lay the second layer", "set the system call filter", "start the program",
	})
}

// Op is the part of a step that failed.
type Op uint8

const (
	None       Op = iota
	Look          // openat2 outside
	Place         // openat2 inside
	Make          // a mount point
	Compare       // both are the same
	Open          // fsopen, fsconfig, fsmount
	Clone         // open_tree
	Attributes    // mount_setattr
	Attach        // move_mount
	Fill          // write
	Pivot         // pivot_root
	Detach        // umount2
	Socket        // socket, bind, listen
	HandOver      // sendmsg
)

func (o Op) String() string {
	return pick(int(o), []string{
		"", "openat2", "openat2 inside", "mkdir", "compare", "fsopen", "open_tree", "mount_setattr", "move_mount", "write", "pivot_root", "umount2", "listen", "sendmsg",
	})
}

func pick(i int, names []string) string {
	if i < len(names) {
		return names[i]
	}
	return "do something unknown"
}
