package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
	"github.com/reeve-gate/reeve/internal/durable"
)

// Position is the newest row that was taken: its number and, so that another
// record at the same place is noticed, its hash. Row 0 is the beginning.
type Position struct {
	Row  int64  `json:"row"`
	Hash string `json:"hash"`
}

// place makes sure that the position is one of this record, and gives the
// number of the newest row. Without a position it begins with what is recorded
// from now on; in a record that was begun anew it begins with the first row; of
// a record whose beginning was pruned it goes on with what is there.
func (s *Sender) place(ctx context.Context, r *audit.Reader) (newest int64, err error) {
	last, err := r.Newest(ctx)
	if err != nil {
		return 0, err
	}
	if !s.begun {
		pos, found, err := readPosition(s.opt.Position)
		if err != nil {
			return 0, err
		}
		if !found {
			pos = Position{}
			if last.ID > 0 {
				pos = Position{last.ID, last.Hash.String()}
			}
			if err := s.keep(pos); err != nil {
				return 0, err
			}
		}
		s.pos, s.begun = pos, true
	}
	if s.pos.Row == 0 {
		return last.ID, nil
	}
	there, err := r.HashAt(ctx, s.pos.Row)
	if err != nil {
		return 0, err
	}
	switch {
	case there == (chain.Hash{}) && s.pos.Row <= last.ID: // pruned: rows after it are the next ones
	case there.String() != s.pos.Hash:
		s.opt.Log("telemetry: another record stands here now; it is sent from its first row")
		if err := s.keep(Position{}); err != nil {
			return 0, err
		}
		for _, sig := range s.signals {
			sig.to = 0
		}
	}
	return last.ID, nil
}

// keep makes a position durable, and is then at it.
func (s *Sender) keep(p Position) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = durable.WriteFile(s.opt.Position, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note how far telemetry came: %w", err)
	}
	s.pos = p
	return nil
}

// readPosition reads the file; one that is damaged is an error that says what to
// do, since going on from a guess would send everything twice or leave rows out.
func readPosition(path string) (p Position, found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Position{}, false, nil
	}
	if err == nil && len(text) > 1<<10 {
		err = errors.New("it is too long")
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && (p.Row < 0 || p.Row > 0 && len(p.Hash) != 2*len(chain.Hash{})) {
		err = errors.New("it names no row")
	}
	if err != nil {
		return Position{}, false, fmt.Errorf("read how far telemetry came: %s: %w; remove the file to go on with what is recorded from then on", path, err)
	}
	return p, true, nil
}
