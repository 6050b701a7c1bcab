package proc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Proc is a process somebody should know about.
type Proc struct {
	PID   int    `json:"pid"`
	State string `json:"state"` // one letter, as ps shows it
	Cmd   string `json:"cmd"`
	Task  uint64 `json:"task,omitempty"`

	pgrp  int
	start uint64 // in ticks since boot: with the pid, the identity
}

func describe(procs []Proc) string {
	var parts []string
	for i, p := range procs {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("and %d more", len(procs)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", p.PID, p.Cmd))
	}
	return strings.Join(parts, ", ")
}

// Tree is a process that was started as leader of its own session, and
// everything that descends from it.
type Tree struct {
	r     *Runner
	who   string // value of the mark, without the kernel id
	seq   string // value of the spawn mark; empty: the owner's mark decides
	root  int
	began uint64 // just before the start of the root, in ticks since boot

	mu      sync.Mutex
	dead    bool           // the root is reaped
	known   map[int]uint64 // descendants seen: pid to start
	stopped map[int]uint64 // stopped before Suspend, by pid to start
	paused  bool
}

// Track starts a process through start, which must make it the leader of a new
// session, unless it is to have the terminal of this one, and return its pid,
// and remembers its tree. The caller waits for the
// process, says Exited when it is reaped, and Drop when the tree is done with.
// An empty seq stands for "all processes with the owner's mark". Whoever starts
// a child in a session of its own must do so through Track, else it is taken
// for an orphan.
func (r *Runner) Track(who, seq string, start func() (pid int, err error)) (*Tree, error) {
	began := bootTicks()
	r.mu.Lock()
	r.starting++ // from here on there may be a child that nothing tells from an orphan
	r.mu.Unlock()
	pid, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting--
	if err != nil {
		return nil, err
	}
	t := &Tree{r: r, who: who, seq: seq, root: pid, began: began}
	r.own[pid] = true
	r.trees[t] = struct{}{}
	return t, nil
}

// Exited says that the root has been reaped.
func (t *Tree) Exited() { t.reaped() }

func (t *Tree) reaped() {
	t.mu.Lock()
	t.dead = true
	t.mu.Unlock()
	t.r.mu.Lock()
	delete(t.r.own, t.root)
	t.r.mu.Unlock()
}

// Drop forgets the tree. What may be left of it is found by its mark only.
func (t *Tree) Drop() {
	t.r.mu.Lock()
	delete(t.r.trees, t)
	t.r.mu.Unlock()
}

// groupGone reports cheaply that the root's group has no member left.
func (t *Tree) groupGone() bool { return syscall.Kill(-t.root, 0) == syscall.ESRCH }

// signalGroup reaches the whole group at once, also processes being forked.
// It is refused once the root is reaped, when the number may be another's.
func (t *Tree) signalGroup(sig syscall.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.dead && syscall.Kill(-t.root, sig) == nil
}

// Alive lists the members of the tree that live, zombies excluded.
func (t *Tree) Alive() []Proc { return t.r.members([]*Tree{t}) }

// End ends the tree by the ladder and returns what survived it.
func (t *Tree) End(ctx context.Context, l Ladder) []Proc { return t.r.end(ctx, []*Tree{t}, l) }

// Step is one rung of a ladder: signals sent a while after the beginning.
type Step struct {
	After   time.Duration
	Signals []syscall.Signal
}

// Ladder is how a tree is ended: each step reaches every process that still
// lives, the last one again and again until Bound.
type Ladder struct {
	Steps []Step
	Bound time.Duration
}

// CancelLadder is INT at once, TERM after 0.5 s, KILL after 2 s.
func CancelLadder() Ladder {
	return Ladder{Bound: 2900 * time.Millisecond, Steps: []Step{
		{0, []syscall.Signal{syscall.SIGINT}},
		{500 * time.Millisecond, []syscall.Signal{syscall.SIGTERM}},
		{2 * time.Second, []syscall.Signal{syscall.SIGKILL}},
	}}
}

// KillLadder is KILL at once.
func KillLadder() Ladder {
	return Ladder{Bound: time.Second, Steps: []Step{{0, []syscall.Signal{syscall.SIGKILL}}}}
}

// TerminalLadder is what a terminal's hang-up does, and KILL after 300 ms.
func TerminalLadder() Ladder {
	return Ladder{Bound: 1300 * time.Millisecond, Steps: []Step{
		{0, []syscall.Signal{syscall.SIGHUP, syscall.SIGCONT, syscall.SIGTERM}},
		{300 * time.Millisecond, []syscall.Signal{syscall.SIGKILL}},
	}}
}

// KillTree ends everything that belongs to a task, running or left over, and
// returns what survived. Cancelling ctx skips to the last step.
func (r *Runner) KillTree(ctx context.Context, task uint64, l Ladder) []Proc {
	return r.withTask(task, func(trees []*Tree) []Proc { return r.end(ctx, trees, l) })
}

// Leftovers lists what lives of a task.
func (r *Runner) Leftovers(task uint64) []Proc {
	return r.withTask(task, r.members)
}

// withTask runs f over the task's trees, and one more that stands for all that
// carries its mark.
func (r *Runner) withTask(task uint64, f func([]*Tree) []Proc) []Proc {
	trees := r.treesOf(owner(task))
	all := &Tree{r: r, who: owner(task), dead: true}
	left := f(append(trees, all))
	if len(left) == 0 {
		for _, t := range trees {
			t.mu.Lock()
			dead := t.dead
			t.mu.Unlock()
			if dead {
				t.Drop()
			}
		}
	}
	return left
}

func (r *Runner) treesOf(who string) []*Tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*Tree
	for t := range r.trees {
		if t.who == who {
			found = append(found, t)
		}
	}
	return found
}

