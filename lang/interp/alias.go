package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// declareAlias compiles `alias NAME = command`. The command runs in a frame of
// its own, with what it captured.
func (c *compiler) declareAlias(s *syntax.Alias) code {
	info := c.info.Funcs[s]
	fc := &funcCode{unit: c.unit, info: info, name: s.Name, rest: -1, arity: -1,
		slots: info.Slots, boxes: info.Boxes, weight: info.Weight}
	outer := c.fn
	c.fn = info
	cmd := c.commandParts(s.Cmd)
	c.fn = outer
	capture := c.captures(info)
	head, repr := s.Cmd.Head.Text, c.text(s.Cmd.Span)
	target, local := c.declared(s)
	set := c.setVar(target)
	name := s.Name
	return func(m *Machine) value.Value {
		f := &Func{code: fc}
		capture(m, f)
		v := value.NewCommand(head, repr, &alias{cmd: cmd, node: s, fn: f})
		if local {
			set(m, v)
		} else {
			m.declare(name, BindAlias, v)
		}
		return value.Null
	}
}

// alias is a stored command.
type alias struct {
	cmd  *command
	node *syntax.Alias
	fn   *Func
}

func aliasOf(v value.Value) (*alias, bool) {
	if v.Kind() != value.KindCommand {
		return nil, false
	}
	a, ok := v.AsCommand().Src.(*alias)
	return a, ok
}

// runAlias runs a stored command with more words.
func (m *Machine) runAlias(a *alias, words []word, block value.Value, pos position) value.Value {
	return m.aliased(a, words, block, &streams{}, pos)
}

// aliased runs a stored command; the call's words and redirects are appended.
// A chain of aliases is as deep as calls may be, but it is no function: it may
// change the session's directory.
func (m *Machine) aliased(a *alias, words []word, block value.Value, io *streams, pos position) value.Value {
	saved, ok := m.push(a.fn, a.cmd.span)
	if !ok {
		return value.Null
	}
	m.aliases++
	v := a.cmd.run(m, words, block, io, pos)
	m.aliases--
	return m.pop(&saved, v, a.cmd.span)
}
