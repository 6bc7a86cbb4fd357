package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// findWords are find's options, tests and actions that only look, with how
// many words follow each (GNU findutils 4.10, BSD find).
var findWords = map[string]int{
	"-H": 0, "-L": 0, "-P": 0, "-E": 0, "-X": 0, "-x": 0, "-s": 0, "-O0": 0, "-O1": 0, "-O2": 0, "-O3": 0, "-D": 1, "-f": 1,
	"-daystart": 0, "-depth": 0, "-d": 0, "-follow": 0, "-ignore_readdir_race": 0, "-noignore_readdir_race": 0, "-maxdepth": 1, "-mindepth": 1, "-mount": 0, "-xdev": 0,
	"-noleaf": 0, "-regextype": 1, "-warn": 0, "-nowarn": 0,
	"-amin": 1, "-anewer": 1, "-atime": 1, "-cmin": 1, "-cnewer": 1, "-ctime": 1, "-empty": 0, "-executable": 0, "-false": 0, "-fstype": 1, "-gid": 1, "-group": 1,
	"-ilname": 1, "-iname": 1, "-inum": 1, "-ipath": 1, "-iregex": 1, "-iwholename": 1, "-links": 1, "-lname": 1, "-mmin": 1, "-mtime": 1, "-name": 1, "-newer": 1,
	"-newermt": 1, "-newerct": 1, "-newerat": 1, "-newermm": 1, "-newercm": 1, "-neweram": 1, "-nogroup": 0, "-nouser": 0, "-path": 1, "-perm": 1, "-readable": 0, "-regex": 1, "-samefile": 1, "-size": 1, "-true": 0,
	"-type": 1, "-uid": 1, "-used": 1, "-user": 1, "-wholename": 1, "-writable": 0, "-xtype": 1, "-context": 1, "-flags": 1, "-acl": 0, "-xattr": 0, "-Bmin": 1, "-Btime": 1,
	"-print": 0, "-print0": 0, "-printf": 1, "-ls": 0, "-prune": 0, "-quit": 0, "-printx": 0,
	"!": 0, "-not": 0, "-a": 0, "-and": 0, "-o": 0, "-or": 0, "(": 0, ")": 0, ",": 0,
}

// findWrites are actions that write the file named next.
var findWrites = map[string]int{"-fprint": 1, "-fprint0": 1, "-fprintf": 2, "-fls": 1}

var findRuns = map[string]bool{"-exec": true, "-execdir": true, "-ok": true, "-okdir": true}

// find reads starting points, then tests and actions.
func (r *reading) find() {
	r.Files, r.Marks, r.Why = nil, 0, ""
	i, certain := r.findPoints()
	points := r.Files
	for ; i < len(r.ws); i++ {
		w := r.ws[i]
		n, known := findWords[w.Text]
		switch {
		case !w.Certain():
			certain = false
			r.couldAct(w)
		case known:
			certain = r.findArgs(i, n) && certain
			i += n
		case findRuns[w.Text]:
			i = r.findExec(i)
		case w.Text == "-delete":
			r.because(reeve.CommandDestructive|reeve.CommandRunsProgram, "find -delete removes what it finds")
			for _, p := range points {
				p.Role = 'd'
				r.Files = append(r.Files, p)
			}
		case findWrites[w.Text] > 0:
			r.because(reeve.CommandWritesFile, w.Text+" writes a file")
			if i+1 < len(r.ws) {
				r.file(r.ws[i+1], 'w', false)
			}
			i += findWrites[w.Text]
		case w.Text == "-files0-from":
			r.Files = append(r.Files, File{Path: words.Unknown("the starting points that a file names"), Role: 'r', Deep: true})
			certain = false
			i++
		default:
			certain = false
			if strings.HasPrefix(w.Text, "-") {
				r.because(reeve.CommandRunsProgram, "find has no test or action "+w.Text+" that is known")
			}
		}
	}
	r.ReadOnly = r.trusted && certain && r.Marks == 0
}

