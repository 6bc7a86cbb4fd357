package use

import (
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// harmlessKeys are settings that start nothing, so that git -c with them is
// not marked. The use is still not in the read-only table.
var harmlessKeys = []string{"color.", "advice.", "column.", "user.name", "user.email", "author.", "committer.", "core.quotepath", "core.pager=cat", "core.pager=", "pager.",
	"init.defaultbranch", "pull.rebase", "pull.ff", "push.default", "push.autosetupremote", "merge.ff", "merge.conflictstyle", "log.", "status.", "branch.sort", "tag.sort",
	"diff.algorithm", "diff.renames", "diff.context", "diff.colormoved", "diff.noprefix", "diff.mnemonicprefix", "rebase.autosquash", "rebase.autostash", "fetch.prune",
	"commit.gpgsign=false", "tag.gpgsign=false", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.longpaths", "gc.auto", "rerere.enabled", "format.pretty",
	"http.postbuffer", "help.autocorrect=0"}

// harmlessKey takes key=value, or a key alone.
func harmlessKey(setting string) bool {
	s := strings.ToLower(setting)
	key, value, _ := strings.Cut(s, "=")
	if strings.Contains(key, "\n") || strings.HasPrefix(key, "pager.") && value != "" && value != "false" && value != "cat" {
		return false
	}
	for _, h := range harmlessKeys {
		switch {
		case strings.Contains(h, "="):
			if s == h {
				return true
			}
		case key == h, strings.HasSuffix(h, ".") && strings.HasPrefix(key, h):
			return true
		}
	}
	return false
}

// git without a sub-command that the table knows.
func (r *reading) git() {
	if len(r.u.Operands) == 0 && r.u.Strange == "" {
		r.ReadOnly = r.ReadOnly || len(r.u.Flags) == 0 && r.trusted && r.Marks == 0
	}
}

// globalSettings takes the mark back from git -c KEY=VALUE with a harmless
// key; it is called for the options before the sub-command.
func (r *reading) globalSettings() {
	if r.name != "git" || !r.Marks.Has(reeve.CommandRunsProgram) {
		return
	}
	for _, f := range r.u.Flags {
		if f.Effect.Has(table.Runs|table.LoadsCode) && (f.Name != "-c" || !f.Value.Certain() || !harmlessKey(f.Value.Text)) {
			return
		}
	}
	r.Marks &^= reeve.CommandRunsProgram
	r.Why = ""
}

// gitList: branch and tag list without operands or with a listing option, and
// create with an operand.
func (r *reading) gitList() {
	e := r.u.Effects()
	if len(r.u.Operands) > 0 && !e.Has(table.Lists) {
		r.because(reeve.CommandGitWrites, r.p.Name+" with a name creates or changes it")
	}
	if e.Has(table.Git) {
		r.ReadOnly = false
	}
	_, d := r.u.Flag("-d", "--delete")
	_, force := r.u.Flag("-f", "--force")
	if d && force && strings.HasPrefix(r.p.Name, "git branch") {
		r.because(reeve.CommandDestructive, "deletes a branch that is not merged")
	}
}

// gitConfig: KEY reads, KEY VALUE writes; list and get are verbs since 2.46.
func (r *reading) gitConfig() {
	ops, e := r.u.Operands, r.u.Effects()
	reads := e.Has(table.Lists) || len(ops) == 1
	if len(ops) > 0 && ops[0].Certain() {
		switch ops[0].Text {
		case "get", "list", "get-color", "get-colorbool":
			reads = true
		case "set", "unset", "edit", "rename-section", "remove-section":
			reads, ops = false, ops[1:]
		}
	}
	reads = reads && !e.Has(table.Git) && r.u.Strange == ""
	if reads {
		r.ReadOnly = r.ReadOnly || len(r.u.Operands) > 0 && r.trusted && r.Marks&^reeve.CommandGitConfig == 0 && e&table.Harm == 0 && !r.u.Loose
		return
	}
	r.ReadOnly = false
	r.because(reeve.CommandGitWrites, "changes git's configuration")
	if len(ops) == 0 || !ops[0].Certain() || len(ops) > 1 && !harmlessKey(ops[0].Text+"="+ops[1].Text) && !harmlessKey(ops[0].Text) {
		r.because(reeve.CommandRunsProgram, "a setting of git may name a program to start")
	}
	if _, global := r.u.Flag("--global"); global {
		home := words.Plain("~/.gitconfig")
		home.Tilde = true
		r.file(home, 'w', false)
	}
	if _, system := r.u.Flag("--system"); system {
		r.file(words.Plain("/etc/gitconfig"), 'w', false)
	}
}

// gitChange reads the sub-commands that change the repository or speak to
// another one.
func (r *reading) gitChange() {
	verb := r.p.Name[strings.LastIndexByte(r.p.Name, ' ')+1:]
	has := func(names ...string) bool { _, given := r.u.Flag(names...); return given }
	drops := func(why string) { r.because(reeve.CommandDestructive, why) }
	switch verb {
	case "push":
		r.gitPush(has)
	case "fetch", "pull", "clone", "ls-remote":
		r.gitRemote(verb)
	case "reset":
		if has("--hard") || has("--merge") {
			drops("git reset --hard drops work that is not committed")
		}
	case "clean":
		if !has("-n", "--dry-run") {
			drops("git clean deletes files that git does not track")
		}
	case "checkout", "switch", "restore":
		r.gitCheckout(verb, has)
	case "rm":
		if has("-r") || has("-f", "--force") {
			drops("git rm deletes files")
		}
	case "bisect":
		r.gitBisect()
	case "rebase":
		r.rebaseExec()
	case "update-ref":
		if has("-d") {
			drops("git update-ref -d deletes a reference")
		}
	case "gc", "prune":
		if has("--prune") || verb == "prune" {
			drops("unreachable objects are deleted")
		}
	case "apply":
		if !has("--check") && !has("--stat") && !has("--numstat") && !has("--summary") {
			r.because(reeve.CommandWritesFile, "git apply writes the files that its input names")
		}
	case "init":
		if len(r.u.Operands) > 0 {
			r.file(r.u.Operands[0], 'w', true)
		}
	}
}

func (r *reading) gitPush(has func(...string) bool) {
	r.because(reeve.CommandExternal, "git push changes another repository")
	r.External = joined(r.ws)
	force := has("-f", "--force") || has("--force-with-lease") || has("--delete") || has("-d") || has("--mirror") || has("--prune")
	for i, w := range r.u.Operands {
		force = force || i > 0 && (strings.HasPrefix(w.Lead, "+") || strings.HasPrefix(w.Lead, ":"))
	}
	if force {
		r.because(reeve.CommandDestructive, "git push with force or delete drops what others hold")
	}
	r.gitAddress()
}

// gitAddress notes the host of a URL; a remote by name is known to the
// repository alone.
func (r *reading) gitAddress() {
	for i, w := range r.u.Operands {
		if i > 0 {
			return
		}
		if strings.Contains(w.Text, "::") {
			r.because(reeve.CommandRunsProgram, "an address with :: starts a helper program")
		}
		if h, ok := remoteHost(w); ok {
			r.Hosts = append(r.Hosts, h)
			return
		}
		if strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, ".") {
			r.file(w, 'r', true)
			return
		}
	}
}

