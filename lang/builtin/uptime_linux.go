package builtin

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is how long the machine has been running.
func uptime() (time.Duration, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, err
	}
	return time.Duration(info.Uptime) * time.Second, nil
}
