package supervisor

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// poolIdle is how many goroutines wait for work at most.
const poolIdle = 64

// throughput is how many messages an actor handles before it lets others run.
const throughput = 300

// pool runs mailboxes, and what else is short, on goroutines that are used again:
// a new goroutine would grow its stack anew for every message to a quiet actor,
// which costs more than most handlers do. Any number may run; a few wait.
type pool struct {
	work chan func() // taken by a goroutine that waits
	idle atomic.Int32
	quit chan struct{}
	stop sync.Once
}

var _ actor.Dispatcher = (*pool)(nil)

func newPool() *pool { return &pool{work: make(chan func()), quit: make(chan struct{})} }

// Schedule runs fn on a goroutine of its own. It never waits.
func (p *pool) Schedule(fn func()) {
	select {
	case p.work <- fn:
	default:
		go p.run(fn)
	}
}

// Throughput is how many messages are handled before a goroutine yields.
func (p *pool) Throughput() int { return throughput }

// run runs fn, and what else there is to run, until too many wait or the pool
// is closed.
func (p *pool) run(fn func()) {
	for {
		fn()
		if p.idle.Add(1) > poolIdle {
			p.idle.Add(-1)
			return
		}
		select {
		case fn = <-p.work:
			p.idle.Add(-1)
		case <-p.quit:
			return
		}
	}
}

// close lets the waiting goroutines go; what is scheduled later still runs.
func (p *pool) close() { p.stop.Do(func() { close(p.quit) }) }
