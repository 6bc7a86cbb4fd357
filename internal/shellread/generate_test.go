package shellread

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes shell lines from a grammar that uses every construct the
// reader claims to read. Its programs are stubs, so that a line can be run.
type generator struct {
	*rand.Rand
	used map[string]bool // constructs in the present line
	fun  int             // number of the next function
}

// stubs are the programs a generated line may start. Some bear the names of
// real ones, so that the tables are used too.
var stubs = []string{"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "cat", "ls", "git", "rm", "grep", "head", "kubectl", "cargo", "curl", "tee", "python3", "make"}

// wrappers stand in the sandbox as they are and start stubs.
var realWrappers = []string{"env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs", "find", "bash", "sh", "dash", "sed", "awk", "sort", "flock", "chrt", "ionice", "taskset", "prlimit", "setarch"}

func (g *generator) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) note(what string) { g.used[what] = true }

func (g *generator) stub() string { return stubs[g.IntN(len(stubs))] }

// line is a whole line of at most the given depth.
func (g *generator) line(depth int) string {
	g.used, g.fun = map[string]bool{}, 0
	n := 1 + g.IntN(3)
	var parts []string
	for range n {
		parts = append(parts, g.command(depth))
	}
	return strings.Join(parts, g.one("; ", "\n", " && ", " || ", "; "))
}

// quote makes one word of a text, in single quotes.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// dquote makes one word of a text, in double quotes, with its expansions kept
// from the outer shell.
func dquote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(s) + `"`
}

// name spells a program's name in one of the ways that quote removal undoes.
func (g *generator) name() string {
	s := g.stub()
	switch g.IntN(14) {
	case 0:
		return s[:1] + "''" + s[1:]
	case 1:
		return `\` + s
	case 2:
		return `"` + s + `"`
	case 3:
		g.note("ansi")
		return "$'" + fmt.Sprintf(`\x%02x`, s[0]) + s[1:] + "'"
	case 4:
		return s[:1] + `"` + s[1:] + `"`
	case 5:
		g.note("braces")
		return "{" + s + "," + g.one("x", "-a", "y z") + "}"
	case 6:
		return s[:1] + "\\\n" + s[1:]
	}
	return s
}

// word is an argument.
func (g *generator) word(depth int) string {
	if depth <= 0 || g.IntN(3) > 0 {
		return g.one("a", "-x", "b.c", `"q r"`, "'s t'", "$'\\n'", "~/u", "*", "a?", "{1,2}", "{1..3}", "\\;", "--", "$((1+2))", "$#", `"$?"`, "x=y", "''")
	}
	inner := g.command(depth - 1)
	switch g.IntN(11) {
	case 0, 1:
		g.note("substitution")
		return g.one(`"`, "") + "" + "$(" + inner + "\n)"
	case 2:
		g.note("backquote")
		if strings.ContainsAny(inner, "`\\") {
			return "$(" + inner + "\n)"
		}
		return "`" + inner + "\n`"
	case 3:
		g.note("nested backquote")
		return "`echo \"\\$(" + g.stub() + ")\" \\`" + g.stub() + "\\``"
	case 4:
		g.note("process substitution")
		return "<(" + inner + "\n)"
	case 5:
		g.note("process substitution")
		return ">(" + inner + "\n)"
	case 6:
		g.note("default")
		return "${unset_" + g.one("", ":") + g.one("-", "=", "+") + "$(" + inner + "\n)}"
	case 7:
		g.note("arithmetic substitution")
		return "$(( $(" + inner + "; echo 1\n) + 1 ))"
	case 8:
		g.note("replacement")
		return "${HOME/$(" + inner + "\n)/x}"
	case 9:
		g.note("slice")
		return "${HOME:$(" + inner + "; echo 1\n):2}"
	}
	return `"${a_[$(` + inner + "; echo 0\n)]}\""
}

// mend closes the quotes that word may have opened.
func mend(s string) string {
	if strings.HasPrefix(s, `"$(`) {
		return s + `"`
	}
	return s
}

func (g *generator) words(depth int) string {
	var b strings.Builder
	for range g.IntN(3) {
		b.WriteString(" " + mend(g.word(depth)))
	}
	return b.String()
}

func (g *generator) simple(depth int) string { return g.name() + g.words(depth) }

// command is any construct.
func (g *generator) command(depth int) string {
	if depth <= 0 {
		return g.simple(0)
	}
	d := depth - 1
	kinds := []func(int) string{
		g.simple, g.simple, g.list, g.pipe, g.group, g.function, g.branch, g.loop, g.caseOf, g.hereDoc, g.text, g.wrapped, g.assigned,
		g.redirected, g.evaluated, g.builtinRuns, g.arithmetic, g.background, g.condition, g.wrapped, g.text, g.fed, g.renamed, g.scripts,
	}
	return kinds[g.IntN(len(kinds))](d)
}

