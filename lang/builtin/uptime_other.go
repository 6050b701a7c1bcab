//go:build !linux

package builtin

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is how long the machine has been running.
func uptime() (time.Duration, error) {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return 0, err
	}
	return time.Since(time.Unix(boot.Unix())), nil
}
