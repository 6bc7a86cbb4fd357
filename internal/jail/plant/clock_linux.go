package plant

import (
	"time"

	"golang.org/x/sys/unix"
)

// fileClock is the clock that change times are taken from: it moves with the
// timer's tick only (clock_gettime(2)).
func fileClock() time.Time {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return time.Now()
	}
	return time.Unix(now.Unix())
}
