//go:build !linux

package proc

import "syscall"

// status is one process. Without /proc only the roots' groups are known.
type status struct {
	pid, ppid, pgrp, session int
	start                    uint64
}

func bootTicks() uint64 { return 0 }

// members names the groups of the roots that still have a member.
func (r *Runner) members(trees []*Tree) []Proc {
	sel := newSelection(r, trees, r.soleOwners(trees))
	var alive []Proc
	for pid := range sel.roots {
		if err := syscall.Kill(-pid, 0); err == nil {
			sel.remember(status{pid: pid})
			alive = append(alive, Proc{PID: pid, State: "?", Cmd: "process group", Task: sel.task, pgrp: pid})
		}
	}
	return sorted(alive)
}

func signalProc(p Proc, sigs ...syscall.Signal) {
	for _, sig := range sigs {
		syscall.Kill(-p.PID, sig)
	}
}

// Sweep finds nothing: without /proc the mark cannot be read.
func (r *Runner) Sweep() []Proc { return nil }

// startReaper has nothing to do: orphans go to init.
func (r *Runner) startReaper() {}
