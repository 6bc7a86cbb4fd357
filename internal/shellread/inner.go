package shellread

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/use"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// sameMachine are the ways to another user that stay on this machine, so that
// paths are the same.
var sameMachine = map[string]bool{"sudo": true, "doas": true, "su": true, "runuser": true, "pkexec": true}

// within runs f for what a wrapper starts.
func (r *reader) within(w reeve.Wrapper, leaves bool, f func()) {
	wrappers, left, away := r.wrappers, r.leaves, r.away
	r.wrappers = append(wrappers[:len(wrappers):len(wrappers)], w)
	r.leaves = r.leaves || leaves
	r.away = r.away || leaves && !sameMachine[w.Name]
	f()
	r.wrappers, r.leaves, r.away = wrappers, left, away
}

// inner reads a command or a text that a program starts.
func (r *reader) inner(in *use.Inner, outer *start) {
	st := start{dir: outer.dir, alts: outer.alts, assigns: outer.assigns, program: true}
	if in.Dir != nil {
		st.dir, st.alts = r.into(*in.Dir, outer.dir), nil
	}
	if in.Lost {
		st.dir, st.alts = "", nil
	}
	r.within(in.Wrapper, in.Leaves, func() {
		if len(in.Words) == 0 {
			if in.Appends {
				r.unknownTail(in, &st)
				return
			}
			r.script(in.Text, in.Shell, in.Wrapper.Name, &st)
			return
		}
		for _, w := range in.Env {
			name, text, _ := strings.Cut(w.Text, "=")
			st.assigns = upsert(st.assigns, assign(name, text, w.Known))
		}
		st.ws = in.Words
		if in.Appends {
			st.ws = append(st.ws[:len(st.ws):len(st.ws)], words.Unknown("{}"))
			st.appends = true
		}
		st.text = textOf(in.Words)
		input := r.in
		if !passesInput[in.Wrapper.Name] {
			r.shared()
		}
		r.start(st)
		r.in = input
	})
}

// passesInput are wrappers that start one program and leave its input alone.
var passesInput = map[string]bool{
	"env": true, "nice": true, "nohup": true, "timeout": true, "stdbuf": true, "setsid": true, "ionice": true, "chrt": true, "taskset": true, "prlimit": true, "setarch": true, "flock": true, "time": true,
	"sudo": true, "doas": true, "busybox": true, "chroot": true, "unshare": true, "nsenter": true, "docker": true, "podman": true, "kubectl": true, "strace": true,
}

// unknownTail: a text that gets words added to it, as parallel does.
func (r *reader) unknownTail(in *use.Inner, st *start) {
	text := in.Text
	if text.Known {
		text = words.Plain(text.Text + ` "$_"`)
	}
	r.script(text, in.Shell, in.Wrapper.Name, st)
}

func textOf(ws []words.Word) string {
	all := make([]string, len(ws))
	for i := range ws {
		all[i] = ws[i].Text
	}
	return strings.Join(all, " ")
}

// script reads shell text that another shell runs. The wrapper is in place.
func (r *reader) script(w words.Word, shell, who string, st *start) {
	text := w.Text
	if !w.Known {
		r.unknown("the text that " + who + " runs is not certain")
		if w.Lead == "" {
			return // nothing of it can be seen
		}
		text = unquote(text)
	} else if why := dialect(shell, text); why != "" {
		r.unknown(why)
	}
	if why := refuse(text); why != "" {
		r.unknown("the text that " + who + " runs " + why)
		return
	}
	saved, in, inherit, calls, posix, jumps := r.scope, r.in, r.inherit, r.calls, r.posix, r.jumps
	r.shared()
	r.posix, r.jumps = shell != "bash", nil
	r.scope = scope{dir: st.dir, alts: st.alts, code: saved.code, homeMoved: saved.homeMoved, funcs: uncertain(saved.funcs)}
	r.inherit, r.calls = st.assigns, nil
	for _, a := range st.assigns {
		r.inheritCode(a)
	}
	from := len(r.out)
	r.text(text, "the text that "+who+" runs")
	if !w.Known {
		r.clean(from)
	}
	r.scope, r.in, r.inherit, r.calls, r.posix, r.jumps = saved, in, inherit, calls, posix, jumps
}

