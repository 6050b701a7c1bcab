package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// peerTime is how long a peer may take for one piece of work.
const peerTime = 20 * time.Second

// peerKind is a program that evaluates a source.
type peerKind struct {
	flags []string // before the source
	empty string   // a source that does nothing
}

var peerKinds = map[string]peerKind{
	"nu":      {[]string{"-n", "--no-std-lib", "-c"}, "null"},
	"elvish":  {[]string{"-norc", "-c"}, "nop"},
	"bash":    {[]string{"--norc", "-c"}, ":"},
	"dash":    {[]string{"-c"}, ":"},
	"python3": {[]string{"-I", "-S", "-c"}, "pass"},
	"node":    {[]string{"-e"}, "0"},
	"jq":      {[]string{"-c", "-n"}, "empty"},
}

// rivalsOf makes the rivals of a workload. They work in the data directory.
func (b *bench) rivalsOf(w workload) []rival {
	var out []rival
	for _, p := range w.peers {
		kind := peerKinds[p.program]
		out = append(out, rival{
			name: cmp.Or(p.name, p.program),
			cost: func() (float64, error) { return b.peerCost(p.program, p.arguments(), p.want(w)) },
			start: func() (float64, error) {
				return b.peerCost(p.program, append(slices.Clone(kind.flags), kind.empty), "")
			},
		})
	}
	return out
}

// arguments are what the peer's program is started with.
func (p peerSource) arguments() []string {
	return slices.Concat(peerKinds[p.program].flags, []string{p.source}, p.files)
}

// want is what the peer's output ends with.
func (p peerSource) want(w workload) string { return cmp.Or(p.ends, w.want) }

// peerCost is the processor time in seconds that a peer, with all it started,
// takes for a source whose output ends in want.
func (b *bench) peerCost(program string, args []string, want string) (float64, error) {
	file, err := b.peerProgram(program)
	if err != nil {
		return 0, err
	}
	dir, err := b.data()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(b.ctx, peerTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Dir, cmd.Env = dir, append(environment(b.root), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%w: %s takes more than %v", errAbsent, program, peerTime)
	case err != nil:
		return 0, fmt.Errorf("%w: %s fails: %w: %.200s", errAbsent, program, err, stderr.Bytes())
	}
	if got := strings.TrimSpace(string(out)); !strings.HasSuffix(got, want) {
		return 0, fmt.Errorf("%w: %s gives %.80q instead of %.80q", errAbsent, program, got[max(0, len(got)-80):], want)
	}
	used := cmd.ProcessState
	return (used.UserTime() + used.SystemTime()).Seconds(), nil
}

// peerProgram finds a peer, or fetches it: elvish and jq from Debian, nushell
// from npm. It looks once.
func (b *bench) peerProgram(name string) (string, error) {
	if known, ok := b.programs[name]; ok {
		return known.file, known.err
	}
	var p peerFile
	switch name {
	case "nu":
		p.file, p.err = b.nuProgram()
	case "python3":
		p.file, p.err = realPython()
	default:
		p.file, p.err = exec.LookPath(name)
		if p.err != nil {
			p.file, p.err = b.fromDebian(name)
		}
	}
	if p.err != nil {
		p.err = fmt.Errorf("%w: %s: %w", errAbsent, name, p.err)
	}
	b.programs[name] = p
	return p.file, p.err
}

// peerFile is where a peer is.
type peerFile struct {
	file string
	err  error
}

// realPython is the interpreter itself where the one in PATH is a script that
// looks for it.
func realPython() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
}

// fromDebian unpacks a package into the temporary directory.
func (b *bench) fromDebian(name string) (string, error) {
	ctx, cancel := context.WithTimeout(b.ctx, installTime)
	defer cancel()
	dir := filepath.Join(b.root, "debian-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, line := range [][]string{
		{"apt-get", "download", name},
		{"sh", "-c", "dpkg-deb -x ./*.deb ."},
	} {
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %.200s", strings.Join(line, " "), err, out)
		}
	}
	return exec.LookPath(filepath.Join(dir, "usr", "bin", name))
}

// evaluateCost is the processor time in seconds that the warm kernel, and the
// children it has reaped, take for a source.
func (b *bench) evaluateCost(src, want string) (float64, error) {
	if _, err := b.shoal(); err != nil {
		return 0, err
	}
	pid, err := kernelPID(b.warm)
	if err != nil {
		return 0, err
	}
	before, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	if _, err := b.evaluate(src, want); err != nil {
		return 0, err
	}
	after, err := processorTime(pid)
	return (after - before).Seconds(), err
}

// processorTime is what a process has used so far: its own threads to the
// nanosecond, its reaped children to the tick.
func processorTime(pid int) (time.Duration, error) {
	var own unix.Timespec
	if err := unix.ClockGettime(processClock(pid), &own); err != nil {
		return 0, fmt.Errorf("clock of process %d: %w", pid, err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	var user, system int64
	_, after, _ := strings.Cut(string(stat), ") ") // past the name, which may hold anything
	fields := strings.Fields(after)
	if len(fields) < 15 {
		return 0, errors.New("stat: line too short")
	}
	_, err = fmt.Sscan(fields[13]+" "+fields[14], &user, &system)
	return time.Duration(own.Nano()) + time.Duration(user+system)*tick, err
}

// tick is the unit of the times in /proc/PID/stat.
const tick = time.Second / 100

// processClock is the clock that counts the processor time of a process, as
// clock_getcpuclockid(3) makes it.
func processClock(pid int) int32 { return int32(^pid)<<3 | 2 }
