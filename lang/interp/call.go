package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// maxDepth is how deep calls may nest.
const maxDepth = 10_000

// maxWeight bounds calls times the depth of their expressions: the evaluator
// runs on the goroutine's stack, and a goroutine that outgrows the Go limit of
// 1 GB ends the process. One unit is one nested expression, at most about 400
// bytes of stack.
const maxWeight = 1_000_000

// frame is what a call saves of its caller.
type frame struct {
	bp, sp int
	fn     *Func
	boxes  []*Cell
	links  *links
}

// admit looks after everything that may forbid a call.
func (m *Machine) admit(fc *funcCode, span syntax.Span) bool {
	if m.depth >= maxDepth || m.weight+fc.weight > maxWeight {
		m.raise(value.Errorf(value.CodeRecursion, "more than %d nested calls", maxDepth).
			WithHint("end the recursion with a condition, or write a loop"), span)
		return false
	}
	return m.poll()
}

// grow makes room for n more slots above the stack pointer.
func (m *Machine) grow(n int) {
	bigger := make([]value.Value, max(2*len(m.stack), m.sp+n))
	copy(bigger, m.stack[:m.sp])
	m.stack = bigger
}

// push makes f the running function.
func (m *Machine) push(f *Func, span syntax.Span) (saved frame, ok bool) {
	fc := f.code
	if !m.admit(fc, span) {
		return saved, false
	}
	saved = frame{m.bp, m.sp, m.fn, m.boxes, m.links}
	if m.sp+fc.slots > len(m.stack) {
		m.grow(fc.slots)
	}
	m.bp, m.sp, m.fn = m.sp, m.sp+fc.slots, f
	if fc.boxes > 0 {
		m.boxes = make([]*Cell, fc.boxes)
	}
	if fc.unit != m.links.unit {
		m.links = m.link(fc.unit)
	}
	m.depth++
	m.weight += fc.weight
	return saved, true
}

// pop returns to the caller with the body's value.
func (m *Machine) pop(saved *frame, v value.Value, span syntax.Span) value.Value {
	fc := m.fn.code
	clear(m.stack[m.bp : m.bp+fc.slots])
	m.depth--
	m.weight -= fc.weight
	if m.links != saved.links {
		m.foreign(span)
	}
	m.bp, m.sp, m.fn, m.boxes, m.links = saved.bp, saved.sp, saved.fn, saved.boxes, saved.links
	if m.ctl != running {
		return m.leaveFunction(v)
	}
	return v
}

// foreign moves an error that comes from another source to the place of the
// call: positions of that source mean nothing in this one.
func (m *Machine) foreign(span syntax.Span) {
	if m.ctl != raised || m.err.Span == nil {
		return
	}
	e := *m.err
	if e.File == "" {
		e.Hint = m.fn.code.unit.place(&e)
	}
	e.Span, e.File = nil, ""
	if span.End > 0 {
		e.Span = &value.Span{Start: span.Start, End: span.End}
	}
	m.err = &e
}

// leaveFunction ends what may not leave a function: return becomes its value,
// loop control an error.
func (m *Machine) leaveFunction(v value.Value) value.Value {
	switch m.ctl {
	case returning:
		v, m.ret, m.ctl = m.ret, value.Null, running
		return v
	case breaking, continuing:
		m.ctl = running
		return m.raise(strayLoopControl(), syntax.Span{})
	}
	return value.Null
}

// call0, call1, call2 and call3 call f; the argument count is checked here. They
// differ from apply in that nothing is allocated.
func (m *Machine) call0(f *Func, span syntax.Span) value.Value {
	if f.code.arity != 0 {
		return m.apply(f, nil, nil, span)
	}
	saved, ok := m.push(f, span)
	if !ok {
		return value.Null
	}
	return m.pop(&saved, f.code.body(m), span)
}

// call1 is spelled out: it is what recursive functions and callbacks use most.
func (m *Machine) call1(f *Func, a value.Value, span syntax.Span) value.Value {
	fc := f.code
	if fc.arity != 1 {
		return m.apply(f, []value.Value{a}, nil, span)
	}
	if fc.unit != m.links.unit || m.sp+fc.slots > len(m.stack) {
		return m.call1Slow(f, a, span)
	}
	if (m.depth >= maxDepth || m.weight+fc.weight > maxWeight || m.signal.Load() != 0) && !m.admit(fc, span) {
		return value.Null
	}
	bp, sp, fn := m.bp, m.sp, m.fn
	m.bp, m.sp, m.fn = sp, sp+fc.slots, f
	m.depth++
	m.weight += fc.weight
	m.stack[sp] = a
	v := fc.body(m)
	if fc.slots > 1 {
		clear(m.stack[sp : sp+fc.slots])
	}
	m.bp, m.sp, m.fn = bp, sp, fn
	m.depth--
	m.weight -= fc.weight
	if m.ctl != running {
		return m.leaveFunction(v)
	}
	return v
}

func (m *Machine) call1Slow(f *Func, a value.Value, span syntax.Span) value.Value {
	saved, ok := m.push(f, span)
	if !ok {
		return value.Null
	}
	m.stack[m.bp] = a
	return m.pop(&saved, f.code.body(m), span)
}

func (m *Machine) call2(f *Func, a, b value.Value, span syntax.Span) value.Value {
	if f.code.arity != 2 {
		return m.apply(f, []value.Value{a, b}, nil, span)
	}
	saved, ok := m.push(f, span)
	if !ok {
		return value.Null
	}
	m.stack[m.bp], m.stack[m.bp+1] = a, b
	return m.pop(&saved, f.code.body(m), span)
}

