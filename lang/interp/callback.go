package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Callback is a callable prepared for many calls with the same number of
// arguments. It belongs to the machine that made it.
type Callback struct {
	m    *Machine
	fn   *Func
	n    int
	fast bool // the arguments go straight into the frame
}

// callbackWeight is what a call through the library may take of the
// evaluator's own stack, in nested expressions.
const callbackWeight = 16

// Callback prepares fn for calls with n arguments. A value that cannot be
// called, or not with n arguments, is an error now and not at the first item.
func (m *Machine) Callback(fn value.Value, n int) (*Callback, error) {
	f, ok := m.callable(fn)
	if !ok {
		return nil, notCallable(fn)
	}
	return &Callback{m: m, fn: f, n: n, fast: f.code.arity == n}, nil
}

// FieldName is the field's name when the callback only reads one field of its
// argument (`.size`), so that a method may read that column itself. Missing
// fields must then be left to the callback.
func (c *Callback) FieldName() (string, bool) {
	return c.fn.code.field, c.fn.code.field != ""
}

// FieldsRead are the fields of its argument that the callback reads. Only is
// true when it does nothing else with it, so that it needs no others and cannot
// keep a record that it gets.
func (c *Callback) FieldsRead() (names []string, only bool) {
	return c.fn.code.reads, c.fast && c.fn.code.reads != nil
}

// Call calls with n arguments; args may be used again afterwards.
func (c *Callback) Call(args ...value.Value) (value.Value, error) {
	switch len(args) {
	case 1:
		return c.Call1(args[0])
	case 2:
		return c.Call2(args[0], args[1])
	}
	back := c.m.beginCallback()
	v := c.m.apply(c.fn, args, nil, syntax.Span{})
	return c.m.endCallback(v, back)
}

// Call1 calls with one argument.
func (c *Callback) Call1(a value.Value) (value.Value, error) {
	m := c.m
	back := m.beginCallback()
	if c.fast && c.n == 1 {
		return m.endCallback(m.call1(c.fn, a, syntax.Span{}), back)
	}
	return m.endCallback(m.apply(c.fn, []value.Value{a}, nil, syntax.Span{}), back)
}

// Call2 calls with two arguments.
func (c *Callback) Call2(a, b value.Value) (value.Value, error) {
	m := c.m
	back := m.beginCallback()
	if c.fast && c.n == 2 {
		return m.endCallback(m.call2(c.fn, a, b, syntax.Span{}), back)
	}
	return m.endCallback(m.apply(c.fn, []value.Value{a, b}, nil, syntax.Span{}), back)
}

// Test calls with one argument and takes the result as a condition.
func (c *Callback) Test(a value.Value) (bool, error) {
	m := c.m
	if c.fast && c.n == 1 && c.fn.code.cond != nil {
		back := m.beginCallback()
		ok := m.test1(c.fn, a)
		_, err := m.endCallback(value.Null, back)
		return ok, err
	}
	v, err := c.Call1(a)
	if err != nil {
		return false, err
	}
	return Condition(v)
}

// beginCallback comes back from the blocking operations that are under way, and
// says how many; endCallback continues them.
func (m *Machine) beginCallback() int {
	back := m.outside
	for range back {
		m.enterCells()
	}
	m.weight += callbackWeight
	return back
}

func (m *Machine) endCallback(v value.Value, back int) (value.Value, error) {
	m.weight -= callbackWeight
	var err error
	if m.ctl != running {
		v, err = value.Null, errUnwind
		if m.ctl == raised {
			err = m.take()
		}
	}
	for range back {
		m.leaveCells()
	}
	return v, err
}

// errUnwind is what library code gets to pass on when a callback ended the
// evaluation itself (exit): the machine knows why.
var errUnwind error = value.Errorf(value.CodeCancelled, "evaluation was left")

// Call calls a callable with positional arguments.
func (m *Machine) Call(fn value.Value, args ...value.Value) (value.Value, error) {
	c, err := m.Callback(fn, len(args))
	if err != nil {
		return value.Null, err
	}
	return c.Call(args...)
}

// callable is the function behind a value.
func (m *Machine) callable(v value.Value) (*Func, bool) {
	if v.Kind() != value.KindClosure {
		return nil, false
	}
	f, ok := v.AsClosure().Fn.(*Func)
	return f, ok
}
