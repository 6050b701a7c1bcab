package kernel

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is the machine's memory in bytes, or what a control group
// leaves of it.
func machineMemory() int64 {
	total := int64(8 << 30)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return total
	}
	if most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
		total = min(total, most)
	}
	return total
}
