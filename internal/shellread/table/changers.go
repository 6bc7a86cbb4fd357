package table

// changers create, move and remove files, and pack and unpack them.
const changers = `
cp | args=r last=w
  -aAbdfHiILlnPpRrsTuvXxZc -S= --archive --attributes-only --backup? --copy-contents --debug --force --interactive --link --dereference --no-clobber --no-dereference --preserve? --no-preserve=
  --parents --recursive --reflink? --remove-destination --sparse= --strip-trailing-slashes --symbolic-link --suffix= --update? --verbose --no-target-directory -t=:w --target-directory=:w
mv | args=m last=w
  -bfinTuvZ -S= --backup? --force --interactive --no-clobber --no-target-directory --suffix= --update? --verbose --exchange --no-copy --strip-trailing-slashes -t=:w --target-directory=:w
# rm -r and its spellings delete whole trees
rm | args=d
  -fIiPvdWx -r:D -R:D --recursive:D --force --interactive? --one-file-system --preserve-root? --no-preserve-root:D --dir --verbose
rmdir | args=d
  -pv --parents --verbose --ignore-fail-on-non-empty
unlink | args=d
shred | destructive args=w
  -fuvxz -n= -s= --random-source=:r
mkfs,mke2fs,wipefs,fdisk,sfdisk,parted,mkswap,blkdiscard,hdparm,cryptsetup | destructive args=w
mkfs.ext4,mkfs.ext3,mkfs.ext2,mkfs.xfs,mkfs.btrfs,mkfs.vfat,mkfs.fat | destructive args=w
dd | by=dd
truncate | args=w
  -co -s= --no-create --io-blocks --size= -r=:r --reference=:r
mkdir | args=w
  -pvZ -m= --mode= --parents --verbose
mkfifo,mknod | args=w
  -m= --mode=
mktemp | args=w
  -dqutV --directory --dry-run --quiet --suffix= -p=:w --tmpdir?:w
touch | args=w
  -acfhm -d= -t= -A= --date= --time= --no-create --no-dereference -r=:r --reference=:r
tee | args=w
  -aip --append --ignore-interrupts --output-error?
sponge | args=w
  -a
ln | args=- last=w by=ln
  -bdFfiLnPrsTvh -S= --symbolic --force --interactive --relative --verbose --no-dereference --no-target-directory --backup? --suffix= -t=:w --target-directory=:w
link | args=- last=w by=ln
# -s runs strip
install | args=r last=w
  -bCcDpTvZ -g= -m= -o= -S= --group= --mode= --owner= --preserve-timestamps --compare --backup? --suffix= --verbose --no-target-directory -d --directory -t=:w --target-directory=:w -s:x --strip:x --strip-program=:X
chmod,chgrp,chown | args=-w
  -cfRvhHLP --changes --silent --quiet --recursive --verbose --preserve-root --no-preserve-root --from= --dereference --no-dereference --reference=:r1
chattr | args=-w
  -RVf -v= -p=
setfacl | args=w
  -bkRLPdn -m= -x= -M=:r -X=:r --set= --restore=:r
split | args=r- writes
  -dex -a= -b= -C= -l= -n= -t= --bytes= --lines= --number= --suffix-length= --additional-suffix= --numeric-suffixes? --verbose --filter=:X
csplit | args=r- writes
  -f= -b= -k -n= -s -z
# patch writes the files that its input names
patch | args=wr writes
  -bEflNRstTuv -B= -D= -F= -g= -p= -V= -x= -Y= -z= --strip= --forward --reverse --dry-run --force --silent --quiet --unified --backup --fuzz= --ignore-whitespace --batch --no-backup-if-mismatch
  -d=:C --directory=:C -i=:r --input=:r -o=:w --output=:w -r=:w --reject-file=:w --merge?
rename,prename | args=-m writes
gzip,gunzip,bzip2,bunzip2,xz,unxz,zstd,unzstd,lz4,compress,uncompress,pigz | args=m writes
  -dfhLnNqrvVz -k:K -c:K -l:K -t:K -S= -b= -T= -NUM --stdout:K --to-stdout:K --decompress --keep:K --force --list:K --test:K --quiet --verbose --recursive --best --fast --rm -o=:w
zip | args=wr writes
  -rjqvu9810@XyDmoTFdfeS -i= -x= -b= -n= -t= -P= --unzip-command=:X
unzip | args=r- by=unpack
  -jnouqvltzpaCLXZ0 -P= -x= -d=:w
zipinfo | ro mild args=r-
  -12smlvhMtTzZ
7z,7za,7zr | args=-wr writes
ar | args=-wr writes
cpio | args=- writes
  -idmutvop0 -H= -F=:r -O=:w -I=:r --rsh-command=:X
# --to-command, --checkpoint-action, -I, -F and --rsh-command run programs; an archive named host:file is reached by rsh
tar,bsdtar,gtar | by=tar
  -xtcruAdvzjJapPmkOSWloshGBniw -f=:w --file=:w -C=:C --directory=:C -b= -H= -V= -N= -g=:w -L= -K= -T=:rn --files-from=:rn -X=:r --exclude-from=:r --extract --get --list --create --append --update --concatenate --diff --compare
  --verbose --gzip --gunzip --ungzip --bzip2 --xz --zstd --lzma --lzip --auto-compress --preserve-permissions --same-permissions --absolute-names --strip-components= --transform= --xform= --exclude= --exclude-vcs
  --wildcards --no-wildcards --numeric-owner --owner= --group= --mode= --mtime= --sort= --keep-old-files --skip-old-files --overwrite --to-stdout --totals --no-same-owner --same-owner --no-same-permissions --format=
  --listed-incremental=:w --dereference --one-file-system --sparse --warning= --no-recursion --null --anchored --ignore-case --checkpoint? --delete --remove-files:n --unlink-first --recursive-unlink:D
  -I=:X --use-compress-program=:X --to-command=:X --checkpoint-action=:x -F=:X --info-script=:X --new-volume-script=:X --rsh-command=:X --rmt-command=:X
crontab | args=c by=crontab
  -u= -i -l -e:x -r:D
at,batch | fed runs args=-
  -lrdcmMvVb -t= -q= -f=:c
kill | args=-
  -l -s= -n= -L -NUM --signal= --list
pkill,killall,skill | by=kill
  -flaxnovceqgiIrwv -u= -U= -P= -G= -t= -s= -d= -F=:r -NUM --signal= --full --exact --newest --oldest --user= --regexp --wait --older-than= --younger-than=
mount,umount,swapoff,swapon,losetup,sysctl,modprobe,insmod,rmmod | writes args=-
reboot,shutdown,halt,poweroff,init,telinit | external args=-
`

