// Package checkout gives a session a checkout of a repository of its own, with
// a branch of its own, and takes its work back: a person merges it or drops
// it.
//
// A [Checkout] is a clone that borrows the objects of the person's repository
// and writes none of them: what runs in it can change no branch, no index and
// no object that the person has. (A linked worktree shares all of these, and
// must be able to write them to commit at all.) One reference in the person's
// repository, refs/reeve/ID, holds the commit that it began from, so that no
// clean-up there takes away what is borrowed.
//
// Every step is one git command, or a few, that [Git] runs behind a boundary
// whose workspace is the one repository that the step writes, without hooks
// and without a network. What they say is not trusted: the checkout's content
// is an agent's.
package checkout

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
)

// Git runs a shell script of ours behind a boundary over workspace, with args
// as its parameters, and gives what it printed. beside is another directory
// that it reads, or "". The error holds what it said on standard error.
type Git func(ctx context.Context, workspace, beside, script string, args ...string) (string, error)

// Checkout is one session's checkout, as it is kept with the session.
type Checkout struct {
	Repo   string // root of the person's working tree
	Dir    string // the checkout
	ID     string // names the reference that holds Base
	Branch string // its own
	Base   string // the commit it began from
	Into   string // the branch that the person was on then; empty = none
}

// options are what every git of ours is started with: no program that a
// repository names is.
const options = `git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.pager=cat -c gc.auto=0 -c maintenance.auto=false -c commit.gpgSign=false -c diff.external= -c protocol.ext.allow=never "$@"; }
set -e
`

// ownIndex lets what follows add files to an index that is thrown away.
const ownIndex = `i=$(command git rev-parse --git-path index)
[ ! -e "$i" ] || cp "$i" /tmp/reeve-index
export GIT_INDEX_FILE=/tmp/reeve-index
`

// someone commits in Reeve's name where git knows no other.
const someone = `if ! git config user.email >/dev/null || ! git config user.name >/dev/null; then
	export GIT_AUTHOR_NAME=Reeve GIT_AUTHOR_EMAIL=reeve@localhost GIT_COMMITTER_NAME=Reeve GIT_COMMITTER_EMAIL=reeve@localhost
fi
`

// Make makes a checkout of the repository around workspace below root, a
// directory of the person's for checkouts. name names directory and branch; id
// is the session's.
func Make(ctx context.Context, git Git, workspace, root, name, id string) (c Checkout, notes []string, err error) {
	said, err := git(ctx, workspace, "", options+`c=$(git rev-parse --verify --quiet 'HEAD^{commit}') || { echo 'there is no commit yet to begin from: commit once' >&2; exit 1; }
git update-ref "refs/reeve/$1" "$c"
printf '%s\n' "$(git rev-parse --show-toplevel)" "$c" "$(git symbolic-ref --quiet --short HEAD || true)" "$(git status --porcelain | wc -l)"`, id)
	if err != nil {
		return c, nil, fmt.Errorf("make a checkout of %s: %w", workspace, err)
	}
	lines := strings.Split(said, "\n")
	if len(lines) < 4 || lines[0] != workspace || !hash(lines[1]) {
		return c, nil, fmt.Errorf("make a checkout of %s: %w: git does not take it for the root of a repository", workspace, reeve.ErrUsage)
	}
	c = Checkout{Repo: workspace, ID: id, Base: lines[1], Into: lines[2], Branch: "reeve/" + name}
	if n, _ := strconv.Atoi(strings.TrimSpace(lines[3])); n > 0 {
		notes = append(notes, fmt.Sprintf("the checkout begins from the last commit: %d changes in %s that are not committed are not in it", n, workspace))
	}
	if c.Dir, err = makeDir(root, filepath.Base(workspace)+"-"+name); err == nil {
		_, err = git(ctx, c.Dir, c.Repo, options+`git clone --quiet --shared --no-checkout --no-tags --template= --origin base -- "$1" .
git checkout --quiet -b "$2" "$3" --
git for-each-ref --format='%(refname)' refs/remotes | while read -r r; do git update-ref -d "$r"; done
git remote remove base
for k in user.name user.email; do if v=$(git -C "$1" config --get "$k"); then git config "$k" "$v"; fi; done`, c.Repo, c.Branch, c.Base)
	}
	if err != nil {
		err = fmt.Errorf("make a checkout of %s: %w", workspace, err)
		if c.Dir != "" {
			os.RemoveAll(c.Dir)
		}
		_ = c.release(ctx, git)
	}
	return c, notes, err
}