func (r *reading) gitRemote(verb string) {
	if len(r.u.Operands) == 0 && verb == "clone" {
		return
	}
	r.gitAddress()
	if verb != "clone" {
		return
	}
	if _, given := r.u.Flag("-u"); given {
		r.because(reeve.CommandRunsProgram, "git clone -u names a program to start")
	}
	target := words.Unknown("the directory that git clone makes")
	if len(r.u.Operands) > 1 {
		target = r.u.Operands[1]
	} else if w := r.u.Operands[0]; w.Certain() {
		name := strings.TrimSuffix(strings.TrimRight(w.Text, "/"), ".git")
		name = name[strings.LastIndexAny(name, "/:")+1:]
		target = words.Plain(name)
	}
	r.file(target, 'w', true)
}

// gitCheckout: paths are taken back, which drops changes; a branch is not.
func (r *reading) gitCheckout(verb string, has func(...string) bool) {
	if has("-f", "--force") || has("--discard-changes") || has("-B") && verb == "checkout" || has("-C") && verb == "switch" {
		r.because(reeve.CommandDestructive, "git "+verb+" with force drops work that is not committed")
		return
	}
	if verb == "restore" {
		if _, staged := r.u.Flag("--staged", "-S"); !staged || has("--worktree", "-W") {
			r.because(reeve.CommandDestructive, "git restore drops changes of files")
		}
		return
	}
	if verb != "checkout" || has("-b") || has("--orphan") {
		return
	}
	for i, w := range r.args() {
		if w.Certain() && w.Text == "--" && i < len(r.args())-1 || w.Text == "." || strings.HasPrefix(w.Lead, "./") || strings.HasPrefix(w.Lead, ":/") || w.Glob || !w.Known {
			r.because(reeve.CommandDestructive, "git checkout of paths drops changes of files")
			return
		}
	}
	if len(r.u.Operands) > 1 {
		r.because(reeve.CommandDestructive, "git checkout of paths drops changes of files")
	}
}

// gitBisect: bisect run COMMAND.
func (r *reading) gitBisect() {
	for i := r.at; i < len(r.ws); i++ {
		if r.ws[i].Text == "run" {
			r.because(reeve.CommandRunsProgram, "git bisect run starts the command in its words")
			r.command(i+1, Inner{Lost: true})
			return
		}
	}
}

// rebaseExec: -x takes a command line.
func (r *reading) rebaseExec() {
	args := r.args()
	for i := 0; i < len(args); i++ {
		if strings.HasPrefix(args[i].Lead, "-x") && args[i].Lead != "-x" || args[i].Text == "-x" {
			r.because(reeve.CommandRunsProgram, "git rebase -x runs a command line")
			text := args[i].From(2)
			if args[i].Text == "-x" && i+1 < len(args) {
				text = args[i+1]
			}
			r.Inner = append(r.Inner, Inner{Text: text, Lost: true, Wrapper: reeve.Wrapper{Name: "git", Text: joined(r.ws[:r.at]) + " -x"}})
		}
	}
}