// interpreters run a program given as text or as a file. A script given as an
// operand is an ordinary use; text, and code named by an option, is marked.
const interpreters = `
python,pypy,ipython | interp first args=c by=python
  -bBdEhiIOPqsSuvx -V:V --version:V --help:V -W= -X= --check-hash-based-pycs= -c=:x. -m=:.
node,nodejs,iojs | interp first args=c
  -v:V --version:V -h:V --help:V -ci --check --interactive --test:. --watch --no-warnings --trace-warnings --enable-source-maps --expose-gc --inspect? --inspect-brk? --max-old-space-size= --test-reporter= --unhandled-rejections=
  --experimental-strip-types --experimental-vm-modules --conditions= -C= --input-type= --run=:. --stack-trace-limit= --throw-deprecation --pending-deprecation --preserve-symlinks
  -e=:x. --eval=:x -p?:x. --print?:x -r=:c --require=:c --import=:c --loader=:c --experimental-loader=:c --env-file=:c --env-file-if-exists=:c --openssl-config=:c --experimental-config-file=:c --snapshot-blob=:c --build-snapshot:n --icu-data-dir=:c
deno | sub first interp
  -V:V --version:V -h:V --help:V
deno eval | runs
deno run,deno test,deno bench,deno serve | args=c
  --preload=:c --import-map=:c -c=:c --config=:c --env-file?:c
bun | first interp args=c
  -v:V --version:V --revision:V -e=:x --eval=:x -p=:x --print=:x -r=:c --preload=:c --require=:c --import=:c -c=:c --config=:c --env-file=:c --cwd=:C
tsx,ts-node | interp first args=c
  -v:V --version:V -e=:x --eval=:x -p?:x --print?:x -r=:c --require=:c --import=:c --loader=:c --tsconfig=:c -P=:c --project=:c
perl | interp first args=c
  -acnpswtTuUWXfS -l? -0? -F? -C? -v:V -V?:V -h:V -e=:x -E=:x -i?:I -I=:c -M?:c -m?:c -x?:n -d?:x -D?
ruby | interp first args=c
  -acnpswlyhU -v:V --version:V -0? -F? -W? -T? -E= -K? -e=:x -r=:c -I=:c -i?:I -x?:n -S:n -C=:C
php | interp first args=c
  -v:V --version:V -i -m -lnaqsw -t= -S= -h:V --help:V -r=:x -B=:x -R=:x -E=:x -f=:c -F=:c -d=:c -c=:c -z=:c
lua,luajit,texlua | interp first args=c
  -v:V -iEW -e=:x -l=:c -b:n -j=:c
tclsh,wish,expect,swipl,guile,racket,sbcl,ghci,runghc,groovy,scala,kotlin,elixir,iex,erl,octave,julia | interp first args=c
  -v:V --version:V -c=:x -e=:x -E=:x -p=:x -g=:x -L=:c -l=:c -r=:c -s=:c --eval=:x --load=:c --script=:c -f=:c --noinform
Rscript,R,rscript | interp first args=c
  --version:V --vanilla --no-save --slave -q -e=:x -f=:c --file=:c
osascript | interp first args=c
  -s= -l= -e=:x
pwsh,powershell | interp first args=c by=opaque
ed,ex,red | fed runs args=w
vi,vim,nvim,view,vimdiff,gvim | args=w by=editor
  -RnbOopdehvyZNV -T= -V? -c=:x --cmd=:x -S=:c -s=:c -u=:c -U=:c -i=:n -W=:w -w=:w -E:x -l=:c --headless --clean --noplugin
emacs | args=w
  -nw -q -Q --batch --no-init-file --eval=:x -l=:c --load=:c -f=:x --funcall=:x --script=:c -x=:c
nano,pico,micro | args=w
bc | fed args=c
  -hilqsvw -e=:x
dc,m4 | fed runs args=c
  -hV -e=:x -f=:c -D= -U= -P -s -I=:c
sqlite,sqlite3,duckdb | long1 args=w- by=sqlite
  -json -csv -column -header -noheader -readonly -batch -bail -html -line -list -markdown -table -box -quote -separator= -newline= -nullvalue= -version:V -cmd=:x -init=:c -c=:x -s=:x -f=:c
  --json --csv --column --header --readonly
psql | args=- by=database
  -aAbeEHlnqsStxXwW01 -d= -h=:H -p= -U= -P= -F= -R= -T= -v= --host=:H --port= --username= --dbname= --set= --tuples-only --no-align --csv -V:V --version:V -c=:n --command=:n -f=:c --file=:c -l --list -o=:w --output=:w -L=:w --log-file=:w
mysql,mariadb | args=- by=database
  -ABbfHNnqrsStvwXCEGLi -u= -p? -h=:H -P= -D= -e=:n --execute=:n --host=:H --port= --user= --password? --database= -V:V --version:V --init-command=:x --defaults-file=:c --defaults-extra-file=:c --tee=:w --pager?:X
gdb,lldb | runs long1 args=c
  -q -batch --batch -ex=:x -x=:c -p= -o=:x -s=:c -args:n
`
