package shellread

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// redirect reads one redirection: its expansions, its file, and what the
// command then reads from.
func (r *reader) redirect(d *syntax.Redirect) {
	if !r.step() {
		return
	}
	if d.N != nil && strings.HasPrefix(d.N.Value, "{") { // {name}> sets the variable
		if name := strings.Trim(d.N.Value, "{}"); r.variableName(words.Plain(name), "a redirection") {
			r.set(base(name), value{number: true})
		}
	}
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		r.hereDoc(d)
		return
	case syntax.WordHdoc:
		r.reads(d, input{kind: inputText, text: r.expand(d.Word)})
		return
	}
	w := r.expand(d.Word)
	switch d.Op {
	case syntax.DplIn, syntax.DplOut:
		if isDescriptor(w) {
			if d.Op == syntax.DplIn {
				r.reads(d, input{kind: inputUnknown})
			}
			return
		}
		if !w.Certain() && d.N != nil && d.Op == syntax.DplOut && w.Digit {
			return
		}
		r.file(w, 'w')
		if d.Op == syntax.DplIn {
			r.file(w, 'r')
			r.reads(d, input{kind: inputUnknown})
		}
	case syntax.RdrIn:
		r.file(w, 'r')
		r.reads(d, input{kind: inputUnknown})
	case syntax.RdrInOut:
		r.file(w, 'r')
		r.file(w, 'w')
		r.reads(d, input{kind: inputUnknown})
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.AppAll, syntax.RdrAllClob, syntax.AppAllClob:
		r.file(w, 'w')
	default:
		r.unknown("a redirection that is not read: " + d.Op.String())
	}
}

func isDescriptor(w words.Word) bool {
	s := strings.TrimSuffix(w.Text, "-")
	return w.Certain() && (s == "" || isDigits(s))
}

// reads changes the command's input, where the redirection is of descriptor 0.
func (r *reader) reads(d *syntax.Redirect, in input) {
	if d.N == nil || d.N.Value == "0" {
		r.in = in
	}
}

// file emits what a redirection does to a file, or to a host in bash's own
// /dev/tcp and /dev/udp.
func (r *reader) file(w words.Word, role byte) {
	for _, net := range []string{"/dev/tcp/", "/dev/udp/"} {
		if rest, ok := strings.CutPrefix(w.Lead, net); ok {
			host, port, _ := strings.Cut(rest, "/")
			e := reeve.Effect{Kind: reeve.EffectConnect, Why: "bash connects by " + net}
			if w.Certain() {
				e.Host, e.Port = strings.ToLower(host), portNumber(port)
			}
			r.emit(e)
			return
		}
	}
	r.touch(w, role, false, r.scope.dir, nil, r.scope.alts)
}

func portNumber(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 65535 {
			return 0
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// hereDoc: with a quoted end word the body is data as it stands, else it is
// expanded.
func (r *reader) hereDoc(d *syntax.Redirect) {
	in := input{kind: inputText}
	switch {
	case d.Hdoc == nil:
		in.text = words.Plain("")
	case quotedWord(d.Word):
		var b strings.Builder
		for _, p := range d.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				b.WriteString(lit.Value)
			}
		}
		in.text = words.Plain(tabs(b.String(), d.Op == syntax.DashHdoc))
	default:
		r.inside(d.Hdoc.Parts, true)
		in.text = r.hereText(d)
	}
	r.reads(d, in)
}

// hereText is the body of a here-document that is expanded.
func (r *reader) hereText(d *syntax.Redirect) words.Word {
	var b strings.Builder
	known := true
	for _, p := range d.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			known = false
			b.WriteString(r.words.Source(p))
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\\\n", lit.Value[i+1]) >= 0 {
				i++
				if c = lit.Value[i]; c == '\n' {
					continue
				}
			}
			b.WriteByte(c)
		}
	}
	text := tabs(b.String(), d.Op == syntax.DashHdoc)
	if !known {
		return words.Word{Word: reeve.Word{Text: text, Quoted: true}}
	}
	return words.Plain(text)
}

// tabs takes the leading tabs of every line away, as <<- does.
func tabs(s string, dash bool) string {
	if !dash {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

func quotedWord(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// written is what a part of a pipeline gives to the next one: known only for
// echo of plain words and for cat of a here-document.
func (r *reader) written(s *syntax.Stmt) input {
	none := input{kind: inputUnknown}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || r.findFunc(call.Args[0].Lit()) != nil || r.scope.code != "" {
		return none
	}
	switch call.Args[0].Lit() {
	case "cat":
		if len(call.Args) == 1 && len(s.Redirs) == 1 && s.Redirs[0].Hdoc != nil && s.Redirs[0].N == nil {
			saved, out := r.in, len(r.out)
			r.hereDoc(s.Redirs[0])
			in := r.in
			r.in, r.out = saved, r.out[:out]
			return in
		}
	case "echo":
		if len(s.Redirs) > 0 {
			return none
		}
		var texts []string
		for _, w := range call.Args[1:] {
			x := r.words.One(w)
			if !x.Certain() || strings.HasPrefix(x.Text, "-") || strings.Contains(x.Text, `\`) || strings.Contains(x.Text, "{") {
				return none
			}
			texts = append(texts, x.Text)
		}
		return input{kind: inputText, text: words.Plain(strings.Join(texts, " "))}
	}
	return none
}
