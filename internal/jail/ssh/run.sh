# The run itself, on the second connection: tries the boundary, then becomes
# bubblewrap. d is the run's private directory; whatever is missing ends with
# 97, and the program was not started.
umask 077
refuse() { printf 'reeve: %s\n' "$1" >&2; exit 97; }
began() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
rm -f "$d/run"
echo "$$ $(began $$)" >"$d/pid" || refuse "the run's directory on the other machine is gone"
[ -x "$bwrap" ] || refuse "$bwrap is not installed on the other machine: install the package bubblewrap there"
exec 7<"$d/args" 6<"$d/filter" 9<"$d/args" 8<"$d/filter" || refuse "the run's directory on the other machine is gone"
rm -f "$d/args" "$d/filter"
held=$(env -i "$bwrap" --args 7 --seccomp 6 -- /bin/sh -c "$try" 7<&7 6<&6 8<&- 9<&- </dev/null 2>&1)
[ "$held" = held ] || refuse "the sandbox does not hold on the other machine: $held"
exec 6<&- 7<&-
