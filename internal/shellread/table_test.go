package shellread

import (
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
)

// allReadOnly reports whether every command of the effects is read-only, and
// nothing else happens but reading.
func allReadOnly(effects []reeve.Effect) bool {
	for _, e := range effects {
		switch {
		case e.Kind == reeve.EffectRun && e.Command.Marks.Has(reeve.CommandReadOnly):
		case e.Kind == reeve.EffectRead:
		default:
			return false
		}
	}
	return len(effects) > 0
}

// The flag-level table: each line only reads.
const readOnlyLines = `
ls
ls -la --color=never src
ls *.go
cat -n a b
head -5 a
head -n 5 a
head -c 100 a
tail -f a
tail -n +5 a
wc -lw a
tac a
nl -ba a
rev a
fold -w 80 a
cut -d: -f1 a
tr a b
sort a
sort -t, -k2,2n -u a
sort --reverse --numeric-sort a
uniq -c a
comm -12 a b
join -t, a b
paste -d, a b
column -t a
diff -u a b
diff -r --exclude=x a b
diff <(sort a) <(sort b)
cmp a b
stat -c %s a
file -b a
du -sh .
df -h
tree -L 2
pwd
echo a $x "$(ls)"
printf '%s\n' "$x"
true
false
:
test -f a
[ -f a ]
cd sub
which ls
type ls
date
date +%s
date -u -d yesterday +%F
env
printenv PATH
id -u
whoami
uname -a
hostname
ps aux
ps -ef
basename a .b
dirname a/b
realpath a
readlink -f a
sha256sum a
md5sum a
xxd a
xxd -l 16 a
base64 a
base64 -d a
od -c a
hexdump -C a
strings -n 8 a
seq 1 10
sleep 1
man ls
man -k x
grep -rn x .
grep -E 'a|b' a
grep -A2 -B2 --include='*.go' -r x src
egrep x a
fgrep x a
rg x
rg -n --hidden -g '!x' 'a b' src
rg --files
rg -l x --type go
fd x
fd -e go -t f . src
find . -name '*.go'
find . -type f -size +1M -newer a -print
find . \( -name a -o -name b \) -prune -o -print0
find -L src -maxdepth 2 -ls
find . -printf '%p\n'
sed -n 1,5p a
sed s/a/b/ a
sed 'r x' a
sed -E -e s/a/b/g -e '/x/d' a
sed --sandbox 's/a/b/;w x' a
awk '{print $1}' a
awk -F: -v x=1 '$3 > 100 {print $1, x}' a
jq .a a
jq -r '.a[] | select(.b == "c")' a
jq --arg x y '.a' a
yq .a a
git status
git status -sb
git diff
git diff --stat HEAD~1 -- a
git log --oneline -5
git log -p --since=yesterday --author=x -- a
git show HEAD:a
git blame -L 1,5 a
git branch
git branch -a
git branch --list 'x/*'
git branch --show-current
git branch --contains HEAD
git tag
git tag -l 'v*'
git remote
git remote -v
git remote get-url origin
git stash list
git stash show -p
git worktree list
git config user.name
git config --get user.name
git config --list
git config get user.name
git rev-parse HEAD
git rev-parse --show-toplevel
git ls-files
git ls-files -o --exclude-standard
git ls-tree -r HEAD
git cat-file -p HEAD
git grep -n x
git describe --tags
git merge-base a b
git rev-list --count HEAD
git shortlog -sn HEAD
git for-each-ref --sort=-creatordate
git reflog
git reflog show -5
git submodule status
git check-ignore -v a
git -C sub log
git --no-pager log
git --version
git version
go version
go env GOPATH
go env -json
go list ./...
go list -m all
go doc net/http
gofmt -l .
gofmt -d a.go
cargo --version
cargo -V
npm --version
npm ls
npm ls --depth=0
npm config get registry
node --version
node -v
python --version
python3 -V
ruby -v
java -version
docker ps
docker ps -a --format '{{.Names}}'
docker images
docker inspect x
docker version
docker logs --tail 5 x
docker image ls
tar -tzf a.tgz
tar tf a.tar
unzip -l a.zip
zcat a.gz
nproc
uptime
free -m
lsof -i :80
ss -tlnp
pgrep -f x
systemctl status x
journalctl -u x -n 50
LC_ALL=C sort a
nice ls
timeout 5 cat a
time grep x a
command cat a
/usr/bin/ls
/bin/cat a
bash -n
export NODE_ENV=test
set -euo pipefail
shopt -s nullglob
local_=1
read -r x
wait
exit 1
jobs
unset X
declare -a a
command -v ls
history
pushd sub
trap - INT
x=1; echo $x
ls | head -5 | wc -l
cat a 2>/dev/null || echo no
if [ -f a ]; then cat a; fi
for f in a b; do echo "$f"; done
`