func (g *generator) list(d int) string {
	g.note("list")
	return g.command(d) + g.one(" && ", " || ", "; ", "\n") + g.command(d)
}

func (g *generator) pipe(d int) string {
	g.note("pipe")
	return g.piped(d) + g.one(" | ", " |& ") + g.piped(d)
}

// piped is a command that may stand in a pipeline.
func (g *generator) piped(d int) string { return "{ " + g.command(d) + "\n}" }

func (g *generator) group(d int) string {
	g.note("group")
	body := g.command(d)
	return g.one("("+body+"\n)", "{ "+body+"\n}", "( ( "+body+"\n) )", "! { "+body+"\n}", "time { "+body+"\n}", "((1)) && "+"{ "+body+"\n}", "coproc { "+body+"\n}")
}

func (g *generator) function(d int) string {
	g.note("function")
	g.fun++
	name := g.one(fmt.Sprintf("f%d", g.fun), fmt.Sprintf("f%d", g.fun), g.stub())
	body := g.command(d)
	decl := g.one(name+"() { "+body+"\n}", "function "+name+" { "+body+"\n}", name+"() ( "+body+"\n)")
	return g.one(decl+"\n"+name+" a", decl, "if false; then "+decl+"; fi\n"+name, decl+"\nunset -f "+name+"\n"+name, decl+"\ncommand "+name, decl+"\nexport -f "+name+"\nbash -c "+name)
}

func (g *generator) branch(d int) string {
	g.note("if")
	return "if " + g.command(d) + "\nthen " + g.command(d) + g.one("", "\nelif "+g.stub()+"\nthen "+g.command(d)) + g.one("", "\nelse "+g.command(d)) + "\nfi"
}

func (g *generator) loop(d int) string {
	g.note("loop")
	body := g.command(d)
	g.fun++
	i := fmt.Sprintf("l%d", g.fun) // of its own, so that no body resets it
	switch g.IntN(6) {
	case 0:
		return "for v in a b; do " + body + "\ndone"
	case 1:
		return "for ((" + i + "=0; " + i + "<2; " + i + "++)); do " + body + "\ndone"
	case 2:
		return i + "=0\nwhile ((" + i + " < 2)); do " + i + "=$((" + i + "+1)); " + body + "\ndone"
	case 3:
		return "until true; do " + body + "\ndone"
	case 4:
		return "while " + g.stub() + "; do " + body + "\nbreak\ndone"
	}
	return "select v in a b; do " + body + "\nbreak; done <<< 1"
}

func (g *generator) caseOf(d int) string {
	g.note("case")
	return "case " + g.one("a", `"$(`+g.stub()+`)"`) + " in " + g.one("a", "x|a", `$(`+g.stub()+`)`) + ") " + g.command(d) + "\n" + g.one(";;", ";&", ";;&") + " *) " + g.command(d) + "\n;; esac"
}

func (g *generator) hereDoc(d int) string {
	g.note("here-document")
	body := "text $(" + g.command(d) + "\n) `" + g.stub() + "` " + g.one("${unset_:-$("+g.stub()+")}", `\$(p8)`, `\\$(p7)`, "$((1+1))")
	op := g.one("<<E", "<<'E'", `<<"E"`, `<<\E`, "<<-E")
	if strings.Contains(body, "\nE\n") {
		return g.simple(0)
	}
	return "{ " + g.one("cat ", "p1 ", ": ") + op + "\n" + body + "\nE\n}"
}

// text is shell text in an argument.
func (g *generator) text(d int) string {
	g.note("text in an argument")
	body := g.command(d)
	q := g.one(quote(body), dquote(body))
	return g.one("bash -c ", "sh -c ", "dash -c ", "bash -ec ", "bash --norc -c ", "env bash -c ", "timeout 5 bash -c ", "bash -o pipefail -c ", "eval ", "eval ", "command eval ", "builtin eval ", "trap -- ") + q + g.one("", " x y")
}

// wrapped puts a wrapper before a command.
func (g *generator) wrapped(d int) string {
	g.note("wrapper")
	s := g.simple(d)
	if g.IntN(8) == 0 {
		return g.one("find . -maxdepth 0 -exec ", "find . -maxdepth 0 -execdir ", "find . -maxdepth 0 -ok ", "find . -maxdepth 0 -type d -exec ") + s + g.one(" \\;", " ';'", " {} +", " {} \\;")
	}
	return g.one("env ", "env A_=1 ", "env -i PATH=$PATH ", "env -u X_ ", "env -S "+quote("B_=2 "+g.stub()+" c")+" ", "nice ", "nice -n 3 ", "nice -4 ", "nohup ", "timeout 5 ", "timeout -k 1 5s ", "timeout --signal=9 5 ",
		"stdbuf -oL ", "stdbuf -o L -e 0 ", "setsid -w ", "command ", "command -p ", "exec ", "time ", "flock l_ ", "chrt -o 0 ", "ionice -c 3 ", "taskset 1 ", "prlimit --nofile=64 ", "setarch -R ", "env env nice timeout 3 ",
		"echo a | xargs ", "echo a b | xargs -n1 ", "echo a | xargs -I{} ") + s
}

