package builtin

import (
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// jsonRows is the namespace json.
func jsonRows() []memberRow {
	return []memberRow{
		{"json", "parse(text: any)", "The value that a JSON document spells.", jsonParse},
		{"json", "stringify(value: any, pretty: bool = false)", "The value as JSON, indented by two blanks when pretty.", jsonStringify},
	}
}

func jsonParse(c *interp.Call, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindStr {
		return value.Null, argErr(c.Span, "json.parse: expected str, got %s", a[0].Kind())
	}
	v, err := value.ParseJSONUntil(a[0].AsStr(), c.M.Check)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return v, nil
}

func jsonStringify(c *interp.Call, a []value.Value) (value.Value, error) {
	text, err := value.JSONUntil(a[0], a[1].AsBool(), c.M.Check)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return value.Str(text), nil
}

// configRows is the namespace config. A session without a configuration has an
// empty one.
func configRows() []memberRow {
	return []memberRow{
		{"config", "all()", "The whole configuration as a record.", func(c *interp.Call, _ []value.Value) (value.Value, error) {
			return configuration(c)
		}},
		{"config", "get(key: str)", "A configuration entry, or null.", func(c *interp.Call, a []value.Value) (value.Value, error) {
			return configEntry(c, a[0].AsStr())
		}},
	}
}

func configuration(c *interp.Call) (value.Value, error) {
	if c.M.Host() == nil || c.M.Host().Config == nil {
		return value.NewRecord(value.EmptyShape, nil), nil
	}
	v, err := c.M.Host().Config.Snapshot(c.M.Context())
	return v, hostErr(c, err)
}

func configEntry(c *interp.Call, key string) (value.Value, error) {
	all, err := configuration(c)
	if err != nil || all.Kind() != value.KindRecord {
		return value.Null, err
	}
	v, _ := all.AsRecord().Get(key)
	return v, nil
}

// configMember is config.KEY.
func configMember(key string) *interp.Function {
	return &interp.Function{
		Doc:   interp.Doc{Name: "config." + key, Signature: "config." + key, Text: "A configuration entry, or null."},
		Const: true,
		Run:   func(c *interp.Call) (value.Value, error) { return configEntry(c, key) },
	}
}

// envMember is env.NAME.
func envMember(name string) *interp.Function {
	return &interp.Function{
		Doc:   interp.Doc{Name: "env." + name, Signature: "env." + name, Text: "A variable of the session's environment, or null."},
		Const: true,
		Effects: func([]interp.EffectArg, string) []effect.Effect {
			return []effect.Effect{{Kind: effect.EnvRead, Name: name}}
		},
		Run: func(c *interp.Call) (value.Value, error) {
			v, _ := c.M.Getenv(name)
			return v, nil
		},
	}
}
