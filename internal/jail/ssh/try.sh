# Tried through the boundary before it is trusted: nothing outside is made,
# nothing hidden is read, nothing protected is changed, and work goes on.
no() { echo "$1"; exit 1; }
new=$outside/.reeve-try-$$
(: >"$new") 2>/dev/null && { rm -f "$new"; no "a file could be made in $outside"; }
hidden() { for p in "$@"; do
	if [ -d "$p" ]; then
		[ -z "$(ls -A "$p" 2>/dev/null)" ] || no "$p can be read"
	elif (: <"$p") 2>/dev/null; then
		no "$p can be read"
	fi
done; }
kept() { for p in "$@"; do
	if [ -d "$p" ]; then
		(: >"$p/.reeve-try-$$") 2>/dev/null && { rm -f "$p/.reeve-try-$$"; no "$p can be written"; }
	elif (: >>"$p") 2>/dev/null; then
		no "$p can be written"
	fi
done; }
