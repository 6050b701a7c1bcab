package kit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is a live process of this machine.
type Process struct {
	PID int
	Cmd string
}

// String is the process as a failure text names it.
func (p Process) String() string { return fmt.Sprintf("%d %s", p.PID, p.Cmd) }

// Processes lists the live processes whose environment holds the text. Those
// that have ended and wait to be reaped have no environment any more.
func Processes(text string) []Process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []Process
	for _, dir := range dirs {
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(text)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || state(pid) == "Z" {
			continue
		}
		cmd, _ := os.ReadFile(dir + "/cmdline")
		out = append(out, Process{pid, strings.TrimSpace(strings.ReplaceAll(string(cmd), "\x00", " "))})
	}
	return out
}

// Alive reports whether a process runs; one that only waits to be reaped does
// not.
func Alive(pid int) bool {
	s := state(pid)
	return s != "" && s != "Z" && s != "X"
}

// state is the process's state letter, "" when there is none such.
func state(pid int) string {
	_, rest := stat(pid)
	if len(rest) == 0 {
		return ""
	}
	return rest[0]
}

// stat is the process's command and the fields after it.
func stat(pid int) (comm string, rest []string) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", nil
	}
	text := string(raw)
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return "", nil
	}
	return text[open+1 : shut], strings.Fields(text[shut+1:])
}

// parent is the process's parent, 0 when there is none such.
func parent(pid int) int {
	_, rest := stat(pid)
	if len(rest) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(rest[1])
	return ppid
}

// Children lists the direct children of a process, ended ones included.
func Children(parent int) []Process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []Process
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		comm, rest := stat(pid)
		if len(rest) > 1 && rest[1] == strconv.Itoa(parent) {
			out = append(out, Process{pid, rest[0] + " " + comm})
		}
	}
	return out
}

// Descriptors is how many files a process has open.
func Descriptors(pid int) int {
	names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(names)
}

// Resident is a process's memory in bytes.
func Resident(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(raw))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// Kill sends a signal to one process.
func Kill(pid int, sig syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("kill %d: not a process of ours", pid)
	}
	return syscall.Kill(pid, sig)
}