// KillAll ends every tree, and every orphan that the runner has adopted from
// one, and returns what survived.
func (r *Runner) KillAll(ctx context.Context, l Ladder) []Proc {
	r.mu.Lock()
	trees := make([]*Tree, 0, len(r.trees)+1)
	for t := range r.trees {
		trees = append(trees, t)
	}
	r.mu.Unlock()
	return r.end(ctx, append(trees, &Tree{r: r, who: anyOwner, dead: true}), l)
}

// anyOwner stands for every owner of this kernel.
const anyOwner = "*"

// end walks the ladder. New members are sought at every look, until two looks
// in a row find none.
func (r *Runner) end(ctx context.Context, trees []*Tree, l Ladder) []Proc {
	began := time.Now()
	sent := map[int]procSent{}
	step, pause, empty := 0, 2*time.Millisecond, 0
	grouped := make([]int, 0, len(trees))
	for {
		for step+1 < len(l.Steps) && (ctx.Err() != nil || time.Since(began) >= l.Steps[step+1].After) {
			step++
		}
		sigs := l.Steps[step].Signals
		last := step == len(l.Steps)-1
		groups := map[int]bool{}
		for i, t := range trees {
			if i >= len(grouped) {
				grouped = append(grouped, -1)
			}
			if grouped[i] < step && t.root != 0 {
				grouped[i] = step
				groups[t.root] = r.signalAll(t, sigs)
			}
		}
		alive := r.members(trees)
		for _, p := range alive {
			done, seen := sent[p.PID]
			if seen && done.start == p.start && done.step == step && !last {
				continue
			}
			sent[p.PID] = procSent{start: p.start, step: step}
			if !groups[p.pgrp] {
				signalProc(p, sigs...)
			}
		}
		if len(alive) > 0 {
			empty = 0
		} else if empty++; empty == 2 {
			return nil
		}
		if time.Since(began) > l.Bound {
			return alive
		}
		wait := pause
		if step+1 < len(l.Steps) && ctx.Err() == nil {
			wait = min(wait, time.Until(began.Add(l.Steps[step+1].After)))
		}
		sleep(ctx, wait)
		pause = min(pause*2, 50*time.Millisecond)
	}
}

// procSent is what a process was sent last.
type procSent struct {
	start uint64
	step  int
}

// signalAll sends signals to a tree's group, waking it when it was suspended.
func (r *Runner) signalAll(t *Tree, sigs []syscall.Signal) bool {
	t.mu.Lock()
	paused := t.paused
	t.paused = false
	t.mu.Unlock()
	ok := true
	for _, sig := range sigs {
		ok = t.signalGroup(sig) && ok
	}
	if paused {
		t.signalGroup(syscall.SIGCONT)
	}
	return ok
}

// sleep waits without losing a cancellation that comes meanwhile; one that has
// come already does not shorten it.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	if ctx.Err() != nil {
		<-timer.C
		return
	}
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
