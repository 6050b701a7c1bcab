package interp

import (
	"strings"
	"sync/atomic"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// fieldSite is a place in a program that reads a field. It remembers the shape
// it met last; programs are shared between sessions, so it does so atomically.
type fieldSite struct {
	name  string
	span  syntax.Span
	cache atomic.Pointer[shapeSlot]
	tries atomic.Int32
}

type shapeSlot struct {
	shape *value.Shape
	slot  int
}

// cacheTries is how often a site learns a new shape before it stops.
const cacheTries = 64

// cached reads the field when v is a record of the remembered shape.
func (s *fieldSite) cached(v value.Value) (value.Value, bool) {
	if v.Kind() != value.KindRecord {
		return value.Null, false
	}
	r := v.AsRecord()
	if c := s.cache.Load(); c != nil && c.shape == r.Shape {
		return r.Vals[c.slot], true
	}
	return value.Null, false
}

func (s *fieldSite) learn(shape *value.Shape, slot int) {
	if s.tries.Add(1) <= cacheTries {
		s.cache.Store(&shapeSlot{shape, slot})
	}
}

// field compiles `x.name`.
func (c *compiler) field(e *syntax.Field) code {
	site := &fieldSite{name: e.Name, span: e.Span}
	if n, ok := e.X.(*syntax.Name); ok {
		if r := c.info.Refs[n]; r.Var == nil {
			if special := c.namespaceField(n.Name, r.Global, e); special != nil {
				return special
			}
		}
	}
	x := c.receiver(e.X)
	if e.Safe {
		return func(m *Machine) value.Value {
			v := x(m)
			if m.ctl != running || v.IsNull() {
				return value.Null
			}
			return m.field(v, site)
		}
	}
	if slot, ok := c.slotOf(e.X); ok && !c.runsBare(e.X) {
		return func(m *Machine) value.Value {
			v := m.stack[m.bp+slot]
			if field, ok := site.cached(v); ok {
				return field
			}
			return m.field(v, site)
		}
	}
	return func(m *Machine) value.Value {
		v := x(m)
		if field, ok := site.cached(v); ok {
			return field
		}
		if m.ctl != running {
			return value.Null
		}
		return m.field(v, site)
	}
}

// namespaceField compiles `env.NAME` and `math.pi`, which a binding of that
// name shadows; nil when name is neither.
func (c *compiler) namespaceField(name string, g int, e *syntax.Field) code {
	if name != "env" && !c.unit.lib.Namespace(name) {
		return nil
	}
	site := &fieldSite{name: e.Name, span: e.Span}
	return func(m *Machine) value.Value {
		if cell := m.links.cells[g]; cell != nil {
			return m.field(m.load(cell), site)
		}
		return m.namespaceMember(name, e.Name, e.Span)
	}
}

func (m *Machine) namespaceMember(ns, name string, span syntax.Span) value.Value {
	if f := m.lib.Member(ns, name); f != nil && (f.Const || ns == "config") {
		return m.runFunction(f, ns+"."+name, nil, nil, span)
	}
	if ns == "env" {
		v, _ := m.Getenv(name)
		return v
	}
	err := value.Errorf(value.CodeFieldMissing, "no member `%s` in `%s`", name, ns)
	if m.lib.Member(ns, name) != nil {
		err = err.WithHint("functions are called: `%s.%s(…)`", ns, name)
	}
	return m.raise(err, span)
}

// field reads a field of any value: a direct field, or, unless the value is a
// record, a method without arguments.
func (m *Machine) field(v value.Value, site *fieldSite) value.Value {
	switch v.Kind() {
	case value.KindRecord:
		r := v.AsRecord()
		if i := r.Shape.Slot(site.name); i >= 0 {
			site.learn(r.Shape, i)
			return r.Vals[i]
		}
		return m.raise(fieldMissing(v, site.name), site.span)
	case value.KindError:
		if f, ok := v.AsError().Field(site.name); ok {
			return f
		}
	case value.KindOutcome:
		return m.outcomeField(v, site)
	case value.KindStr:
		if v = m.stored(v, site.span); m.ctl != running {
			return value.Null
		}
	}
	if f, ok := m.ownField(v, site); ok {
		return f
	}
	return m.raise(m.lib.MissingMethod(v, site.name, site.span), site.span)
}

// ownField is a library field, or a method without arguments.
func (m *Machine) ownField(v value.Value, site *fieldSite) (value.Value, bool) {
	k := v.Kind()
	if row := m.lib.Field(k, site.name); row != nil {
		return m.runMethod(row, site.name, v, nil, nil, site.span), true
	}
	if row := m.lib.Method(k, site.name); row != nil {
		return m.runMethod(row, site.name, v, nil, nil, site.span), true
	}
	return value.Null, false
}

// outcomeField reads an outcome's own field, or forwards to its value.
func (m *Machine) outcomeField(v value.Value, site *fieldSite) value.Value {
	o := v.AsOutcome()
	f, ok, err := o.Field(site.name)
	if err != nil {
		return m.raise(err, site.span)
	}
	if ok {
		return f
	}
	if f, ok := m.ownField(v, site); ok {
		return f
	}
	out, err := o.OutValue()
	if err != nil {
		return m.raise(err, site.span)
	}
	return m.field(out, site)
}

// fieldMissing is the error for a record without the field.
func fieldMissing(v value.Value, name string) *value.Error {
	err := value.Errorf(value.CodeFieldMissing, "no field `%s` in record", name)
	if near := nearest(name, v.AsRecord().Shape.Keys()); near != "" {
		return err.WithHint("did you mean `.%s`?", near)
	}
	switch name {
	case "keys", "values", "items", "len", "count", "is_empty", "json":
		return err.WithHint("of a record the method is called: `.%s()`", name)
	}
	keys, more := v.AsRecord().Shape.Keys(), ""
	if len(keys) == 0 {
		return err.WithHint("the record is empty; `.get(%q)` gives null for a missing field", name)
	}
	if len(keys) > maxKeys {
		keys, more = keys[:maxKeys], ", …"
	}
	return err.WithHint("it has %s%s; `.get(%q)` gives null for a missing field", strings.Join(keys, ", "), more, name)
}

// maxKeys is how many fields of a record a hint lists.
const maxKeys = 12

// storedPrefix begins the text of a reference to content in the store.
const storedPrefix = "val:blake3:"

// stored is the content that a str refers to, if it has the form of a
// reference; any other str is itself.
func (m *Machine) stored(v value.Value, span syntax.Span) value.Value {
	ref := v.AsStr()
	if !strings.HasPrefix(ref, storedPrefix) || !isHex(ref[len(storedPrefix):]) {
		return v
	}
	if m.host.Values != nil {
		m.leaveCells()
		blob, err := m.host.Values.OpenValue(m.ctx, ref)
		m.enterCells()
		if err == nil {
			return value.NewBlob(blob)
		}
	}
	return m.fail(span, value.CodeNotFound, "%s is not in the journal/CAS", ref)
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}
