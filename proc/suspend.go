package proc

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// suspendBound is how long Suspend keeps stopping processes that keep forking.
const suspendBound = 2 * time.Second

// ErrNotStopped says that some process of the task escaped Suspend.
var ErrNotStopped = errors.New("suspend task: not every process stopped")

// Suspend stops every process of a task. It returns when all are stopped;
// processes that were stopped before stay so at Resume.
func (r *Runner) Suspend(task uint64) error {
	trees := r.treesOf(owner(task))
	all := append(trees, &Tree{r: r, who: owner(task), dead: true})
	for _, p := range r.members(all) {
		if p.State == "T" {
			noteStopped(trees, p)
		}
	}
	for _, t := range trees {
		t.mu.Lock()
		t.paused = true
		t.mu.Unlock()
	}
	began, clean := time.Now(), 0
	told := map[int]uint64{} // start of the processes that were told to stop
	for clean < 2 {
		for _, t := range trees {
			t.signalGroup(syscall.SIGSTOP)
		}
		running := 0
		for _, p := range r.members(all) {
			switch {
			case p.State == "T" || p.State == "t":
			case p.State == "D" && told[p.PID] == p.start:
				// In the kernel, for a child that was stopped before its exec, or
				// for a disk: it stops before it comes back.
			default:
				running++
				signalProc(p, syscall.SIGSTOP)
				told[p.PID] = p.start
			}
		}
		if running == 0 {
			clean++
			continue
		}
		clean = 0
		if time.Since(began) > suspendBound {
			return ErrNotStopped
		}
		sleep(context.Background(), 2*time.Millisecond)
	}
	return nil
}

// noteStopped remembers a process that its own shell had stopped.
func noteStopped(trees []*Tree, p Proc) {
	for _, t := range trees {
		t.mu.Lock()
		if t.stopped == nil {
			t.stopped = map[int]uint64{}
		}
		if !t.paused {
			t.stopped[p.PID] = p.start
		}
		t.mu.Unlock()
	}
}

// Resume continues what Suspend stopped.
func (r *Runner) Resume(task uint64) error {
	trees := r.treesOf(owner(task))
	keep := map[int]uint64{}
	for _, t := range trees {
		t.mu.Lock()
		for pid, start := range t.stopped {
			keep[pid] = start
		}
		t.paused, t.stopped = false, nil
		t.mu.Unlock()
	}
	for _, p := range r.members(append(trees, &Tree{r: r, who: owner(task), dead: true})) {
		if start, ok := keep[p.PID]; ok && start == p.start {
			continue
		}
		signalProc(p, syscall.SIGCONT)
	}
	return nil
}