// findPoints reads -H, -L, -P and the starting points. It gives the index of
// the first word of the expression.
func (r *reading) findPoints() (i int, certain bool) {
	starts := 0
	for i, certain = 1, true; i < len(r.ws); i++ {
		w := r.ws[i]
		if w.Certain() && (strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 || w.Text == "(" || w.Text == "!") {
			if n, early := findWords[w.Text]; early && (len(w.Text) == 2 || strings.HasPrefix(w.Text, "-O")) && starts == 0 {
				i += n
				continue
			}
			break
		}
		r.couldAct(w)
		certain = certain && w.Known
		starts++
		r.Files = append(r.Files, File{Path: w, Role: 'r', Deep: true})
	}
	if starts == 0 {
		r.Files = append(r.Files, File{Path: words.Plain("."), Role: 'r', Deep: true})
	}
	return i, certain
}

// couldAct marks a word that may become an action.
func (r *reading) couldAct(w words.Word) {
	if w.MayBeFlag() {
		r.because(reeve.CommandUnknownWords, "the word "+w.Text+" could become an action of find")
	}
}

// findArgs checks the words that follow a test; any of them stays a value.
func (r *reading) findArgs(i, n int) bool {
	for j := i + 1; j <= i+n && j < len(r.ws); j++ {
		if w := r.ws[j]; !w.Known && !w.Quoted {
			r.because(reeve.CommandUnknownWords, "the word "+w.Text+" could become an action of find")
			return false
		}
		if w := r.ws[j]; w.Glob { // may become several words
			r.because(reeve.CommandUnknownWords, "file names that match "+w.Text+" could become an action of find")
			return false
		}
	}
	return true
}

// findExec reads -exec COMMAND ; and gives the index of its last word.
func (r *reading) findExec(i int) int {
	r.because(reeve.CommandRunsProgram, r.ws[i].Text+" starts a program for each file")
	end := i + 1
	for end < len(r.ws) {
		w := r.ws[end]
		if w.Text == ";" || w.Text == "+" && end > i+1 && r.ws[end-1].Text == "{}" {
			break
		}
		end++
	}
	if end == len(r.ws) {
		r.unknown("find " + r.ws[i].Text + " without an end")
	}
	if end > i+1 {
		inner := Inner{Words: replaced(r.ws[i+1:end], "{}"), Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:i+1])}}
		inner.Lost = strings.HasSuffix(r.ws[i].Text, "dir")
		if len(r.Files) > 0 && r.Files[0].Path.Known {
			for j := range inner.Words { // a found file starts as its starting point does
				if w := &inner.Words[j]; w.Text == "{}" && r.Files[0].Path.Lead != "" && !strings.HasPrefix(r.Files[0].Path.Lead, "-") {
					w.Lead = r.Files[0].Path.Lead[:1]
				}
			}
		}
		r.Inner = append(r.Inner, inner)
	}
	return end
}

// fd -x and -X take the rest of the words, up to a lone semicolon.
func (r *reading) fd() {
	for i := r.at; i < len(r.ws); i++ {
		switch w := r.ws[i]; w.Text {
		case "-x", "-X", "--exec", "--exec-batch":
			head := reading{ws: r.ws[:i], at: r.at, name: r.name, trusted: r.trusted, p: r.p}
			head.u = head.p.Parse(head.args())
			head.apply()
			r.Facts = head.Facts
			r.ReadOnly = false
			r.because(reeve.CommandRunsProgram, w.Text+" starts a program for each file")
			r.fdExec(i + 1)
			return
		default:
			if strings.HasPrefix(w.Lead, "-x") || strings.HasPrefix(w.Lead, "-X") || strings.HasPrefix(w.Lead, "--exec") {
				r.because(reeve.CommandRunsProgram, w.Text+" starts a program for each file")
				r.unknown("cannot tell which words " + r.name + " starts")
				return
			}
		}
	}
	for _, f := range r.u.Flags {
		if n := f.Name; n == "-x" || n == "-X" || n == "--exec" || n == "--exec-batch" {
			r.because(reeve.CommandRunsProgram, n+" starts a program for each file")
			r.unknown("cannot tell which words " + r.name + " starts")
		}
	}
}

func (r *reading) fdExec(i int) {
	end := i
	for end < len(r.ws) && r.ws[end].Text != ";" {
		end++
	}
	if i == end {
		r.unknown(r.name + " is not told which program to start")
		return
	}
	ws := r.ws[i:end]
	holds := false
	for _, w := range ws {
		holds = holds || strings.Contains(w.Text, "{")
	}
	r.Inner = append(r.Inner, Inner{Words: replaced(ws, "{"), Appends: !holds, Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:i])}})
}
