package table

// readers print files or facts about them. Options follow GNU coreutils 9,
// grep 3.11, ripgrep 14, fd 9, with those of BSD and macOS where they do not
// collide.
const readers = `
cat | ro mild args=r
  -AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting
tac | ro mild args=r
  -br -s= --before --regex --separator=
head | ro mild args=r
  -qvz -n= -c= -NUM --lines= --bytes= --quiet --silent --verbose --zero-terminated
tail | ro mild args=r
  -fFqvzr -n= -c= -s= -b= -NUM --lines= --bytes= --follow? --pid= --retry --sleep-interval= --quiet --silent --verbose --zero-terminated --max-unchanged-stats=
# --files0-from reads every file that another file names
wc | ro mild args=r
  -clmLw --bytes --chars --lines --max-line-length --words --total= --files0-from=:rn
nl | ro mild args=r
  -p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-format= --number-width= --number-separator= --starting-line-number=
rev | ro mild args=r
fold | ro mild args=r
  -bs -w= -NUM --bytes --spaces --width=
fmt | ro mild args=r
  -cstu -p= -w= -g= -NUM --width= --goal= --prefix= --split-only --uniform-spacing
expand,unexpand | ro mild args=r
  -aif -t= --tabs= --initial --all --first-only
cut | ro mild args=r
  -nsz -b= -c= -f= -d= --bytes= --characters= --fields= --delimiter= --only-delimited --output-delimiter= --complement --zero-terminated
tr | ro mild args=-
  -cCdstu --complement --delete --squeeze-repeats --truncate-set1
paste | ro mild args=r
  -sz -d= --delimiters= --serial --zero-terminated
comm | ro mild args=r
  -123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated
join | ro mild args=r
  -iz -a= -e= -j= -o= -t= -v= -1= -2= --ignore-case --header --check-order --nocheck-order --zero-terminated
column | ro mild args=r
  -tnxedLJ -c= -s= -o= -N= -R= -H= -E= -O= -T= -W= -r= -i= -p= --table --separator= --output-separator= --table-columns= --columns= --output-width= --table-right= --table-hide= --json --fillrows
pr | ro mild args=r
  -acdfFJmrtT -D= -e? -h= -i? -l= -n? -N= -o= -s? -S? -w= -W= -NUM --columns= --width= --length= --header= --omit-header --omit-pagination
look | ro mild args=-r
  -df
tsort,rotate | ro mild args=r
# the second operand of uniq is a file it writes
uniq | ro one args=rw
  -cdDuiz -f= -s= -w= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --all-repeated? --group? --zero-terminated
# --compress-program runs a program; -T and -o write
sort | ro args=r
  -bdfgiMhnRrVcCmsuz -k= -t= -S= --key= --field-separator= --buffer-size= --batch-size= --parallel= --sort= --check? --ignore-leading-blanks --dictionary-order
  --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --merge
  --stable --unique --zero-terminated --debug --random-source=:r --files0-from=:rn
  -o=:w --output=:w -T=:n --temporary-directory=:n --compress-program=:X
shuf | ro args=r
  -erz -i= -n= --echo --repeat --zero-terminated --input-range= --head-count= --random-source=:r -o=:w --output=:w
ls,dir,vdir | ro mild dir args=r
  -aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1eO@ -I= -w= -T= --all --almost-all --author --block-size= --classify? --color? --context --dereference
  --dereference-command-line --directory --dired --escape --file-type --format= --full-time --group-directories-first --hide= --human-readable --hyperlink? --ignore=
  --ignore-backups --indicator-style= --inode --kibibytes --literal --no-group --numeric-uid-gid --quote-name --quoting-style= --recursive --reverse --show-control-chars
  --si --size --sort= --tabsize= --time= --time-style= --width= --zero
stat | ro mild args=r
  -LfxsqlrFnt -c= --format= --printf= --dereference --file-system --terse --cached=
# -C compiles a magic file, -m loads one, -z starts decompressors
file | ro args=r
  -bikLhnNprs0 -P= -e= -F= --brief --mime --mime-type --mime-encoding --dereference --no-dereference --no-pad --print0 --raw --special-files --keep-going
  --extension --separator= --parameter= --exclude=
  -m=:c --magic-file=:c -C:w --compile:w -f=:rn --files-from=:rn -z:x -Z:x --uncompress:x --uncompress-noreport:x -S:n --no-sandbox:n
du | ro mild dir args=r
  -aAbcDHhIklLmPsSx0n -d= -B= -t= --all --apparent-size --block-size= --bytes --count-links --dereference --dereference-args --max-depth= --exclude= --human-readable
  --inodes --no-dereference --null --one-file-system --separate-dirs --si --summarize --threshold= --time? --time-style= --total -X=:r --exclude-from=:r --files0-from=:rn
df | ro mild args=r
  -aHhiklPTvmn -B= -t= -x= --all --block-size= --human-readable --inodes --local --output? --portability --print-type --si --total --type= --exclude-type= --no-sync
# -R reruns tree and writes 00Tree.html; -o writes
tree | ro dir args=r
  -adfilpsugDhqNQrtUFvcCAnSJXx -L= -P= -I= -H= -T= --noreport --charset= --filelimit= --filesfirst --dirsfirst --prune --du --gitignore --matchdirs --ignore-case
  --si --inodes --device --sort? --timefmt= --metafirst --info --infofile=:r --gitfile=:r --fromfile:n -o=:w -R:w
pwd | ro mild
  -LP
true,false,: | ro mild any
basename,dirname | ro mild args=-
  -az -s= --multiple --suffix= --zero
realpath,readlink | ro mild args=r
  -emqszLPfnv --relative-to= --relative-base= --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --strip --no-symlinks --zero --logical --physical
# --check reads every file that another file names
md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,b3sum,cksum,sum,shasum,md5 | ro mild args=r
  -btzrqns0U -a= -l= --binary --text --tag --zero --algorithm= --length= --untagged --raw --base64 -c:n --check:n
# the second operand of xxd is a file it writes; -r turns text into a file
xxd | ro one long1 args=rw
  -a -autoskip -b -bits -c= -cols= -C -capitalize -d -e -E -EBCDIC -g= -groupsize= -i -include -l= -len= -n= -name= -o= -p -ps -postscript -plain -s= -seek= -u -R= -r:w -revert:w
base64,base32,basenc | ro args=r
  -dDi -w= -b= --decode --ignore-garbage --wrap= --break= --base64 --base64url --base32 --base32hex --base16 --base2msbf --base2lsbf --z85 --input=:r -o=:w --output=:w
od | ro mild args=r
  -abcdfilosxvh -A= -j= -N= -S? -t= -w? --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates --width? --strings? --endian= --traditional
hexdump,hd | ro mild args=r
  -bcCdoxvX -e= -n= -s= --canonical --length= --skip= --no-squeezing -f=:r
strings | ro mild args=r
  -afowU -n= -t= -e= -s= -T= -NUM --all --bytes= --radix= --encoding= --print-file-name --data
cmp | ro mild args=r
  -bls -i= -n= --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent
# --paginate starts pr
diff | ro args=r
  -abBcdeEfiHnNpqrstTuwy -C= -U= -I= -W= -x= -F= -S= -L= -D= -NUM --normal --brief --report-identical-files --context? --unified? --ed --rcs --side-by-side --width=
  --left-column --suppress-common-lines --show-c-function --show-function-line= --label= --expand-tabs --initial-tab --tabsize= --suppress-blank-empty --recursive
  --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude= --starting-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space
  --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr --minimal --horizon-lines= --speed-large-files --color? --palette=
  -X=:r --exclude-from=:r --from-file=:r --to-file=:r -l:x --paginate:x
grep,egrep,fgrep | ro mild args=-r
  -EFGPiyvwxcLlqsbHhnTUzaIOpSo -A= -B= -C= -m= -D= -d= -NUM -r:d -R:d --recursive:d --dereference-recursive:d -e=:1 --regexp=:1 -f=:r1 --file=:r1
  --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour?
  --files-without-match --files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number
  --initial-tab --null --after-context= --before-context= --context= --group-separator= --no-group-separator --text --binary-files= --devices= --directories= --exclude=
  --exclude-dir= --include=:N --line-buffered --binary --null-data --exclude-from=:r -u
# --pre and --hostname-bin run a program, -z starts decompressors
rg | ro dir args=-r
  -aFHIiLlNnoPpqSsUuvVwx0bc. -A= -B= -C= -E= -M= -T= -d= -g=:N -j= -m= -r= -t= -e=:1 --regexp=:1 -f=:r1 --file=:r1 --files:1 --type-list:1
  --after-context= --before-context= --context= --auto-hybrid-regex --binary --block-buffered --byte-offset --case-sensitive --color= --colors= --column --context-separator=
  --count --count-matches --crlf --dfa-size-limit= --encoding= --engine= --field-context-separator= --field-match-separator= --files-with-matches --files-without-match
  --fixed-strings --follow --glob=:N --glob-case-insensitive --heading --hidden --iglob=:N --ignore-case --ignore-file-case-insensitive --include-zero --invert-match --json
  --line-buffered --line-number --line-regexp --max-columns= --max-columns-preview --max-count= --max-depth= --maxdepth= --max-filesize= --mmap --multiline --multiline-dotall
  --no-column --no-config --no-context-separator --no-filename --no-heading --no-hidden --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global
  --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --no-mmap --no-require-git --no-unicode --null --null-data --one-file-system --only-matching
  --passthru --path-separator= --pcre2 --pretty --quiet --regex-size-limit= --replace= --smart-case --sort= --sortr= --stats --stop-on-nonmatch --text --threads= --trace --debug
  --trim --type= --type-not= --type-add=:N --type-clear= --unrestricted --vimgrep --with-filename --word-regexp --pcre2-version --version --ignore-file=:r
  --pre=:X --pre-glob= --hostname-bin=:X --hyperlink-format= -z:x --search-zip:x
# -x and -X start programs, -l starts ls
fd,fdfind | ro dir args=-r by=fd
  -HIsiFagpLu01qhV -d= -E= -t= -e= -S= -o= -j= -c= --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --case-sensitive --ignore-case --glob --regex --fixed-strings --and=
  --absolute-path --follow --full-path --print0 --max-depth= --min-depth= --exact-depth= --exclude= --prune --type= --extension= --size= --changed-within= --changed-before=
  --owner= --color= --threads= --max-results= --quiet --show-errors --strip-cwd-prefix? --one-file-system --path-separator= --unrestricted --format= --hyperlink? -C=:C --base-directory=:C
  --search-path=:r --ignore-file=:r -l:x --list-details:x -x:n -X:n --exec:n --exec-batch:n
# the expression is read by code: its words are options, tests and actions in one
find | long1 dir by=find
jq,gojq,jaq | ro args=-r by=jq
  -nrjaseScCMVh -f=:r1n --from-file=:r1n --null-input --raw-input -R --raw-output --raw-output0 --join-output --ascii-output --slurp --exit-status --sort-keys --color-output
  --monochrome-output --tab --indent= --compact-output --stream --stream-errors --seq --unbuffered --args --jsonargs -L=:n
yq | ro args=-r by=yq
  -nrPjCMvVeN0 -I= -o= -p= --null-input --prettyPrint --output-format= --input-format= --indent= --no-colors --colors --unwrapScalar? --no-doc --raw-output --tojson --exit-status
  --front-matter= --header-preprocess -i:I --inplace:I -s=:w --split-exp=:w --from-file=:r1n --split-exp-file=:c -y -Y
sed,gsed | args=-r by=sed
  -nErsuz -l= --quiet --silent --regexp-extended --separate --unbuffered --null-data --line-length= --posix --debug --follow-symlinks -b --binary --sandbox
  -e=:1 --expression=:1 -f=:c1 --file=:c1 -i?:I --in-place?:I
awk,gawk,mawk,nawk,original-awk | first args=-r by=awk
  -F= -v= --field-separator= --assign= -c -P -r -S -t -n -N -O -s -b -M --traditional --posix --re-interval --sandbox --lint? --bignum --characters-as-bytes --non-decimal-data
  --csv -k --optimize --use-lc-numeric -V:V --version:V -h:V --help:V -W=:x
  -f=:c1 --file=:c1 -e=:x1 --source=:x1 -E=:c1. --exec=:c1. -i=:c --include=:c -l=:c --load=:c -o?:w --pretty-print?:w -d?:w --dump-variables?:w -p?:w --profile?:w -D?:x --debug?:x
# a pager starts programs on its own and by LESSOPEN
less,more,most,pg,zless,bat,batcat | runs args=r
zcat,gzcat,bzcat,xzcat,zstdcat,lzcat | ro mild args=r
nm,size | ro args=r
  -aABCDglnoprsStuvfdx -NUM --defined-only --undefined-only --dynamic --demangle? --extern-only --numeric-sort --size-sort --print-size --reverse-sort --format= --radix= --no-sort --common
  --plugin=:c
readelf | ro mild args=r
  -aeghlnrsuVAWIdStw -p= -x= --all --file-header --program-headers --section-headers --sections --segments --symbols --syms --dyn-syms --notes --relocs --dynamic --wide --string-dump= --hex-dump=
# ldd may start the program it looks at
ldd | runs args=r
`

