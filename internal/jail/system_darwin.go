package jail

// Directories the process always has for itself; host paths below them are
// shown only when the plan names them.
var privateDirs = []string{"/dev", "/private/tmp", "/private/var/tmp", "/private/var/folders"}

// Directories that are never a write grant: they hold the system, or every
// program's settings at once (Y60).
var neverWrite = []string{
	"/Applications", "/Library", "/System", "/Users", "/Volumes", "/bin", "/cores", "/dev", "/opt", "/opt/homebrew", "/private", "/private/etc",
	"/private/tmp", "/private/var", "/private/var/folders", "/private/var/tmp", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin",
}

// systemStores are credential stores below a home directory that only this
// system has.
var systemStores = []string{
	"Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Mail", "Library/Messages", "Library/Application Support/AddressBook",
	"Library/Application Support/com.apple.TCC", "Library/Application Support/Google/Chrome", "Library/Application Support/Chromium",
	"Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge", "Library/Application Support/Firefox",
	"Library/Application Support/Arc", "Library/Application Support/1Password", "Library/Application Support/Bitwarden",
	"Library/Group Containers/2BUA8C4S2C.com.1password", "Library/Containers/com.docker.docker",
}

// systemSecrets are hidden wherever they exist: run by root, the process would
// own them.
var systemSecrets = []string{"/Library/Keychains", "/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d", "/private/var/db/dslocal", "/private/var/root/.ssh"}
