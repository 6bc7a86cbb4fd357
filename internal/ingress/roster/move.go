package roster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/durable"
	"github.com/reeve-gate/reeve/internal/ingress/install"
	"github.com/reeve-gate/reeve/internal/jsonc"
	"github.com/reeve-gate/reeve/internal/mcp/clients"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/wire"
)

// moved is what is kept of a client's file whose servers went behind the
// gateway, so that they can come back.
type moved struct {
	Version int         `json:"version"`
	Client  string      `json:"client"`
	Path    string      `json:"path"`
	Exact   bool        `json:"exact"`           // Before is the whole text before, and After is of the one that was made of it
	Existed bool        `json:"existed"`         // there was a file
	Before  []byte      `json:"before,omitzero"` // it may hold secrets: the file is as private as the client's
	After   string      `json:"after"`           // digest
	Taken   []takenFrom `json:"taken"`
}

// takenFrom is what one list of a file lost: the text of each server.
type takenFrom struct {
	Inside  []string          `json:"inside,omitzero"`
	Servers map[string]string `json:"servers"`
}

const movedVersion = 1

// moving is one call of install or uninstall with --mcp.
type moving struct {
	desk   *Desk
	client *clients.Client
	dry    bool
	yes    bool
	files  map[string][]clients.Place // the lists of each file
	order  []string
	kept   string // where it is kept what was moved
}

// Move is reeve install --mcp and reeve uninstall --mcp; word is which.
func (d *Desk) Move(word string, args []string) int {
	f := flags(d, word)
	f.Bool("mcp", true, "the client's MCP servers in place of its hooks")
	project := f.Bool("project", false, "the files of this project in place of your own")
	dry := f.Bool("dry-run", false, "show the difference and write nothing")
	yes := f.Bool("yes", false, "do not ask")
	operands, code, ok := mixed(f, args)
	if !ok {
		return code
	}
	var c *clients.Client
	if len(operands) == 1 {
		c = clients.Named(operands[0])
	}
	if c == nil {
		return usage(d, "%s --mcp takes one of claude, claude-desktop, codex, cursor, vscode, gemini", word)
	}
	m, err := newMoving(d, c, *project)
	if err != nil {
		return fail(d, err)
	}
	m.dry, m.yes = *dry, *yes
	do := m.out
	if word == "uninstall" {
		do = m.back
	}
	if err := do(); err != nil {
		return fail(d, err)
	}
	return reeve.ExitOK
}

func newMoving(d *Desk, c *clients.Client, project bool) (*moving, error) {
	paths, err := config.Dirs(d.Getenv)
	if err != nil {
		return nil, err
	}
	places, err := c.Files(d.Getenv, d.Dir, runtime.GOOS == "darwin")
	if err != nil {
		return nil, err
	}
	m := &moving{desk: d, client: c, files: map[string][]clients.Place{}, kept: filepath.Join(paths.State, "mcp-moved")}
	for _, p := range places {
		if p.Project != project {
			continue
		}
		if m.files[p.Path] == nil {
			m.order = append(m.order, p.Path)
		}
		m.files[p.Path] = append(m.files[p.Path], p)
	}
	if len(m.order) == 0 {
		return nil, fmt.Errorf("%w: %s has no servers of a project", reeve.ErrUsage, c.Product)
	}
	return m, nil
}

// own is the entry that a client gets: this program, wherever it was started,
// with the directories of Reeve as they are now.
func (m *moving) own() *clients.Own {
	own := &clients.Own{Command: m.desk.Program, Args: []string{"mcp", "serve", "--client", m.client.Name}}
	for _, name := range []string{"REEVE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"} {
		if v := m.desk.Getenv(name); v != "" {
			own.Env = append(own.Env, [2]string{name, v})
		}
	}
	return own
}

// out moves the servers of each file behind the gateway.
func (m *moving) out() error {
	own := m.own()
	for _, path := range m.order {
		if err := m.file(path, own); err != nil {
			return err
		}
	}
	return nil
}