func TestLinesThatOnlyReadAreKnownToDoSo(t *testing.T) {
	for line := range strings.Lines(readOnlyLines) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line == "bash -n" || line == "local_=1" {
			continue
		}
		if effects := Read(line, testAt); !allReadOnly(effects) {
			t.Errorf("Read(%q) does more than read: %q", line, told(effects))
		}
	}
}

// Each line does more than read, though its program is in the table. After
// the bar stands the mark its command must carry, where it must carry one.
const harmfulLines = `
sort -o a b | writes
sort -ob a | writes
sort -uo a b | writes
sort --output=a b | writes
sort --out a b | writes
sort --compress-program=x a | runs
sort --comp x a | runs
sort -T /x a |
sort --files0-from=x |
sort *.txt | unknown-words
sort "$x" | unknown-words
sort $x | unknown-words
sort --strange a |
uniq a b |
cat "$f" |
cat $f |
wc --files0-from=x |
file -m x a | runs
file -C -m x | runs
file -z a | runs
tree -o x | writes
tree -R -L 1 -H . -o x | writes
date -s x |
date 01010101 |
date --set=x |
hostname x |
xxd -r a | writes
xxd -re a | writes
xxd a b |
base64 -o a b | writes
diff -l a b | runs
diff --pag a b | runs
rg --pre x y | runs
rg --pre=x y | runs
rg -z x | runs
rg --search-zip x | runs
rg --hostname-bin=x y | runs
rg x * | unknown-words
man -P x ls | runs
man --pager=x ls | runs
man -H ls | runs
man --html=x ls | runs
man --htm=x ls | runs
man -C x ls | runs
man -l x |
less a | runs
more a | runs
find . -exec x \; | runs
find . -execdir x \; | runs
find . -ok x \; | runs
find . -delete | destructive
find . -fprint a | writes
find . -fprintf a b | writes
find . -fls a | writes
find . -strange | runs
find * -name x | unknown-words
find . $x | unknown-words
find . -name $x | unknown-words
find . -name *.go | unknown-words
find -files0-from a |
fd x -x y | runs
fd -X y | runs
fd -l | runs
fd --exec y | runs
sed -i s/a/b/ f | writes
sed --in-place s/a/b/ f | writes
sed --in-p=.b s/a/b/ f | writes
sed -n 'w x' f | writes
sed s/a/b/w f | writes
sed 's/a/b/e' f | runs
sed e f | runs
sed -f x f | runs
sed "$x" f | fed
sed -n 5p *.go | unknown-words
awk 'BEGIN{system("x")}' | runs
awk '{print | "x"}' | runs
awk '{print > "x"}' | writes
awk '{"x" | getline y}' | runs
awk -f x | runs
awk -i inplace 1 f | runs
awk -l x 1 | runs
awk "$x" | fed
gawk -o x 1 | writes
jq -f x y |
jq -L x . y |
jq 'import "a" as a; .' x |
yq -i .a=1 x | writes
yq '.a = load("x")' y |
yq '.a = system("x")' y | runs
git -c a.b=c status | runs
git -c core.fsmonitor=x status | runs
git -c core.pager=x log | runs
git -c alias.x=!y x | runs
git --exec-path=x status | runs
git --config-env=a=b status | runs
git --work-tree=x status |
git -p log | runs
git diff --ext-diff | runs
git diff --ext | runs
git log --textconv | runs
git diff --output=x | writes
git diff --outp x | writes
git diff --no-index a b |
git grep -O x | runs
git grep -Ox y | runs
git grep --open-files-in-pager=x y | runs
git grep --open x | runs
git cat-file --textconv HEAD:a | runs
git ls-remote --upload-pack=x y | runs
git fetch --upload-pack=x y | runs
git clone -u x y | runs
git clone ext::x y | runs
git archive --exec=x --remote=y HEAD | runs
git archive -o x HEAD | writes
git branch x | git-writes
git branch -D x | destructive
git branch -d x | git-writes
git branch -m a b | git-writes
git branch -d -f x | destructive
git tag x | git-writes
git tag -d x | git-writes
git tag -v x | runs
git remote add a b | git-writes
git remote set-url a b | git-writes
git remote show origin |
git stash | git-writes
git stash pop | git-writes
git stash drop | destructive
git stash clear | destructive
git config user.name x | git-writes
git config core.pager x | runs
git config alias.x '!y' | runs
git config --global user.name x | git-writes
git config --unset a.b | git-writes
git config set core.editor x | runs
git config -e | runs
git config -f x --list |
git add a | git-writes
git commit -m x | git-writes
git checkout x | git-writes
git checkout -f x | destructive
git checkout -- a | destructive
git checkout . | destructive
git checkout HEAD a | destructive
git switch x | git-writes
git switch --discard-changes x | destructive
git restore a | destructive
git restore --staged a | git-writes
git restore --staged --worktree a | destructive
git reset --hard | destructive
git reset --har | git-writes
git reset | git-writes
git clean -fd | destructive
git clean -n | git-writes
git merge x | git-writes
git rebase x | git-writes
git rebase -x y z | runs
git cherry-pick x | git-writes
git push | external
git push -f | destructive
git push --force | destructive
git push --force-with-lease | destructive
git push origin +x | destructive
git push origin :x | destructive
git push origin --delete x | destructive
git push --mirror | destructive
git pull | git-writes
git fetch | git-writes
git worktree add x | git-writes
git worktree remove x | git-writes
git worktree remove --force x | destructive
git reflog expire --all | destructive
git reflog delete x | destructive
git filter-branch x | destructive
git submodule update | git-writes
git difftool | runs
git strange | runs
git "$x" | unknown-words
git log "$x" | unknown-words
go build ./... |
go test ./... |
go vet ./... |
go vet -vettool=x ./... | runs
go test -exec x ./... | runs
go build -toolexec=x ./... | runs
go build -o x | writes
go list -toolexec=x ./... | runs
go list -export ./... |
go list -u -m all |
go env -w a=b | writes
go run . |
go doc -http |
gofmt -w . | writes
cargo test |
cargo --config=x build | runs
cargo build --config x | runs
cargo publish | external
cargo tree |
npm test |
npm run x |
npm view x |
npm publish | external
npm publi | external
npm --script-shell=x test | runs
npm exec -c x | runs
yarn publish | external
pnpm publish | external
pip install x |
twine upload x | external
poetry publish | external
gem push x | external
python x.py |
python -c x | runs
python -m build |
python -m twine upload x | external
node x.js |
node -e x | runs
node -r ./x y | runs
node --import ./x y | runs
perl -e x | runs
perl -pi -e x f | writes
perl -I. x | runs
ruby -e x | runs
ruby -r./x y | runs
php -r x | runs
lua -e x | runs
make |
make -f x | runs
make SHELL=x | runs
make --eval=x | runs
make PREFIX=/x |
cmake -P x | runs
gcc -o x y.c | writes
gcc -wrapper x y.c | runs
gcc -fplugin=x y.c | runs
pytest -q |
pytest -p x | runs
pytest -c x | runs
pytest --junitxml=x | writes
eslint --rulesdir x . | runs
eslint -c x . | runs
tar xf a |
tar cf a b | writes
tar xf a --to-command=x | runs
tar xf a --to-com=x | runs
tar cf a b --checkpoint-action=exec=x | runs
tar cf a b --checkpoint-act=exec=x | runs
tar -I x -cf a b | runs
tar --use-comp=x -cf a b | runs
tar -cf a -F x b | runs
tar cf h:a b | runs
unzip a |
zip a b | writes
curl h |
curl -o a h | writes
curl -K a h | runs
curl -X POST h | external
curl -XDELETE h | external
curl -d x h | external
curl --json x h | external
curl -F a=@b h | external
curl -T a h | external
curl -X GET h |
curl -I h |
wget h/x | writes
wget -O a h | writes
wget --post-data=x h | external
wget --use-askpass=x h | runs
wget -e a=b h | runs
rsync -e x a h:b | runs
rsync --rsync-path=x a h:b | runs
rsync -a --delete a b | destructive
scp a h:b | external
scp -S x a h:b | runs
ssh -o ProxyCommand=x h | runs
ssh -oPermitLocalCommand=yes h | runs
ssh -F x h | runs
ssh h | leaves
docker run x | leaves
docker exec x y | leaves
docker push x | external
docker -H x ps |
docker rm x |
docker build . |
kubectl get pods |
kubectl apply -f x | external
kubectl delete x y | external
kubectl -n a delete x y | external
helm list |
helm install x y | external
terraform plan |
terraform apply | external
terraform -chdir=x destroy | external
aws s3 ls |
aws s3 cp a s3://b | external
aws ec2 terminate-instances x | external
gcloud compute instances list |
gcloud compute instances delete x | external
gh pr list |
gh pr create | external
gh api x |
gh api -X POST x | external
gh api x -f a=b | external
gh alias set x y | runs
gh release create x | external
goreleaser release | external
mvn deploy | external
rm a |
rm -r a | destructive
rm -Rf a | destructive
rm --recursive a | destructive
rm --rec a | destructive
rm -f a |
rmdir a |
shred a | destructive
mkfs.ext4 /dev/x | destructive
dd of=/dev/sda | destructive
dd of=a | writes
dd if=a of=/dev/null |
truncate -s 0 a |
crontab a | runs
crontab -r | destructive
at now | fed
vim -c x a | runs
vim +x a | runs
emacs --eval x | runs
ed a | fed
sqlite3 a .shell | runs
sqlite3 a '.tables' |
psql -c '\! x' | runs
psql -c 'select 1' |
psql | fed
sudo ls | leaves
sudo -l | leaves
reeve approvals allow 1 | self
reeve status |
./bin/reeve down | self
/usr/bin/reeve exec x | self
reeve "$x" | self
pkill reeve | self
pkill -f 'reeve up' | self
nc h 80 | external
mail x | external
ldd a | runs
tee a |
cp a b |
mv a b |
mkdir a |
touch a |
chmod +x a |
ln -s a b |
env x | runs
xargs -n1 x | runs
./ls |
/tmp/cat a |
cat <(x) |
X=1 ls | env
LD_PRELOAD=x ls | env
cd /tmp |
cd "$x" |
kill 1 |
export X=1 |
exec ls | runs
eval ls | runs
source a | runs
ls > a |
jobs -x p a | runs
jobs -lx p a | runs
wait -n -p 'a[$(p)]' |
wait -p'a[$(p)]' |
read RANDOM < a |
read SECONDS <<< 'a[$(p)]' |
for SECONDS in 'a[$(p)]'; do :; done |
declare SECONDS='a[$(p)]' |
x='a[$(p)]'; exec {y[x]}>/dev/null |
ls {y[x]}<a |
finger data@h.example |
getent hosts data.h.example |
getent ahosts data.h.example |
getent shadow |
go build -ldflags '-linkmode=external -extld=./x' | runs
go build '-ldflags=-extldflags=-fplugin=./x.so' | runs
go test -ldflags "-X a.b=c" |
go build -gccgoflags x | runs
go build -compiler=gccgo | runs
git --git-dir=a status | runs
git --git-dir a log | runs
tmux new -d 'p' | runs
tmux send-keys p Enter | runs
screen -dm p | runs
`

