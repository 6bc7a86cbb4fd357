package seal

import (
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Memory is what the vault remembers of the record, sealed: whoever puts older
// files back cannot make it forget.
type Memory struct {
	Key    string `json:"key"`             // the verifier key
	First  string `json:"first,omitzero"`  // the hash of the first row: a record that a reseal begins has another
	Size   int64  `json:"size"`            // rows of the newest checkpoint
	Root   string `json:"root"`            // its root, as the checkpoint has it
	Former []Mark `json:"former,omitzero"` // of records that a person put aside, the oldest first
}

// Mark is the newest checkpoint of a former record.
type Mark struct {
	Size int64  `json:"size"`
	Root string `json:"root"`
}

// maxFormer bounds how many former records are remembered.
const maxFormer = 16

// ParseMemory reads what Encode wrote.
func ParseMemory(b []byte) (Memory, error) {
	var m Memory
	if err := json.Unmarshal(b, &m, json.RejectUnknownMembers(true)); err != nil {
		return Memory{}, fmt.Errorf("read what the vault remembers of the record: %w", err)
	}
	return m, nil
}

// Encode is m as the vault keeps it.
func (m Memory) Encode() ([]byte, error) { return json.Marshal(m) }

// Note remembers a newer checkpoint of the same record.
func (m Memory) Note(c Checkpoint) Memory {
	m.Size, m.Root = c.Size, base64.StdEncoding.EncodeToString(c.Root[:])
	return m
}

// Anew begins with another record; the one before is a former one.
func (m Memory) Anew() Memory {
	if m.Size > 0 {
		m.Former = append(m.Former[max(0, len(m.Former)-maxFormer+1):len(m.Former):len(m.Former)], Mark{m.Size, m.Root})
	}
	m.Size, m.Root, m.First = 0, "", ""
	return m
}

// Is reports whether r is the tree of the newest checkpoint.
func (m Memory) Is(r *Range) bool {
	root := r.Root()
	return r.Size() == m.Size && (m.Size == 0 || base64.StdEncoding.EncodeToString(root[:]) == m.Root)
}