func (g *generator) fed(d int) string {
	g.note("fed shell")
	body := g.command(d)
	if strings.Contains(body, "\nEOT\n") {
		return g.simple(d)
	}
	return "{ " + g.one("bash <<'EOT'\n"+body+"\nEOT", "bash -s a <<'EOT'\n"+body+"\nEOT", "sh <<EOT\n"+g.stub()+" \\$x\nEOT", "echo "+quote(g.stub()+" a")+" | bash", "bash <<< "+quote(body), "cat <<'EOT' | sh\n"+body+"\nEOT",
		"printf '"+g.stub()+"\\n' | sh", "bash <(echo "+g.stub()+")", "source <(echo "+g.stub()+")", ". /dev/stdin <<< "+quote(body), "echo "+g.stub()+" | xargs -I{} sh -c '{}'", "echo "+g.stub()+" | xargs env", "echo "+g.stub()+" | xargs sh -c") + "\n}"
}

func (g *generator) assigned(d int) string {
	g.note("assignment")
	return g.one("x_=1 ", "x_=$("+g.command(d)+"\n) ", "export x_=1; ", "declare -x x_=$("+g.stub()+"); ", "x_=(a $("+g.stub()+")); ", "readonly y_=2; ", "local z_=1; ", "x_+=a ", "PATH=$PATH:/x ", "IFS=: ", "X_=`"+g.stub()+"` ") + g.simple(d)
}

func (g *generator) redirected(d int) string {
	g.note("redirection")
	return "{ " + g.command(d) + "\n} " + g.one(">/dev/null", "2>&1", "> o_", ">> o_", "&> o_", "< /dev/null", "3>&1", "{fd_}> o_", ">| o_", "> $("+g.stub()+"; echo o_)", "< <("+g.stub()+")", "> >("+g.stub()+")", "<<< $("+g.stub()+")", "2> /dev/null >&2")
}

// evaluated are expansions that evaluate what a variable holds.
func (g *generator) evaluated(d int) string {
	g.note("evaluation")
	p := g.stub()
	set := "x_='a_[$(" + p + ")]'; "
	return set + g.one("echo $((x_))", "((x_))", "[[ $x_ -gt 0 ]]", "[[ x_ -eq 1 ]]", "echo ${HOME:x_}", `test -v "$x_"`, `[ -v "$x_" ]`, `printf -v "$x_" 1`, `read "$x_" <<< 1`, `unset "$x_"`, "let x_", "declare -i i_=$x_", `declare "$x_=1"`,
		"a_[x_]=1", "echo ${a_[x_]}", "((x_++))", "x_=5; echo $((x_))", "i_=$((x_+1))", "for ((;x_;)); do break; done", `[[ -v $x_ ]]`, "echo $[x_]", "declare -n r_=x_; echo $((r_))", `export "$x_=1"`) +
		g.one("", "; y_='$("+g.stub()+")'; echo ${y_@P}", "; y_='`"+g.stub()+"`'; PS4=$y_; set -x; :", "; z_=x_; echo ${!x_}", "; w_="+p+"; $w_ a", "; w_="+p+`; "$w_"`)
}

// builtinRuns are builtins that run what they are given.
func (g *generator) builtinRuns(d int) string {
	g.note("builtin that runs text")
	body := g.command(d)
	return g.one("trap "+quote(body)+" EXIT", "trap "+quote(body)+" USR1", "trap "+quote(g.stub())+" DEBUG; :", "mapfile -C "+quote(g.stub())+" -c 1 x_ <<< a", "compgen -W "+quote("$("+g.stub()+")"), "compgen -C "+quote(g.stub())+" x",
		"alias "+g.stub()+"="+quote(g.stub()), "shopt -s expand_aliases\nalias "+g.stub()+"="+quote(g.stub())+"\n"+g.simple(0), "hash -p $(command -v p1) "+g.stub()+"; "+g.stub(), "enable -n echo; echo a", "set -- $("+body+"\n)", "exec "+g.simple(d),
		"( exec 3< <("+g.stub()+") )", "command -v "+g.stub(), "type "+g.stub(), "BASH_ALIASES[q_]="+g.stub(), "printf '%s' $("+body+"\n)", "read x_ < <("+body+"\n)", "getopts ab o_ -a; "+g.stub(), "cd .; "+g.simple(d), "pushd . >/dev/null; "+g.simple(d))
}