// makeDir makes a new directory, with a number at its end where the name is
// taken.
func makeDir(root, name string) (string, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join(real, name)
		if n > 1 {
			dir += "-" + strconv.Itoa(n)
		}
		if err := os.Mkdir(dir, 0o700); err == nil || !os.IsExist(err) || n == 1000 {
			return dir, err
		}
	}
}

func hash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// State is what stands in a checkout.
type State struct {
	Commits int      // on its branch since it began
	Loose   int      // files that are not committed
	Changed []string // paths that differ from where it began, committed or not
}

// Empty reports whether there is no work in it.
func (s State) Empty() bool { return s.Commits == 0 && len(s.Changed) == 0 && s.Loose == 0 }

// maxChanged bounds the paths of a State.
const maxChanged = 10_000

// State looks at a checkout. Files that are ignored are no work.
func (c Checkout) State(ctx context.Context, git Git) (State, error) {
	said, err := git(ctx, c.Dir, c.Repo, options+`git rev-list --count "$1..HEAD"
git status --porcelain | wc -l
`+ownIndex+`git add --all
git diff --cached --no-ext-diff --no-renames --name-only "$1" | head -n 10001`, c.Base)
	if err != nil {
		return State{}, fmt.Errorf("look at the checkout %s: %w", c.Dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	if len(lines) < 2 {
		return State{}, fmt.Errorf("look at the checkout %s: git said %q", c.Dir, said)
	}
	var s State
	s.Commits, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	s.Loose, _ = strconv.Atoi(strings.TrimSpace(lines[1]))
	s.Changed = lines[2:]
	if len(s.Changed) > maxChanged {
		return s, fmt.Errorf("look at the checkout %s: more than %d files are changed; look at it and merge it with git yourself", c.Dir, maxChanged)
	}
	return s, nil
}

// Diff is the script that prints all of a checkout's work as a patch, and its
// parameters. Nothing of the checkout is changed.
func (c Checkout) Diff() (script string, args []string) {
	return options + ownIndex + `git add --all
git diff --cached --no-ext-diff --no-textconv --no-color "$1"`, []string{c.Base}
}

// Merge brings a checkout's work into the branch that the person began from,
// which must be checked out in their working tree: by moving it forward, or by
// a merge. What was not committed is committed first. steering gives those of
// the changed paths that would steer programs; work that changes such a path is
// refused, since a person has to look at it. What the work changes is asked of
// the person's own repository, when it has fetched it, and not of the checkout.
func (c Checkout) Merge(ctx context.Context, git Git, steering func(changed []string) []string) (said string, err error) {
	state, err := c.State(ctx, git)
	if err != nil {
		return "", err
	}
	if state.Loose > 0 {
		if _, err := git(ctx, c.Dir, c.Repo, options+someone+`git add --all
git commit --quiet --no-verify -m "$1"`, "Work that was left uncommitted in "+c.Branch); err != nil {
			return "", fmt.Errorf("commit what is loose in %s: %w", c.Dir, err)
		}
	}
	said, err = git(ctx, c.Repo, c.Dir, options+`now=$(git symbolic-ref --quiet --short HEAD || true)
[ "$now" = "$4" ] || { echo "the working tree is on ${now:-no branch}, and the checkout began from ${4:-no branch}: check that out first" >&2; exit 1; }
git -c fetch.fsckObjects=true fetch --quiet --no-tags --no-write-fetch-head --no-recurse-submodules -- "$1" "+refs/heads/$2:refs/reeve/$3-work"
git diff --no-ext-diff --no-renames --name-only "$(git merge-base HEAD "refs/reeve/$3-work")" "refs/reeve/$3-work"`, c.Dir, c.Branch, c.ID, c.Into)
	if err != nil {
		return "", fmt.Errorf("merge %s: %w", c.Branch, err)
	}
	var bad, changed []string
	for name := range strings.Lines(said) {
		if name = strings.TrimSuffix(name, "\n"); strings.HasPrefix(name, `"`) { // one that git had to quote
			bad = append(bad, name)
		} else {
			changed = append(changed, path.Clean(name))
		}
	}
	bad = append(bad, steering(changed)...)
	if len(bad) > 0 {
		return "", fmt.Errorf("%w: the work changes what steers programs (%s): look at it with reeve sessions diff, and merge it yourself: git merge refs/reeve/%s-work", reeve.ErrUsage, few(bad), c.ID)
	}
	said, err = git(ctx, c.Repo, "", options+someone+`was=$(git rev-parse HEAD)
if git merge --quiet --no-stat --no-edit -m "Merge $1" "refs/reeve/$2-work" >/tmp/said 2>&1; then
	git log --oneline --no-decorate --no-show-signature "$was..HEAD" | head -n 20
else
	git merge --abort 2>/dev/null || true
	cat /tmp/said >&2
	exit 1
fi`, c.Branch, c.ID)
	if err != nil {
		return "", fmt.Errorf("merge %s: %w", c.Branch, err)
	}
	return strings.TrimSpace(said), nil
}

func few(names []string) string {
	if len(names) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}

// Drop forgets a checkout and everything in it.
func (c Checkout) Drop(ctx context.Context, git Git) error {
	if err := c.release(ctx, git); err != nil {
		return fmt.Errorf("drop the checkout %s: %w", c.Dir, err)
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("drop the checkout: %w", err)
	}
	return nil
}

// release lets the person's repository forget what it held. A repository that
// is gone holds nothing.
func (c Checkout) release(ctx context.Context, git Git) error {
	if _, err := os.Lstat(c.Repo); os.IsNotExist(err) {
		return nil
	}
	_, err := git(ctx, c.Repo, "", options+`for r in "refs/reeve/$1" "refs/reeve/$1-work"; do git update-ref -d "$r"; done`, c.ID)
	return err
}

// Leave looks at a run's checkout when it has ended: one without work is
// dropped, else the lines say how a person gets at it.
func (c Checkout) Leave(ctx context.Context, git Git, ref string) (kept bool, lines []string) {
	state, err := c.State(ctx, git)
	switch {
	case err != nil:
		return true, []string{fmt.Sprintf("attention: %v; the checkout stands in %s", err, c.Dir)}
	case state.Empty():
		if err := c.Drop(ctx, git); err != nil {
			return true, []string{fmt.Sprintf("attention: nothing was changed in the checkout %s, and it is still there: %v", c.Dir, err)}
		}
		return false, []string{"nothing was changed in the checkout, so it was dropped"}
	}
	return true, []string{
		fmt.Sprintf("the checkout is kept: %s changed, %s on %s, in %s", many(len(state.Changed), "file"), many(state.Commits, "commit"), c.Branch, c.Dir),
		fmt.Sprintf("reeve sessions diff %s shows it, reeve sessions merge %[1]s takes it over, reeve sessions drop --force %[1]s forgets it", ref),
	}
}

// many is a number of things, in words.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Below is the place in dir that path is in root.
func Below(path, root, dir string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not below %s", path, root)
	}
	in := filepath.Join(dir, rel)
	_, err = os.Stat(in)
	return in, err
}
