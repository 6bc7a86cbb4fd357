package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Tree is what a lock file of npm says of everything below one package.
type Tree struct {
	Lock
	Packages int      // how many there are, the package itself counted
	Scripts  []string // those that would run a script when they are installed
}

// MaxLock bounds a lock file, in bytes.
const MaxLock = 32 << 20

// locked is one package of a package-lock.json, version 2 or 3 (npm 11,
// package-lock.json).
type locked struct {
	Version   string                    `json:"version"`
	Resolved  string                    `json:"resolved"`
	Integrity string                    `json:"integrity"`
	Link      bool                      `json:"link"`
	Bundled   bool                      `json:"inBundle"`
	Scripts   bool                      `json:"hasInstallScript"`
	Rest      map[string]jsontext.Value `json:",embed"`
}

// ReadLock reads the lock file of a tree that was installed for one package.
// Every package of it must come from a registry by https, with an integrity of
// a strong kind: one that does not is an error, since nothing was compared
// with anything then.
func ReadLock(src []byte, name string) (Tree, error) {
	if len(src) > MaxLock {
		return Tree{}, fmt.Errorf("the lock file has %d bytes; at most %d are read", len(src), MaxLock)
	}
	var doc struct {
		Version  int                       `json:"lockfileVersion"`
		Packages map[string]locked         `json:"packages"`
		Rest     map[string]jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(src, &doc); err != nil {
		return Tree{}, fmt.Errorf("the lock file cannot be read: %w", err)
	}
	if doc.Version != 2 && doc.Version != 3 {
		return Tree{}, fmt.Errorf("the lock file has version %d; 2 and 3 are read", doc.Version)
	}
	sum := sha256.Sum256(src)
	t := Tree{Lock: Lock{Name: name, Tree: hex.EncodeToString(sum[:])}}
	for _, path := range slices.Sorted(maps.Keys(doc.Packages)) {
		if path == "" {
			continue // the directory that it was installed into
		}
		p := doc.Packages[path]
		if err := p.check(path); err != nil {
			return Tree{}, err
		}
		t.Packages++
		if p.Scripts {
			t.Scripts = append(t.Scripts, strings.TrimPrefix(path, "node_modules/"))
		}
		if path == "node_modules/"+name {
			t.Version, t.Integrity = p.Version, p.Integrity
		}
	}
	if t.Integrity == "" {
		return Tree{}, fmt.Errorf("the lock file does not hold %s with an integrity", name)
	}
	return t, nil
}

func (p *locked) check(path string) error {
	switch {
	case !strings.HasPrefix(path, "node_modules/") || strings.Contains(path, ".."):
		return fmt.Errorf("%s of the lock file lies outside of what was installed", path)
	case p.Link:
		return fmt.Errorf("%s of the lock file is a link to a directory", path)
	case p.Bundled:
		return nil // a part of the package that holds it, whose integrity covers it
	case p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://"): // without one it is npm's own registry
		return fmt.Errorf("%s comes from %q, which is no registry by https", path, p.Resolved)
	case !strings.HasPrefix(p.Integrity, "sha512-") && !strings.HasPrefix(p.Integrity, "sha384-") && !strings.HasPrefix(p.Integrity, "sha256-"):
		return fmt.Errorf("%s has no integrity of a strong kind", path)
	case !exactVersion.MatchString(p.Version):
		return fmt.Errorf("%s has no exact version", path)
	}
	return nil
}

// ProgramOf is the program of a package that a launch starts, by its manifest
// (package.json): the one that was named, else the one that is called as the
// package is, else the only one (npm 11, npx).
func (l *Launch) ProgramOf(manifest []byte) (string, error) {
	var doc struct {
		Bin  jsontext.Value            `json:"bin"`
		Rest map[string]jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(manifest, &doc); err != nil {
		return "", fmt.Errorf("the manifest of %s cannot be read: %w", l.Name, err)
	}
	own := l.Name[strings.LastIndexByte(l.Name, '/')+1:]
	all := map[string]string{}
	var one string
	switch {
	case json.Unmarshal(doc.Bin, &one) == nil:
		all[own] = one
	case json.Unmarshal(doc.Bin, &all) != nil:
		return "", fmt.Errorf("%s has no program", l.Name)
	}
	names := slices.Sorted(maps.Keys(all))
	want := l.Program
	switch _, same := all[own]; {
	case want != "":
	case same:
		want = own
	case len(names) == 1:
		want = names[0]
	}
	if _, there := all[want]; !there || want == "." || want == ".." || strings.ContainsAny(want, "/\\\x00") {
		return "", fmt.Errorf("which of the programs of %s is meant cannot be told: %q", l.Name, names)
	}
	return want, nil
}