// file moves the servers of one file.
func (m *moving) file(path string, own *clients.Own) error {
	f, err := install.Open(path)
	if err != nil {
		return err
	}
	text := f.Text
	var add []clients.Found
	var taken []takenFrom
	for i, p := range m.files[path] {
		list, take, err := m.list(p, text)
		if err != nil {
			return fmt.Errorf("%s is left as it is: %w", f.Path, err)
		}
		add = append(add, list...)
		entry := own
		if i > 0 {
			entry = nil // the first list of the file has it
		}
		after, lost, err := m.client.Move(p, text, take, entry)
		if err != nil {
			return fmt.Errorf("%s is left as it is: %w", f.Path, err)
		}
		text = after
		if len(lost) > 0 {
			taken = append(taken, takenFrom{p.Inside, lost})
		}
	}
	if m.dry {
		fmt.Fprint(m.desk.Stdout, redact.New().Text(install.Diff(f.Path, f.Text, text)))
		return nil
	}
	if string(text) == string(f.Text) && f.Exists {
		fmt.Fprintf(m.desk.Stderr, "%s has Reeve's entry already, and nothing else that can move\n", f.Path)
		return nil
	}
	if err := m.addAll(add); err != nil {
		return err
	}
	if err := m.keep(f, text, taken); err != nil {
		return err
	}
	if err := f.Save(text, true); err != nil {
		return err
	}
	fmt.Fprintf(m.desk.Stderr, "behind the gate now: %s of %s; every tool asks until you trust it: reeve mcp trust NAME\n", counted(len(add), "server"), f.Path)
	return nil
}

// list says which servers of a list move, and which of them are to be added.
func (m *moving) list(p clients.Place, text []byte) (add []clients.Found, take []string, err error) {
	found, err := m.client.Read(p, text)
	if err != nil {
		return nil, nil, err
	}
	set, _, err := ownServers(m.desk)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range found {
		if one.Own {
			continue
		}
		if one.As == clients.Entry {
			return nil, nil, fmt.Errorf("it has a server called %s that is not Reeve; give it another name", clients.Entry)
		}
		as := one.Name
		there, same := same(set, one)
		if one = judged(m.desk, set, one); one.Name != "" {
			add, take = append(add, one), append(take, one.As)
		} else if there && same && as != "" {
			take = append(take, one.As)
		}
	}
	return add, take, nil
}

