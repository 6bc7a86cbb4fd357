package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/reeve-gate/reeve/internal/attach"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/checkout"
	"github.com/reeve-gate/reeve/internal/ingress/layout"
	"github.com/reeve-gate/reeve/internal/view"
)

// recordFile holds a kept session's record, in the session's own folder.
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

// save writes the record whole.
func (r *record) save(folder string) error {
	b, err := json.Marshal(r)
	if err == nil {
		err = durable.WriteFile(filepath.Join(folder, recordFile), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the session's record: %w", err)
	}
	return nil
}

// readRecord reads a record back. A field that this build does not know is an
// error: it may be one that made the boundary narrower.
func readRecord(folder string) (record, error) {
	var r record
	b, err := os.ReadFile(filepath.Join(folder, recordFile))
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.DisallowUnknownFields()
		err = dec.Decode(&r)
	}
	if err != nil {
		return r, fmt.Errorf("read the session's record: %w", err)
	}
	return r, nil
}

func dropRecord(folder string) { os.Remove(filepath.Join(folder, recordFile)) }
