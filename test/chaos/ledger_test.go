package chaos

import (
	"fmt"
	"sync"
	"testing"
)

// mark is the value that one call writes: it names its writer and its turn.
type mark struct{ Caller, N int64 }

// source is the mark as a Shoal record.
func (m mark) source() string { return fmt.Sprintf("{caller: %d, n: %d}", m.Caller, m.N) }

// ledger is what the kernel has acknowledged: it must hold it against anything
// that happens later.
type ledger struct {
	t testing.TB

	mu    sync.Mutex
	refs  map[string]mark // session and ref to value
	order []string        // keys of refs, oldest first
	tasks map[string]bool
	sent  map[mark]bool // published, true once acknowledged
	acked int
	lost  int
}

func newLedger(t testing.TB) *ledger {
	return &ledger{t: t, refs: map[string]mark{}, tasks: map[string]bool{}, sent: map[mark]bool{}}
}

func refKey(session, ref string) string { return session + " " + ref }

// value notes that a ref was acknowledged with a value. No ref may come twice.
func (l *ledger) value(session, ref string, m mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := refKey(session, ref)
	if before, twice := l.refs[key]; twice {
		l.t.Errorf("%s was given out twice: for %v and for %v", key, before, m)
	}
	l.refs[key] = m
	l.order = append(l.order, key)
	l.acked++
}

// task notes that a task's number was given out. None may come twice.
func (l *ledger) task(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks[id] {
		l.t.Errorf("%s was given out twice", id)
	}
	l.tasks[id] = true
}

// publishing notes that a mark is about to be published, published that it was.
func (l *ledger) publishing(m mark) { l.note(m, false) }
func (l *ledger) published(m mark)  { l.note(m, true) }

func (l *ledger) note(m mark, acked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[m] = acked
	if acked {
		l.acked++
	}
}

// call counts a call without a value of its own, answered or lost.
func (l *ledger) call(answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answered {
		l.acked++
	} else {
		l.lost++
	}
}

func (l *ledger) answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

// since is what was acknowledged after the first n values.
func (l *ledger) since(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.order[n:]...)
}

func (l *ledger) valueOf(key string) mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refs[key]
}

// binding is a name whose newest acknowledged value is known. A call that was
// lost may have changed it all the same.
type binding struct {
	acked int64
	maybe map[int64]bool // lost calls since
}

func (b *binding) set(n int64)  { b.acked, b.maybe = n, map[int64]bool{} }
func (b *binding) lost(n int64) { b.maybe[n] = true }

// check holds what the kernel says against what may be.
func (b *binding) check(n int64) error {
	if n == b.acked || b.maybe[n] {
		return nil
	}
	return fmt.Errorf("it holds turn %d, acknowledged was %d, lost since %v", n, b.acked, b.maybe)
}
