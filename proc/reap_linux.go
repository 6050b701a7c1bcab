package proc

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// reapDelay gives those who wait for a child of their own the time to do so
// before the reaper looks.
const reapDelay = 50 * time.Millisecond

// startReaper makes orphaned descendants children of this process and reaps
// them. Adopted is a zombie child that nobody of ours waits for and that lives
// in another session than ours; children that other code starts without a new
// session are never touched.
func (r *Runner) startReaper() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		r.log.Warn("cannot adopt orphans", "err", err)
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	r.reaper.Add(1)
	go func() {
		defer r.reaper.Done()
		defer signal.Stop(died)
		timer := time.NewTimer(0)
		defer timer.Stop()
		armed := true
		arm := func() {
			if !armed {
				armed = true
				timer.Reset(reapDelay)
			}
		}
		for {
			select {
			case <-r.stop:
				return
			case <-died:
				arm()
			case <-timer.C:
				armed = false
				if r.reapAdopted() {
					arm()
				}
			}
		}
	}()
}

// reapAdopted reaps until the first zombie is not one of ours to reap; it
// reports whether another look is due because of that one.
func (r *Runner) reapAdopted() (again bool) {
	r.spawn.Lock()
	defer r.spawn.Unlock()
	mine, _ := unix.Getsid(0)
	for {
		pid := zombieChild()
		if pid <= 0 {
			return false
		}
		r.mu.Lock()
		own := r.own[pid]
		r.mu.Unlock()
		if own {
			return true
		}
		if sid, err := unix.Getsid(pid); err != nil || sid == mine {
			return err == nil
		}
		var ws unix.WaitStatus
		if got, err := unix.Wait4(pid, &ws, unix.WNOHANG, nil); err != nil || got != pid {
			return false
		}
	}
}
