package table

// wrappers start the program named in their operands.
const wrappers = `
nice | wrap harmless
  -n= --adjustment= -NUM
nohup | wrap harmless
timeout,gtimeout | wrap=1 harmless
  -fpv -s= -k= --signal= --kill-after= --foreground --preserve-status --verbose
stdbuf | wrap harmless
  -i= -o= -e= --input= --output= --error=
time,gtime | wrap harmless
  -pvqlha -f= --format= --portability --verbose --quiet --append -o=:w --output=:w
env,genv | wrap by=env
  -i0v -u= --ignore-environment --null --unset= --debug --block-signal? --default-signal? --ignore-signal? --list-signal-handling -a= --argv0= -C=:C --chdir=:C -S=:S --split-string=:S -P=:n
xargs,gxargs | wrap by=xargs
  -0rtpxo -a=:r -d= -E= -e? -I= -i? -J= -R= -S= -L= -l? -n= -P= -s= --null --arg-file=:r --delimiter= --eof? --replace? --max-lines? --max-args= --max-procs= --max-chars= --no-run-if-empty --verbose --interactive --exit --open-tty --show-limits --process-slot-var=
setsid | wrap
  -cfw --ctty --fork --wait
ionice | wrap
  -t -c= -n= --class= --classdata= --ignore -p=:. --pid=:. -P=:. -u=:.
chrt | wrap=1
  -abdfiormRv -T= -P= -D= --all-tasks --batch --fifo --idle --other --rr --deadline --reset-on-fork --sched-runtime= --sched-period= --sched-deadline= -p=:. --pid=:.
taskset | wrap=1
  -ac --all-tasks --cpu-list -p=:. --pid=:.
flock | wrap=1 by=flock
  -sxenuoFv -w= -E= --shared --exclusive --nonblock --nb --unlock --timeout= --wait= --conflict-exit-code= --close --no-fork --verbose -c=:T --command=:T
watch | wrap=text
  -tbegpcCwr -n= -d? -q= -s= --interval= --no-title --beep --errexit --chgexit --equexit= --precise --color --no-color --no-wrap --differences? -x:n --exec:n
script | wrap=1 by=script
  -aefqr -E= -I=:w -O=:w -B=:w -T=:w -m= -o= -t?:w --append --flush --force --quiet --return --echo= --log-in=:w --log-out=:w --log-io=:w --log-timing=:w --timing?:w --output-limit= -c=:T --command=:T
parallel,sem,rush | wrap=text by=parallel
  -0qrtvkmXuz -a=:r -j= -P= -n= -N= -L= -I= -d= -C= -S=:U --jobs= --keep-order --dry-run --bar --progress --eta --halt= --joblog=:w --results=:w --retries= --timeout= --colsep= --delimiter= --tag --line-buffer --lb --ungroup --group --pipe --block= --link --max-args= --will-cite --no-notice --arg-file=:r --sshlogin=:U --ssh=:X --env= --load= --memfree= --nice= --no-run-if-empty --shuf --tmpdir=:w --wd=:C --workdir=:C
sudo | wrap user by=sudo
  -AbBEHkKnNPSlvi -s -e:n -u= -g= -h= -p= -C= -c= -D=:C -R= -r= -t= -T= -U= -V:V --user= --group= --host= --prompt= --close-from= --chdir=:C --chroot= --role= --type= --command-timeout= --other-user= --askpass --background --preserve-env? --set-home --login --shell --reset-timestamp --remove-timestamp --non-interactive --stdin --list --validate --edit:n --version:V
doas | wrap user by=sudo
  -nLs -u= -a= -C=:c
su,runuser | user by=su
  -lmpPfT -c=:T -s= -g= -G= -u= -w= --login --command=:T --session-command=:T --shell= --group= --supp-group= --user= --preserve-environment --pty --whitelist-environment=
pkexec | wrap user
  --user= --disable-internal-agent --keep-cwd
chroot | wrap=1 user
  --userspec= --groups= --skip-chdir
unshare | wrap user
  -rfc -m? -u? -i? -n? -p? -U? -C? -T? -R= -w=:C -S= -G= -l= --mount? --uts? --ipc? --net? --pid? --user? --cgroup? --time? --fork --kill-child? --mount-proc? --map-root-user --map-user= --map-group= --map-users= --map-groups= --map-auto --map-current-user --propagation= --setgroups= --keep-caps --root= --wd=:C --setuid= --setgid= --load-interp= --forward-signals --boottime= --monotonic=
nsenter | wrap user
  -aeFZc -t= -m? -u? -i? -n? -p? -U? -C? -T? -S= -G= -r? -w?:C -W?:C -N= --all --target= --mount? --uts? --ipc? --net? --pid? --cgroup? --user? --time? --setuid= --setgid= --preserve-credentials --root? --wd?:C --wdns?:C --env --no-fork --follow-context --join-cgroup --user-parent --keep-caps
prlimit | wrap
  -c? -d? -e? -f? -i? -l? -m? -n? -q? -r? -s? -t? -u? -v? -x? -y? --core? --data? --nice? --fsize? --sigpending? --memlock? --rss? --nofile? --msgqueue? --rtprio? --stack? --cpu? --nproc? --as? --locks? --rttime? --noheadings --output= -o= --raw --verbose -p=:. --pid=:.
setarch,linux32,linux64,i386,x86_64,uname26 | wrap by=setarch
  -BFILRSTXZ3v --32bit --fdpic-funcptrs --short-inode --addr-compat-layout --addr-no-randomize --whole-seconds --sticky-timeouts --read-implies-exec --mmap-page-zero --3gb --4gb --uname-2.6 --list --show?
busybox,toybox | by=busybox
  --list --list-full --help --install:w
strace,ltrace | wrap runs
  -cCdDfFhiknqrtTvwxyYzZ -a= -b= -e= -E= -I= -O= -p=:. -P= -s= -S= -u= -U= -X= -o=:w --trace= --output=:w --follow-forks --string-limit= --attach=:.
valgrind | wrap runs
  -qv --tool= --leak-check= --show-leak-kinds= --track-origins= --error-exitcode= --suppressions=:r --log-file=:w --xml-file=:w --xml= --num-callers= --trace-children= --gen-suppressions= --quiet --verbose
perf,heaptrack,hyperfine,entr,tmux,screen,byobu,zellij,dtach,abduco | runs by=opaque
xvfb-run,dbus-run-session,dbus-launch,fakeroot,fakechroot,eatmydata,chronic,unbuffer,torsocks,torify,proxychains,proxychains4,cpulimit,caffeinate,systemd-inhibit,catchsegv,rlwrap,numactl,cgexec,softlimit,chpst,trickle,tsocks,firejail,dotenv,doppler,op,infisical,teller,chamber,run-one,tini,dumb-init,catatonit | wrap
  -adeiqsuvklhbn -s= -n= -e= -l= --auto-servernum --server-num= --server-args= --config-file=:c --preserve-env
gosu,su-exec,setpriv,runcon,systemd-run,capsh,aws-vault | wrap user by=opaque
bwrap,proot,nix-user-chroot,lxc-attach,lxc,incus,machinectl,systemd-nspawn,flatpak-spawn,distrobox,toolbox,apptainer,singularity,vagrant,limactl,multipass,wsl | user by=opaque
ssh-agent | wrap
  -acdDks -E= -O= -P= -t=
faketime | wrap=1
  -f -m -p= --exclude-monotonic
start-stop-daemon,daemonize,daemon | by=opaque
`
