package repo

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// ErrNone is what Find ends with where no repository is.
var ErrNone = errors.New("no git repository here")

// Info is a repository as git would find it, for whoever runs git on it with
// settings of its own.
type Info struct {
	GitDir  string   // what GIT_DIR names
	Top     string   // root of the working tree; empty for a bare repository
	Drivers []string // names of the filters that the repository configures
	Remotes []Remote
}

// Remote is a remote by name. URL shows neither user, password, query nor
// fragment (contract A23).
type Remote struct{ Name, URL string }

// Find finds the repository around dir and reads what its own
// configuration says; home is what ~ stands for in included files.
func Find(dir, home string) (Info, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Info{}, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	gitDir, top, why := find(real)
	if gitDir == "" {
		if why != "" {
			return Info{}, fmt.Errorf("find the repository of %s: %s", dir, why)
		}
		return Info{}, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	repo := Info{GitDir: gitDir, Top: top}
	seen := map[string]bool{}
	r := reader{home: home, visit: func(s setting, _ string) string {
		switch {
		case s.section == "filter" && s.subbed && !seen["filter."+s.sub]:
			seen["filter."+s.sub] = true
			repo.Drivers = append(repo.Drivers, s.sub)
		case s.section == "remote" && s.subbed && s.key == "url":
			repo.Remotes = append(repo.Remotes, Remote{s.sub, cleanURL(s.value)})
		}
		return ""
	}}
	if _, stop := r.own(gitDir); stop != "" {
		return Info{}, fmt.Errorf("read the repository of %s: %s", dir, stop)
	}
	return repo, nil
}

// cleanURL takes what may be secret out of a remote's address. The short form
// user@host:path has no place for a password and is kept.
func cleanURL(address string) string {
	scheme, _, isURL := strings.Cut(address, "://")
	if !isURL {
		if head, _, cut := strings.Cut(address, "?"); cut {
			return head
		}
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" && u.Path == "" {
		// Not an address we can take apart: keep the scheme and nothing that
		// could hold a token.
		return scheme + "://..."
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}
