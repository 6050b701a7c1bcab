package interp

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/lang/value"
)

// Memory bounds what the programs of one process hold together. What a value
// takes cannot be told from who holds it, so the bound is on the heap: a large
// request that would not fit is refused, and while a heap that small ones have
// filled is over the bound, the machines that have asked for most since it was
// half full are ended one after another. The zero Memory bounds nothing.
type Memory struct {
	limit   int64
	relieve func() bool // lets go of what is there for speed only; see OnShort

	mu      sync.Mutex
	running map[*Machine]struct{}
	looking bool
	ending  *Machine // was told to end
	left    bool     // it has ended, and nothing was collected since
	told    time.Time
}

// NewMemory bounds the heap by limit bytes.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, running: map[*Machine]struct{}{}}
}

// OnShort has relieve called before anybody is refused memory or ended for it:
// it begins to let go of what can be had again and reports whether there is
// anything. It is set before b is used.
func (b *Memory) OnShort(relieve func() bool) { b.relieve = relieve }

// relieved lets go of what can be had again, if there is anything, until fits
// says that it is enough or done that nobody waits any more.
func (b *Memory) relieved(fits func() bool, done <-chan struct{}) bool {
	if b.relieve == nil || !b.relieve() {
		return false
	}
	for range reliefTries {
		select {
		case <-time.After(reliefPause):
		case <-done:
			return false
		}
		if !collected(done) {
			return false
		}
		if fits() {
			return true
		}
	}
	return false
}

// collected has the collector run, and reports false when done came before its
// end.
func collected(done <-chan struct{}) bool {
	ready := make(chan struct{})
	go func() {
		runtime.GC()
		close(ready)
	}()
	select {
	case <-ready:
		return true
	case <-done:
		return false
	}
}

const (
	// lookEvery is how often the heap is looked at while programs run.
	lookEvery = 20 * time.Millisecond
	// largeRequest is from how many bytes on a request is compared with what is
	// left.
	largeRequest = 16 << 20
	// endWait is how long a machine has to notice that it must end before
	// another one is told to.
	endWait = 2 * time.Second
	// reliefTries is how often, with a pause each, it is looked whether what is
	// let go of has gone.
	reliefTries = 5
	reliefPause = 20 * time.Millisecond
)

// usage is what a machine has asked for, in bytes. What it writes for itself it
// publishes when it is asked through its signal word.
type usage struct {
	asked     int64 // so far; the machine's own
	published atomic.Int64
	before    int64 // published while the heap was not yet half full; guarded by Memory
}

// enter adds a machine that begins to evaluate.
func (b *Memory) enter(m *Machine) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[m] = struct{}{}
	if !b.looking {
		b.looking = true
		time.AfterFunc(lookEvery, b.look)
	}
}

func (b *Memory) leave(m *Machine) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, m)
	if b.ending == m {
		b.ending, b.left = nil, true
	}
}