func TestLinesThatDoMoreThanReadAreNotTakenForReading(t *testing.T) {
	for line := range strings.Lines(harmfulLines) {
		line, mark, ok := cutLast(strings.TrimSuffix(line, "\n"))
		if !ok {
			continue
		}
		effects := Read(line, testAt)
		if allReadOnly(effects) {
			t.Errorf("Read(%q) takes it for reading: %q", line, told(effects))
		}
		got := ""
		for _, e := range effects {
			if e.Kind == reeve.EffectRun && len(e.Command.Wrappers) == 0 {
				got += " " + marks(e.Command.Marks) + " "
			}
		}
		if mark != "" && !strings.Contains(got, " "+mark+" ") {
			t.Errorf("Read(%q) is marked %q, want %s", line, got, mark)
		}
		for _, bad := range []string{"runs", "writes", "destructive", "external"} {
			if mark == "" && strings.Contains(got, " "+bad+" ") {
				t.Errorf("Read(%q) is marked %q, want none: an ordinary use", line, got)
			}
		}
	}
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndex(s, "|")
	if i < 0 {
		return "", "", false
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:]), true
}

// A command that carries the read-only mark carries no other but git-config.
func TestReadOnlyStandsAlone(t *testing.T) {
	lines := append(strings.Split(readOnlyLines, "\n"), history(t)...)
	for line := range strings.Lines(harmfulLines) {
		if line, _, ok := cutLast(line); ok {
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		for _, e := range Read(line, testAt) {
			if c := e.Command; e.Kind == reeve.EffectRun && c.Marks.Has(reeve.CommandReadOnly) && c.Marks&^(reeve.CommandReadOnly|reeve.CommandGitConfig) != 0 {
				t.Errorf("Read(%q): %s is marked %s", line, c.Line(), marks(c.Marks))
			}
		}
	}
}
