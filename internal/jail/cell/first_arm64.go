//go:build linux

package cell

import _ "embed"

//go:embed first_arm64.gz
var packed []byte
