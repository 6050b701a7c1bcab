package value

import (
	"strings"
	"sync"
	"weak"
)

// Shape is the ordered key list that records share: one pointer comparison
// tells whether two records have the same fields in the same order. Shapes
// form a tree of transitions and are safe for concurrent use.
//
// A parent knows its children weakly and a child its parent strongly, so the
// tree holds what live records and programs use and nothing else. Records used
// as maps, whose keys are data, have shapes outside the tree from maxTracked
// keys on; those share one growing key list and index along a chain of
// extensions, which makes building them linear.
type Shape struct {
	keys   []string // a prefix of a list that later shapes may share
	index  *keyIndex
	parent *Shape

	mu    sync.RWMutex
	next  map[string]weak.Pointer[Shape]
	grown bool // the list behind keys has been extended past this shape
}

// keyIndex maps the keys of a whole chain of shapes to their positions.
type keyIndex struct {
	mu sync.RWMutex
	at map[string]int
}

// EmptyShape is the root of all shapes.
var EmptyShape = &Shape{}

const (
	// fewKeys is up to how many keys a linear search beats a map.
	fewKeys = 8
	// maxTracked is up to how many keys a shape takes part in the tree.
	maxTracked = 64
	// maxTrackedKey is up to how many bytes a key leads to a child in the tree: the
	// tree outlives the records whose keys it knows.
	maxTrackedKey = 1 << 10
	// maxTransitions bounds the children that one shape remembers.
	maxTransitions = 64
)

// Keys is the ordered key list; it must not be changed.
func (s *Shape) Keys() []string { return s.keys[:len(s.keys):len(s.keys)] }

// Len is the number of keys.
func (s *Shape) Len() int { return len(s.keys) }

// Slot is the position of key, or -1.
func (s *Shape) Slot(key string) int {
	if s.index == nil {
		for i, k := range s.keys {
			if k == key {
				return i
			}
		}
		return -1
	}
	s.index.mu.RLock()
	i, ok := s.index.at[key]
	s.index.mu.RUnlock()
	if ok && i < len(s.keys) {
		return i
	}
	return -1
}

// With is the shape with key appended; key must not be in s.
func (s *Shape) With(key string) *Shape {
	if len(s.keys) >= maxTracked || len(key) > maxTrackedKey {
		return s.extend(key)
	}
	s.mu.RLock()
	next := s.next[key].Value()
	s.mu.RUnlock()
	if next != nil {
		return next
	}
	key = strings.Clone(key) // it may be a piece of a long text
	next = s.extend(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.next[key].Value(); old != nil {
		return old
	}
	if s.makeRoomLocked() {
		next.parent = s
		s.next[key] = weak.Make(next)
	}
	return next
}

// makeRoomLocked reports whether one more child may be remembered, forgetting
// dead ones first when it is full.
func (s *Shape) makeRoomLocked() bool {
	if s.next == nil {
		s.next = make(map[string]weak.Pointer[Shape])
	}
	if len(s.next) < maxTransitions {
		return true
	}
	for k, child := range s.next {
		if child.Value() == nil {
			delete(s.next, k)
		}
	}
	return len(s.next) < maxTransitions
}

// extend makes the shape of s and key. The first extension of a large shape
// goes on in the same list and index; later ones copy.
func (s *Shape) extend(key string) *Shape {
	n := len(s.keys)
	if n < maxTracked {
		keys := make([]string, n+1)
		copy(keys, s.keys)
		keys[n] = key
		return ownShape(keys)
	}
	s.mu.Lock()
	first := !s.grown
	s.grown = true
	s.mu.Unlock()
	if !first || s.index == nil {
		keys := make([]string, n, 2*n)
		copy(keys, s.keys)
		return ownShape(append(keys, key))
	}
	keys := append(s.keys, key)
	s.index.mu.Lock()
	s.index.at[key] = n
	s.index.mu.Unlock()
	return &Shape{keys: keys, index: s.index}
}

// ownShape makes a shape outside the tree that owns keys, which are distinct.
func ownShape(keys []string) *Shape {
	s := &Shape{keys: keys}
	if len(keys) > fewKeys {
		at := make(map[string]int, len(keys))
		for i, k := range keys {
			at[k] = i
		}
		s.index = &keyIndex{at: at}
	}
	return s
}

// ShapeOf is the shape of the given distinct keys.
func ShapeOf(keys ...string) *Shape {
	s := EmptyShape
	if len(keys) > maxTracked {
		return ownShape(append([]string(nil), keys...))
	}
	for _, k := range keys {
		s = s.With(k)
	}
	return s
}
