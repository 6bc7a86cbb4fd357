# What a boundary must know of this machine besides, in the same shell after
# the places were found good: records as before. Nothing is changed.
each() { for n in "$@"; do for p in "$home"/$n; do look m "$p"; done; done; }
stores
each() { for n in "$@"; do for p in $n; do
	if [ -r "$p" ] || [ -x "$p" ]; then look x "$p"; fi
done; done; }
secrets

# Protected names at the root of each working tree, and in each git directory.
base=
each() { for n in "$@"; do look n "$base/$n"; done; }
git() {
	base=$1
	gitnames
	for name in config config.worktree; do
		if [ -f "$1/$name" ] && [ "$(wc -c <"$1/$name")" -lt 65536 ]; then
			say G "$1$nl$(cat "$1/$name")"
		fi
	done
	for w in "$1"/worktrees/*; do
		[ -d "$w" ] && { look n "$w/commondir"; look n "$w/config.worktree"; }
	done
	for w in "$1"/modules/* "$1"/modules/*/* "$1"/modules/*/*/*; do
		[ -e "$w/HEAD" ] && [ -d "$w/objects" ] && git "$w"
	done
}
tree() {
	base=$1
	names
	if [ -e "$1/.git" ] || [ -L "$1/.git" ]; then
		look g "$1/.git"
		[ -d "$1/.git" ] && ! [ -L "$1/.git" ] && git "$1/.git"
	fi
}
# All trees of one writable directory, the outermost eight levels of it.
trees() {
	root=$1
	tree "$root"
	set -f
	IFS=$nl
	for found in $(find "$root" -maxdepth 8 -name node_modules -prune -o -name .git -prune -print 2>/dev/null); do
		IFS=
		set +f
		above=${found%/.git}
		case $above in
		"$root") continue ;;
		"$root"/*) [ -e "$found" ] || [ -L "$found" ] || fail "$root holds a repository with a line break in its path" ;;
		*) fail "$root holds a repository with a line break in its path" ;;
		esac
		tree "$above"
		set -f
		IFS=$nl
	done
	IFS=
	set +f
	find "$root" -maxdepth 8 -name node_modules -prune -o -type s -exec sh -c 'for p; do printf "os%s\000" "$p"; done' sh {} + 2>/dev/null
}
trees "$here"
each() { for w in "$@"; do
	case $w in /*) ;; '~/'*) w=$HOME/${w#'~/'} ;; *) w=$here/$w ;; esac
	real w "$w"
	trees "$w"
done; }
writes

# State folders of agents: this account's own, real directories.
folder() {
	state=$home/$1 granted=
	if [ -d "$state" ] && ! [ -L "$state" ] && [ -O "$state" ]; then
		granted=1
		say a "d$state"
	fi
}
within() {
	letter=$1
	shift
	case $letter in
	t) under=$home ;;
	k) under=$state ;;
	*) under=$state; [ -n "$granted" ] || return 0 ;;
	esac
	for n in "$@"; do for p in "$under"/$n; do look "$letter" "$p"; done; done
}
folders

if [ -e /etc/resolv.conf ]; then
	real led /etc/resolv.conf
	say R "$led"
fi

# Sockets with a name that programs of this machine hold open, as far as a
# process without any power can get to them.
if [ -r /proc/net/unix ]; then
	sed -n 's|^[^/@]*\(/.*\)$|\1|p' /proc/net/unix | sort -u |
		"$bwrap" --ro-bind / / --unshare-user --cap-drop ALL /bin/sh -c 'while IFS= read -r p; do [ -S "$p" ] && printf "u%s\000" "$p"; done' 2>/dev/null
fi
:
