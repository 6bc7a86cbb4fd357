package table

// gitTable lists git's sub-commands with their reading and writing forms.
// Every form that looks at a repository reads its configuration, which can
// name programs to start (fsmonitor, external diffs, text conversion,
// filters, hooks): gitconfig. Options follow git 2.50.
const gitTable = `
git | sub first by=git
  -P -p:x --paginate:x --no-pager --bare:n --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs
  -C=:C -c=:x --config-env=:x --exec-path=:c --git-dir=:c --work-tree=:n --namespace=:n --super-prefix=:n --attr-source=:n --html-path:V --man-path:V --info-path:V
  --version:V -v:V --help:V -h:V --list-cmds=:V
git version | ro
  --build-options
git status | ro gitconfig args=-
  -sbvzuM -u? -M? --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? --null
git diff,git log,git show,git whatchanged,git reflog show,git diff-tree,git diff-index,git diff-files,git rev-list,git shortlog,git range-diff,git stash show,git stash list | ro gitconfig args=-
  -abBceghilmMnpPqrRstuvwWzCDEFNX -B? -C? -M? -O=:r -S= -G= -L= -U? -X? -l= -n= -i -E -F -P -s -g -m -c -NUM -1 --patch --no-patch --unified= --raw --patch-with-raw --patch-with-stat --indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored= --diff-algorithm= --stat? --compact-summary
  --numstat --shortstat --dirstat? --cumulative --summary --name-only --name-status --submodule? --color? --no-color --color-moved? --no-color-moved --color-moved-ws= --word-diff? --word-diff-regex= --color-words? --no-renames --rename-empty --check --ws-error-highlight= --full-index --binary --abbrev? --no-abbrev
  --break-rewrites? --find-renames? --find-copies? --find-copies-harder --irreversible-delete --diff-filter= --pickaxe-all --pickaxe-regex --skip-to= --rotate-to= --relative? --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=
  --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? --src-prefix= --dst-prefix= --no-prefix --default-prefix --line-prefix= --ita-invisible-in-index --ita-visible-in-index --cached --staged --merge-base --base --ours --theirs --no-index:n --orderfile=:r
  --oneline --graph --no-graph --decorate? --no-decorate --decorate-refs= --decorate-refs-exclude= --all --branches? --tags? --remotes? --glob= --exclude= --exclude-hidden= --reflog --walk-reflogs --merge --boundary --max-count= --skip= --since= --after= --until= --before= --since-as-filter= --author= --committer= --grep= --grep-reflog= --all-match
  --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents= --max-parents= --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --cherry-mark --cherry-pick --cherry --left-only --right-only --left-right --simplify-by-decoration
  --full-history --dense --sparse --simplify-merges --ancestry-path? --show-pulls --date-order --author-date-order --topo-order --reverse --no-walk? --do-walk --pretty? --format= --abbrev-commit --no-abbrev-commit --encoding= --expand-tabs? --no-expand-tabs --notes? --no-notes --show-notes? --show-linear-break? --date= --parents --children
  --source --use-mailmap --mailmap --no-mailmap --log-size --follow --diff-merges= --no-diff-merges --cc --combined-all-paths --dd --remerge-diff --clear-decorations --ignore-missing --show-signature:x --count --objects --disk-usage? --timestamp --header --bisect --numbered --summary --email --group= --no-commit-id --root --stdin:n --no-dual-color --left-only --creation-factor= --max-memory= --include-untracked --only-untracked
  --output=:w --ext-diff:x --textconv:x --open-files-in-pager?:x
git blame,git annotate,git praise | ro gitconfig args=-
  -bceflnprstwh -L= -C? -M? -S=:r --root --show-stats --score-debug --show-name --show-number --porcelain --line-porcelain --incremental --encoding= --date= --ignore-rev= --ignore-revs-file=:r --color-lines --color-by-age --abbrev= --show-email --no-progress --progress --reverse= --first-parent --contents=:r --no-textconv --textconv:x
git ls-files,git ls-tree,git rev-parse,git describe,git merge-base,git name-rev,git for-each-ref,git show-ref,git count-objects,git check-ignore,git check-attr,git cherry,git show-branch,git var,git diff-pairs,git get-tar-commit-id,git check-ref-format,git verify-pack,git last-modified,git repo | ro gitconfig args=-
  -acdefghHiklmnoqrstuvzZ -x= -X=:r -NUM --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --exclude= --exclude-from=:r --exclude-per-directory= --exclude-standard --error-unmatch --with-tree= --full-name --recurse-submodules --abbrev? --format= --deduplicate --sparse --debug
  --name-only --name-status --object-only --long --full-tree --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir --git-path= --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --verify --quiet --short? --symbolic --symbolic-full-name --abbrev-ref? --all --branches? --tags? --remotes? --heads --disambiguate= --local-env-vars --path-format= --sq --since= --until= --revs-only --no-revs --flags --no-flags --default= --show-object-format? --end-of-options
  --dirty? --broken? --contains? --abbrev= --candidates= --exact-match --always --match= --exclude= --first-parent --debug --octopus --independent --is-ancestor --fork-point --refs= --undefined --annotate-stdin:n --stdin:n --count= --sort= --points-at= --merged? --no-merged? --no-contains? --ignore-case --shell --perl --python --tcl --color? --omit-empty --exclude-existing? --dereference --hash? --head --human-readable --verbose --non-matching --no-index --more= --list --topo-order --date-order --current --no-name --sha1-name --topics --reflog? --all-progress --normalize --branch --allow-onelevel --refspec-pattern
git cat-file | ro gitconfig args=-
  -tspe -Z --batch? --batch-check? --batch-all-objects --unordered --buffer --follow-symlinks --allow-unknown-type --use-mailmap --mailmap --path= --textconv:x --filters:x
git grep | ro gitconfig args=-
  -abcEFGhHiIlLnopPqrsvwWz -A= -B= -C= -m= -e= -f=:r -NUM --cached --untracked --no-index:n --no-exclude-standard --exclude-standard --recurse-submodules --text --no-textconv --ignore-case --max-depth= --recursive --no-recursive --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column
  --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading --show-function --function-context --context= --after-context= --before-context= --threads= --and --or --not --all-match --quiet --max-count= --threads=
  -O?:x --open-files-in-pager?:x --textconv:x
git branch | ro bare gitconfig args=- by=gitlist
  -arviq -l:L --list:L --all --remotes --verbose --show-current --contains?:L --no-contains?:L --merged?:L --no-merged?:L --points-at=:L --sort= --format= --column? --no-column --color? --no-color --abbrev= --no-abbrev --ignore-case --omit-empty -vv --quiet
  -D:DG -d:G --delete:G -m:G -M:G --move:G -c:G -C:G --copy:G -f:G --force:G -u=:G --set-upstream-to=:G --unset-upstream:G --edit-description:Gx -t?:G --track?:G --no-track:G --recurse-submodules:G --create-reflog:G
git tag | ro bare gitconfig args=- by=gitlist
  -i -l:L --list:L -n?:L --sort= --format= --contains?:L --no-contains?:L --merged?:L --no-merged?:L --points-at=:L --column? --no-column --color? --ignore-case --omit-empty
  -d:G --delete:G -a:G --annotate:G -s:Gx --sign:Gx -u=:Gx --local-user=:Gx -f:G --force:G -m=:G --message=:G -F=:rG --file=:rG -e:Gx --edit:Gx -v:x --verify:x --cleanup= --create-reflog:G --trailer=:G
git remote | ro bare gitconfig sub args=-
  -v --verbose
git remote get-url | ro gitconfig args=-
  --push --all
git remote show | gitconfig args=-
  -n
git remote add,git remote remove,git remote rm,git remote rename,git remote set-url,git remote set-head,git remote set-branches,git remote prune,git remote update | gitwrites args=-
git stash | gitwrites sub args=-
git stash push,git stash save,git stash pop,git stash apply,git stash branch,git stash create,git stash store | gitwrites args=-
git stash drop,git stash clear | gitwrites destructive args=-
git config | ro gitconfig args=- by=gitconfig
  -z -l:L --list:L --get:L --get-all:L --get-regexp:L --get-urlmatch:L --get-color:L --get-colorbool:L --null --name-only --show-origin --show-scope --show-names --local --global --system --worktree --bool --int --bool-or-int --path --expiry-date --type= --no-type --includes --no-includes --default= --all:L --regexp:L --value= --fixed-value --url=
  -f=:rn --file=:rn --blob=:n --add:G --unset:G --unset-all:G --replace-all:G --rename-section:G --remove-section:G -e:Gx --edit:Gx --append:G --comment=:G
git worktree | sub args=-
git worktree list | ro gitconfig args=-
  -vz --porcelain --verbose --expire=
git worktree add,git worktree lock,git worktree unlock,git worktree move,git worktree prune,git worktree repair | gitwrites args=w-
  -f -d -b= -B= --detach --checkout --no-checkout --lock --reason= --orphan --track --no-track --guess-remote --force -q -n -v --expire=
git worktree remove | gitwrites args=-
  -f:D --force:D
git reflog | ro gitconfig sub args=-
  -NUM -n= --oneline --all --date= --format= --pretty? --max-count= --no-color --grep-reflog= --since= --until= --decorate?
git reflog exists,git reflog list | ro gitconfig args=-
git reflog expire,git reflog delete,git reflog drop | gitwrites destructive args=-
git submodule | ro gitconfig sub args=-
  -q --quiet
git submodule status,git submodule summary | ro gitconfig args=-
  --cached --recursive -q --quiet -n= --summary-limit= --files
git submodule foreach | wrap=text gitconfig
  -q --quiet --recursive
git submodule add,git submodule init,git submodule update,git submodule deinit,git submodule sync,git submodule set-branch,git submodule set-url,git submodule absorbgitdirs | gitwrites args=-
git notes,git replace | gitwrites args=-
git notes show,git notes list | ro gitconfig args=-
git add,git stage,git mv,git merge,git cherry-pick,git revert,git am,git init,git apply,git gc,git prune,git repack,git pack-refs,git update-index,git write-tree,git commit-tree,git hash-object,git read-tree,git symbolic-ref,git sparse-checkout,git maintenance,git rerere,git bisect,git mergetool,git rebase | gitwrites args=- by=gitchange
  -aAbBdeEfFgHiIjkKlLnNopPqQrRStTuUvVwWyz -m= -C= -X= -s= --onto= --message= --root --prune? --abort --continue --skip --quit --hard --soft --mixed --edit --no-edit --no-commit --no-verify --ff --no-ff --ff-only --squash --strategy= --strategy-option= --all --dry-run --patch --interactive --intent-to-add --update --force --verbose --quiet --cached --index --signoff --autosquash --autostash --keep-base
  --exec=:X --gpg-sign?:x --tool=:x --template=:c --separate-git-dir=:w --initial-branch= --bare --check --stat --numstat --summary --reverse --3way --whitespace= --directory= --exclude= --include= --pathspec-from-file=:r --chmod= --renormalize --refresh --ignore-errors
git commit | gitwrites args=- by=gitchange
  -apqsvneoiz -m= -C= -c= -F=:r -t=:r -S?:x -u? --all --amend --no-edit --message= --file=:r --author= --date= --fixup= --squash= --signoff --allow-empty --allow-empty-message --no-verify --dry-run --patch --interactive --quiet --verbose --reuse-message= --reedit-message= --reset-author --only --include --trailer= --cleanup= --template=:r --gpg-sign?:x --no-gpg-sign --edit --no-post-rewrite --pathspec-from-file=:r
git rm,git clean,git reset,git update-ref | gitwrites args=- by=gitchange
  -rfqnpdxXNiz -e= --cached --force --quiet --recursive --ignore-unmatch --dry-run --hard --soft --mixed --merge --keep --patch --intent-to-add --exclude= --interactive --stdin --no-deref --create-reflog --pathspec-from-file=:r -m=
git checkout,git switch,git restore | gitwrites args=- by=gitchange
  -qflmpdWS -b= -B= -c= -C= -t? -s= --quiet --force --ours --theirs --detach --merge --patch --track? --no-track --orphan= --conflict= --create= --force-create= --discard-changes --guess --no-guess --source= --staged --worktree --ignore-unmerged --overlay --no-overlay --progress --no-progress --recurse-submodules? --ignore-other-worktrees --pathspec-from-file=:r
git fetch,git pull,git clone,git push | gitwrites args=- by=gitchange
  -aAfknpPqrtuvdls46 -b= -o= -j= -X= -u -c=:x --all --append --atomic --depth= --deepen= --shallow-since= --shallow-exclude= --unshallow --force --prune --prune-tags --tags --no-tags --set-upstream --dry-run --porcelain --delete --mirror --follow-tags --force-with-lease? --force-if-includes --no-verify --quiet --verbose --progress --no-progress --recurse-submodules? --no-recurse-submodules --rebase? --no-rebase --ff
  --ff-only --no-ff --squash --no-commit --no-edit --autostash --multiple --branch= --single-branch --no-single-branch --no-checkout --bare --origin= --filter= --sparse --local --no-local --no-hardlinks --shared --dissociate --reference= --jobs= --push-option= --branches --thin --signed?:x --upload-pack=:x --receive-pack=:x --exec=:x --template=:c --config=:x --separate-git-dir=:w --ipv4 --ipv6 --refmap= --write-fetch-head --strategy= --strategy-option= --allow-unrelated-histories --server-option= --bundle-uri=
git difftool | runs gitconfig args=-
git archive | gitconfig args=-
  --format= --prefix= --list -l -v --verbose --worktree-attributes -NUM -o=:w --output=:w --remote=:E --exec=:x --add-file=:r --add-virtual-file=
git bundle | gitconfig writes args=-
git format-patch | gitconfig writes args=-
  -o=:w --output-directory=:w -NUM -n -N -s -k --stdout
git filter-branch,git filter-repo,git fast-import | gitwrites destructive runs args=-
git fsck | gitconfig args=-
git ls-remote | gitconfig args=- by=gitchange
  -htqb --heads --tags --refs --branches --quiet --exit-code --get-url --sort= --symref --upload-pack=:x -o= --server-option=
git send-email,git imap-send,git request-pull,git http-push,git svn,git p4,git cvsserver,git lfs | external args=-
git daemon,git instaweb,git web--browse,git gui,gitk,git citool,git shell,git upload-pack,git receive-pack,git upload-archive,git http-backend,git credential,git credential-store,git credential-cache,git for-each-repo,git hook,git help | runs args=-
`
