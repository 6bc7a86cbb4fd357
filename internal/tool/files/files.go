// Package files is the file tools: read_file, list_dir, glob, grep,
// write_file, edit_file, apply_patch, create_dir, move_path, copy_path and
// delete_path.
//
// A path is absolute or relative to the caller's directory and lies below the
// workspace; what lies outside is refused, for reading too. [Tools] lists
// them. Each promises:
//
//   - What was judged is what is touched. Directories are walked by
//     descriptor (os.Root); a name is opened only if it is still the file or
//     directory that was looked at (contract M9, M34, Y50). Nothing outside the
//     workspace is read or changed, whoever renames directories meanwhile.
//   - A change goes through no symbolic link. One in the directories of the
//     path is refused with the real path; one at the end is replaced by
//     write_file, never followed (M33). A read follows links that stay inside.
//   - Credentials are refused by name and by hard link (A20, A22); searches
//     leave them and protected metadata out, and say how many (A21).
//   - A file with a second hard link is not changed (A22).
//   - A file changes whole or not at all: written beside under a name nobody
//     can guess, flushed, renamed (M33). apply_patch changes all files or none.
//
// A new file gets mode 0644 less the umask of the process, so that it is
// never writable by others; a new directory 0755 less the umask. A changed
// file keeps its permission bits and owner, and loses set-id bits, access
// lists and extended attributes. Reeve's own files are not written here.
//
// Sizes: 16 MiB to read, 10 MB to write, 10,000 entries of a directory,
// 20,000 names of a search, 64 KiB of search results.
package files

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/safepath/beneath"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Bounds of the tools.
const (
	maxRead     = 16 << 20 // bytes of a file that is read
	maxWrite    = beneath.MaxStage
	maxEntries  = 10_000   // entries of one directory
	maxWalk     = 20_000   // names of one walk
	maxOutput   = 64 << 10 // bytes of a listing or a search
	maxText     = 256 << 10
	maxLine     = 500 // bytes shown of one line of a search
	maxCopySize = 512 << 20
)

// Disk knows which files are second names of a credential (contract A22).
type Disk interface {
	Alias(workspace string, info fs.FileInfo) bool
}

// Tools lists the file tools. A nil disk is a programmer's mistake and panics.
func Tools(disk Disk) []tool.Tool {
	if disk == nil {
		panic("files: no disk to ask for aliases")
	}
	return []tool.Tool{
		native(disk, readFile), native(disk, listDir), native(disk, globFiles), native(disk, grepFiles),
		native(disk, writeFile), native(disk, editFile), native(disk, applyPatch),
		native(disk, createDir), native(disk, movePath), native(disk, copyPath), native(disk, deletePath),
	}
}

// act is one tool: what it would do with its arguments, and how it does it.
type act[A any] struct {
	spec    tool.Spec
	effects func(a A, at tool.Place) ([]reeve.Effect, error)
	texts   func(a A, at tool.Place) []tool.Text // for files; nil = it brings none
	run     func(ctx context.Context, w *workspace, a A) (reeve.Result, error)
}

// hand makes an act a tool.
type hand[A any] struct {
	act[A]
	disk Disk
}

func native[A any](disk Disk, a act[A]) tool.Runner {
	a.spec.Source = "native"
	return hand[A]{a, disk}
}

func (h hand[A]) Spec() tool.Spec { return h.spec }

// Effects lists what the call would do.
func (h hand[A]) Effects(args []byte, at tool.Place) ([]reeve.Effect, error) {
	a, err := decode[A](args)
	if err != nil {
		return nil, err
	}
	return h.effects(a, at)
}

// Texts are what the call would put into which files.
func (h hand[A]) Texts(args []byte, at tool.Place) []tool.Text {
	a, err := decode[A](args)
	if err != nil || h.texts == nil {
		return nil
	}
	return h.texts(a, at)
}

// textFor is what a call would put into the one file at path.
func textFor(path string, at tool.Place, t tool.Text) []tool.Text {
	p, err := locate(path, at)
	if err != nil {
		return nil
	}
	t.Path = p.abs
	return []tool.Text{t}
}

// Run acts.
func (h hand[A]) Run(ctx context.Context, c tool.Call) reeve.Result {
	a, err := decode[A](c.Args)
	if err != nil {
		return tool.Failed("%v", err)
	}
	// What Effects refuses is refused here too, whoever calls.
	if _, err := h.effects(a, c.Place); err != nil {
		return tool.Failed("%v", err)
	}
	if err := c.Permit.Spend(c.Digest); err != nil {
		return tool.Denied(err.Error())
	}
	w, err := openWorkspace(c.Place, h.disk)
	if err != nil {
		return tool.Failed("%v", err)
	}
	defer w.close()
	r, err := h.run(ctx, w, a)
	if err != nil {
		w.unmake()
		return tool.Failed("%v", err)
	}
	if r.Status == "" {
		r.Status = reeve.StatusSuccess
	}
	return r
}

func decode[A any](args []byte) (a A, err error) {
	if err := json.Unmarshal(args, &a, json.RejectUnknownMembers(true)); err != nil {
		return a, fmt.Errorf("read arguments: %w", err)
	}
	return a, nil
}

// pathArg is the arguments of a tool with one path.
type pathArg struct {
	Path string `json:"path"`
}

// onPath is the one effect of a tool with one path.
func onPath(kind reeve.EffectKind, deep bool) func(pathArg, tool.Place) ([]reeve.Effect, error) {
	return func(a pathArg, at tool.Place) ([]reeve.Effect, error) {
		p, err := locate(a.Path, at)
		if err != nil {
			return nil, err
		}
		return []reeve.Effect{{Kind: kind, Path: p.abs, Deep: deep}}, nil
	}
}
