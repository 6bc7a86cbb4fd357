package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/localsock"
)

// Command is the hidden command of this program that is a keeper; the
// session's id stands behind it for people who look at the list of processes.
const Command = "__keeper"

// proto is the version of what passes between a daemon and a keeper. A daemon
// that finds a keeper of another version leaves it alone.
const proto = 1

// Names in a session's folder.
const (
	SocketName = "keeper.sock"
	EndFile    = "end.json" // an attach.End, once the program has ended
	placeFile  = "keeper.json"
	logFile    = "keeper.log" // what the keeper says when it fails
)

// spec is everything a keeper is told. It passes through a connection and
// never through a file: the environment may hold keys.
type spec struct {
	Proto   int
	Digest  [32]byte // of the invocation
	Session string
	Folder  string // the session's own: the log, EndFile
	Socket  string // where the keeper listens
	Hook    string // where the session's own socket is made; empty = none
	Control string // the daemon's socket: who serves it may speak
	Wall    string // the wall's name
	Plan    jail.Plan
	Argv    []string
	Umask   uint32
	Size    attach.Size
	Attach  bool     // hand a connection for a terminal to the daemon, from the very beginning on
	Kept    bool     // it lives on without a terminal; else it ends when the last one goes without leaving
	Secrets [][]byte // values to mask in the log
	Key     []byte   // of their marks
}

// The words of a keeper that has noted where it is, and of the daemon that
// started it: nothing starts before the second, so that a daemon which is
// killed in between leaves a keeper that can be found, or none.
const (
	doReady = "ready"
	doGo    = "go"
)

// hello is a keeper's first word on a link. The files that come with it are,
// in this order, those that it names.
type hello struct {
	Proto int
	Fault *fault // nothing runs, and nothing will
	PID   int    // the wall's process
	Root  int    // process number one inside, as the host counts; 0 = not known
	News  news
	Files []string // of "hook", "proxy", "screen"
}

// news is what changes about a session that runs, and answers to a word.
type news struct {
	Attached int  // terminals
	Kept     bool // it lives on without one
	Answer   int  `json:",omitempty"` // number of the word that Yes answers
	Yes      bool
	End      *attach.End `json:",omitempty"`
}

// word is what a daemon tells a keeper on its link.
type word struct {
	Do     string // go, stop, signal, contains, mask; of a keeper that gets ready, ready
	Number int    // the answer's, where there is one
	PID    int
	Signal int
	Mask   []byte `json:",omitempty"` // a value to mask in the log from now on
	Fault  *fault `json:",omitempty"` // of a keeper: it cannot start
}

// raw are values as they pass: a text would lose what is no UTF-8.
func raw(values []string) (all [][]byte) {
	for _, v := range values {
		all = append(all, []byte(v))
	}
	return all
}

// request opens a connection to a keeper's socket.
type request struct {
	Proto int
	Do    string // link, attach, follow
	Size  attach.Size
}

// fault is a failure that keeps its kind from one process to the other.
type fault struct{ Kind, Text string }

var faults = map[string]error{
	"boundary": reeve.ErrBoundary, "usage": reeve.ErrUsage, "missing": fs.ErrNotExist, "permission": fs.ErrPermission,
}

func faultOf(err error) *fault {
	for kind, sentinel := range faults {
		if errors.Is(err, sentinel) {
			return &fault{kind, err.Error()}
		}
	}
	return &fault{"", err.Error()}
}

func (f *fault) err() error {
	if kind := faults[f.Kind]; kind != nil {
		return &kindError{f.Text, kind}
	}
	return errors.New(f.Text)
}

type kindError struct {
	text string
	kind error
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

func send(c *localsock.Conn, v any, files ...*os.File) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(b, files...)
}

// receive reads one frame as v. Files are the caller's.
func receive(c *localsock.Conn, v any) ([]*os.File, error) {
	b, files, err := c.Read()
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// again is a second handle of an open file, or nil.
func again(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// Place is a keeper as its session's folder tells of it: which process, and
// where it listens.
type Place struct {
	Folder string `json:"-"` // the session's own
	Socket string
	Keeper localsock.Process
	Proto  int
}

// Forget takes back what folder tells of an earlier keeper and of how its
// program ended.
func Forget(folder string) error {
	for _, name := range []string{EndFile, placeFile} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget how the session ended before: %w", err)
		}
	}
	return nil
}

// Find reads where the keeper of the session in folder is, or was. The error
// wraps fs.ErrNotExist where none was ever started.
func Find(folder string) (Place, error) {
	p := Place{Folder: folder}
	b, err := os.ReadFile(filepath.Join(folder, placeFile))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, fmt.Errorf("find the session's keeper: %w", err)
	}
	return p, nil
}

// note writes down where this process keeps a session, before it starts
// anything: a daemon that is killed right then is followed by one that finds
// it.
func (s *spec) note() error {
	who, _, _, err := localsock.Look(os.Getpid())
	if err != nil {
		return err
	}
	b, err := json.Marshal(Place{Socket: s.Socket, Keeper: who, Proto: proto})
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(s.Folder, placeFile), b, 0o600)
}

// ReadEnd reads how the program of the session in folder ended. The error
// wraps fs.ErrNotExist where nobody wrote it down: it runs, or its keeper was
// killed.
func ReadEnd(folder string) (attach.End, error) {
	var end attach.End
	b, err := os.ReadFile(filepath.Join(folder, EndFile))
	if err != nil {
		return end, fmt.Errorf("read how the session ended: %w", err)
	}
	return end, attach.Read(b, &end)
}

// EndOf is how the session in folder ended whose keeper is gone, as far as it is
// known.
func EndOf(folder string, now time.Time) attach.End {
	end, err := ReadEnd(folder)
	if err == nil {
		return end
	}
	cause := ErrLost
	if _, err := Find(folder); errors.Is(err, fs.ErrNotExist) {
		cause = ErrNever
	}
	return attach.End{Code: 128 + 9, Error: cause.Error(), At: now.UTC()}
}

func writeEnd(folder string, end attach.End) error {
	b, err := json.Marshal(end)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(folder, EndFile), b, 0o600)
}
