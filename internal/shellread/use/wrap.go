package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// command notes that the words from index i of the whole command on are a
// command that this one starts.
func (r *reading) command(i int, more Inner) {
	if i >= len(r.ws) {
		return
	}
	more.Words = r.ws[i:]
	more.Wrapper.Name = r.name
	more.Wrapper.Text = joined(r.ws[:i])
	more.Leaves = more.Leaves || r.Marks.Has(reeve.CommandLeaves)
	r.Inner = append(r.Inner, more)
}

// starts marks a command whose work is to start another.
func (r *reading) starts() {
	r.because(reeve.CommandRunsProgram, r.name+" starts the command in its words")
}

// ready reports whether it is certain where the wrapped command begins, with
// before operands in front of it.
func (r *reading) ready(before int) bool {
	if r.u.Strange != "" {
		r.unknown("cannot tell which words of " + r.name + " are its command: option " + r.u.Strange)
		return false
	}
	ops := r.u.Operands
	for i := range min(before+1, len(ops)) {
		if i < before && !ops[i].Known && !ops[i].Quoted || ops[i].MayBeFlag() {
			r.unknown("cannot tell which words of " + r.name + " are its command: " + ops[i].Text)
			return false
		}
	}
	return true
}

// wrap reads a wrapper that needs nothing but the table.
func (r *reading) wrap() {
	p := r.p
	if r.u.Effects().Has(table.Stops) {
		r.starts() // it acts on a running process
		return
	}
	harmless := p.Is(table.Harmless) && r.trusted && r.Marks == 0
	if !harmless && !packageRunner(p.Name) {
		r.starts()
	}
	if !r.ready(p.Skip) {
		return
	}
	start := r.at + r.u.Rest
	if p.Is(table.WrapsText) {
		if len(r.u.Operands) > 0 {
			r.textFrom(start)
		}
		return
	}
	start += p.Skip
	if strings.HasPrefix(p.Name, "kubectl ") || strings.HasPrefix(p.Name, "oc ") {
		for i := start; i < len(r.ws); i++ { // options may follow the pod, up to --
			if r.ws[i].Certain() && r.ws[i].Text == "--" {
				start = i
				break
			}
		}
	}
	if start < len(r.ws) && r.ws[start].Certain() && r.ws[start].Text == "--" {
		start++
	}
	if start >= len(r.ws) {
		return
	}
	r.Unlisted = harmless
	r.command(start, Inner{Wrapper: reeve.Wrapper{Harmless: harmless}, Dir: r.Dir})
}

// packageRunner reports whether a program finds another among a project's own
// packages: an ordinary program, like npm run, whose inner command is listed
// for deny rules.
func packageRunner(name string) bool {
	switch name, _, _ = strings.Cut(name, " "); name {
	case "uv", "uvx", "poetry", "pipenv", "pdm", "rye", "hatch", "bundle", "pnpm", "yarn", "npx", "bunx", "pnpx", "npm", "mise", "asdf", "rbenv", "pyenv", "volta", "conda", "mamba", "micromamba":
		return true
	}
	return false
}

// textFrom notes that the words from i on, joined, are shell text.
func (r *reading) textFrom(i int) {
	r.Inner = append(r.Inner, Inner{Text: joinWords(r.ws[i:]), Dir: r.Dir, Leaves: r.Marks.Has(reeve.CommandLeaves),
		Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:i])}})
}

// env: options, NAME=value words, then the command. Alone it prints.
func (r *reading) env() {
	if split, given := r.u.Flag("-S"); given {
		r.starts()
		r.splitString(split)
		return
	}
	if split, given := r.u.Flag("--split-string"); given {
		r.starts()
		r.splitString(split)
		return
	}
	if !r.ready(0) {
		r.starts()
		return
	}
	r.envCommand(r.at + r.u.Rest)
}

// envCommand reads assignments and a command from index i on.
func (r *reading) envCommand(i int) {
	var set []words.Word
	for ; i < len(r.ws); i++ {
		w := r.ws[i]
		is := strings.IndexByte(w.Lead, '=') >= 0 // with or without a name before it (coreutils' env.c)
		if !is && !w.Certain() {
			r.starts()
			r.unknown("cannot tell whether " + w.Text + " is a variable or the command of " + r.name)
			return
		}
		if !is {
			break
		}
		set = append(set, w)
	}
	if i == len(r.ws) {
		r.ReadOnly = r.name == "env" && r.trusted && r.Marks == 0 && len(set) == 0 && !r.u.Loose
		return
	}
	r.starts()
	r.command(i, Inner{Env: set, Dir: r.Dir})
}

