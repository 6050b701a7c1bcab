package interp

import (
	"strings"
	"time"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// expr compiles an expression.
func (c *compiler) expr(e syntax.Expr, pos position) code {
	switch e := e.(type) {
	case *syntax.Literal:
		return c.literal(e)
	case *syntax.Interp:
		return c.interp(e)
	case *syntax.Name:
		return c.name(e)
	case *syntax.List:
		return c.list(e)
	case *syntax.Record:
		return c.record(e)
	case *syntax.Block:
		return c.block(e, inValue)
	case *syntax.Paren:
		return c.expr(e.X, inValue)
	case *syntax.If:
		return c.ifExpr(e)
	case *syntax.Match:
		return c.match(e)
	case *syntax.Try:
		return c.try(e)
	case *syntax.Catch:
		return c.catch(e)
	case *syntax.With:
		return c.with(e)
	case *syntax.Spawn:
		return c.spawn(e)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		return c.binary(e)
	case *syntax.Field:
		return c.field(e)
	case *syntax.Method:
		return c.method(e)
	case *syntax.Index:
		return c.index(e)
	case *syntax.Call:
		return c.call(e, pos)
	case *syntax.Lambda:
		return c.closure(e, e, nil)
	case *syntax.Command:
		return c.command(e, pos)
	}
	panic("interp: unknown expression")
}

// fixed is the value of an expression that needs no run, if it is one.
func (c *compiler) fixed(e syntax.Expr) (value.Value, bool) {
	l, ok := unparen(e).(*syntax.Literal)
	if !ok {
		return value.Null, false
	}
	v, err := LiteralValue(l)
	return v, err == nil && l.Kind != syntax.LitPath
}

// LiteralValue is the value of a literal; a bad regex or datetime text is an
// arg_error, a quantity beyond 64 bits an overflow. A path keeps a leading `~`.
func LiteralValue(l *syntax.Literal) (value.Value, *value.Error) {
	if l.Overflow {
		what := "size"
		if l.Kind == syntax.LitDuration {
			what = "duration"
		}
		return value.Null, overflow(what).WithHint("`%s` does not fit into 64 bits", l.Str)
	}
	switch l.Kind {
	case syntax.LitBool:
		return value.Bool(l.Bool), nil
	case syntax.LitInt:
		return value.Int(l.Int), nil
	case syntax.LitFloat:
		return value.Float(l.Float), nil
	case syntax.LitStr:
		return value.Str(l.Str), nil
	case syntax.LitSize:
		return value.Size(uint64(l.Int)), nil
	case syntax.LitDuration:
		return value.Duration(time.Duration(l.Int)), nil
	case syntax.LitTime:
		return value.TimeOfDay(l.Int * 1e9), nil
	case syntax.LitRegex:
		return value.NewRegex(l.Str)
	case syntax.LitDatetime:
		v, err := value.ConvertWord(l.Str, "datetime")
		if err != nil {
			return value.Null, value.Errorf(value.CodeArg, "invalid datetime: %s", l.Str)
		}
		return v, nil
	case syntax.LitPath:
		return value.Path(l.Str), nil
	}
	return value.Null, nil
}

func (c *compiler) literal(l *syntax.Literal) code {
	v, err := LiteralValue(l)
	if err != nil {
		span := l.Span
		return func(m *Machine) value.Value { return m.raise(err, span) }
	}
	if l.Kind == syntax.LitPath && strings.HasPrefix(l.Str, "~") {
		text := l.Str
		return func(m *Machine) value.Value { return value.Path(m.expandHome(text)) }
	}
	return constant(v)
}

func (c *compiler) interp(e *syntax.Interp) code {
	pieces := make([]textPiece, len(e.Parts))
	for i, p := range e.Parts {
		pieces[i].text = p.Text
		if p.X != nil {
			pieces[i].x = c.expr(p.X, inValue)
		}
	}
	span := e.Span
	return func(m *Machine) value.Value {
		buf := m.text[:0]
		m.text = nil // a string inside this one takes another
		for i := range pieces {
			p := &pieces[i]
			if p.x == nil {
				buf = append(buf, p.text...)
				continue
			}
			v := p.x(m)
			if m.ctl != running {
				return value.Null
			}
			switch v.Kind() {
			case value.KindStr:
				s := v.AsStr()
				if len(s) > longPiece {
					return m.longText(buf, s, pieces[i+1:], span)
				}
				buf = append(buf, s...)
			case value.KindSecret:
				return m.fail(span, value.CodeType, "a secret cannot be put into a string")
			default:
				buf = value.AppendInline(buf, v)
			}
			if len(buf) > value.MaxText {
				return m.raise(overflow("str"), span)
			}
		}
		m.usage.asked += int64(len(buf))
		if len(buf) > textMost {
			return value.Str(value.TextOf(buf))
		}
		m.text = buf
		return value.StrOf(buf)
	}
}

// textPiece is a piece of a string with holes.
type textPiece struct {
	text string
	x    code // nil: the text stands there
}

// longPiece is from how many bytes on a text in a hole is not copied before it is
// known how long the whole string is.
const longPiece = 1 << 20

// longText is a string of what was put together so far, a long text, and the
// pieces that follow.
func (m *Machine) longText(buf []byte, s string, pieces []textPiece, span syntax.Span) value.Value {
	parts := []string{string(buf), s}
	size := len(buf) + len(s)
	for i := range pieces {
		part := pieces[i].text
		if x := pieces[i].x; x != nil {
			v := x(m)
			if m.ctl != running {
				return value.Null
			}
			switch v.Kind() {
			case value.KindStr:
				part = v.AsStr()
			case value.KindSecret:
				return m.fail(span, value.CodeType, "a secret cannot be put into a string")
			default:
				part = string(value.AppendInline(nil, v))
			}
		}
		parts = append(parts, part)
		if size += len(part); size > value.MaxText {
			return m.raise(overflow("str"), span)
		}
	}
	if err := m.Reserve(int64(size)); err != nil {
		return m.raise(err, span)
	}
	out := make([]byte, 0, size)
	for _, part := range parts {
		if !m.poll() {
			return value.Null
		}
		out = value.ExtendText(out, part)
	}
	return value.Str(value.TextOf(out))
}

// textMost is up to how many bytes the room for a string is used again.
const textMost = 16 << 10

func (c *compiler) list(e *syntax.List) code {
	items := c.exprs(e.Items)
	return func(m *Machine) value.Value {
		vals := make([]value.Value, len(items))
		for i, x := range items {
			if vals[i] = x(m); m.ctl != running {
				return value.Null
			}
		}
		m.usage.asked += int64(len(vals)) * valueBytes
		return value.NewList(vals)
	}
}

func (c *compiler) exprs(es []syntax.Expr) []code {
	codes := make([]code, len(es))
	for i, e := range es {
		codes[i] = c.expr(e, inValue)
	}
	return codes
}

// record compiles a record literal. Its shape is known now; only the values are
// not.
func (c *compiler) record(e *syntax.Record) code {
	slots := make([]int, len(e.Fields))
	at := map[string]int{}
	var keys []string
	codes := make([]code, len(e.Fields))
	for i, f := range e.Fields {
		slot, ok := at[f.Key]
		if !ok {
			slot = len(keys)
			at[f.Key] = slot
			keys = append(keys, f.Key)
		}
		slots[i] = slot
		codes[i] = c.expr(f.Value, inValue)
	}
	shape := value.ShapeOf(keys...)
	return func(m *Machine) value.Value {
		r := value.NewRow(shape)
		for i, x := range codes {
			v := x(m)
			if m.ctl != running {
				return value.Null
			}
			r.Vals[slots[i]] = v
		}
		m.usage.asked += int64(len(r.Vals)) * valueBytes
		return r.Value()
	}
}

func (c *compiler) unary(e *syntax.Unary) code {
	if e.Op == "!" {
		t := c.test(e)
		return func(m *Machine) value.Value { return value.Bool(t(m)) }
	}
	x, span := c.expr(e.X, inValue), e.Span
	return func(m *Machine) value.Value {
		v := x(m)
		if m.ctl != running {
			return value.Null
		}
		r, err := negate(v)
		if err != nil {
			return m.raise(err, span)
		}
		return r
	}
}

func (c *compiler) ifExpr(e *syntax.If) code {
	cond, then := c.test(e.Cond), c.block(e.Then, inValue)
	var other code
	switch x := e.Else.(type) {
	case *syntax.If:
		other = c.ifExpr(x)
	case *syntax.Block:
		if x != nil {
			other = c.block(x, inValue)
		}
	}
	if other == nil {
		return func(m *Machine) value.Value {
			if cond(m) {
				return then(m)
			}
			return value.Null
		}
	}
	return func(m *Machine) value.Value {
		if cond(m) {
			return then(m)
		}
		if m.ctl != running {
			return value.Null
		}
		return other(m)
	}
}

func (c *compiler) index(e *syntax.Index) code {
	x, i, span := c.receiver(e.X), c.expr(e.I, inValue), e.Span
	return func(m *Machine) value.Value {
		v := x(m)
		if m.ctl != running {
			return value.Null
		}
		at := i(m)
		if m.ctl != running {
			return value.Null
		}
		if v.Kind() == value.KindList && at.IsInt() {
			items := v.AsList().Items
			if n := at.AsInt(); n >= 0 && n < int64(len(items)) {
				return items[n]
			}
		}
		r, err := indexValue(v, at)
		if err != nil {
			return m.raise(err, span)
		}
		return r
	}
}

// indexValue is v[at].
func indexValue(v, at value.Value) (value.Value, *value.Error) {
	switch {
	case v.Kind() == value.KindList && at.IsInt():
		items := v.AsList().Items
		n, err := position1(at.AsInt(), len(items))
		if err != nil {
			return value.Null, err
		}
		return items[n], nil
	case v.Kind() == value.KindStr && at.IsInt():
		return indexStr(v.AsStr(), at.AsInt())
	case v.Kind() == value.KindRecord && at.Kind() == value.KindStr:
		r, ok := v.AsRecord().Get(at.AsStr())
		if !ok {
			return value.Null, fieldMissing(v, at.AsStr())
		}
		return r, nil
	}
	err := value.Errorf(value.CodeType, "cannot index %s with %s", v.Kind(), at.Kind())
	switch v.Kind() {
	case value.KindOutcome:
		if at.Kind() == value.KindStr && v.AsOutcome().Cmd == "env" {
			return value.Null, err.WithHint("an outcome is not its value: `.out[…]`; a variable is `env.%s`, or `env NAME`", at.AsStr())
		}
		return value.Null, err.WithHint("an outcome is not its value: `.out[…]`")
	case value.KindTable, value.KindRange:
		return value.Null, err.WithHint("use `.first()` or `.skip(n).first()`")
	case value.KindList, value.KindStr:
		if at.Kind() == value.KindRange {
			return value.Null, err.WithHint("use `.skip(n).take(m)`")
		}
		return value.Null, err.WithHint("an index is an int, from the end if negative: `x[0]`, `x[-1]`")
	case value.KindRecord:
		return value.Null, err.WithHint("the key of a record is a str: `r[\"name\"]`, `r.name`")
	case value.KindNull:
		return value.Null, err.WithHint("a value is null: `x ?? []` puts another in its place")
	}
	return value.Null, err.WithHint("lists and text have an index, records keys")
}

// position1 is an index counted from the start, for one counted from either
// end.
func position1(i int64, n int) (int, *value.Error) {
	at := i
	if at < 0 {
		at += int64(n)
	}
	if at < 0 || at >= int64(n) {
		return 0, value.Errorf(value.CodeIndexRange, "index %d is out of range for length %d", i, n).
			WithHint("`.get(%d)` of a list gives null there", i)
	}
	return int(at), nil
}

// indexStr is the i-th Unicode scalar of s.
func indexStr(s string, i int64) (value.Value, *value.Error) {
	n := 0
	ascii := true
	for _, r := range s {
		n++
		ascii = ascii && r < 0x80
	}
	at, err := position1(i, n)
	if err != nil {
		return value.Null, err
	}
	if ascii {
		return value.Str(s[at : at+1]), nil
	}
	for off, r := range s {
		if at == 0 {
			return value.Str(s[off : off+len(string(r))]), nil
		}
		at--
	}
	return value.Null, nil
}