// inspectors print facts about the machine and its processes.
const inspectors = `
echo,printf,test,[ | ro mild any
which,whereis,whatis,apropos,whoami,groups,logname,tty,arch,nproc,uptime,hostid,users,locale,pidof,sw_vers,lscpu,free,vm_stat | ro mild args=-
  -aseflqruBbmkgtwxhisvVALJNpScd --all --ignore= --total --human --wide --kilo --mega --giga --si --version:V --help:V --since --pretty -n=
type | ro mild args=-
  -afptP
# an operand without + sets the clock, as -s does
date | ro args=+
  -uRjn -I? -d= -v= --date= --iso-8601? --rfc-3339= --rfc-email --utc --universal --debug --resolution -r=:r --reference=:r -f=:rn --file=:rn -s=:n --set=:n
id,who,w,last,lastlog | ro mild args=-
  -aGgnruzZpFPAhHblmqstTdifowx -NUM --group --groups --name --real --user --zero --all --boot --heading --count --no-header --short
uname | ro mild
  -asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system
# an operand sets the name, -F reads one from a file
hostname | ro bare args=-
  -safdiIyA --short --fqdn --long --ip-address --all-ip-addresses --domain --alias -F=:n --file=:n -b:n
clear | ro mild any
tput | ro mild args=-
  -T=
printenv | ro mild args=-
  -0 --null
getconf | ro mild args=-
  -a -v=
# hosts, ahosts and networks ask name servers, shadow holds secrets
getent | sub first
  -s= -i
getent passwd,getent group,getent services,getent protocols,getent rpc,getent aliases,getent initgroups | ro mild args=-
  -s= -i
ps | ro mild args=-
  -AadeflFjLmMTwyxXcHNZvSErV -o= -O= -p= -u= -U= -C= -t= -g= -G= -s= -q= -k= --sort= --format= --pid= --ppid= --user= --User= --group= --Group= --tty= --sid= --cols= --columns= --width=
  --rows= --lines= --headers --no-headers --no-heading --forest --cumulative --deselect
pgrep | ro mild args=-
  -flaxnovcqwiAL -d= -P= -g= -G= -u= -U= -s= -t= -F=:r --full --list-name --list-full --exact --newest --oldest --inverse --count --delimiter= --parent= --pgroup= --group= --euid= --uid= --session= --terminal=
pstree | ro mild args=-
  -aAcgGhlnNpsStTuUZ -H=
netstat | ro mild args=-
  -aAbdeFgiIlLmnoprsStTuvWwxZ46Cc --tcp --udp --listening --numeric --programs --all --route --interfaces --statistics
ss | ro args=-
  -nratlmoepiusbEZw046xHOVh -N= -f= -A= --tcp --udp --listening --numeric --processes --all --summary --extended --no-header -K:n --kill:n -D=:w --diag=:w -F=:rn --filter=:rn
lsof | ro args=r
  -anPlUNObRtwvVCKXxHh -i? -p= -u= -c= -d= -g? -s? -T? -F? -D=:n -k=:n -m=:n -A=:n -e=:n
lsblk,findmnt,lsusb,lspci,lsmod,lsipc,lslocks,lsns,lslogins | ro mild args=-
  -abdDefFiJlmMnOpPrsStTzuvk -o= -x= -I= -e= --json --fs --all --bytes --output= --list --pairs --raw
vmstat,iostat,mpstat,nstat | ro mild args=-
  -anmsdDptwhxkcyzAuPI -S=
seq | ro mild args=-
  -w -f= -s= --format= --separator= --equal-width
expr,factor,cal,ncal,sleep,numfmt | ro mild args=-
  -13jmyhNwbMeCJ -A= -B= -d= -n= -Y --to= --from= --suffix= --padding= --field= --format= --header? --round= --grouping
# the viewer of a manual page is a program named by an option or by the configuration
man | ro args=-
  -kfwaWIiu7 -s= -S= -e= -m= -L= -r= -E= -R= -K --apropos --whatis --where --path --location --all --ignore-case --match-case --regex --wildcard --names-only --global-apropos --no-subpages
  --section= --sections= --extension= --systems= --locale= --encoding= --warnings?
  -P=:X --pager=:X -H?:X --html?:X -B=:X -X?:x --gxditview?:x -t:x --troff:x -T?:x --troff-device?:x -Z:x --ditroff:x -p=:x --preprocessor=:x -C=:c --config-file=:c -M=:n --manpath=:n
  -l:n --local-file:n -D:n --default:n -c:n --catman:n -d:n --debug:n
info | runs args=-
dmesg | ro args=-
  -HkLPTtuxedwW -l= -f= -s= --level= --facility= --human --kernel --ctime --reltime --decode --follow --nopager --color? --since= --until= -F=:r --file=:r -C:n --clear:n -c:n -n=:n -D:n -E:n
journalctl | ro args=-
  -fexarqkNm -n= -u= -t= -p= -g= -S= -U= -o= -b? -F= --no-pager --follow --lines= --unit= --user-unit= --user --system --since= --until= --output= --reverse --boot? --priority= --grep= --dmesg --catalog
  --no-hostname --no-full --all --quiet --utc --identifier= --list-boots --disk-usage
systemctl | sub first
  --user --system --no-pager --no-legend --plain -q --quiet -l --full -a --all -t= --type= --state= -p= --property= -o= --output= -n= --lines=
systemctl status,systemctl is-active,systemctl is-enabled,systemctl is-failed,systemctl list-units,systemctl list-unit-files,systemctl list-timers,systemctl show,systemctl cat | ro args=-
  --no-pager --no-legend --plain -q --quiet -l --full -a --all -t= --type= --state= -p= --property= -o= --output= -n= --lines= --user --system --value
`