func (g *generator) arithmetic(d int) string {
	g.note("arithmetic")
	return g.one("((1 + $("+g.command(d)+"; echo 1\n)))", "let 'i_=1+1'", "let i_=`"+g.stub()+"`", "i_=3; echo $((i_*2))", "((i_=2, j_=i_+1))", "echo $(( 1 ? 2 : $("+g.stub()+"; echo 1) ))", "declare -i k_=4; k_=5", "[[ 5 -gt $("+g.stub()+"; echo 1) ]]", "a_=(1 2); echo ${a_[1]} $((a_[0]+1))") + "; " + g.stub()
}

func (g *generator) background(d int) string {
	g.note("background")
	return "{ " + g.command(d) + "\n} & wait"
}

func (g *generator) condition(d int) string {
	g.note("condition")
	return "[[ " + g.one("-n $("+g.command(d)+"\n)", "a == $("+g.stub()+")", "x =~ $("+g.stub()+")", "-e <("+g.stub()+")", "( a == b || -n `"+g.stub()+"` )", "! -f x", "a < $("+g.stub()+")") + " ]] " + g.one("&& ", "|| ") + g.simple(d)
}

// renamed spells the same in forms that parsers disagree about.
func (g *generator) renamed(d int) string {
	g.note("odd form")
	p := g.stub()
	return g.one("((("+p+")))", "( ("+p+") )", "(("+p+"); "+p+")", "!("+p+")", "! ( "+p+" )", "a=b c=d "+p, ">o_ "+p+" a", "2>&1 "+p, "{ "+p+";}", "if "+p+";then :;fi", "f_()("+p+");f_", "case a in (a) "+p+";; esac", p+" #x\n"+p, p+"#x", "# "+p, p+" \\\n a", "{ "+p+"; } 2>&1", "coproc n_ { "+p+"; }", "time -p "+p, "time -- "+p, "$("+p+")", "${z_:+$("+p+")}", "[[ a ]]&&"+p, "function g_ { "+p+";};g_",
		"echo @("+p+")", "echo $(<"+p+")", "echo \"$(echo \"$("+p+")\")\"", "$(echo "+p+")", "e_=; $e_ "+p, "\"\" "+p, "echo \"`echo \\\"x\\\" \\\\$("+p+")`\"", "echo ${x_-`"+p+"`}", "echo \"${x_-'$("+p+")'}\"", "echo ${x_-'$("+p+")'}", "echo $'$("+p+")'", "echo $\"$("+p+")\"", "{ cat <<-E\n\t$("+p+")\n\tE\n}", "{ cat <<E\n\\`"+p+"\\`\nE\n}", "echo '`"+p+"`'", "{ cat <<E;"+p+"\nx\nE\n}", "{ cat <<A <<B\n$("+p+")\nA\n`"+p+"`\nB\n}",
		"x_=a_[`"+p+"`]", "echo $(( `"+p+"`1 ))", "echo $[`"+p+"`1]", "echo ${#x_[$("+p+")]}", "echo \"${x_[@]:`"+p+"`1}\"", "a_[$("+p+")0]=1", "declare a_[`"+p+"`0]=1", "a_=([$("+p+")0]=x)", "printf %s `"+p+"`", "{a,b}() { "+p+"; }", "select q_ in a; do "+p+"; break; done <<<1", "until "+p+"; do break; done", "while ! "+p+"; do break; done", "for x_ in `"+p+"`; do :; done", "for x_ do "+p+"; done")
}

// scripts are programs of other languages that start programs.
func (g *generator) scripts(d int) string {
	g.note("sed and awk")
	p := g.stub()
	return g.one("echo a | sed 's/a/"+p+"/e'", "echo a | sed '1e "+p+"'", "echo "+p+" | sed e", "awk 'BEGIN{system(\""+p+"\")}'", "awk 'BEGIN{\""+p+"\" | getline x}'", "awk 'BEGIN{print 1 | \""+p+"\"}'", "echo a | sed s/a/b/ | awk '{print $1}'", "echo a | sort --compress-program="+p+" -S 1", "awk '{print > \"/dev/stderr\"}' /dev/null")
}

// shake changes a few bytes of a line to characters that mean something.
func (g *generator) shake(line string) string {
	b := []byte(line)
	for range 1 + g.IntN(3) {
		if len(b) == 0 {
			break
		}
		i := g.IntN(len(b))
		special := "(){}[]`'\"\\$;&|<>!#~*?= \n-@,."
		switch g.IntN(3) {
		case 0:
			b[i] = special[g.IntN(len(special))]
		case 1:
			b = append(b[:i], append([]byte{special[g.IntN(len(special))]}, b[i:]...)...)
		case 2:
			b = append(b[:i], b[i+1:]...)
		}
	}
	g.note("shaken")
	return string(b)
}
