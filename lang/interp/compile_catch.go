package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// try compiles `try { } catch e { }`: a command in the body's tail raises when
// it fails.
func (c *compiler) try(e *syntax.Try) code {
	return c.guarded(c.block(e.Body, inStmt), e, e.Binder, c.block(e.Handler, inValue))
}

// catch compiles the postfix form.
func (c *compiler) catch(e *syntax.Catch) code {
	return c.guarded(c.expr(unparen(e.X), inStmt), e, e.Binder, c.expr(e.Handler, inValue))
}

func (c *compiler) guarded(body code, node syntax.Node, binder string, handler code) code {
	set := func(*Machine, value.Value) {}
	if binder != "" {
		set = c.bind(node)
	}
	return func(m *Machine) value.Value {
		v := body(m)
		if m.ctl != raised || m.signal.Load()&signalCancel != 0 {
			return v
		}
		set(m, value.NewError(m.take()))
		return handler(m)
	}
}

// with compiles `with cwd: …, env: … { }`. Everything is restored on every
// exit, and the body sees it wherever it calls.
func (c *compiler) with(e *syntax.With) code {
	type entry struct {
		key  string
		x    code
		span syntax.Span
	}
	entries := make([]entry, len(e.Entries))
	for i, f := range e.Entries {
		entries[i] = entry{f.Key, c.expr(f.Value, inValue), f.Value.Pos()}
	}
	body := c.block(e.Body, inValue)
	return func(m *Machine) value.Value {
		place, env, overlay := m.state.place(), m.state.environment(), m.overlay
		defer func() {
			m.state.setPlace(place)
			m.state.setEnvironment(env)
			m.overlay = overlay
		}()
		for i := range entries {
			v := entries[i].x(m)
			if m.ctl != running {
				return value.Null
			}
			if err := m.enterWith(entries[i].key, v); err != nil {
				return m.raise(err, entries[i].span)
			}
		}
		return body(m)
	}
}

func (m *Machine) enterWith(key string, v value.Value) error {
	switch key {
	case "cwd":
		return m.withCwd(v)
	case "env":
		return m.withEnv(v)
	}
	return value.Errorf(value.CodeArg, "`with %s:` needs a host that has it", key)
}

func (m *Machine) withCwd(v value.Value) error {
	if k := v.Kind(); k != value.KindPath && k != value.KindStr {
		return value.Errorf(value.CodeType, "`with cwd:` takes a path or str, not %s", v.Kind())
	}
	if m.host.Files == nil {
		return noFiles()
	}
	path := m.Abs(v.AsStr())
	info, err := m.host.Files.Stat(m.ctx, path)
	if err != nil || info.Type != "dir" {
		return value.Errorf(value.CodeNotFound, "`with cwd:` %s is not a directory", v.AsStr())
	}
	real, err := m.host.Files.Real(m.ctx, path)
	if err != nil {
		real = path
	}
	p := m.state.place()
	p.cwd = real
	m.state.setPlace(p)
	return nil
}

func (m *Machine) withEnv(v value.Value) error {
	if v.Kind() != value.KindRecord {
		return value.Errorf(value.CodeType, "`with env:` takes a record, not %s", v.Kind())
	}
	r := v.AsRecord()
	for i, name := range r.Shape.Keys() {
		if err := m.overlayEnv(name, r.Vals[i]); err != nil {
			return err
		}
	}
	return nil
}

// overlayEnv sets a variable for a while; for children it wins over the pinned
// ones.
func (m *Machine) overlayEnv(name string, v value.Value) error {
	text, err := envValue(v)
	if err != nil {
		return err
	}
	m.state.setEnvironment(m.state.environment().with(name, text))
	m.overlay = overlaid(m.overlay, EnvVar{name, text})
	return nil
}

// overlaid is a copy of the overlay with one variable set, or dropped when it
// is unset.
func overlaid(old []EnvVar, v EnvVar) []EnvVar {
	out := make([]EnvVar, 0, len(old)+1)
	for _, o := range old {
		if o.Name != v.Name {
			out = append(out, o)
		}
	}
	if v.Value.IsNull() {
		return out
	}
	return append(out, v)
}

func noFiles() *value.Error {
	return value.Errorf(value.CodeArg, "this host has no file system")
}
