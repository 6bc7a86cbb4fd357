//go:build !linux

package native

// Scopes reports whether abstract names of sockets can be closed: there are
// none here.
func Scopes() bool { return false }
