package supervisor

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox is an unbounded mailbox. It stands in for the library's because that
// one (a) cannot take a post between an actor's registration and its start: it
// crashes the sender; (b) may hand one more user message to a failed actor; (c)
// keeps the memory of its largest burst for ever.
//
// System messages come before user messages. Nothing is delivered before
// Start; then Started is first. User messages wait while the guard holds them.
// Suspending and resuming is the guard's business, so the library's messages
// for it are dropped.
type mailbox struct {
	guard      *guard
	dispatcher actor.Dispatcher
	stops      atomic.Int32 // how often the actor was told to stop

	mu      sync.Mutex
	system  queue
	user    queue
	started bool // Start was called
	active  bool // a goroutine runs messages, or is about to
	held    bool // user messages wait
}

// RegisterHandlers puts the guard in front of the library's context.
func (m *mailbox) RegisterHandlers(lib actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.guard.lib, m.dispatcher = lib, dispatcher
}

// PostUserMessage queues a message for the actor.
func (m *mailbox) PostUserMessage(msg any) {
	if _, ok := msg.(*actor.PoisonPill); ok {
		m.stops.Add(1)
	}
	m.mu.Lock()
	m.user.push(msg)
	m.unlockAndRun()
}

// PostSystemMessage queues a message for the library.
func (m *mailbox) PostSystemMessage(msg any) {
	switch msg.(type) {
	case *actor.SuspendMailbox, *actor.ResumeMailbox:
		return
	case *actor.Stop:
		m.stops.Add(1)
	}
	m.mu.Lock()
	if _, ok := msg.(*actor.Started); ok {
		m.system.pushFront(msg)
	} else {
		m.system.push(msg)
	}
	m.unlockAndRun()
}

// Start begins delivery.
func (m *mailbox) Start() {
	m.mu.Lock()
	m.started = true
	m.unlockAndRun()
}

// UserMessageCount is how many messages wait for the actor.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// hold keeps user messages back, or releases them. It is called only by the
// goroutine that runs the mailbox, so there is nobody to wake.
func (m *mailbox) hold(held bool) {
	m.mu.Lock()
	m.held = held
	m.mu.Unlock()
}

// unlockAndRun unlocks m.mu and sees to it that what is due gets run.
func (m *mailbox) unlockAndRun() {
	due := m.started && !m.active && (m.system.len() > 0 || !m.held && m.user.len() > 0)
	if due {
		m.active = true
	}
	m.mu.Unlock()
	if due {
		m.dispatcher.Schedule(m.run)
	}
}

// next takes the next message that is due. When there is none the goroutine has
// given up its turn and must leave.
func (m *mailbox) next() (msg any, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.system.len() > 0 {
		return m.system.pop(), true, true
	}
	if !m.held && m.user.len() > 0 {
		return m.user.pop(), false, true
	}
	m.active = false
	return nil, false, false
}

func (m *mailbox) run() {
	for m.burst() {
	}
}

// burst handles messages until none is due or one panics; then it returns true.
func (m *mailbox) burst() (panicked bool) {
	var msg any
	orderly := false
	defer func() {
		if orderly {
			return
		}
		if r := recover(); r != nil {
			m.guard.EscalateFailure(r, msg)
			panicked = true
			return
		}
		// A handler called runtime.Goexit: this goroutine is lost.
		m.guard.EscalateFailure("handler ended its goroutine", msg)
		m.dispatcher.Schedule(m.run)
	}()
	for handled := 1; ; handled++ {
		var system, ok bool
		if msg, system, ok = m.next(); !ok {
			orderly = true
			return false
		}
		if system {
			m.guard.InvokeSystemMessage(msg)
		} else {
			m.guard.InvokeUserMessage(msg)
		}
		if handled%m.dispatcher.Throughput() == 0 {
			runtime.Gosched()
		}
	}
}

// queue is a first-in, first-out list.
type queue struct {
	items []any
	head  int // items before it are taken
}

// keepCap is the greatest capacity that an empty queue holds on to.
const keepCap = 64

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) push(msg any) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		rest := copy(q.items, q.items[q.head:])
		clear(q.items[rest:])
		q.items, q.head = q.items[:rest], 0
	}
	q.items = append(q.items, msg)
}

func (q *queue) pushFront(msg any) { q.items = slices.Insert(q.items, q.head, msg) }

func (q *queue) pop() any {
	msg := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		if cap(q.items) > keepCap {
			q.items = nil
		}
	}
	return msg
}