// inheritCode: a shell that is given a variable that loads code runs it.
func (r *reader) inheritCode(a reeve.Assign) {
	switch a.Name {
	case "HOME":
		r.scope.homeMoved = true
	case "CDPATH":
		r.scope.cdpath = true
	}
	if !a.Harmless && r.scope.code == "" {
		r.scope.code = a.Name + " is not known to be harmless"
	}
}

// uncertain: functions are only known to a new shell if they were exported.
func uncertain(list *function) *function {
	var out *function
	for f := list; f != nil; f = f.next {
		copied := *f
		copied.certain = false
		copied.next = out
		out = &copied
	}
	return out
}

// clean takes read-only marks back from what was read from a text that is not
// certain.
func (r *reader) clean(from int) {
	for i := min(from, len(r.out)); i < len(r.out); i++ {
		if c := r.out[i].Command; c != nil {
			c.Marks &^= reeve.CommandReadOnly
		}
	}
}

// unquote takes one pair of double quotes off a source text, so that the
// commands that are visible in an uncertain text are listed too.
func unquote(src string) string {
	if len(src) < 2 || src[0] != '"' || src[len(src)-1] != '"' {
		return src
	}
	return strings.NewReplacer(`\"`, `"`, `\$`, `$`, "\\`", "`", `\\`, `\`).Replace(src[1 : len(src)-1])
}

// dialect says why a text may mean something else to another shell than to
// bash; "" = it does not.
func dialect(shell, text string) string {
	switch shell {
	case "bash", "rbash":
		return ""
	case "", "sh", "dash", "ash", "ksh", "ksh93", "mksh", "pdksh", "lksh", "yash", "posh":
		for _, form := range []string{"$'", `$"`, "&>", "|&", "<(", ">(", "<<<", "[[", "function ", "coproc", "select ", "$[", "!(", "@(", "+(", "?(", "*("} {
			if strings.Contains(text, form) {
				return "the text uses " + form + ", which not every sh reads as bash does"
			}
		}
		if arithmeticCommand(text) {
			return "the text uses ((, which not every sh reads as bash does"
		}
		if braces(text) {
			return "the text uses braces, which not every sh reads as bash does"
		}
		return ""
	}
	return shell + " is another language than bash"
}

// arithmeticCommand finds (( that is not part of $((.
func arithmeticCommand(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '(' && text[i+1] == '(' && (i == 0 || text[i-1] != '$') {
			return true
		}
	}
	return false
}

// braces finds {a,b} or {1..3}, also within quotes.
func braces(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '{' || i > 0 && text[i-1] == '$' {
			continue
		}
		end := strings.IndexAny(text[i:], " \t\n}")
		if end > 0 && text[i+end] == '}' && (strings.Contains(text[i:i+end], ",") || strings.Contains(text[i:i+end], "..")) {
			return true
		}
	}
	return false
}

// fed: a shell that reads commands from its input. A text that is certain is
// read; anything else is unknown.
func (r *reader) fed(st *start) {
	name := st.ws[0].Text
	name = name[strings.LastIndexByte(name, '/')+1:]
	if !use.IsShell(name) && name != "ssh" && name != "su" {
		return
	}
	if r.in.kind != inputText {
		if !r.away && name != "ssh" || r.in.kind == inputUnknown {
			r.unknown(name + " reads commands from its input")
		}
		return
	}
	in := r.in.text
	r.within(reeve.Wrapper{Name: name, Text: textOf(st.ws)}, name == "ssh" || name == "su", func() {
		inner := *st
		saved := r.in
		r.in = input{kind: inputUnknown}
		if !in.Known {
			in.Text = strings.TrimSpace(in.Text)
		}
		shell := name
		if !use.IsShell(name) {
			shell = ""
		}
		r.script(in, shell, name, &inner)
		r.in = saved
	})
}
