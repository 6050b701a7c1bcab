package main

import (
	"fmt"
	"time"
)

// A session's line with one execution that sleeps and those that queue behind
// it, and the calls that are made beside it.
const (
	queuedExecs = 11
	besideCalls = 50
)

// besideRows measure what a blocked line costs calls that do not stand in it:
// the slowest of them counts.
func (b *bench) besideRows() []row {
	return []row{
		{key: "beside.calls", what: "slowest of 50 calls beside a line of 12", unit: millis,
			ours: b.beside(func(blocked, _ *server) *server { return blocked }, noOp), most: 0.050},
		{key: "beside.session", what: "slowest of 50 `1 + 1` in a second session beside it", unit: millis,
			ours: b.beside(func(_, other *server) *server { return other }, onePlusOne), most: 0.050},
	}
}

// beside blocks a session's line, makes the calls on the connection that of
// chooses, and lets the line go on.
func (b *bench) beside(of func(blocked, other *server) *server, c call) probe {
	return func() (worst float64, err error) {
		if _, err := b.shoal(); err != nil {
			return 0, err
		}
		blocked, _, err := b.relay(b.warm, "blocked")
		if err != nil {
			return 0, err
		}
		defer blocked.close()
		other, _, err := b.relay(b.warm, "other")
		if err != nil {
			return 0, err
		}
		defer other.close()
		waiting := map[int]bool{}
		for i := range 1 + queuedExecs {
			src := onePlusOne
			if i == 0 {
				src = tool("shoal_exec", `{"src":"^sleep 1"}`)
			}
			id, err := blocked.write(src.method, src.params)
			if err != nil {
				return 0, err
			}
			waiting[id] = true
		}
		s := of(blocked, other)
		for range besideCalls {
			took, err := s.timed(c)
			if err != nil {
				return 0, fmt.Errorf("beside a blocked line: %w", err)
			}
			worst = max(worst, took.Seconds())
		}
		for range 1 + queuedExecs {
			a, err := blocked.read()
			if err != nil {
				return 0, err
			}
			if !waiting[*a.ID] {
				return 0, fmt.Errorf("answer to %d, which was not asked or answered before", *a.ID)
			}
			delete(waiting, *a.ID)
		}
		return worst, nil
	}
}

// timed makes one call. That its answer is the next one shows that no blocked
// execution was let past, and that the line was still blocked.
func (s *server) timed(c call) (time.Duration, error) {
	start := time.Now()
	_, err := s.call(c.method, c.params)
	return time.Since(start), err
}
