package interp

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"shoal.dev/shoal/lang/value"
)

// EnvVar is one environment variable: a str, or a secret that only children
// see.
type EnvVar struct {
	Name  string
	Value value.Value
}

// envTable is an immutable environment.
type envTable struct {
	vars map[string]value.Value

	once sync.Once
	list []string
}

func newEnvTable(environ []string) *envTable {
	e := &envTable{vars: make(map[string]value.Value, len(environ))}
	for _, kv := range environ {
		if name, text, ok := strings.Cut(kv, "="); ok && name != "" {
			e.vars[name] = value.Str(text)
		}
	}
	return e
}

// with is the environment with one variable set, or unset when v is null.
func (e *envTable) with(name string, v value.Value) *envTable {
	vars := maps.Clone(e.vars)
	if v.IsNull() {
		delete(vars, name)
	} else {
		vars[name] = v
	}
	return &envTable{vars: vars}
}

// environ is the environment of children, KEY=value in name order.
func (e *envTable) environ() []string {
	e.once.Do(func() {
		for _, name := range slices.Sorted(maps.Keys(e.vars)) {
			e.list = append(e.list, name+"="+envText(e.vars[name]))
		}
	})
	return e.list
}

func envText(v value.Value) string {
	if v.Kind() == value.KindSecret {
		return v.AsSecret().Reveal()
	}
	return v.AsStr()
}

// EnvChange is a variable that was set, or unset when Value is nil.
type EnvChange struct {
	Name   string
	Value  *string
	Secret bool // the value is a secret and is not told
}

// changes lists what e has that old has not, in name order.
func (e *envTable) changes(old *envTable) []EnvChange {
	if e == old {
		return nil
	}
	var out []EnvChange
	for _, name := range slices.Sorted(maps.Keys(e.vars)) {
		v := e.vars[name]
		if was, ok := old.vars[name]; ok && was.Kind() == v.Kind() && envText(was) == envText(v) {
			continue
		}
		if v.Kind() == value.KindSecret {
			out = append(out, EnvChange{Name: name, Secret: true})
			continue
		}
		text := v.AsStr()
		out = append(out, EnvChange{Name: name, Value: &text})
	}
	for _, name := range slices.Sorted(maps.Keys(old.vars)) {
		if _, ok := e.vars[name]; !ok {
			out = append(out, EnvChange{Name: name})
		}
	}
	return out
}