func (m *moving) addAll(add []clients.Found) error {
	if len(add) == 0 {
		return nil
	}
	if !m.yes {
		if code := confirm(m.desk, fmt.Sprintf("Move %s behind the gate?", counted(len(add), "server"))); code != reeve.ExitOK {
			return fmt.Errorf("%w: nothing was changed", reeve.ErrNeedsPerson)
		}
	}
	for _, one := range add {
		if code := changeServers(m.desk, wire.Servers{Do: "add", Server: one.Name, Entry: encoded(&one.Entry)}); code != reeve.ExitOK {
			return errors.New("nothing of the client's was changed")
		}
	}
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (m *moving) keptFile(path string) string {
	return filepath.Join(m.kept, m.client.Name+"-"+digestOf([]byte(path))[:16]+".json")
}

// maxMoved bounds the file of what was moved, in bytes: it holds a client's
// file twice at most.
const maxMoved = 4 * jsonc.MaxText

// book is the file of what was moved out of path.
func (m *moving) book(path string) *durable.File {
	return &durable.File{Path: m.keptFile(path), Max: maxMoved, Check: func(src []byte) error { _, err := parseMoved(src); return err },
		Told: func(note string) { fmt.Fprintf(m.desk.Stderr, "reeve: %s\n", note) }}
}

// load is what was kept of a file, or nil.
func (m *moving) load(path string) (k *moved, err error) {
	src, err := m.book(path).Read()
	if err == nil && src != nil {
		k, err = parseMoved(src)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was moved out of %s: %w", path, err)
	}
	return k, nil
}

func parseMoved(src []byte) (*moved, error) {
	var k moved
	err := json.Unmarshal(src, &k, json.RejectUnknownMembers(true))
	if err == nil && k.Version != movedVersion {
		err = fmt.Errorf("its form is version %d, and this program reads version %d", k.Version, movedVersion)
	}
	return &k, err
}

// keep keeps what is needed to put a file back. What was moved before and is
// not back yet stays with it.
func (m *moving) keep(f *install.File, after []byte, taken []takenFrom) error {
	if err := durable.Private(m.kept); err != nil {
		return fmt.Errorf("keep what is moved out of %s: %w", f.Path, err)
	}
	err := m.book(f.Path).Change(func(old []byte) ([]byte, error) {
		k := &moved{Version: movedVersion, Client: m.client.Name, Path: f.Path, Exact: true, Existed: f.Exists, Before: f.Text, After: digestOf(after), Taken: taken}
		if old != nil {
			before, err := parseMoved(old)
			if err != nil {
				return nil, err
			}
			k.Exact = before.Exact && before.After == digestOf(f.Text) && len(taken) == 0
			k.Before, k.Existed = before.Before, before.Existed
			k.Taken = append(before.Taken, taken...)
		}
		return json.Marshal(k, json.Deterministic(true))
	})
	if err != nil {
		return fmt.Errorf("keep what is moved out of %s: %w", f.Path, err)
	}
	return nil
}

// back puts the servers of each file back.
func (m *moving) back() error {
	for _, path := range m.order {
		f, err := install.Open(path)
		if err != nil {
			return err
		}
		k, err := m.load(f.Path)
		if err != nil {
			return err
		}
		text, exists, notes, err := m.restored(m.files[path], f, k)
		if err != nil {
			return fmt.Errorf("%s is left as it is: %w", f.Path, err)
		}
		if m.dry {
			fmt.Fprint(m.desk.Stdout, redact.New().Text(install.Diff(f.Path, f.Text, text)))
			continue
		}
		if exists == f.Exists && string(text) == string(f.Text) {
			fmt.Fprintf(m.desk.Stderr, "%s has no entry of Reeve's\n", f.Path)
			continue
		}
		if err := f.Save(text, exists); err != nil {
			return err
		}
		if err := m.book(f.Path).Remove(); err != nil {
			return fmt.Errorf("forget what was moved: %w", err)
		}
		for _, n := range notes {
			fmt.Fprintf(m.desk.Stderr, "reeve: %s: %s\n", f.Path, n)
		}
		fmt.Fprintf(m.desk.Stderr, "the servers of %s are its own again; they stay in mcp.json too\n", f.Path)
	}
	return nil
}

// restored is what a file is to be: what it was, where nobody has changed it,
// else what it is without Reeve's entry and with the servers it lost.
func (m *moving) restored(places []clients.Place, f *install.File, k *moved) (text []byte, exists bool, notes []string, err error) {
	if !f.Exists {
		return nil, false, nil, nil
	}
	if k != nil && k.Exact && k.After == digestOf(f.Text) {
		return k.Before, k.Existed, nil, nil
	}
	text = f.Text
	for i, p := range places {
		lost := map[string]string{}
		if k != nil {
			for _, t := range k.Taken {
				if slices.Equal(t.Inside, p.Inside) {
					for name, raw := range t.Servers {
						lost[name] = raw
					}
				}
			}
		}
		if i > 0 && len(lost) == 0 {
			continue
		}
		var more []string
		if text, more, err = m.client.Back(p, text, lost); err != nil {
			return nil, false, nil, err
		}
		notes = append(notes, more...)
	}
	return text, strings.TrimSpace(string(text)) != "" || f.Exists, notes, nil
}
