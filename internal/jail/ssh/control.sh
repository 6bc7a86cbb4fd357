# What stays behind the control connection: signals for the tree of the run,
# and its end when this connection ends. d is the run's private directory.
began() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
below() {
	for t in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		echo "$t"
		below "$t"
	done
}
# alive: the run's own process is there, and is not another of the same number.
alive() {
	[ -s "$d/pid" ] || return 1
	{ IFS=' ' read -r pid start <"$d/pid"; } 2>/dev/null
	[ -n "$start" ] && [ "$(began "$pid")" = "$start" ]
}
signal() {
	alive || return 0
	IFS=" $nl"
	for t in $(below "$pid"); do kill "-$1" "$t" 2>/dev/null; done
	IFS=
}
end() {
	trap '' HUP INT TERM PIPE
	signal TERM
	n=0
	while alive && [ $n -lt 20 ]; do
		sleep 0.1 2>/dev/null || { sleep 1; n=$((n + 9)); }
		n=$((n + 1))
	done
	alive && kill -KILL "$pid" 2>/dev/null
	while alive; do sleep 0.1 2>/dev/null || sleep 1; done
	rm -rf "$d"
}
trap end EXIT
trap 'exit 1' HUP INT TERM PIPE
