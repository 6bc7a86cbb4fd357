package jail

// Directories the process always has for itself; host paths below them are
// shown only when the plan names them.
var privateDirs = []string{"/tmp", "/run", "/dev", "/proc"}

// Directories that are never a write grant: they hold the system, or every
// program's settings at once (Y60).
var neverWrite = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc",
	"/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/var",
}

// Stores of credentials and keys that only this system has are in the lists
// of mask.go.
var systemStores, systemSecrets []string
