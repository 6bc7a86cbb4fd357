package safepath

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Holds names a place below path that is closed to every agent: a credential
// store of the home or of the machine, or Reeve's own state; "" where none is
// there that this user can read. Path is absolute; its links are not followed.
// It is asked of what a program does to everything below a folder (contract
// A21): a broad search reads the store too.
func (d *Disk) Holds(path string) string {
	path = filepath.Clean(path)
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	for _, place := range closed() {
		if place == path || !below(place, path) {
			continue // the place itself is known by its name
		}
		if found := readable(place); found != "" {
			return found
		}
	}
	return ""
}

// readable is place, or the first path that it stands for.
func readable(place string) string {
	if !strings.ContainsRune(place, '*') {
		if unix.Access(place, unix.R_OK) == nil {
			return place
		}
		return ""
	}
	dir := strings.LastIndexByte(place[:strings.IndexByte(place, '*')], '/')
	found, _ := filepath.Glob(globLiteral.Replace(place[:dir]) + place[dir:])
	for _, p := range found {
		if unix.Access(p, unix.R_OK) == nil {
			return p
		}
	}
	return ""
}

// closedPlaces are the places by absolute path, in both spellings of the home
// and of Reeve's directories.
func closedPlaces(o Options) (all []string) {
	if o.Home != "" && filepath.Clean(o.Home) != "/" {
		for _, home := range spellings(o.Home) {
			for _, list := range [][]string{CredentialPaths, AgentCredentials} {
				for _, name := range list {
					all = append(all, home+"/"+name)
				}
			}
		}
	}
	for _, dir := range o.State {
		all = append(all, spellings(dir)...)
	}
	return append(all, MachineSecrets...)
}
