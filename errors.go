package reeve

import "errors"

// The kinds of failure that cross the wire between the daemon and its
// clients. Everything else is text plus cause.
var (
	ErrUsage       = errors.New("usage")                     // the request itself is wrong
	ErrDenied      = errors.New("denied")                    // policy, mode or a person said no
	ErrNeedsPerson = errors.New("needed a person")           // nobody could be asked, or nobody answered
	ErrBoundary    = errors.New("boundary missing")          // the sandbox does not hold here
	ErrNotFound    = errors.New("not found")                 // no such session, approval, record
	ErrBroken      = errors.New("record broken")             // the audit does not verify
	ErrUnavailable = errors.New("daemon unavailable")        // no daemon, or one of another version
	ErrPresence    = errors.New("not from a person's shell") // the peer descends from an agent
)

// Exit codes of the command line (DESIGN section 6).
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitDenied      = 3
	ExitNeedsPerson = 4
	ExitBoundary    = 5
)
