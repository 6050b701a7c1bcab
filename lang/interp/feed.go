package interp

import (
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// feed compiles `v.feed(cmd args)`: the command runs with v's bytes on its
// stdin. When the receiver is a command and the argument a value, the roles
// are swapped.
func (c *compiler) feed(e *syntax.Method) code {
	span := e.Span
	if len(e.Args) != 1 || e.Args[0].Name != "" {
		recv := c.expr(e.X, inValue)
		return func(m *Machine) value.Value {
			if recv(m); m.ctl != running {
				return value.Null
			}
			return m.fail(span, value.CodeArg, "feed takes exactly one argument: a command")
		}
	}
	arg := &e.Args[0]
	recv := c.feedReceiver(e.X)
	cmd, val := c.feedArgument(arg)
	return func(m *Machine) value.Value {
		if recv.cmd != nil && (recv.bound == nil || !isBound(m, recv.bound)) {
			return m.feedSwapped(recv.cmd, cmd, val, span)
		}
		v := recv.x(m)
		if m.ctl != running {
			return value.Null
		}
		return m.feedTo(v, cmd, val, span)
	}
}

// feedSide is one side of a feed: a value, a command, or a bare name that is
// the one or the other.
type feedSide struct {
	x     code
	cmd   *command
	bound func(*Machine) (value.Value, bool)
}

func isBound(m *Machine, bound func(*Machine) (value.Value, bool)) bool {
	_, ok := bound(m)
	return ok
}

func (c *compiler) feedReceiver(e syntax.Expr) feedSide {
	s := feedSide{x: c.expr(e, inValue)}
	switch x := unparen(e).(type) {
	case *syntax.Command:
		if !x.Background {
			s.cmd = c.commandParts(x)
		}
	case *syntax.Name:
		r := c.info.Refs[x]
		s.bound = c.boundHead(r)
		if r.Var == nil {
			s.cmd = c.nameCommand(x)
		}
	}
	return s
}

// nameCommand is a bare name as a command without arguments.
func (c *compiler) nameCommand(n *syntax.Name) *command {
	return &command{head: wordCode{kind: syntax.ArgWord, text: n.Name, span: n.Span}, name: n.Name, span: n.Span, src: n.Name}
}

func (c *compiler) feedArgument(a *syntax.Arg) (*command, feedSide) {
	var side feedSide
	if a.X != nil && (a.Cmd == nil || syntax.Expr(a.Cmd) != a.X) {
		side.x = c.expr(a.X, inValue)
		if n, ok := a.X.(*syntax.Name); ok {
			side.bound = c.boundHead(c.info.Refs[n])
		}
	}
	switch {
	case a.Cmd != nil:
		return c.commandParts(a.Cmd), side
	case a.X != nil:
		if cmd, ok := unparen(a.X).(*syntax.Command); ok {
			return c.commandParts(cmd), side
		}
		if n, ok := unparen(a.X).(*syntax.Name); ok && c.info.Refs[n].Var == nil {
			return c.nameCommand(n), side
		}
	}
	return nil, side
}

// feedTo runs the argument with v on its stdin.
func (m *Machine) feedTo(v value.Value, cmd *command, arg feedSide, span syntax.Span) value.Value {
	if cmd == nil || arg.bound != nil && isBound(m, arg.bound) {
		return m.feedValue(v, arg, span)
	}
	return m.fed(v, span, func(io *streams) value.Value { return cmd.run(m, nil, value.Null, io, inValue) })
}

// feedValue is feeding to a value: only an alias is a command.
func (m *Machine) feedValue(v value.Value, arg feedSide, span syntax.Span) value.Value {
	target := arg.x(m)
	if m.ctl != running {
		return value.Null
	}
	a, ok := aliasOf(target)
	if !ok {
		return m.raise(value.Errorf(value.CodeType, "cannot feed %s to %s", v.Kind(), target.Kind()).
			WithHint("the argument is a command: `v.feed(sort -n)`"), span)
	}
	return m.fed(v, span, func(io *streams) value.Value { return m.aliased(a, nil, value.Null, io, inValue) })
}

// feedSwapped is `sort.feed(xs)`: the receiver is the command.
func (m *Machine) feedSwapped(cmd, argCmd *command, arg feedSide, span syntax.Span) value.Value {
	if arg.x == nil || argCmd != nil && (arg.bound == nil || !isBound(m, arg.bound)) {
		v := cmd.run(m, nil, value.Null, &streams{}, inValue)
		if m.ctl != running {
			return value.Null
		}
		return m.feedTo(v, argCmd, arg, span)
	}
	v := arg.x(m)
	if m.ctl != running {
		return value.Null
	}
	return m.fed(v, span, func(io *streams) value.Value { return cmd.run(m, nil, value.Null, io, inValue) })
}

// fed runs a command with v on its stdin. Only programs read input.
func (m *Machine) fed(v value.Value, span syntax.Span, run func(*streams) value.Value) value.Value {
	if v.Kind() == value.KindStream {
		return m.feedStream(v.AsStream(), span, run)
	}
	data, err := feedBytes(v)
	if err != nil {
		return m.raise(err, span)
	}
	return run(&streams{stdin: data, fed: true})
}

// feedBytes is what a value looks like on a program's stdin; it may be the
// value's own bytes, which must not be changed.
func feedBytes(v value.Value) ([]byte, *value.Error) {
	switch v.Kind() {
	case value.KindStr:
		return value.BytesOf(v.AsStr()), nil
	case value.KindBytes:
		b, err := v.AsBytes().All(0)
		if err != nil {
			return nil, asError(err)
		}
		return b, nil
	case value.KindInt, value.KindFloat, value.KindBool, value.KindSize, value.KindDuration,
		value.KindDatetime, value.KindTime:
		return value.AppendInline(nil, v), nil
	case value.KindList, value.KindRecord, value.KindTable, value.KindRange:
		if lines, ok := feedLines(v); ok {
			return lines, nil
		}
		return value.EncodeJSON(nil, v, false)
	case value.KindOutcome:
		return feedOutcome(v.AsOutcome())
	case value.KindPath:
		return nil, value.Errorf(value.CodeType, "cannot feed a path").
			WithHint("a path is a name, not content: `p.read.feed(…)`, or redirect with `< p`")
	case value.KindNull, value.KindCommand:
		return nil, value.Errorf(value.CodeType, "cannot feed %s", v.Kind())
	}
	return nil, value.Errorf(value.CodeFeed, "cannot feed %s to a command", v.Kind())
}

// feedLines is a list of strings, one a line.
func feedLines(v value.Value) ([]byte, bool) {
	if v.Kind() != value.KindList {
		return nil, false
	}
	var b strings.Builder
	for _, item := range v.AsList().Items {
		if item.Kind() != value.KindStr {
			return nil, false
		}
		b.WriteString(item.AsStr())
		b.WriteByte('\n')
	}
	return []byte(b.String()), true
}

func feedOutcome(o *value.Outcome) ([]byte, *value.Error) {
	if !o.OK {
		return nil, o.Fail()
	}
	if o.HasOut {
		return feedBytes(o.Out)
	}
	b, err := o.Stdout.AsBytes().All(0)
	if err != nil {
		return nil, asError(err)
	}
	return b, nil
}
