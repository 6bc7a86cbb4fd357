//go:build !linux

package keeper

import "os"

func program() (string, error) { return os.Executable() }