// splitString: env -S cuts its value into words by rules of its own; only a
// value without quotes and escapes is read.
func (r *reading) splitString(split table.Given) {
	if !split.Has || !split.Value.Certain() || strings.ContainsAny(split.Value.Text, "\\\"'$#") {
		r.unknown("cannot tell which words env -S makes of its value")
		return
	}
	cut := []words.Word{r.ws[0]}
	for _, f := range strings.Fields(split.Value.Text) {
		cut = append(cut, words.Plain(f))
	}
	cut = append(cut, r.ws[r.at+r.u.Rest:]...)
	again := reading{ws: cut, at: 1, name: r.name, trusted: r.trusted, p: r.p}
	again.u = again.p.Parse(again.args())
	again.apply()
	if len(again.u.Flags) > 0 && again.u.Effects().Has(table.Split) {
		r.unknown("cannot tell which words env -S makes of its value")
		return
	}
	if !again.ready(0) {
		r.Unknown = append(r.Unknown, again.Unknown...)
		return
	}
	again.envCommand(again.at + again.u.Rest)
	r.Inner, r.Unknown = append(r.Inner, again.Inner...), append(r.Unknown, again.Unknown...)
	if again.Dir != nil {
		r.Dir = again.Dir
	}
}

// xargs gives its command further words; without a command it starts echo.
func (r *reading) xargs() {
	harmless := len(r.u.Flags) == 0 && r.trusted
	if !harmless {
		r.starts()
	}
	if !r.ready(0) {
		return
	}
	mark := "" // what it replaces inside words
	for _, f := range r.u.Flags {
		switch f.Name {
		case "-I", "-i", "-J", "--replace":
			mark = "{}"
			if f.Has {
				if !f.Value.Certain() {
					r.unknown("cannot tell what xargs replaces: " + f.Value.Text)
				}
				mark = f.Value.Text
			}
		}
	}
	start := r.at + r.u.Rest
	inner := Inner{Wrapper: reeve.Wrapper{Name: r.name, Harmless: harmless, Text: joined(r.ws[:start])}, Appends: mark == ""}
	if start == len(r.ws) {
		inner.Words = []words.Word{words.Plain("echo")}
	} else {
		inner.Words = replaced(r.ws[start:], mark)
	}
	r.Unlisted = harmless
	r.Inner = append(r.Inner, inner)
}

// replaced makes every word that holds the mark unknown.
func replaced(ws []words.Word, mark string) []words.Word {
	out := append([]words.Word{}, ws...)
	if mark == "" {
		return out
	}
	for i := range out {
		if at := strings.Index(out[i].Text, mark); at >= 0 {
			out[i].Known, out[i].Quoted = false, true
			out[i].Lead = out[i].Lead[:min(at, len(out[i].Lead))]
		}
	}
	return out
}

// flock FILE COMMAND, or flock FILE -c TEXT.
func (r *reading) flock() {
	r.starts()
	if !r.ready(1) {
		return
	}
	start := r.at + r.u.Rest
	if start < len(r.ws) {
		r.file(r.ws[start], 'w', false)
	}
	start++
	if start+1 < len(r.ws) && (r.ws[start].Text == "-c" || r.ws[start].Text == "--command") {
		r.Inner = append(r.Inner, Inner{Text: r.ws[start+1], Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:start+1])}})
		return
	}
	r.command(start, Inner{})
}

// script -c TEXT [FILE], script FILE -c TEXT, script FILE -- COMMAND.
func (r *reading) script() {
	r.starts()
	if !r.ready(0) {
		return
	}
	start := r.at + r.u.Rest
	if start >= len(r.ws) {
		r.Files = append(r.Files, File{Path: words.Plain("typescript"), Role: 'w'})
		return
	}
	r.file(r.ws[start], 'w', false)
	rest := r.ws[start+1:]
	if len(rest) == 0 || rest[0].Lead == "" || rest[0].Lead[0] != '-' {
		r.command(start+1, Inner{})
		return
	}
	u := r.p.Parse(rest)
	if u.Strange != "" {
		r.unknown("cannot tell which words of script are its command: option " + u.Strange)
		return
	}
	for i := range u.Flags {
		r.flag(&u.Flags[i])
	}
	r.command(start+1+u.Rest, Inner{})
}

// parallel makes shell text of its words, with arguments put in.
func (r *reading) parallel() {
	r.starts()
	r.Inner = nil
	if !r.ready(0) {
		return
	}
	start := r.at + r.u.Rest
	end := len(r.ws)
	for i := start; i < len(r.ws); i++ {
		if strings.HasPrefix(r.ws[i].Lead, ":::") {
			end = i
			break
		}
	}
	inner := Inner{Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:start])}, Leaves: r.Marks.Has(reeve.CommandLeaves)}
	if start < end {
		inner.Text = joinWords(r.ws[start:end])
		inner.Appends = true
		if strings.Contains(inner.Text.Text, "{") {
			inner.Text.Known = false // what replaces the braces is not known
			inner.Appends = false
		}
		r.Inner = append(r.Inner, inner)
		return
	}
	if end == len(r.ws) { // commands come from its input
		r.because(reeve.CommandFedScript, "parallel reads its commands from its input")
		r.unknown("parallel reads its commands from its input")
		return
	}
	for _, w := range r.ws[end+1:] {
		inner.Text = w
		r.Inner = append(r.Inner, inner)
	}
}

