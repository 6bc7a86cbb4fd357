package use

import (
	"path"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// dd takes its files as NAME=value.
func (r *reading) dd() {
	for _, w := range r.args() {
		name, _, is := strings.Cut(w.Lead, "=")
		path := w.From(len(name) + 1)
		switch {
		case is && name == "if":
			r.file(path, 'r', false)
		case is && name == "of" && nowhere[path.Text]:
		case is && name == "of":
			r.because(reeve.CommandWritesFile, "dd of= writes a file")
			r.file(path, 'w', false)
			if strings.HasPrefix(path.Lead, "/dev/") && !nowhere[path.Lead] || !path.Known {
				r.because(reeve.CommandDestructive, "dd writes to a device")
			}
		}
	}
}

// ln makes each operand but the last another name; a single one is named in
// the current directory.
func (r *reading) ln() {
	_, soft := r.u.Flag("-s", "--symbolic")
	targets, into := r.u.Operands, words.Plain(".")
	flag, folder := r.u.Flag("-t", "--target-directory")
	switch {
	case folder:
		into = flag.Value
	case len(targets) > 1:
		into, targets = targets[len(targets)-1], targets[:len(targets)-1]
	}
	for _, t := range targets {
		r.file(t, 'r', false)
		r.Links = append(r.Links, Link{t, into, soft})
	}
	if len(r.u.Operands) == 1 && !folder {
		name := words.Unknown("the name of a link")
		if t := targets[0]; t.Known {
			name = words.Plain(path.Base(t.Text))
		}
		r.file(name, 'w', false)
	}
}

// tarValues are the letters of tar's first word that take a value, when it is
// written without a dash.
const tarValues = "fbCHVNgLKTXIF"

// tar: the mode, the archive and what is packed or unpacked.
func (r *reading) tar() {
	if ws, old := tarOld(r.args()); old {
		again := reading{ws: append(append([]words.Word{}, r.ws[:r.at]...), ws...), at: r.at, name: r.name, trusted: r.trusted, p: r.p}
		again.u = again.p.Parse(ws)
		again.apply()
		*r = again
	}
	has := func(names ...string) bool { _, given := r.u.Flag(names...); return given }
	mode := tarMode(has)
	role := byte('r')
	if mode == 'c' {
		role = 'w'
	}
	r.Files = nil
	clean := mode == 't' && r.u.Strange == "" && !r.u.Loose
	for _, f := range r.u.Flags {
		switch f.Name {
		case "-f", "--file":
			clean = clean && f.Has && f.Value.Known
			r.tarArchive(f.Value, role)
		case "-C", "--directory":
		default:
			clean = clean && !f.Effect.Has(table.Harm)
			if f.Has && f.Effect.Has(table.Writes) {
				r.file(f.Value, 'w', false)
			}
		}
	}
	if r.Marks &^= reeve.CommandWritesFile; r.Marks == 0 { // said below
		r.Why = ""
	}
	for _, w := range r.u.Operands {
		if mode == 'c' {
			r.file(w, 'r', true)
		}
	}
	switch {
	case mode == 'x' && !has("-O", "--to-stdout"):
		r.Files = append(r.Files, File{Path: words.Plain("."), Role: 'w', Deep: true})
		if has("-P", "--absolute-names") || has("--absolute-paths") {
			r.Files = append(r.Files, File{Path: words.Unknown("where the archive says"), Role: 'w'})
		}
	case mode == 'c':
		r.because(reeve.CommandWritesFile, "tar writes the archive")
	}
	r.ReadOnly = clean && r.trusted && r.Marks == 0
}

// tarMode is x, t, or c for everything that writes the archive.
func tarMode(has func(...string) bool) byte {
	switch {
	case has("-x", "--extract", "--get"):
		return 'x'
	case has("-t", "--list"):
		return 't'
	case has("-c", "--create", "-r", "--append", "-u", "--update", "-A", "--concatenate", "--delete"):
		return 'c'
	}
	return 0
}

// tarArchive: an archive on another machine is reached by a remote shell.
func (r *reading) tarArchive(w words.Word, role byte) {
	if colon := strings.IndexByte(w.Lead, ':'); colon > 0 && strings.IndexByte(w.Lead[:colon], '/') < 0 {
		r.because(reeve.CommandRunsProgram|reeve.CommandLeaves, "an archive on another machine is reached by a remote shell")
		r.Hosts = append(r.Hosts, Host{Name: strings.ToLower(w.Lead[strings.IndexByte(w.Lead[:colon], '@')+1 : colon])})
		return
	}
	if w.Certain() && w.Text == "-" {
		return
	}
	r.Files = append(r.Files, File{Path: w, Role: role, Here: true})
}

// tarOld rewrites a first word without a dash: tar xzf FILE.
func tarOld(args []words.Word) ([]words.Word, bool) {
	if len(args) == 0 || args[0].Lead == "" || args[0].Lead[0] == '-' || !args[0].Certain() {
		return nil, false
	}
	var out []words.Word
	next := 1
	for _, letter := range args[0].Text {
		out = append(out, words.Plain("-"+string(letter)))
		if strings.ContainsRune(tarValues, letter) && next < len(args) {
			out = append(out, args[next])
			next++
		}
	}
	return append(out, args[next:]...), true
}

// unpack: unzip writes below the current directory, or below -d.
func (r *reading) unpack() {
	for _, f := range r.u.Flags {
		switch f.Name {
		case "-d":
			r.Marks &^= reeve.CommandWritesFile
			for i := range r.Files {
				r.Files[i].Deep = r.Files[i].Deep || r.Files[i].Role == 'w'
			}
			return
		case "-l", "-t", "-v", "-p", "-c", "-Z", "-z":
			r.ReadOnly = r.trusted && r.Marks == 0 && r.u.Strange == "" && !r.u.Loose && r.allKnown()
			return
		}
	}
	r.Files = append(r.Files, File{Path: words.Plain("."), Role: 'w', Deep: true})
}

func (r *reading) allKnown() bool {
	for _, w := range r.u.Operands {
		if !w.Known {
			return false
		}
	}
	return true
}

// crontab: -l lists, anything else changes what starts later.
func (r *reading) crontab() {
	if _, list := r.u.Flag("-l"); list {
		r.ReadOnly = r.trusted && r.u.Strange == "" && len(r.u.Operands) == 0 && r.Marks == 0
		return
	}
	r.because(reeve.CommandRunsProgram, "crontab installs commands that run later")
	if len(r.u.Operands) == 0 || r.u.Operands[0].Text == "-" {
		r.because(reeve.CommandFedScript, "crontab reads commands from its input")
	}
}

// kill by name: not Reeve.
func (r *reading) kill() {
	for _, w := range r.u.Operands {
		if strings.Contains(strings.ToLower(w.Text), "reeve") {
			r.because(reeve.CommandSelf, "would stop Reeve")
			r.Self = r.name + " " + w.Text
		}
	}
}

// makeVars are variables of a makefile that name programs.
var makeVars = map[string]bool{"SHELL": true, ".SHELLFLAGS": true, "MAKEFLAGS": true, "MAKEFILES": true, "MAKE": true, "CC": true, "CXX": true, "CPP": true, "LD": true, "AR": true, "AS": true,
	"FC": true, "GO": true, "PYTHON": true, "NODE": true, "RM": true, "INSTALL": true, "LEX": true, "YACC": true, "TEX": true}

// make: NAME=value words may name programs.
func (r *reading) make() {
	for _, w := range r.u.Operands {
		name, _, is := strings.Cut(w.Lead, "=")
		if is && makeVars[strings.TrimRight(name, ":?+!")] {
			r.because(reeve.CommandRunsProgram, name+"= names a program that make starts")
		}
	}
}
