package lang

import (
	"container/list"
	"sync"

	"shoal.dev/shoal/lang/syntax"
)

// The bounds of a compiler's cache. A program takes some hundred times as much
// memory as its source.
const (
	cacheEntries = 512
	cacheBytes   = 1 << 20  // of source
	cacheSource  = 64 << 10 // of one source; a longer one is not kept
)

// cache remembers compiled programs by source and by what the session answered
// for the names that decided how the source was read. The entry used longest
// ago goes first.
type cache struct {
	mu    sync.Mutex
	order *list.List // of *cached, newest first
	bySrc map[string][]*list.Element
	bytes int
}

type cached struct {
	src     string
	program *Program
	answers []answer
}

// answer is what a session says about one name.
type answer struct {
	name           string
	value, command bool
}

func newCache() *cache {
	return &cache{order: list.New(), bySrc: map[string][]*list.Element{}}
}

func (c *cache) find(src string, names syntax.Names) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.bySrc[src] {
		if entry := e.Value.(*cached); entry.fits(names) {
			c.order.MoveToFront(e)
			return entry.program
		}
	}
	return nil
}

func (e *cached) fits(names syntax.Names) bool {
	for _, a := range e.answers {
		if names.Value[a.name] != a.value || names.Command[a.name] != a.command {
			return false
		}
	}
	return true
}

func (c *cache) add(src string, names syntax.Names, p *Program) {
	if len(src) > cacheSource {
		return
	}
	entry := &cached{src: src, program: p}
	for _, name := range p.Tree().Consulted {
		entry.answers = append(entry.answers, answer{name, names.Value[name], names.Command[name]})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bySrc[src] = append(c.bySrc[src], c.order.PushFront(entry))
	c.bytes += len(src)
	for c.order.Len() > 1 && (c.order.Len() > cacheEntries || c.bytes > cacheBytes) {
		c.dropLocked(c.order.Back())
	}
}

func (c *cache) dropLocked(e *list.Element) {
	entry := c.order.Remove(e).(*cached)
	c.bytes -= len(entry.src)
	same := c.bySrc[entry.src]
	for i, other := range same {
		if other == e {
			same = append(same[:i:i], same[i+1:]...)
			break
		}
	}
	if len(same) == 0 {
		delete(c.bySrc, entry.src)
	} else {
		c.bySrc[entry.src] = same
	}
}
