package kernel

import (
	"runtime/debug"
	"time"
)

// SetMemory tunes the collector for a daemon that is mostly idle and sometimes
// parses a lot: fewer collections, and a soft limit.
func SetMemory() {
	debug.SetGCPercent(300)
	debug.SetMemoryLimit(memoryLimit)
}

// memoryLimit is where the collector starts to work harder, in bytes.
const memoryLimit = 2 << 30

// idleCheck is how often the kernel looks whether it has become idle.
const idleCheck = 5 * time.Second

// keepMemory gives memory back to the system whenever the kernel has become
// idle after work: the collector by itself keeps a heap that was once needed.
func (k *Kernel) keepMemory() {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for before, given := k.store.LastRecord(), uint64(0); ; {
		select {
		case <-k.quit:
			return
		case <-tick.C:
		}
		now := k.store.LastRecord()
		if now == before && now != given {
			debug.FreeOSMemory()
			given = now
		}
		before = now
	}
}
