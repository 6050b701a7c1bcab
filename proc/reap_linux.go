package proc

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reapEvery is how often the reaper looks while there is a zombie; reapAge is
// how long one must have been seen: whoever waits for a child takes it at once.
const (
	reapEvery = 100 * time.Millisecond
	reapAge   = 300 * time.Millisecond
)

// startReaper makes orphaned descendants children of this process and reaps
// them. Adopted is a zombie child that nobody takes and that lived in another
// session than ours; children that other code starts without a new session are
// never touched.
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
		seen := map[int]time.Time{}
		arm := func() {
			if !armed {
				armed = true
				timer.Reset(reapEvery)
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
				if r.reapAdopted(seen) {
					arm()
				}
			}
		}
	}()
}

// reapAdopted reaps the zombies that have been seen long enough; it reports
// whether another look is due.
func (r *Runner) reapAdopted(seen map[int]time.Time) (again bool) {
	if zombieChild() == 0 {
		clear(seen)
		return false
	}
	mine, _ := unix.Getsid(0)
	zombies := map[int]bool{}
	for _, pid := range children() {
		if s, ok := readStatus(pid); ok && s.state == 'Z' && s.session != mine && !r.isOwn(pid) {
			zombies[pid] = true
		}
	}
	for pid := range seen {
		if !zombies[pid] {
			delete(seen, pid)
		}
	}
	for pid := range zombies {
		since, ok := seen[pid]
		switch {
		case !ok:
			seen[pid] = time.Now()
		case time.Since(since) >= reapAge:
			var ws unix.WaitStatus
			unix.Wait4(pid, &ws, unix.WNOHANG, nil)
			delete(seen, pid)
		}
	}
	return true
}

func (r *Runner) isOwn(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own[pid]
}

// children lists the children of the main thread, to which orphans go.
func children() []int {
	self := strconv.Itoa(os.Getpid())
	b, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if err != nil {
		return []int{zombieChild()}
	}
	var pids []int
	for _, f := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
