// Package tooltest is the suite that every tool with a hand passes.
//
// [Run] takes one call that works and tries the promises of package tool with
// it: no permit, no act; one permit, one act; nothing touched that Effects did
// not list; bad arguments are an error and not a panic. Only tests import it.
package tooltest

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/tool"
)

// Case is one call that works.
type Case struct {
	Tool  tool.Runner
	Args  string
	Files map[string]string // the workspace before the call; a name that ends in a slash is a directory

	// Contained is handed to the call.
	Contained bool
	// Untraced says that what the tool changes cannot be told from its effects
	// by path, because a program does it.
	Untraced bool
}

// Run tries every promise.
func Run(t *testing.T, c Case) {
	t.Run("spec", c.spec)
	t.Run("bad arguments", c.badArguments)
	t.Run("no permit, no act", c.withoutPermit)
	t.Run("one permit, one act", c.once)
	t.Run("a missing workspace is an error", c.missingWorkspace)
}

// bench is one workspace with a call ready to run.
type bench struct {
	place  tool.Place
	issuer *permit.Issuer
	now    time.Time
}

func (c Case) bench(t *testing.T) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(top, "workspace")
	for _, dir := range []string{ws, filepath.Join(top, "home")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range c.Files {
		path := filepath.Join(ws, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{place: tool.Place{Workspace: ws, Home: filepath.Join(top, "home"), Dir: ws}, now: time.Unix(1_000_000, 0)}
	b.issuer = permit.NewIssuer(func() time.Time { return b.now })
	return b
}

var digest = sha256.Sum256([]byte("the call under test"))

func (c Case) call(b *bench, p permit.Permit) tool.Call {
	return tool.Call{
		Permit: p, Digest: digest, ID: "call", Session: "session", Args: []byte(c.Args), Place: b.place, Profile: "agent", Contained: c.Contained,
	}
}

func (c Case) spec(t *testing.T) {
	s := c.Tool.Spec()
	if s.Name == "" || s.Name != strings.ToLower(s.Name) {
		t.Errorf("name %q is not lower-case", s.Name)
	}
	if s.Description == "" || s.Source == "" || s.Class == tool.ClassOther {
		t.Errorf("spec is not filled in: %+v", s)
	}
	if s.Tier == reeve.TierDenied {
		t.Error("a tool of the denied tier never runs")
	}
	var schema struct {
		Type string         `json:"type"`
		More *bool          `json:"additionalProperties"`
		Rest map[string]any `json:",embed"`
	}
	if err := json.Unmarshal([]byte(s.Schema), &schema); err != nil {
		t.Fatalf("schema: %v", err)
	}
	if schema.Type != "object" || schema.More == nil || *schema.More {
		t.Errorf("schema is not a closed object: %s", s.Schema)
	}
}

func (c Case) badArguments(t *testing.T) {
	b := c.bench(t)
	before := snapshot(t, b.place.Workspace)
	for _, args := range []string{
		"", "null", "[]", `"x"`, "7", "{", `{"unknown_argument":1}`, `{"path":7}`, `{"path":["a"]}`, `{"path":{"a":1}}`, `{"path":"a","path":"b"}`,
		"{\"path\":\"\xff\"}", `{"path":"a\u0000b"}`, `{"path":"../../etc/hosts"}`, `{"path":"/etc/hosts"}`, `{"PATH":"a"}`, strings.Repeat("[", 10_000),
	} {
		bad := c
		bad.Args = args
		r := c.Tool.Run(t.Context(), bad.call(b, b.issuer.Mint(digest, time.Hour)))
		if _, err := c.Tool.Effects([]byte(args), b.place); err == nil {
			continue // no argument of this tool is required
		}
		if r.Status == reeve.StatusSuccess || r.Error == "" {
			t.Errorf("args %.60q are refused by Effects and ran: %+v", args, r)
		}
	}
	if after := snapshot(t, b.place.Workspace); !before.equal(after) {
		t.Errorf("bad arguments changed %v", before.changed(after))
	}
}

func (c Case) withoutPermit(t *testing.T) {
	other := sha256.Sum256([]byte("another call"))
	b := c.bench(t)
	spent := b.issuer.Mint(digest, time.Hour)
	if err := spent.Spend(digest); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, b.place.Workspace)
	for name, p := range map[string]permit.Permit{
		"zero": {}, "for another call": b.issuer.Mint(other, time.Hour), "expired": b.issuer.Mint(digest, 0), "spent": spent,
	} {
		r := c.Tool.Run(t.Context(), c.call(b, p))
		if r.Status != reeve.StatusDenied && r.Status != reeve.StatusError || r.Error == "" || r.Output != "" {
			t.Errorf("permit %s: %+v", name, r)
		}
		if after := snapshot(t, b.place.Workspace); !before.equal(after) {
			t.Errorf("permit %s: changed %v", name, before.changed(after))
		}
	}
}

func (c Case) once(t *testing.T) {
	b := c.bench(t)
	effects, err := c.Tool.Effects([]byte(c.Args), b.place)
	if err != nil || len(effects) == 0 {
		t.Fatalf("Effects: %v, %v", effects, err)
	}
	before := snapshot(t, b.place.Workspace)
	p := b.issuer.Mint(digest, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r := c.Tool.Run(ctx, c.call(b, p)); r.Status != reeve.StatusSuccess || r.Error != "" {
		t.Fatalf("%s %s: %+v", c.Tool.Spec().Name, c.Args, r)
	}
	if err := p.Spend(digest); !errors.Is(err, permit.ErrSpent) {
		t.Errorf("after the call its permit is %v, want spent", err)
	}
	after := snapshot(t, b.place.Workspace)
	changed := before.changed(after)
	if c.Tool.Spec().Tier == reeve.TierRead && len(changed) > 0 {
		t.Errorf("a tool of the read tier changed %v", changed)
	}
	for _, path := range changed {
		if !c.Untraced && !listed(effects, filepath.Join(b.place.Workspace, path)) {
			t.Errorf("%s changed and is not in the effects", path)
		}
	}
	if r := c.Tool.Run(ctx, c.call(b, p)); r.Status == reeve.StatusSuccess {
		t.Error("one permit opened twice")
	}
	if again := snapshot(t, b.place.Workspace); !after.equal(again) {
		t.Errorf("the second call changed %v", after.changed(again))
	}
}

// listed reports whether an effect covers a change of path: it names it, or a
// directory that had to be made for it, or with Deep what lies above it.
func listed(effects []reeve.Effect, path string) bool {
	return slices.ContainsFunc(effects, func(e reeve.Effect) bool {
		if e.Kind != reeve.EffectWrite && e.Kind != reeve.EffectDelete {
			return false
		}
		return e.Path == path || strings.HasPrefix(e.Path, path+"/") || e.Deep && strings.HasPrefix(path, e.Path+"/")
	})
}

func (c Case) missingWorkspace(t *testing.T) {
	b := c.bench(t)
	if err := os.RemoveAll(b.place.Workspace); err != nil {
		t.Fatal(err)
	}
	if r := c.Tool.Run(t.Context(), c.call(b, b.issuer.Mint(digest, time.Hour))); r.Status == reeve.StatusSuccess {
		t.Errorf("ran without a workspace: %+v", r)
	}
	if _, err := os.Stat(b.place.Workspace); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the call made the workspace")
	}
}

// tree is a directory's files by path: mode, and content or link target.
type tree map[string]string

func snapshot(t *testing.T, dir string) tree {
	t.Helper()
	all := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += to
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(content)
		}
		rel, err := filepath.Rel(dir, path)
		all[rel] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s tree) equal(other tree) bool { return len(s.changed(other)) == 0 }

// changed lists the paths that differ.
func (s tree) changed(other tree) []string {
	var paths []string
	for path, text := range s {
		if now, there := other[path]; !there || now != text {
			paths = append(paths, path)
		}
	}
	for path := range other {
		if _, there := s[path]; !there {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
