package plant

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/reeve-gate/reeve/internal/jail/tree"
)

// noteEnd ends the name of a file that remembers a run.
const noteEnd = ".run.json"

// Note keeps what is remembered in a new file of dir until forget is called,
// which is when [Before.Quarantine] has done its work.
func (b *Before) Note(dir string) (forget func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("note a run: %w", err)
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("note a run: %w", err)
	}
	f, err := os.CreateTemp(dir, "*"+noteEnd) // mode 0600
	if err != nil {
		return nil, fmt.Errorf("note a run: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return nil, fmt.Errorf("note a run: %w", err)
	}
	return func() { os.Remove(f.Name()) }, nil
}

// Leftover finds the runs of dir that ended without their quarantine, since
// whoever watched over them was killed, does that work, and gives what it
// found. Nobody may run in dir meanwhile. A file that cannot be read is a
// problem and stays.
func Leftover(dir string) []Changes {
	names := tree.Named(dir, "*"+noteEnd)
	var all []Changes
	for _, name := range names {
		var b Before
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &b)
		}
		if err != nil || b.Plan.Workspace == "" {
			all = append(all, Changes{Problems: []string{fmt.Sprintf("%s tells of a run that was cut off and cannot be read (%v): look at what it left", strings.TrimSpace(name), err)}})
			continue
		}
		all = append(all, b.Quarantine())
		os.Remove(name)
	}
	return all
}

// Recall reads back what a run noted in dir, for whoever watches over its end
// now. forget is what [Before.Note] returned. The error wraps fs.ErrNotExist
// where nothing is noted.
func Recall(dir string) (b *Before, forget func(), err error) {
	names := tree.Named(dir, "*"+noteEnd)
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("recall a run: %w in %s", fs.ErrNotExist, dir)
	}
	b = new(Before)
	text, err := os.ReadFile(names[0])
	if err == nil {
		err = json.Unmarshal(text, b)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("recall a run: %w", err)
	}
	return b, func() { os.Remove(names[0]) }, nil
}