// sudo: options, NAME=value words, then the command.
func (r *reading) sudo() {
	r.starts()
	if _, edits := r.u.Flag("-e", "--edit"); edits {
		for _, w := range r.u.Operands {
			r.file(w, 'w', false)
		}
		return
	}
	if r.ready(0) {
		r.envCommand(r.at + r.u.Rest)
	}
}

// su and runuser: shell text by -c, or with runuser -u a command.
func (r *reading) su() {
	r.starts()
	if _, user := r.u.Flag("-u", "--user"); user && r.name == "runuser" {
		first := *r.p
		first.Attr |= table.FirstEnds
		r.u = first.Parse(r.args())
		r.Inner = nil
		if r.ready(0) {
			r.command(r.at+r.u.Rest, Inner{Leaves: true})
		}
		return
	}
	for i := range r.Inner {
		r.Inner[i].Leaves = true
	}
	if len(r.Inner) == 0 {
		r.Fed = true
	}
	if r.u.Strange != "" {
		r.unknown("cannot tell what " + r.name + " starts: option " + r.u.Strange)
	}
}

// setarch [ARCH] [OPTIONS] COMMAND.
func (r *reading) setarch() {
	r.starts()
	if !r.ready(0) {
		return
	}
	start := r.at + r.u.Rest
	if r.name == "setarch" && start < len(r.ws) && r.u.Rest == 0 {
		u := r.p.Parse(r.ws[start+1:])
		if u.Strange != "" {
			r.unknown("cannot tell which words of setarch are its command: option " + u.Strange)
			return
		}
		start += 1 + u.Rest
	}
	r.command(start, Inner{})
}

// busybox APPLET WORDS.
func (r *reading) busybox() {
	r.starts()
	if len(r.args()) > 0 && !strings.HasPrefix(r.args()[0].Lead, "-") {
		r.command(r.at, Inner{})
	}
}

// opaque programs start others in ways that are not read.
func (r *reading) opaque() {
	r.starts()
	r.unknown(r.name + " starts programs in a way that is not read")
}

// isLoader knows the dynamic loader, which starts the program it is given.
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || name == "ld.so" || strings.HasPrefix(name, "ld64.so") || strings.HasPrefix(name, "ld-2.")
}

func (r *reading) loader() {
	r.starts()
	takes := map[string]bool{"--library-path": true, "--preload": true, "--audit": true, "--argv0": true, "--inhibit-rpath": true, "--glibc-hwcaps-prepend": true, "--glibc-hwcaps-mask": true}
	alone := map[string]bool{"--inhibit-cache": true, "--list": true, "--verify": true}
	for i := 1; i < len(r.ws); i++ {
		w := r.ws[i]
		name, _, attached := strings.Cut(w.Lead, "=")
		switch {
		case alone[name]:
		case takes[name] && !attached:
			i++
		case takes[name]:
		case !w.Certain() || strings.HasPrefix(w.Lead, "-"):
			r.unknown("cannot tell which word the loader starts")
			return
		default:
			r.command(i, Inner{})
			return
		}
	}
}

// runner: npx, bunx, npm exec. The first word is a package, with or without a
// version.
func (r *reading) runner() {
	flagged := map[string]bool{"-p": true, "--package": true, "-w": true, "--workspace": true, "--registry": true, "--cache": true, "--prefix": true}
	for i := r.at; i < len(r.ws); i++ {
		w := r.ws[i]
		name, _, attached := strings.Cut(w.Lead, "=")
		switch {
		case name == "-c" || name == "--call":
			r.starts()
			text := w.From(len(name) + 1)
			if !attached && i+1 < len(r.ws) {
				text = r.ws[i+1]
			}
			r.Inner = append(r.Inner, Inner{Text: text, Wrapper: reeve.Wrapper{Name: r.name, Text: joined(r.ws[:i+1])}})
			return
		case flagged[name]:
			if !attached {
				i++
			}
		case w.Lead == "--":
		case strings.HasPrefix(w.Lead, "-"):
		default:
			r.command(i, Inner{})
			inner := &r.Inner[len(r.Inner)-1]
			if at := strings.LastIndexByte(w.Text, '@'); at > 0 && w.Certain() {
				inner.Words = append([]words.Word{words.Plain(w.Text[:at])}, inner.Words[1:]...)
			}
			return
		}
	}
	r.loose(r.args())
}
