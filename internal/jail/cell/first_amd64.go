//go:build linux

package cell

import _ "embed"

//go:embed first_amd64.gz
var packed []byte
