package ptyactor

import (
	"context"
	"sync"

	"shoal.dev/shoal/messages"
)

// Whoever asked an actor that has crashed asks again, so requests that must not
// happen twice are remembered for a while.
const (
	// sendsMax is how many sends of each connection are remembered.
	sendsMax = 64
	// callsMax is how many opens and closes are.
	callsMax = 256
)

// sends are the newest sends of one connection.
type sends struct {
	last   uint64
	recent map[uint64]finishSend
}

// againLocked is the send that has come before under the same number. One that
// others of its connection have overtaken is refused: typed now, it would be in
// the wrong place.
func (h *Host) againLocked(req messages.SendPTY) (finishSend, *messages.Error) {
	s := h.sends[req.Reader]
	if s == nil || req.Seq == 0 || req.Seq > s.last {
		return nil, nil
	}
	if again := s.recent[req.Seq]; again != nil {
		return again, nil
	}
	return nil, messages.Errorf(messages.CodeInterrupted, "the send was lost and later ones have been typed; nothing was sent").
		With(map[string]string{"reason": "actor_lost"})
}

// rememberLocked remembers a send; its rest is waited for once.
func (h *Host) rememberLocked(req messages.SendPTY, finish finishSend) finishSend {
	if req.Seq == 0 {
		return finish
	}
	s := h.sends[req.Reader]
	if s == nil {
		if len(h.sends) >= readersMax {
			clear(h.sends)
		}
		s = &sends{recent: map[uint64]finishSend{}}
		h.sends[req.Reader] = s
	}
	once := sync.OnceValues(func() (messages.PTYSent, *messages.Error) { return finish(context.Background()) })
	shared := func(context.Context) (messages.PTYSent, *messages.Error) { return once() }
	s.last, s.recent[req.Seq] = req.Seq, shared
	if len(s.recent) > sendsMax {
		oldest := req.Seq
		for seq := range s.recent {
			oldest = min(oldest, seq)
		}
		delete(s.recent, oldest)
	}
	return shared
}

// call opens or closes a terminal.
type call struct {
	done   chan struct{}
	answer any
}

// begin is the call of that key, and whether it is the first of it; an empty key
// is not remembered.
func (r *Registry) begin(key string) (c *call, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[key]; c != nil {
		return c, false
	}
	c = &call{done: make(chan struct{})}
	if key == "" {
		return c, true
	}
	if len(r.keys) >= callsMax {
		delete(r.calls, r.keys[0])
		r.keys = r.keys[1:]
	}
	r.calls[key], r.keys = c, append(r.keys, key)
	return c, true
}

// known reports whether a call of that key has begun.
func (r *Registry) known(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[key] != nil
}

// end answers the call, and all that repeat it.
func (c *call) end(answer any) any {
	c.answer = answer
	close(c.done)
	return answer
}

func (c *call) wait() any {
	<-c.done
	return c.answer
}
