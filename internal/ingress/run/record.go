package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/checkout"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/view"
)

const recordFile = "kept.json"

// record is what is known of a kept session beside session.json: how its
// boundary is built, which call its run is, and how that ended. It holds no
// value of the environment, and no command line that looks as if it held a
// secret.
type record struct {
	Layout  layout.Layout
	Secret  bool   // Layout.Argv is masked: the session cannot be resumed
	Call    string // the invocation whose intent is open, until the end is dealt with
	Began   time.Time
	Quiet   bool               // no receipt was asked for
	Notes   []string           `json:",omitempty"` // known from the start, for the receipt
	Tree    *checkout.Checkout `json:",omitempty"` // its own checkout, as long as that is kept
	View    *view.View         `json:",omitempty"` // its view of the workspace, as long as that is kept
	End     *attach.End        `json:",omitempty"`
	Receipt []string           // lines for a person
}

// recordOf is the file of a session's record, in the session's own folder; told
// hears where its backup had to be taken, nil is nobody.
func recordOf(folder string, told func(note string)) *durable.File {
	return &durable.File{Path: filepath.Join(folder, recordFile), Max: 16 << 20, Told: told, Check: func(b []byte) error { _, err := parseRecord(b); return err }}
}

// save writes the record whole.
func (r *record) save(folder string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return recordOf(folder, nil).Put(b)
}

// readRecord reads a record back.
func readRecord(f *durable.File) (record, error) {
	b, err := f.Read()
	if err != nil {
		return record{}, err
	}
	return parseRecord(b)
}

// parseRecord: a field that this build does not know is an error, since it may
// be one that made the boundary narrower.
func parseRecord(b []byte) (r record, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&r); err != nil {
		err = fmt.Errorf("it is no record of a session: %w", err)
	}
	return r, err
}
