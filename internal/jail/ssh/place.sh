# Where the run would stand, and what builds the boundary: one record for each
# fact, a letter and a value, ended by a zero byte. Nothing is changed.
LC_ALL=C; export LC_ALL
unset CDPATH
IFS=
nl='
'
say() { printf '%s\000' "$1$2"; }
fail() { say '!' "$1"; exit 97; }

# real NAME PATH: the path without symbolic links, its last newlines kept.
real() {
	if [ -d "$2" ]; then r=$(cd "$2" 2>/dev/null && pwd -P; echo x)
	else r=$(readlink -f "$2" 2>/dev/null; echo x); fi
	r=${r%"${nl}x"}
	case $r in /*) eval "$1=\$r" ;; *) eval "$1=" ;; esac
}

# look LETTER PATH: say what stands there; of a link also what it leads to.
look() {
	if [ -L "$2" ]; then
		say "$1" "l$2"
		real led "$2"
		[ -n "$led" ] && [ -e "$led" ] && kind "$1" "$led"
	else
		kind "$1" "$2"
	fi
}
kind() {
	if [ -d "$2" ]; then say "$1" "d$2"
	elif [ -S "$2" ]; then say "$1" "s$2"
	elif [ -e "$2" ]; then say "$1" "f$2"
	fi
}

[ -n "$HOME" ] && [ -d "$HOME" ] || fail "there is no home directory"
real home "$HOME"
case $dir in
/*) ;;
'~') dir=$HOME ;;
'~/'*) dir=$HOME/${dir#'~/'} ;;
*) dir=$HOME/$dir ;;
esac
[ -d "$dir" ] || fail "there is no directory $dir"
real here "$dir"
say U "$(id -u)"
say S "$(uname -s)"
say M "$(uname -m)"
say H "$home"
say D "$here"

# The program that builds the boundary, of root alone.
if ! [ -x "$bwrap" ]; then
	fail "$bwrap is not installed: install the package bubblewrap there"
fi
owner=$(ls -lnL "$bwrap" | { IFS=' ' read -r mode _ uid _; echo "$mode $uid"; })
case $owner in
?????-??-*' 0' | ?????-??-?' 0') ;;
*) fail "$bwrap does not belong to root alone ($owner)" ;;
esac
case $owner in ???s*) say X 1 ;; esac
say B "$("$bwrap" --version 2>/dev/null)"

for name in PATH USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TZ; do
	eval "value=\${$name-}"
	[ -n "$value" ] && say E "$name=$value"
done

each() { for w in "$@"; do
	case $w in /*) ;; '~/'*) w=$HOME/${w#'~/'} ;; *) w=$here/$w ;; esac
	[ -d "$w" ] || fail "there is no directory $w"
	real w "$w"
	say w "$w"
done; }
writes
