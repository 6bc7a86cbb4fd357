//go:build linux

package jailtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/jail"
	"github.com/reeve-gate/reeve/internal/jail/probe"
)

// chore is one thing that people and agents do all day. Its script ends with 0
// and prints ok where it went as it does outside.
type chore struct {
	name, needs string // needs: programs, a blank between them
	strict      bool   // goes on in the profile strict too
	script      string
}

// chores are short; what takes a toolchain stands in [Work].
var chores = []chore{
	{"git: a branch is made, changed and merged", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; git switch -qc side; echo 2 >a; git commit -qam 2; git switch -q main; git merge -q --no-ff -m m side; test $(cat a) = 2`},
	{"git: a conflict is resolved", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; git switch -qc side; echo 2 >a; git commit -qam 2; git switch -q main; echo 3 >a; git commit -qam 3; git merge -q side >/dev/null 2>&1 && exit 1; echo 4 >a; git add a; git commit -qm m; test $(git rev-list --count HEAD) = 4`},
	{"git: commits are moved by rebase", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; git switch -qc side; echo 2 >b; git add b; git commit -qm 2; git switch -q main; echo 3 >c; git add c; git commit -qm 3; git switch -q side; git rebase -q main; test -f c`},
	{"git: a change is put by and taken back", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; echo 2 >a; git stash -q; test $(cat a) = 1; git stash pop -q; test $(cat a) = 2`},
	{"git: a commit is picked, undone and amended", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; git switch -qc s; echo 2 >b; git add b; git commit -qm 2; git switch -q main; git cherry-pick s >/dev/null; git revert --no-edit HEAD >/dev/null; git commit -q --amend -m x; test ! -e b`},
	{"git: a clone, a push and a pull between folders", "git", false, `git init -q --bare r; git clone -q r one 2>/dev/null; cd one; git switch -qc main; echo 1 >a; git add a; git commit -qm 1; git push -q origin main; cd ..; git clone -q -b main r two; echo 2 >>one/a; git -C one commit -qam 2; git -C one push -q origin main; git -C two pull -q; test $(wc -l <two/a) = 2`},
	{"git: a worktree is added and removed", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; git worktree add -q w -b w; test -f w/a; git worktree remove w; git worktree prune; git branch -qd w`},
	{"git: history is searched by bisect", "git", false, `git init -q -b main; for i in 1 2 3 4 5; do echo $i >a; git add a; git commit -qm $i; done; git bisect start HEAD HEAD~4 >/dev/null; git bisect run sh -c 'test $(cat a) -lt 4' | grep -q 'first bad commit'; git bisect reset >/dev/null 2>&1`},
	{"git: patches are written and applied", "git", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; echo 2 >a; git commit -qam 2; git format-patch -q -1; git reset -q --hard HEAD~1; git am -q 0001-2.patch; test $(cat a) = 2`},
	{"git: an archive of a tag", "git tar", false, `git init -q -b main; echo 1 >a; git add a; git commit -qm 1; git tag -a v1 -m v1; git archive v1 | tar -t | grep -q a`},
	{"a patch is applied", "patch diff", true, `printf '1\n2\n' >a; printf '1\n3\n' >b; diff -u a b >p || true; patch -s a p; cmp a b`},
	{"an archive is packed and unpacked", "tar gzip", true, `mkdir -p d/e; echo 1 >d/e/f; chmod 750 d/e/f; tar -czf d.tgz d; mkdir out; tar -xzf d.tgz -C out; test -x out/d/e/f`},
	{"a file is replaced by its new version", "sed", true, `echo one >a; sed -i s/one/two/ a; echo three >a.new; mv a.new a; test $(cat a) = three`},
	{"rights, times and links are set", "touch chmod ln", true, `touch a; chmod 700 a; touch -d 2020-01-01 a; ln a b; ln -s a c; test -x c; test $(stat -c %h a) = 2; test $(stat -c %Y a) = $(date -d 2020-01-01 +%s)`},
	{"a whole folder is copied and removed", "cp rm", true, `mkdir -p a/b; for i in 1 2 3; do echo $i >a/b/$i; done; cp -a a c; rm -r a; test $(ls c/b | wc -l) = 3; chmod -w c/b/1; rm -rf c; test ! -e c`},
	{"temporary files and folders", "mktemp", true, `f=$(mktemp); d=$(mktemp -d); echo 1 >$f; cp $f $d/x; mv $d/x ./y; test $(cat y) = 1; rm -r $f $d`},
	{"a file is locked against another process", "flock", true, `flock -n lock sh -c 'flock -n lock true && exit 1; exit 0'`},
	{"a named pipe", "mkfifo", true, `mkfifo p; (echo x >p &); read v <p; test $v = x`},
	{"many processes at once", "xargs seq", true, `test $(seq 50 | xargs -P 8 -n 1 echo | wc -l) = 50`},
	{"a job in the background is stopped", "sleep", true, `sleep 100 & kill $!; wait $! && exit 1; test $? != 0`},
	{"signals reach the program's handler", "sh", true, `sh -c 'trap "echo got >g" USR1; kill -USR1 $$'; test $(cat g) = got`},
	{"a program is run with less priority and a limit", "nice timeout", true, `nice -n 5 true; timeout 5 true; (ulimit -n 64; test $(ulimit -n) = 64)`},
	{"what is on this machine can be asked", "uname id nproc df", true, `uname -s >/dev/null; id -u >/dev/null; test $(nproc) -ge 1; df . >/dev/null; test -r /proc/cpuinfo; test -r /proc/meminfo; date >/dev/null`},
	{"random numbers and the null device", "head", true, `test $(head -c 16 /dev/urandom | wc -c) = 16; test $(head -c 4 /dev/zero | wc -c) = 4; echo x >/dev/null`},
	{"streams by their names", "cat", true, `echo x | cat /dev/stdin >/dev/null; echo y >/dev/stderr; cat <(echo z) >/dev/null`},
	{"shared memory", "python3", true, `python3 -c 'from multiprocessing import shared_memory as s; m=s.SharedMemory(create=True,size=16); m.buf[0]=7; n=s.SharedMemory(m.name); assert n.buf[0]==7; n.close(); m.close(); m.unlink()'`},
	{"a pool of processes with locks", "python3", true, `python3 -c '
import multiprocessing as m
def f(x): return x*x
if __name__=="__main__":
    with m.Pool(3) as p: assert p.map(f,range(5))==[0,1,4,9,16]
    l=m.Lock(); l.acquire(); l.release()'`},
	{"a pseudo-terminal of the program's own", "python3", true, `python3 -c '
import os,pty
pid,fd=pty.fork()
if pid==0: os.execvp("sh",["sh","-c","test -t 0 && echo tty"])
assert b"tty" in os.read(fd,100); os.waitpid(pid,0)'`},
	{"a recorded terminal session", "script", true, `script -qec 'test -t 1 && echo in a terminal' log >/dev/null; grep -q 'in a terminal' log`},
	{"a terminal multiplexer", "tmux", false, `export TMUX_TMPDIR=$(mktemp -d); tmux -f /dev/null new-session -d -s a 'echo up >u; tmux wait-for -S up; cat'; tmux wait-for up; tmux kill-server; test $(cat u) = up`},
	{"a socket between two processes", "python3", false, `python3 -c '
import socket,os
a=socket.socket(socket.AF_UNIX); a.bind("s"); a.listen()
if os.fork()==0:
    b=socket.socket(socket.AF_UNIX); b.connect("s"); b.send(b"x"); os._exit(0)
c,_=a.accept(); assert c.recv(1)==b"x"; os.wait()'`},
	{"a connected pair of sockets", "python3", true, `python3 -c '
import socket; a,b=socket.socketpair(); a.send(b"x"); assert b.recv(1)==b"x"'`},
	{"a server of the program's own", "python3", false, `python3 -c '
import http.server,threading,urllib.request as u
s=http.server.HTTPServer(("127.0.0.1",0),http.server.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever,daemon=True).start()
u.build_opener(u.ProxyHandler({})).open("http://127.0.0.1:%d/"%s.server_port).read()' 2>/dev/null`},
	{"a virtual environment", "python3", true, `python3 -m venv --without-pip v; v/bin/python -c 'import sys; assert sys.prefix!=sys.base_prefix'`},
	{"pytest-like discovery and byte code", "python3", true, `mkdir t; echo 'def f(): return 2' >m.py; printf 'import unittest,m\nclass A(unittest.TestCase):\n def test(self): self.assertEqual(m.f(),2)\n' >t/test_m.py; PYTHONDONTWRITEBYTECODE= PYTHONPATH=. python3 -m unittest discover -s t 2>/dev/null; test -d __pycache__`},
	{"a database in a file", "sqlite3", true, `sqlite3 d 'pragma journal_mode=wal; create table t(a); insert into t values(1);' >/dev/null; test $(sqlite3 d 'select a from t') = 1`},
	{"C is compiled and run", "gcc", true, `printf '#include <stdio.h>\nint main(){puts("hi");}' >a.c; gcc -O1 -o a a.c; test $(./a) = hi`},
	{"a library is loaded from the workspace", "gcc", true, `echo 'int f(){return 3;}' >l.c; gcc -shared -fPIC -o libl.so l.c; printf 'int f();int main(){return f()-3;}' >m.c; gcc -o m m.c -L. -ll -Wl,-rpath,$PWD; ./m`},
	{"Java is compiled, packed and run", "javac jar java", true, `printf 'class A{public static void main(String[] a){System.out.println("hi");}}' >A.java; javac A.java; jar cfe a.jar A A.class; test "$(java -jar a.jar)" = hi`},
	{"node runs threads, children and timers", "node", true, `node -e '
const {Worker}=require("worker_threads"); new Worker("require(\"worker_threads\").parentPort.postMessage(1)",{eval:true}).on("message",()=>{require("child_process").exec("echo x",(e,o)=>{if(o.trim()!=="x")process.exit(1); setTimeout(()=>console.log("done"),1)})})' | grep -q done`},
	{"an npm package from a folder", "npm", true, `mkdir p; echo '{"name":"p","version":"1.0.0","main":"i.js"}' >p/package.json; echo 'module.exports=4' >p/i.js; echo '{"name":"q","version":"1.0.0"}' >package.json; npm install --offline --no-audit --no-fund ./p >/dev/null; node -e 'process.exit(require("p")-4)'`},
	{"a module of Go is formatted and vetted", "gofmt", true, `printf 'package a\nfunc  F( ){}\n' >a.go; gofmt -w a.go; grep -q 'func F() {}' a.go`},
	{"text is edited by an editor", "vi", true, `printf 'one\ntwo\n' >a; vi -Nu NONE -es -c '%s/two/three/' -c 'wq' a </dev/null; grep -q three a`},
	{"text is edited by a line editor", "ed", true, `echo one >a; printf 's/one/two/\nw\nq\n' | ed -s a; grep -q two a`},
	{"JSON and tables", "jq awk sort", true, `echo '{"a":[2,1]}' | jq '.a|sort|.[0]' | grep -qx 1; printf '1 2\n3 4\n' | awk '{s+=$2} END{exit s!=6}'`},
	{"perl and its modules", "perl", true, `perl -MFile::Temp=tempfile -MList::Util=sum -e 'my($f,$n)=tempfile(); print $f sum(1,2); close $f; open F,$n; exit(<F>!=3)'`},
	{"files are found and counted", "find grep wc", true, `mkdir -p a/b; echo needle >a/b/c; test $(find . -name c -newer . | wc -l) -ge 0; test "$(grep -rl needle a)" = a/b/c`},
	{"a watched file is seen to change", "python3", true, `python3 -c '
import ctypes,os
l=ctypes.CDLL(None); fd=l.inotify_init(); assert fd>=0; assert l.inotify_add_watch(fd,b".",0x100)>=0
open("new","w").close(); assert b"new" in os.read(fd,4096)'`},
	{"a cache in the place that tools ask for", "sh", true, `mkdir -p ${XDG_CACHE_HOME:-$TMPDIR}/t; echo 1 >${XDG_CACHE_HOME:-$TMPDIR}/t/x`},
	{"the time zone and the languages", "date", true, `test "$(TZ=UTC date -d @0 +%H)" = 00; LC_ALL=C.UTF-8 sh -c 'printf "\303\244"' | wc -c | grep -qx 2`},
}

// Chores tries that what people do all day goes on inside, without the network.
func Chores(t *testing.T, wall jail.Wall) {
	if len(chores) < 40 {
		t.Errorf("%d chores, want 40 at least", len(chores))
	}
	none := jail.NetNone
	opts := jail.Options{Net: &none, Limits: jail.Limits{Wall: time.Minute},
		Set: []string{"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org"}}
	for _, profile := range []string{"agent", "strict"} {
		if !probe.Holds(wall, profile) {
			continue
		}
		for _, c := range chores {
			if profile == "strict" && !c.strict {
				continue
			}
			t.Run(profile+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				for _, p := range strings.Fields(c.needs) {
					if _, err := exec.LookPath(p); err != nil {
						t.Skipf("%s is not installed", p)
					}
				}
				b := NewBench(t, wall)
				b.Put(t, filepath.Join(b.Workspace, "chore.sh"), "set -e\n"+c.script+"\necho ok\n")
				got := b.Shell(t, b.Plan(t, profile, opts), opts.Limits, "mkdir work; cd work; bash ../chore.sh")
				if got.Exit.Code != 0 || !strings.HasSuffix(got.Stdout.Text, "ok\n") {
					t.Errorf("code %d:\n%s%s", got.Exit.Code, got.Stdout.Text, got.Stderr.Text)
				}
			})
		}
	}
}