// look compares the heap with the bound, as long as anything runs.
func (b *Memory) look() {
	fits := func() bool { return heapInUse() <= b.limit }
	if b.over() && !b.leftover(fits) && !b.relieved(fits, nil) {
		b.endGreediest()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	low := heapInUse() < b.limit/2
	for m := range b.running {
		if low {
			m.usage.before = m.usage.published.Load()
		}
		m.signal.Or(signalReport)
	}
	if b.looking = len(b.running) > 0; b.looking {
		time.AfterFunc(lookEvery, b.look)
	}
}

// over reports whether more lives than may. What is garbage the collector has
// to say first, unless there is so much that it cannot be waited for.
func (b *Memory) over() bool {
	used := heapInUse()
	if used <= b.limit {
		return false
	}
	b.mu.Lock()
	left := b.left
	b.left = false
	b.mu.Unlock()
	if left { // what lies there is that one's, not of those who run now
		runtime.GC()
		if used = heapInUse(); used <= b.limit {
			return false
		}
	}
	if used < b.limit+b.limit/2 && heapLive() < b.limit/4*3 {
		runtime.GC()
		return heapLive() >= b.limit/4*3
	}
	return true
}

// leftover reports whether nobody who runs has asked for much: then what lies
// there was others', and the collector makes it fit.
func (b *Memory) leftover(fits func() bool) bool {
	b.mu.Lock()
	most := int64(0)
	for m := range b.running {
		most = max(most, m.usage.recent())
	}
	b.mu.Unlock()
	if most > b.limit/8 {
		return false
	}
	runtime.GC()
	return fits()
}

// endGreediest ends the machine that has asked for most and has the collector
// take back what it held.
func (b *Memory) endGreediest() {
	b.mu.Lock()
	if b.ending != nil && b.ending.signal.Load()&signalFull != 0 && time.Since(b.told) < endWait {
		b.mu.Unlock()
		return
	}
	var most *Machine
	for m := range b.running {
		if most == nil || m.usage.recent() > most.usage.recent() {
			most = m
		}
	}
	if most != nil {
		most.usage.before = most.usage.published.Load() // next time it is another's turn
		most.signal.Or(signalFull)
		b.ending, b.told = most, time.Now()
	}
	b.mu.Unlock()
	runtime.GC()
}

func (u *usage) recent() int64 { return u.published.Load() - u.before }

// full is the error of a program that takes more than there is.
func (b *Memory) full() *value.Error {
	return value.Errorf(value.CodeOverflow, "out of memory: all programs together may hold %d MiB", b.limit>>20).
		WithHint("work in parts: a stream, `take`, or a file instead of a value; end what holds much: `jobs`, or rebind large names")
}

// Reserve asks for n bytes that are about to be allocated at once.
func (m *Machine) Reserve(n int64) error {
	m.usage.asked += n
	if err := m.reserve(n); err != nil {
		return err
	}
	return nil
}

func (m *Machine) reserve(n int64) *value.Error {
	if n < largeRequest || m.host == nil {
		return nil
	}
	b := m.host.Memory
	if b == nil || heapInUse()+n <= b.limit {
		return nil
	}
	if err := m.collect(); err != nil {
		return err
	}
	fits := func() bool { return heapInUse()+n <= b.limit }
	if fits() {
		return nil
	}
	relieved := false
	m.Outside(func() { relieved = b.relieved(fits, m.ctx.Done()) })
	switch {
	case relieved:
		return nil
	case m.ctx.Err() != nil:
		return m.cancelled()
	}
	return b.full()
}

// collect has the collector run, which a cancelled machine does not wait for.
func (m *Machine) collect() *value.Error {
	m.Outside(func() { collected(m.ctx.Done()) })
	if m.ctx.Err() != nil {
		return m.cancelled()
	}
	return nil
}

// charge counts a value that was made for the program.
func (m *Machine) charge(v value.Value) {
	switch v.Kind() {
	case value.KindStr:
		m.usage.asked += int64(len(v.AsStr()))
	case value.KindList:
		m.usage.asked += int64(len(v.AsList().Items)) * valueBytes
	default:
		m.usage.asked += valueBytes
	}
}

// operate applies an operator to evaluated operands, within the memory.
func (m *Machine) operate(o op, a, b value.Value) (value.Value, *value.Error) {
	if o == opAdd {
		if err := m.reserve(joined(a, b)); err != nil {
			return value.Null, err
		}
	}
	v, err := arith(o, a, b)
	if err == nil {
		m.charge(v)
	}
	return v, err
}

// joined is about how many bytes a + b needs; a list grows in place as a rule.
func joined(a, b value.Value) int64 {
	switch {
	case a.Kind() == value.KindStr && b.Kind() == value.KindStr:
		return int64(len(a.AsStr()) + len(b.AsStr()))
	case b.Kind() == value.KindList:
		return 2*valueBytes*int64(len(b.AsList().Items)) + madeRows(a)
	}
	return madeRows(a) + madeRows(b)
}

// madeRows is about how many bytes the rows of a table take as items of a list.
func madeRows(v value.Value) int64 {
	if v.Kind() != value.KindTable {
		return 0
	}
	return valueBytes*int64(v.AsTable().Len()) + v.AsTable().MakingRows()
}

// valueBytes is what an item of a list takes.
const valueBytes = 16

// heapInUse is what lives and what the collector has not yet found dead, in
// bytes.
func heapInUse() int64 { return metric("/memory/classes/heap/objects:bytes") }

// heapLive is what the last collection found alive, in bytes.
func heapLive() int64 { return metric("/gc/heap/live:bytes") }

func metric(name string) int64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
