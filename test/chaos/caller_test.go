package chaos

import (
	"fmt"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// caller is one agent: it works in its own session and in the shared one.
type caller struct {
	storm       *storm
	id          int64
	session     string
	own, shared *kit.Facade
	n           int64 // newest turn
	last        binding
	set         bool // last has been set
}

// work makes calls until each facade has been answered often enough after the
// kill of this cycle.
func (c *caller) work() {
	after := map[*kit.Facade]int{}
	for !c.storm.t.Failed() && (after[c.own] < recovered || after[c.shared] < recovered) {
		c.n++
		f, answered := c.turn()
		killed := c.storm.killed.Load()
		if killed == nil || !answered {
			continue
		}
		if after[f]++; after[f] == 1 {
			c.next(time.Since(*killed))
		}
	}
}

// next notes how long a kill has kept a facade from being answered.
func (c *caller) next(took time.Duration) {
	s := c.storm
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, took)
	if took > nextBound {
		s.t.Errorf("caller %d: the next good answer came %v after the kill", c.id, took)
	}
}

// turn makes one call, of one of four kinds.
func (c *caller) turn() (through *kit.Facade, answered bool) {
	m, book := mark{c.id, c.n}, c.storm.book
	switch c.n % 4 {
	case 0:
		return c.own, c.bind(m)
	case 1:
		return c.shared, c.exec(c.shared, shared, m.source(), m)
	case 2:
		return c.own, c.exec(c.own, c.session, fmt.Sprintf("^/bin/echo %d %d", m.Caller, m.N), m)
	default:
		book.publishing(m)
		_, ok := c.call(c.shared, `channel("user.marks").emit(`+m.source()+`)`)
		if ok {
			book.published(m)
		}
		return c.shared, ok
	}
}

// bind changes the session's binding.
func (c *caller) bind(m mark) bool {
	ok := c.exec(c.own, c.session, "let last = "+m.source()+"\nlast", m)
	switch {
	case ok:
		c.last.set(m.N)
		c.set = true
	case c.set:
		c.last.lost(m.N)
	}
	return ok
}

// exec runs a source whose value is the mark.
func (c *caller) exec(f *kit.Facade, session, src string, m mark) bool {
	a, ok := c.call(f, src)
	if !ok {
		return false
	}
	if got := read(a.Structured.At("value")); got != m {
		c.storm.t.Errorf("%s: answered with %v, want %v: %v", src, got, m, a)
	}
	c.storm.book.value(session, a.Structured.At("ref").Str(), m)
	return true
}

// call runs a source. Every call is answered: with its result, or with word
// that the kernel was lost.
func (c *caller) call(f *kit.Facade, src string) (kit.Answer, bool) {
	a := f.Tool("shoal_exec", kit.Args{"src": src})
	switch code := a.Code(); {
	case code == messages.CodeInterrupted:
		c.storm.book.call(false)
		return a, false
	case code != 0 || a.IsError:
		c.storm.t.Errorf("%s: %v", src, a)
		return a, false
	}
	return a, true
}

// check compares the session's binding with what was acknowledged.
func (c *caller) check() {
	if !c.set {
		return
	}
	v := c.own.Exec("last").Structured.At("value")
	if got := read(v); got.Caller != c.id {
		c.storm.t.Errorf("last of %s: got %v", c.session, v)
	} else if err := c.last.check(got.N); err != nil {
		c.storm.t.Errorf("last of %s: %v", c.session, err)
	}
}
