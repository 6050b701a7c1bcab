package interp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// shuttingChannels shut the gate of whoever emits.
type shuttingChannels struct {
	*quietChannels
	gate  *interp.Gate
	count atomic.Int32
}

func (c *shuttingChannels) Emit(context.Context, string, []byte) error {
	c.count.Add(1)
	c.gate.Shut()
	return nil
}

// What evaluates beside a suspended run rests with it, and a rest ends with the
// run's context too.
func TestGate(t *testing.T) {
	for _, src := range []string{
		`channel("a").emit(1); channel("a").emit(2)`,
		`parallel(() => { channel("a").emit(1); channel("a").emit(2) })`,
		`range(0, 2).stream().map(i => channel("a").emit(i)).buffer(1).collect()`,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &shuttingChannels{newQuiet(), &interp.Gate{}, atomic.Int32{}}
			s := newState()
			defer s.Close()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			start := func() chan error {
				ended := make(chan error, 1)
				p := must(t, src, s)
				go func() {
					_, err := p.Run(ctx, interp.Run{State: s, Host: &interp.Host{Channels: c}, Gate: c.gate})
					ended <- err
				}()
				synctest.Wait()
				return ended
			}
			ended := start()
			for want := int32(1); want <= 2; want++ {
				if got := c.count.Load(); got != want || !c.gate.IsShut() {
					t.Fatalf("%s: %d were emitted, want %d", src, got, want)
				}
				c.gate.Open()
				synctest.Wait()
			}
			c.gate.Open()
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", src, err)
			}
			ended = start()
			cancel()
			if err, ok := (<-ended).(*value.Error); !ok || err.Code != value.CodeCancelled {
				t.Errorf("%s: cancelled while suspended: got %v", src, err)
			}
		})
	}
}
