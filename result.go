package reeve

import "time"

// Status is how an invocation ended; the audit column result_status (G28).
type Status string

const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
	StatusDenied  Status = "denied"
	StatusTimeout Status = "timeout"
	StatusUnknown Status = "unknown" // no outcome was ever reported
)

// Result is what came of an invocation, after redaction.
type Result struct {
	Status    Status
	Output    string // for the caller, bounded by the tool
	Data      []byte // for the caller, one JSON value: what Output tells in words, where another program wrote it
	Error     string // short reason for the caller; what happened and what to do
	ExitCode  int    // of a program that was run
	Truncated bool   // Output was cut at the tool's bound
	Duration  time.Duration
	Changed   []string // paths the tool changed, relative to the workspace
	Open      bool     // the act goes on after the call: its outcome is reported when it ends
}
