package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Code is the source of a callable value, a lambda or an alias's command, and
// what it captured, for those who read code instead of running it.
func (s *State) Code(v value.Value) (lambda *syntax.Lambda, command *syntax.Command, captured map[string]value.Value, ok bool) {
	if a, ok := aliasOf(v); ok {
		return nil, a.node.Cmd, nil, true
	}
	if v.Kind() != value.KindClosure {
		return nil, nil, nil, false
	}
	f, ok := v.AsClosure().Fn.(*Func)
	if !ok {
		return nil, nil, nil, false
	}
	captured = map[string]value.Value{}
	s.world.inspect(func() {
		for _, c := range f.code.info.Captures {
			if c.Boxed() {
				captured[c.Var.Name] = f.cells[c.Index].v
			} else {
				captured[c.Var.Name] = f.caps[c.Index]
			}
		}
	})
	if f.code.name != "" && f.code.info.SelfName() != "" {
		captured[f.code.name] = v
	}
	return f.code.lambda, nil, captured, true
}
