package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// status is one process as /proc/PID/stat shows it.
type status struct {
	pid, ppid, pgrp, session int
	state                    byte
	comm                     string
	start                    uint64
}

func (s status) dead() bool { return s.state == 'Z' || s.state == 'X' }

func readStatus(pid int) (status, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open || end+2 > len(b) {
		return status{}, false
	}
	f := strings.Fields(string(b[end+2:]))
	if len(f) < 20 {
		return status{}, false
	}
	s := status{pid: pid, state: f[0][0], comm: string(b[open+1 : end])}
	s.ppid, _ = strconv.Atoi(f[1])
	s.pgrp, _ = strconv.Atoi(f[2])
	s.session, _ = strconv.Atoi(f[3])
	s.start, _ = strconv.ParseUint(f[19], 10, 64)
	return s, true
}

// processes reads the whole process table except kernel threads.
func processes() []status {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []status
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStatus(pid); ok && pid != 2 && s.ppid != 2 {
			all = append(all, s)
		}
	}
	return all
}

// marks reads the two variables out of a process's environment. A process that
// hides it, or is dead, has none.
func marks(pid int) (mark, seq string) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", ""
	}
	return envValue(b, MarkVar), envValue(b, spawnVar)
}

func envValue(env []byte, name string) string {
	key := []byte(name + "=")
	for len(env) > 0 {
		at := bytes.Index(env, key)
		if at < 0 {
			return ""
		}
		if at == 0 || env[at-1] == 0 {
			v, _, _ := bytes.Cut(env[at+len(key):], []byte{0})
			return string(v)
		}
		env = env[at+len(key):]
	}
	return ""
}

// bootTicks is the present time in the unit of a process's start, rounded down
// by one more tick.
func bootTicks() uint64 {
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	ticks := uint64(ts.Sec)*ticksPerSecond + uint64(ts.Nsec)*ticksPerSecond/1e9
	return max(ticks, 1) - 1
}

// maxCmd is how much of a command line is shown, in bytes.
const maxCmd = 200

func cmdline(s status) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(s.pid) + "/cmdline")
	if err != nil || len(b) == 0 {
		return "[" + s.comm + "]"
	}
	line := bytes.ReplaceAll(bytes.TrimRight(b, "\x00"), []byte{0}, []byte{' '})
	if len(line) > maxCmd {
		line = append(line[:WholeRunes(line[:maxCmd])], "…"...)
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}

func (s status) proc(task uint64) Proc {
	return Proc{PID: s.pid, State: string(s.state), Cmd: cmdline(s), Task: task, pgrp: s.pgrp, start: s.start}
}

// members finds every living process of the trees: by mark, by session and
// group of the root, by descent, and by having been seen before. A process
// that carries another mark belongs to somebody else.
func (r *Runner) members(trees []*Tree) []Proc {
	before := r.soleOwners(trees)
	all := processes()
	self := os.Getpid()
	mySession, _ := unix.Getsid(0)
	children := make(map[int][]int, len(all))
	byPID := make(map[int]status, len(all))
	for _, s := range all {
		children[s.ppid] = append(children[s.ppid], s.pid)
		byPID[s.pid] = s
	}
	picked := map[int]bool{}
	foreign := map[int]bool{}
	var queue []int
	pick := func(pid int) {
		if pid != self && !picked[pid] && !foreign[pid] {
			picked[pid] = true
			queue = append(queue, pid)
		}
	}
	sel := newSelection(r, trees, before)
	for _, s := range all {
		if s.pid == self || s.session == mySession || s.dead() {
			continue
		}
		mark, seq := marks(s.pid)
		switch sel.match(s, mark, seq, s.ppid == self) {
		case yes:
			pick(s.pid)
		case no:
			foreign[s.pid] = true
		}
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range children[pid] {
			pick(child)
		}
	}
	var alive []Proc
	for pid := range picked {
		if s := byPID[pid]; !s.dead() {
			sel.remember(s)
			alive = append(alive, s.proc(sel.task))
		}
	}
	return sorted(alive)
}

// signalProc signals one process by descriptor, after making sure that it is
// still the one that was meant.
func signalProc(p Proc, sigs ...syscall.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if s, ok := readStatus(p.PID); !ok || s.start != p.start {
		return
	}
	for _, sig := range sigs {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// Sweep ends every process of this user that carries the kernel's mark, except
// itself and its ancestors: what an earlier kernel left. Call it once, before
// anything is started. It returns what it found.
func (r *Runner) Sweep() []Proc {
	spared := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !spared[pid]; {
		spared[pid] = true
		s, _ := readStatus(pid)
		pid = s.ppid
	}
	var found []Proc
	seen := map[int]bool{}
	for pass, empty := 0, 0; pass < 200 && empty < 2; pass++ {
		living := 0
		for _, s := range processes() {
			if spared[s.pid] || s.dead() || !mine(s.pid) {
				continue
			}
			mark, _ := marks(s.pid)
			_, task, ok := unmark(mark, r.opts.KernelID)
			if !ok {
				continue
			}
			living++
			p := s.proc(task)
			if !seen[s.pid] {
				seen[s.pid] = true
				found = append(found, p)
			}
			signalProc(p, syscall.SIGKILL)
		}
		if living == 0 {
			empty++
			continue
		}
		empty = 0
		pauseBriefly(pass)
	}
	return sorted(found)
}

func mine(pid int) bool {
	var st unix.Stat_t
	err := unix.Stat("/proc/"+strconv.Itoa(pid), &st)
	return err == nil && int(st.Uid) == os.Geteuid()
}
