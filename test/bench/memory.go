package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	captured    = 100 << 20        // bytes that the capture rows take
	relays      = 10               // processes whose memory is averaged
	settlePause = time.Second / 20 // between two looks at a memory that falls
	settleSoon  = 40               // looks at a kernel that has done nothing yet
	settleLate  = 1500             // looks at one that has to notice that it is idle
	entries     = 100_000          // of the store that is reopened
	idleMost    = 40 << 20         // resident bytes of a kernel that does nothing
	growthMost  = 64 << 20         // resident bytes that a capture may add
	relayMost   = 2 << 20          // proportional bytes of one relay
)

// memoryRows measure resident memory and what large output costs.
func (b *bench) memoryRows() []row {
	return []row{
		{key: "capture", what: "capture 100 MB of output", unit: millis, ours: b.capture,
			ref: "pipe read in chunks", peer: b.bareCapture, most: 1.5},
		{key: "capture.rss", what: "kernel's greatest growth while it captures 100 MB", unit: mebi, ours: b.captureGrowth, most: growthMost},
		{key: "rss.idle", what: "idle kernel, resident", unit: mebi, ours: b.idleKernel, most: idleMost},
		{key: "rss.relay", what: "relay process, proportional, 10 of them", unit: mebi, ours: b.relayMemory, most: relayMost},
		{key: "rss.after", what: "kernel that rests after 20,000 executions, resident (once)", unit: mebi, ours: b.workedKernel},
	}
}

func (b *bench) capture() (float64, error) {
	return b.evaluate("(^dd if=/dev/zero bs=1048576 count=100 status=none).stdout.len()", strconv.Itoa(captured))
}

func (b *bench) bareCapture() (float64, error) {
	s, err := b.bare()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	_, err = s.call("tools/call", fmt.Sprintf(`{"name":"capture","arguments":{"mebibytes":%d}}`, captured>>20))
	return time.Since(start).Seconds(), err
}

// captureGrowth is how much the kernel's resident memory grows at most.
func (b *bench) captureGrowth() (float64, error) {
	if _, err := b.shoal(); err != nil {
		return 0, err
	}
	pid, err := kernelPID(b.warm)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return 0, fmt.Errorf("%w: %w", errAbsent, err)
	}
	before, err := status(pid, "VmRSS")
	if err != nil {
		return 0, err
	}
	if _, err := b.capture(); err != nil {
		return 0, err
	}
	peak, err := status(pid, "VmHWM")
	return peak - before, err
}

// idleKernel is the resident memory of a kernel that has answered one call and
// been left alone.
func (b *bench) idleKernel() (float64, error) {
	state, err := b.state("idle")
	if err != nil {
		return 0, err
	}
	s, _, err := b.relay(state, "default")
	if err != nil {
		return 0, err
	}
	defer func() { s.close(); b.stopKernel(state) }()
	if _, err := s.call(onePlusOne.method, onePlusOne.params); err != nil {
		return 0, err
	}
	pid, err := kernelPID(state)
	if err != nil {
		return 0, err
	}
	return settled(pid, settleSoon)
}

// workedKernel is the resident memory of a kernel that has worked and rests. It
// takes long and is measured once.
func (b *bench) workedKernel() (n float64, err error) {
	if b.worked > 0 {
		return b.worked, nil
	}
	defer func() { b.worked = n }()
	state, err := b.state("worked")
	if err != nil {
		return 0, err
	}
	s, _, err := b.relay(state, "default")
	if err != nil {
		return 0, err
	}
	defer func() { s.close(); b.stopKernel(state) }()
	if _, err := s.rate(onePlusOne, 20_000); err != nil {
		return 0, err
	}
	pid, err := kernelPID(state)
	if err != nil {
		return 0, err
	}
	return settled(pid, settleLate)
}

// settled is the least resident memory of a process while it is left alone.
func settled(pid, looks int) (float64, error) {
	least := 0.0
	for range looks {
		n, err := status(pid, "VmRSS")
		if err != nil {
			return 0, err
		}
		if least == 0 || n < least {
			least = n
		}
		time.Sleep(settlePause)
	}
	return least, nil
}

// relayMemory is the mean proportional memory of several relays.
func (b *bench) relayMemory() (float64, error) {
	if _, err := b.shoal(); err != nil {
		return 0, err
	}
	var all []*server
	defer func() {
		for _, s := range all {
			s.close()
		}
	}()
	for range relays {
		s, _, err := b.relay(b.warm, "default")
		if err != nil {
			return 0, err
		}
		all = append(all, s)
		if _, err := s.call(noOp.method, noOp.params); err != nil {
			return 0, err
		}
	}
	total := 0.0
	for _, s := range all {
		n, err := kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", s.cmd.Process.Pid), "Pss")
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total / relays, nil
}

// status reads one size of a process, in bytes.
func status(pid int, field string) (float64, error) {
	return kilobytes(fmt.Sprintf("/proc/%d/status", pid), field)
}

// kilobytes finds a line such as "Pss:   123 kB" and gives its bytes.
func kilobytes(file, field string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errAbsent, err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("%w: %s has no %s", errAbsent, file, field)
}

// load is the machine's load average, or "unknown".
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
