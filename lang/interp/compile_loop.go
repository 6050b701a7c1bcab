package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

func (c *compiler) whileLoop(s *syntax.While) code {
	cond, body := c.test(s.Cond), c.loopBody(s.Body)
	return func(m *Machine) value.Value {
		for cond(m) {
			body(m)
			if m.ctl != running && !m.nextTurn() {
				return value.Null
			}
			if m.signal.Load() != 0 && !m.poll() {
				return value.Null
			}
		}
		return value.Null
	}
}

// nextTurn handles what left a loop body: true means that the loop goes on.
// break ends in the running state with false.
func (m *Machine) nextTurn() bool {
	switch m.ctl {
	case continuing:
		m.ctl = running
		return true
	case breaking:
		m.ctl = running
	}
	return false
}

// turn sets the loop variable and runs the body once; false ends the loop.
func (m *Machine) turn(set func(*Machine, value.Value), v value.Value, body code) bool {
	set(m, v)
	body(m)
	if m.ctl != running && !m.nextTurn() {
		return false
	}
	return m.signal.Load() == 0 || m.poll()
}

func (c *compiler) forLoop(s *syntax.For) code {
	iter, span := c.expr(s.Iter, inValue), s.Iter.Pos()
	v, _ := c.declared(s)
	if s.Name == "_" {
		v = nil
	}
	set, body := c.setVar(v), c.loopBody(s.Body)
	slot := -1
	if v != nil && !v.Boxed() {
		slot = v.Slot
	}
	return func(m *Machine) value.Value {
		over := iter(m)
		if m.ctl != running {
			return value.Null
		}
		if over.Kind() == value.KindOutcome {
			out, err := over.AsOutcome().OutValue()
			if err != nil {
				return m.raise(err, span)
			}
			over = out
		}
		switch over.Kind() {
		case value.KindRange:
			m.forRange(over.AsRange(), slot, set, body)
		case value.KindList:
			for _, item := range over.AsList().Items {
				if !m.turn(set, item, body) {
					break
				}
			}
		case value.KindTable:
			for row := range over.AsTable().All() {
				if !m.turn(set, row.Value(), body) {
					break
				}
			}
		case value.KindGlob:
			m.forGlob(over.AsGlob(), set, body, span)
		case value.KindStream:
			m.forStream(over.AsStream(), set, body, span)
		default:
			m.raise(notIterable(over), span)
		}
		return value.Null
	}
}

func notIterable(v value.Value) *value.Error {
	err := value.Errorf(value.CodeType, "value is not iterable: %s", v.Kind())
	switch v.Kind() {
	case value.KindRecord:
		return err.WithHint("use `.items()`, `.keys()` or `.values()`")
	case value.KindStr:
		return err.WithHint("use `.lines()`, `.words()` or `.chars()`")
	case value.KindPath:
		return err.WithHint("use `.lines()` of a file, `(ls p)` of a directory")
	case value.KindInt:
		return err.WithHint("a range counts: `0..n`")
	case value.KindNull:
		return err.WithHint("a value is null: `x ?? []` puts another in its place")
	}
	return err.WithHint("lists, tables, ranges, globs, streams that end and results of commands are")
}

// forRange counts without making the numbers before they are needed.
func (m *Machine) forRange(r *value.Range, slot int, set func(*Machine, value.Value), body code) {
	n := r.Len()
	for i := int64(0); i < n; i++ {
		v := value.Int(r.Start + i)
		if slot < 0 {
			if !m.turn(set, v, body) {
				return
			}
			continue
		}
		m.stack[m.bp+slot] = v
		body(m)
		if m.ctl != running && !m.nextTurn() {
			return
		}
		if m.signal.Load() != 0 && !m.poll() {
			return
		}
	}
}

func (m *Machine) forGlob(g *value.Glob, set func(*Machine, value.Value), body code, span syntax.Span) {
	paths, err := m.Expand(g)
	if err != nil {
		m.raise(err, span)
		return
	}
	for _, p := range paths {
		if !m.turn(set, value.Path(p), body) {
			return
		}
	}
}
