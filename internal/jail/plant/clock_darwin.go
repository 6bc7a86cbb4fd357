package plant

import "time"

// fileClock is the clock that change times are taken from. A file system that
// keeps whole seconds only rounds them down.
func fileClock() time.Time { return time.Now().Truncate(time.Second) }
