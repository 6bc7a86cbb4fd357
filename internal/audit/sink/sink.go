// Package sink sends the record to an OpenTelemetry collector while it is
// written: OTLP over HTTP, in JSON (package otlp), as log records and spans.
//
// A [Sender] reads rows behind the last one that the collector took, sends at
// most one batch at a time, and then notes on the disk how far it came
// ([Position]). The record itself is the queue: nothing that stands in it is
// lost by an outage, a restart or a collector that is full, nothing is kept in
// memory but one batch, and no call ever waits for any of it. After a restart at
// most one batch goes out a second time, with the same ids.
//
// Every connection is dialled through package netguard, no proxy is used, no
// redirection followed, and without encryption nothing but this machine is
// spoken to. Headers are asked for in the moment of use.
//
// What an answer means (opentelemetry.io/docs/specs/otlp, OTLP/HTTP):
//
//	2xx            taken; what the collector refused of it is counted
//	400, 413, 422  it cannot be taken: the batch is halved, until the one row that
//	               is meant stands alone; it is passed over and counted
//	anything else  held, and tried again: after Retry-After where it is given, else
//	               after a time that doubles to a minute
//
// The second row differs from the specification, by which only 429, 502, 503 and
// 504 are tried again: a wrong token or address is a person's to set right, and
// no reason to lose what was recorded meanwhile.
package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/audit/otlp"
	"github.com/reeve-gate/reeve/internal/netguard"
)

// Bounds of what is sent at a time.
const (
	maxRows  = 512
	maxBytes = 2 << 20 // of text in the rows of a batch, after which it is closed
)

// maxSkips is how many looks in a row trust that files which look as they did are
// as they were: a write within one tick of the file system's clock, into a log of
// the same length, changes nothing that stat(2) tells.
const maxSkips = 5

// Times; see [Options] for those that tests change.
const (
	lookEvery   = time.Second // for new rows
	firstPause  = time.Second // before the second attempt
	longestWait = time.Minute
	longestAsk  = 10 * time.Minute // that a collector may ask for
	requestTime = 30 * time.Second
)

// Options place a sender. Dir, Position, Endpoint and Guard are required.
type Options struct {
	Dir      string   // where the record lies
	Position string   // file that says how far it came
	Endpoint *url.URL // by [Address]
	NoLogs   bool
	NoTraces bool
	Headers  func() (map[string]string, error) // nil = none
	Encoder  otlp.Encoder
	Clean    func(string) string // what is done to arguments and summaries; nil = nothing
	Guard    *netguard.Guard     // dials
	Log      func(format string, args ...any)

	TLS   *tls.Config   // for tests; nil = the system's
	Look  time.Duration // for tests; 0 = lookEvery
	Pause time.Duration // for tests; 0 = firstPause
}

// State is how the sender is.
type State struct {
	Sent    int64     // newest row that was taken, or where it began
	Behind  int64     // rows in the record after it, at the last look
	Oldest  time.Time // of those rows; zero where there is none
	Refused int64     // rows and spans that the collector did not take, since the start
	Fault   string    // why nothing is sent at the moment; empty = it is
}

// Sender sends one record to one collector. Begin and Run are called once, in this
// order.
type Sender struct {
	opt    Options
	client *http.Client

	// Of the goroutine of Run.
	signals []*signal
	pos     Position // what every signal has come to, as it stands on the disk
	begun   bool     // pos was read
	seen    [2]chain.FileState
	skipped int    // looks in a row that found the files as they were
	said    string // last fault that was logged

	mu    sync.Mutex // guards state
	state State
}

