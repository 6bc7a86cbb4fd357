package table

// OtherBuiltins are the builtins of bash that are read by code of their own.
var OtherBuiltins = map[string]bool{
	"cd": true, "pushd": true, "popd": true, "test": true, "[": true, "printf": true, "read": true, "mapfile": true, "readarray": true, "getopts": true, "eval": true, "source": true, ".": true,
	"command": true, "builtin": true, "exec": true, "trap": true, "alias": true, "unalias": true, "set": true, "shopt": true, "unset": true, "hash": true, "enable": true,
	"export": true, "declare": true, "typeset": true, "local": true, "readonly": true, "complete": true, "compgen": true, "compopt": true, "history": true, "fc": true, "bind": true, "let": true, "kill": true, "jobs": true, "wait": true,
}

// ReadOnlyBuiltins change nothing that outlives the line and run nothing.
var ReadOnlyBuiltins = map[string]bool{
	":": true, "true": true, "false": true, "echo": true, "pwd": true, "exit": true, "return": true, "break": true, "continue": true, "shift": true,
	"times": true, "dirs": true, "caller": true, "help": true, "type": true, "umask": true, "ulimit": true, "suspend": true, "logout": true, "fg": true, "bg": true, "disown": true,
}

// Options of set and shopt that change neither what words mean nor what runs.
const QuietSet = "efmuvxCETbn"

var QuietSetNames = map[string]bool{"errexit": true, "nounset": true, "pipefail": true, "xtrace": true, "verbose": true, "noglob": true, "noclobber": true, "errtrace": true, "functrace": true, "monitor": true, "notify": true, "noexec": true, "allexport": true}

var QuietShopt = map[string]bool{"nullglob": true, "globstar": true, "dotglob": true, "failglob": true, "nocaseglob": true, "nocasematch": true, "inherit_errexit": true, "extglob": true, "globasciiranges": true, "checkwinsize": true, "cmdhist": true, "histappend": true, "execfail": true}

// LooseShopt are those that change which files a pattern stands for.
var LooseShopt = map[string]bool{"globstar": true, "dotglob": true, "nocaseglob": true, "extglob": true, "globasciiranges": true}

// OwnNumbers are the shell's own variables that it declares to be numbers.
var OwnNumbers = map[string]bool{"RANDOM": true, "SRANDOM": true, "SECONDS": true, "LINENO": true, "HISTCMD": true, "BASHPID": true, "OPTIND": true, "EPOCHSECONDS": true}