func (m *Machine) call3(f *Func, a, b, c value.Value, span syntax.Span) value.Value {
	if f.code.arity != 3 {
		return m.apply(f, []value.Value{a, b, c}, nil, span)
	}
	saved, ok := m.push(f, span)
	if !ok {
		return value.Null
	}
	m.stack[m.bp], m.stack[m.bp+1], m.stack[m.bp+2] = a, b, c
	return m.pop(&saved, f.code.body(m), span)
}

// test1 calls a function of one parameter for its condition.
func (m *Machine) test1(f *Func, a value.Value) bool {
	fc := f.code
	if fc.unit != m.links.unit || m.sp+fc.slots > len(m.stack) {
		return m.test1Slow(f, a)
	}
	if (m.depth >= maxDepth || m.weight+fc.weight > maxWeight || m.signal.Load() != 0) && !m.admit(fc, syntax.Span{}) {
		return false
	}
	bp, sp, fn := m.bp, m.sp, m.fn
	m.bp, m.sp, m.fn = sp, sp+fc.slots, f
	m.depth++
	m.weight += fc.weight
	m.stack[sp] = a
	yes := fc.cond(m)
	m.bp, m.sp, m.fn = bp, sp, fn
	m.depth--
	m.weight -= fc.weight
	if m.ctl != running {
		m.leaveFunction(value.Null)
		return false
	}
	return yes
}

func (m *Machine) test1Slow(f *Func, a value.Value) bool {
	saved, ok := m.push(f, syntax.Span{})
	if !ok {
		return false
	}
	m.stack[m.bp] = a
	yes := f.code.cond(m)
	m.pop(&saved, value.Null, syntax.Span{})
	return yes
}

// apply binds any arguments and calls f: named ones, then positional ones by
// parameter index, then defaults.
func (m *Machine) apply(f *Func, args []value.Value, named []Named, span syntax.Span) value.Value {
	fc := f.code
	fixed := len(fc.params)
	if fc.rest >= 0 {
		fixed = fc.rest
	}
	if len(args) > fixed && fc.rest < 0 {
		return m.raise(fc.surplus(fixed, len(args)), span)
	}
	given := make([]value.Value, len(fc.params))
	have := make([]bool, len(fc.params))
	for i := range min(len(args), fixed) {
		given[i], have[i] = args[i], true
	}
	for _, n := range named {
		i := fc.paramIndex(n.Name)
		switch {
		case i < 0 || i == fc.rest:
			return m.raise(fc.misused("unknown argument `%s`", n.Name), span)
		case have[i]:
			return m.raise(fc.misused("argument `%s` is given twice", n.Name), span)
		}
		given[i], have[i] = n.Value, true
	}
	if fc.rest >= 0 {
		var surplus []value.Value
		if len(args) > fixed {
			surplus = append(surplus, args[fixed:]...)
		}
		given[fc.rest], have[fc.rest] = value.NewList(surplus), true
	}
	return m.applyBound(f, given, have, span)
}

// surplus is the error for more arguments than there are parameters.
func (fc *funcCode) surplus(want, got int) *value.Error {
	if want == 0 && fc.name == "" {
		return value.Errorf(value.CodeArg, "expected 0 arguments, got %d", got).
			WithHint("a block takes no argument: write `x => …`")
	}
	return fc.misused("expected %d argument%s, got %d", want, plural(want), got)
}

// misused is an error of the caller's, with the signature as its hint.
func (fc *funcCode) misused(format string, args ...any) *value.Error {
	return value.Errorf(value.CodeArg, format, args...).WithHint("it is `%s`", fc.sig)
}

func (fc *funcCode) paramIndex(name string) int {
	for i := range fc.params {
		if fc.params[i].name == name {
			return i
		}
	}
	return -1
}

// applyBound runs f with the parameters that have a value; the others get their
// defaults, which are evaluated inside the function.
func (m *Machine) applyBound(f *Func, given []value.Value, have []bool, span syntax.Span) value.Value {
	fc := f.code
	saved, ok := m.push(f, span)
	if !ok {
		return value.Null
	}
	for i := range fc.params {
		p := &fc.params[i]
		v := given[i]
		switch {
		case have[i]:
			converted, err := convertElements(v, p.typ)
			if err != nil {
				m.raise(err, span)
				return m.pop(&saved, value.Null, span)
			}
			v = converted
		case p.def != nil:
			if v = p.def(m); m.ctl != running {
				return m.pop(&saved, value.Null, span)
			}
		default:
			m.raise(fc.misused("missing argument `%s`", p.name), span)
			return m.pop(&saved, value.Null, span)
		}
		if p.v.Boxed() {
			m.boxes[p.v.Box] = &Cell{v: v}
		} else {
			m.stack[m.bp+p.v.Slot] = v
		}
	}
	return m.pop(&saved, fc.body(m), span)
}

// convertElements converts the str elements of a list to T for a parameter of
// type list<T>; every other value is passed as it is.
func convertElements(v value.Value, t *syntax.Type) (value.Value, *value.Error) {
	elem := elementType(t)
	if elem == "" || elem == "str" || v.Kind() != value.KindList {
		return v, nil
	}
	items := v.AsList().Items
	var out []value.Value
	for i, item := range items {
		if item.Kind() != value.KindStr {
			continue
		}
		converted, err := value.ConvertWord(item.AsStr(), elem)
		if err != nil {
			return value.Null, err
		}
		if out == nil {
			out = append([]value.Value(nil), items...)
		}
		out[i] = converted
	}
	if out == nil {
		return v, nil
	}
	return value.NewList(out), nil
}

// elementType is T of list<T>, or "".
func elementType(t *syntax.Type) string {
	if t == nil || t.Name != "list" || len(t.Args) != 1 {
		return ""
	}
	return t.Args[0].Name
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
