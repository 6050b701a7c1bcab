package interp

import (
	"sync/atomic"
	"time"

	"shoal.dev/shoal/lang/value"
)

// attendEvery is how often a machine that waits for work apart looks at its
// signals.
const attendEvery = 20 * time.Millisecond

// Apart runs work that cannot be interrupted, such as a library's parser, on a
// goroutine of its own, so that m can end meanwhile. Then the error says why,
// stop says so too from there on, and the result of work is dropped: work must
// touch nothing of the program and come to an end by itself.
func Apart[T any](m *Machine, work func(stop func() error) (T, error)) (T, error) {
	var (
		result, none T
		failed       error
		fault        any
		left         atomic.Bool
		done         = make(chan struct{})
	)
	stop := func() error {
		if left.Load() {
			return value.Errorf(value.CodeCancelled, "cancelled")
		}
		return nil
	}
	go func() {
		defer close(done)
		defer func() { fault = recover() }()
		result, failed = work(stop)
	}()
	for tick := time.NewTicker(attendEvery); ; {
		ended := false
		m.Outside(func() {
			select {
			case <-done:
				ended = true
			case <-m.ctx.Done():
			case <-tick.C:
			}
		})
		if ended {
			tick.Stop()
			if fault != nil {
				panic(fault)
			}
			return result, failed
		}
		err := m.Check()
		if err == nil && m.ctx.Err() != nil {
			err = m.cancelled()
		}
		if err != nil {
			tick.Stop()
			left.Store(true)
			return none, err
		}
	}
}
