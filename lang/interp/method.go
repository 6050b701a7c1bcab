package interp

import (
	"sync/atomic"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// callArgs are compiled call arguments.
type callArgs struct {
	pos   []code
	named []namedArg
}

type namedArg struct {
	name string
	x    code
	span syntax.Span
}

func (c *compiler) args(args []syntax.Arg) callArgs {
	var a callArgs
	for i := range args {
		x := c.expr(args[i].X, inValue)
		if args[i].Name == "" {
			a.pos = append(a.pos, x)
		} else {
			a.named = append(a.named, namedArg{args[i].Name, x, args[i].Span})
		}
	}
	return a
}

// eval evaluates arguments: positional ones into buf's room, then named ones.
func (a *callArgs) eval(m *Machine, buf []value.Value) (pos []value.Value, named []Named, ok bool) {
	pos = buf[:0]
	for _, x := range a.pos {
		v := x(m)
		if m.ctl != running {
			return nil, nil, false
		}
		pos = append(pos, v)
	}
	for i := range a.named {
		n := &a.named[i]
		v := n.x(m)
		if m.ctl != running {
			return nil, nil, false
		}
		named = append(named, Named{n.name, v, n.span})
	}
	return pos, named, true
}

// methodSite is a method call in a program; it remembers the row for the kind
// it met last.
type methodSite struct {
	name  string
	span  syntax.Span
	field fieldSite
	cache atomic.Pointer[kindMethod]
}

type kindMethod struct {
	kind value.Kind
	row  *Method
}

// lookup finds the library row for a receiver.
func (s *methodSite) lookup(lib Library, k value.Kind) *Method {
	if c := s.cache.Load(); c != nil && c.kind == k {
		return c.row
	}
	row := lib.Method(k, s.name)
	if row == nil {
		row = lib.Field(k, s.name)
	}
	if row != nil {
		s.cache.Store(&kindMethod{k, row})
	}
	return row
}

// method compiles `x.name(args)`.
func (c *compiler) method(e *syntax.Method) code {
	if e.Name == "feed" {
		return c.feed(e)
	}
	args := c.args(e.Args)
	site := &methodSite{name: e.Name, span: e.Span, field: fieldSite{name: e.Name, span: e.Span}}
	if n, ok := e.X.(*syntax.Name); ok {
		if r := c.info.Refs[n]; r.Var == nil && c.unit.lib.Namespace(n.Name) {
			return c.namespaceCall(n.Name, r.Global, args, site)
		}
	}
	x, safe := c.receiver(e.X), e.Safe
	if row := c.unit.lib.Method(value.KindStr, e.Name); row != nil && row.Plain != nil && len(e.Args) == 0 {
		return plainMethod(x, row.Plain, site, &args, safe)
	}
	return func(m *Machine) value.Value {
		recv := x(m)
		if m.ctl != running || safe && recv.IsNull() {
			return value.Null
		}
		return m.callMethod(recv, site, &args)
	}
}

// plainMethod is a method call without arguments that a str answers by itself.
func plainMethod(x code, plain func(value.Value) (value.Value, bool), site *methodSite, none *callArgs, safe bool) code {
	return func(m *Machine) value.Value {
		recv := x(m)
		if m.ctl != running || safe && recv.IsNull() {
			return value.Null
		}
		if recv.Kind() == value.KindStr {
			if v, ok := plain(recv); ok {
				return v
			}
		}
		return m.callMethod(recv, site, none)
	}
}

// namespaceCall compiles `json.parse(x)`; a binding of the namespace's name
// shadows it.
func (c *compiler) namespaceCall(ns string, g int, args callArgs, site *methodSite) code {
	row := c.unit.lib.Member(ns, site.name)
	full := ns + "." + site.name
	return func(m *Machine) value.Value {
		if cell := m.links.cells[g]; cell != nil {
			return m.callMethod(m.load(cell), site, &args)
		}
		if row == nil || row.Const {
			return m.fail(site.span, value.CodeFieldMissing, "no function `%s` in `%s`", site.name, ns)
		}
		call := m.newCall()
		defer m.freeCall(call)
		pos, named, ok := args.eval(m, call.buf[:])
		if !ok {
			return value.Null
		}
		return m.runCall(row, call, full, pos, named, site.span)
	}
}

// callMethod calls a method of an evaluated receiver.
func (m *Machine) callMethod(recv value.Value, site *methodSite, args *callArgs) value.Value {
	call := m.newCall()
	defer m.freeCall(call)
	pos, named, ok := args.eval(m, call.buf[:])
	if !ok {
		return value.Null
	}
	if recv.Kind() == value.KindStr {
		if recv = m.stored(recv, site.span); m.ctl != running {
			return value.Null
		}
	}
	for {
		if recv.Kind() == value.KindRecord {
			if f, ok := recv.AsRecord().Get(site.name); ok {
				if f.Kind() == value.KindClosure || f.Kind() == value.KindCommand {
					return m.callValue(f, pos, named, site.span)
				}
			}
		}
		if row := site.lookup(m.lib, recv.Kind()); row != nil {
			return m.runMethodCall(row, call, site.name, recv, pos, named, site.span)
		}
		if recv.Kind() != value.KindOutcome {
			break
		}
		if f, ok, err := recv.AsOutcome().Field(site.name); ok || err != nil {
			return m.calledField(f, err, site, len(pos)+len(named))
		}
		out, err := recv.AsOutcome().OutValue()
		if err != nil {
			return m.raise(err, site.span)
		}
		recv = out
	}
	if recv.Kind() == value.KindError {
		if f, ok := recv.AsError().Field(site.name); ok {
			return m.calledField(f, nil, site, len(pos)+len(named))
		}
	}
	return m.raise(m.lib.MissingMethod(recv, site.name, site.span), site.span)
}

// calledField is a field written as a call: it takes no arguments.
func (m *Machine) calledField(f value.Value, err *value.Error, site *methodSite, args int) value.Value {
	if err != nil {
		return m.raise(err, site.span)
	}
	if args > 0 {
		return m.fail(site.span, value.CodeArg, "`.%s` takes no arguments", site.name)
	}
	return f
}

// newCall takes a Call from the machine's spare ones.
func (m *Machine) newCall() *Call {
	if n := len(m.calls); n > 0 {
		c := m.calls[n-1]
		m.calls = m.calls[:n-1]
		return c
	}
	return &Call{M: m}
}

func (m *Machine) freeCall(c *Call) {
	*c = Call{M: m}
	m.calls = append(m.calls, c)
}

func (m *Machine) runMethod(row *Method, name string, recv value.Value, pos []value.Value, named []Named, span syntax.Span) value.Value {
	call := m.newCall()
	defer m.freeCall(call)
	return m.runMethodCall(row, call, name, recv, pos, named, span)
}

func (m *Machine) runMethodCall(row *Method, call *Call, name string, recv value.Value, pos []value.Value, named []Named, span syntax.Span) value.Value {
	call.Name, call.Recv, call.Args, call.Named, call.Span = name, recv, pos, named, span
	if !m.poll() {
		return value.Null
	}
	var v value.Value
	var err error
	if row.Effects != nil {
		m.leaveCells()
		v, err = row.Run(call)
		m.enterCells()
	} else {
		v, err = row.Run(call)
	}
	return m.result(v, err, span)
}

func (m *Machine) runFunction(row *Function, name string, pos []value.Value, named []Named, span syntax.Span) value.Value {
	call := m.newCall()
	defer m.freeCall(call)
	return m.runCall(row, call, name, pos, named, span)
}

func (m *Machine) runCall(row *Function, call *Call, name string, pos []value.Value, named []Named, span syntax.Span) value.Value {
	call.Name, call.Args, call.Named, call.Span = name, pos, named, span
	if !m.poll() {
		return value.Null
	}
	var v value.Value
	var err error
	if row.Effects != nil {
		m.leaveCells()
		v, err = row.Run(call)
		m.enterCells()
	} else {
		v, err = row.Run(call)
	}
	return m.result(v, err, span)
}

// result turns what library code gave back into the machine's own terms.
func (m *Machine) result(v value.Value, err error, span syntax.Span) value.Value {
	if m.ctl != running {
		return value.Null
	}
	if err != nil {
		if m.signal.Load()&signalCancel != 0 {
			err = m.cancelled()
		}
		return m.raise(err, span)
	}
	m.charge(v)
	return v
}
