package proc

import (
	"errors"
	"runtime"
	"sync/atomic"
)

// budget bounds what all captures and outputs of a runner take together. What
// two of them share counts twice.
type budget struct{ memory, disk allowance }

// allowance is a number of bytes that may be in use at once.
type allowance struct {
	most int64
	used atomic.Int64
}

// errDiskBudget says that the spill files of all commands are full.
var errDiskBudget = errors.New("the outputs of all programs take as much disk as they may")

// firstBytes is how much of each stream stays in memory whatever the others
// take, so that short outputs need no file.
const firstBytes = 64 << 10

func newBudget(memory, disk int64) *budget {
	return &budget{memory: allowance{most: memory}, disk: allowance{most: disk}}
}

// take gives as many of n bytes as there are.
func (a *allowance) take(n int64) int64 {
	for {
		used := a.used.Load()
		n = max(0, min(n, a.most-used))
		if a.used.CompareAndSwap(used, used+n) {
			return n
		}
	}
}

// give brings n bytes back.
func (a *allowance) give(n int64) { a.used.Add(-n) }

// share is what one user has of an allowance. It comes back with release, or
// when nothing refers to the user any more. The nil share is without bounds.
type share struct {
	of   *allowance
	used atomic.Int64
}

// shareFor is the share of user in a, which may be nil.
func shareFor[T any](user *T, a *allowance) *share {
	if a == nil {
		return nil
	}
	s := &share{of: a}
	runtime.AddCleanup(user, (*share).release, s)
	return s
}

// keep gives room in memory for a stream that wants n bytes more.
func (s *share) keep(n int64) int64 {
	if s == nil {
		return n
	}
	first := max(0, min(n, firstBytes-s.used.Load()))
	s.of.used.Add(first)
	n = first + s.of.take(n-first)
	s.used.Add(n)
	return n
}

// spill takes n bytes of disk, all or none.
func (s *share) spill(n int64) error {
	if s == nil {
		return nil
	}
	if got := s.of.take(n); got < n {
		s.of.give(got)
		return errDiskBudget
	}
	s.used.Add(n)
	return nil
}

// release gives everything back.
func (s *share) release() {
	if s != nil {
		s.of.give(s.used.Swap(0))
	}
}