// New makes a sender; nothing is sent before Run.
func New(o Options) *Sender {
	if o.Look <= 0 {
		o.Look = lookEvery
	}
	if o.Pause <= 0 {
		o.Pause = firstPause
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	s := &Sender{opt: o, client: newClient(o)}
	if !o.NoLogs {
		s.signals = append(s.signals, &signal{path: "/v1/logs", encode: o.Encoder.Logs})
	}
	if !o.NoTraces {
		s.signals = append(s.signals, &signal{path: "/v1/traces", encode: o.Encoder.Traces})
	}
	return s
}

// signal is one kind of what is sent.
type signal struct {
	path   string
	encode func([]chain.Row) (body []byte, n int)
	to     int64 // newest row that was taken; it may be ahead of the position
}

// State tells how it is.
func (s *Sender) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Begin settles from which row on it sends, before a row is written that should
// be sent. Where it cannot be settled now, Run does it.
func (s *Sender) Begin(ctx context.Context) {
	if r, err := audit.OpenRead(s.opt.Dir); err == nil {
		_, _ = s.place(ctx, r) // Run meets a fault again, and tells
		r.Close()
	}
}

// Run sends until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	pause := s.opt.Pause
	for ctx.Err() == nil {
		more, err := s.round(ctx)
		if ctx.Err() != nil {
			return
		}
		s.tell(err)
		wait := s.opt.Look
		var later *laterError
		switch {
		case errors.As(err, &later) && later.after > 0:
			wait = min(later.after, longestAsk)
		case err != nil:
			wait = pause + time.Duration(rand.Int64N(int64(pause)/4+1))
			pause = min(2*pause, max(longestWait, s.opt.Pause))
		case more:
			pause = s.opt.Pause
			continue
		default:
			pause = s.opt.Pause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tell keeps what is wrong for [Sender.State], and logs it once.
func (s *Sender) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	s.state.Fault = text
	s.mu.Unlock()
	if text != s.said {
		if s.said = text; text == "" {
			text = "goes on"
		}
		s.opt.Log("telemetry: %s", text)
	}
}

// round sends the next batch; more is true where another may follow at once.
func (s *Sender) round(ctx context.Context) (more bool, err error) {
	now, err := chain.Stamp(chain.In(s.opt.Dir))
	if err == nil && s.begun && now == s.seen && s.State().Behind == 0 && s.skipped < maxSkips {
		s.skipped++
		return false, nil // nobody wrote
	}
	s.skipped = 0
	r, err := audit.OpenRead(s.opt.Dir)
	if errors.Is(err, reeve.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	newest, err := s.place(ctx, r)
	if err != nil {
		return false, err
	}
	rows, err := s.batch(ctx, r)
	if err != nil {
		return false, err
	}
	s.note(newest, rows)
	if len(rows) == 0 {
		s.seen = now
		return false, nil
	}
	if err := s.deliver(ctx, rows); err != nil {
		return false, err
	}
	last := rows[len(rows)-1]
	if err := s.keep(Position{Row: last.ID, Hash: last.Hash.String()}); err != nil {
		return false, err
	}
	s.note(newest, nil)
	return true, nil
}

// note keeps how far behind it is.
func (s *Sender) note(newest int64, unsent []chain.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Sent, s.state.Behind = s.pos.Row, max(newest-s.pos.Row, 0)
	switch {
	case len(unsent) > 0:
		s.state.Oldest = unsent[0].Time
	case s.state.Behind == 0:
		s.state.Oldest = time.Time{}
	}
}

var errFull = errors.New("the batch is full")

// batch reads the rows that follow the position.
func (s *Sender) batch(ctx context.Context, r *audit.Reader) (rows []chain.Row, err error) {
	size := 0
	err = r.After(ctx, s.pos.Row, maxRows, func(row chain.Row) error {
		if !s.opt.Encoder.Content {
			row.Args, row.Summary = "", ""
		} else if s.opt.Clean != nil {
			row.Args, row.Summary = s.opt.Clean(row.Args), s.opt.Clean(row.Summary)
		}
		rows = append(rows, row)
		if size += len(row.Args) + len(row.Summary) + len(row.Tool) + len(row.Rule); size >= maxBytes {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return rows, err
}

// deliver sends one batch as each kind. What was taken before a fault is not sent
// again while this sender lives.
func (s *Sender) deliver(ctx context.Context, rows []chain.Row) error {
	for _, sig := range s.signals {
		first := 0
		for first < len(rows) && rows[first].ID <= sig.to {
			first++
		}
		if err := s.send(ctx, sig, rows[first:]); err != nil {
			return err
		}
	}
	return nil
}

// send sends rows as one kind, in halves where they are not taken whole.
func (s *Sender) send(ctx context.Context, sig *signal, rows []chain.Row) error {
	if len(rows) == 0 {
		return nil
	}
	last := rows[len(rows)-1].ID
	body, n := sig.encode(rows)
	if n == 0 {
		sig.to = last
		return nil
	}
	refused, err := s.post(ctx, sig.path, body)
	var bad *unacceptableError
	switch {
	case errors.As(err, &bad) && len(rows) > 1:
		half := len(rows) / 2
		if err := s.send(ctx, sig, rows[:half]); err != nil {
			return err
		}
		return s.send(ctx, sig, rows[half:])
	case errors.As(err, &bad):
		refused = int64(n)
		s.opt.Log("telemetry: row %d is passed over: %v", last, bad)
	case err != nil:
		return err
	case refused > 0:
		s.opt.Log("telemetry: the collector refused %d of rows %d to %d", refused, rows[0].ID, last)
	}
	sig.to = last
	s.mu.Lock()
	s.state.Refused += refused
	s.mu.Unlock()
	return nil
}

// String is how it is, in one line for a person.
func (st State) String() string {
	text := "up to date"
	if st.Behind > 0 {
		text = fmt.Sprintf("%d rows behind", st.Behind)
		if !st.Oldest.IsZero() {
			text += ", since " + st.Oldest.Local().Format("2006-01-02 15:04:05")
		}
	}
	if st.Refused > 0 {
		text += fmt.Sprintf("; %d refused by the collector", st.Refused)
	}
	if st.Fault != "" {
		text += ": " + st.Fault
	}
	return text
}
