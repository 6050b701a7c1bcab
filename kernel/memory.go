package kernel

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"
)

// The collector lets the heap grow by gcMost percent of what lives, or by
// growth bytes if that is less, but always by gcLeast percent.
const (
	gcLeast = 40
	gcMost  = 300
	growth  = 256 << 20
	// spare is by how many bytes the process may be greater than its programs.
	// Beyond that free memory goes back at once, and the collector works hard.
	spare = 1 << 30
)

// SetMemory tunes the collector for a daemon that is mostly idle and sometimes
// parses a lot: few collections while little lives, and little garbage while
// much does.
func SetMemory() {
	debug.SetGCPercent(gcMost)
	debug.SetMemoryLimit(programMemory() + spare)
	tuneAtNext(gcMost)
}

// tuneAtNext has the collector tuned after its next cycle, and after each
// one that follows.
func tuneAtNext(percent int) {
	runtime.AddCleanup(&struct{ self *byte }{new(byte)}, tune, percent)
}

// tune sets the collector's percentage for what lives now.
func tune(percent int) {
	next := gcPercent(heapLive())
	if next != percent {
		debug.SetGCPercent(next)
	}
	tuneAtNext(next)
}

// gcPercent is the collector's percentage when so many bytes live, in steps of
// ten: setting it stops the world.
func gcPercent(live uint64) int {
	return int(min(max(growth*10/max(live, 1)*10, gcLeast), gcMost))
}

// heapLive is how many bytes the last collection has marked.
func heapLive() uint64 {
	return metric("/gc/heap/live:bytes")
}

// processorTime is what this process has used of the processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for a wrong argument only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func metric(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// programMemory is how many bytes programs may hold together: a twelfth of what
// this process can have, between half a gibibyte and four.
func programMemory() int64 {
	return min(max(machineMemory()/12, 512<<20), 4<<30)
}

// idleCheck is how often the kernel looks whether it has become idle.
const idleCheck = 5 * time.Second

// relieveAt is how many bytes may live before what the journal can give again
// is let go of.
const relieveAt = 128 << 20

// How long a session must have been without connection to leave memory while
// much lives, while more lives than half of what programs may hold, and before a
// program is refused memory.
const (
	unusedMuch = time.Minute
	unusedMost = 5 * time.Second
	unusedFull = time.Second
)

// busyLeast is how much processor time between two looks makes a kernel busy.
const busyLeast = idleCheck / 20

// warmMost is how many bytes that nothing lives in an idle kernel keeps for
// restTime: to get a page from the system again costs more than to fill it, and
// agents think for a while between two calls.
const (
	warmMost = 64 << 20
	restTime = time.Minute
)

// keepMemory lets go of what the journal can give again while much lives. It
// gives memory back to the system when the kernel has become idle after work: the
// collector by itself keeps a heap that was once needed.
func (k *Kernel) keepMemory() {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for r, used := (rest{work: k.work()}), processorTime(); ; {
		var now time.Time
		select {
		case <-k.quit:
			return
		case now = <-tick.C:
		}
		switch live := heapLive(); {
		case live > uint64(programMemory()/2):
			k.sessions.Relieve(unusedMost)
		case live > relieveAt:
			k.sessions.Relieve(unusedMuch)
		}
		held := heapHeld()
		busy := processorTime()-used > busyLeast
		if r.gives(k.work(), busy, now, held-min(held, heapLive())) { // at no other time: it stops everybody for long
			debug.FreeOSMemory()
		}
		used = processorTime()
	}
}

// work rises with what the kernel does: with the records of the journal, and with
// the clients that come.
func (k *Kernel) work() uint64 { return k.store.LastRecord() + k.gate.Clients() }

// rest is how long a kernel has been idle.
type rest struct {
	work  uint64    // when it was last looked at
	since time.Time // when it was first seen
	given bool      // memory has been given back since
}

// gives reports whether memory is to go back to the system, where so many bytes
// of the heap are unused, garbage or free. What a kernel in its rest has needed
// for a moment goes back once it is much.
func (r *rest) gives(work uint64, busy bool, now time.Time, unused uint64) bool {
	if work != r.work || busy {
		*r = rest{work: work, since: now}
	}
	idle := now.Sub(r.since)
	if idle == 0 || unused <= warmMost && (r.given || idle < restTime) {
		return false
	}
	r.given = true
	return true
}

// heapHeld is what the heap has from the system, in bytes.
func heapHeld() uint64 {
	return metric("/memory/classes/heap/objects:bytes") + metric("/memory/classes/heap/free:bytes")
}
