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
	v, err := value.ParseJSON(a[0].AsStr())
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return v, nil
}

func jsonStringify(c *interp.Call, a []value.Value) (value.Value, error) {
	text, err := value.JSON(a[0], a[1].AsBool())
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return value.Str(text), nil
}

// configRows is the namespace config. A session without a configuration
// snapshot has an empty one.
func configRows() []memberRow {
	return []memberRow{
		{"config", "all()", "The whole configuration as a record.", func(*interp.Call, []value.Value) (value.Value, error) {
			return value.NewRecord(value.EmptyShape, nil), nil
		}},
		{"config", "get(key: str)", "A configuration entry, or null.", func(*interp.Call, []value.Value) (value.Value, error) {
			return value.Null, nil
		}},
	}
}

// configMember is config.KEY.
func configMember(key string) *interp.Function {
	return &interp.Function{
		Doc:   interp.Doc{Name: "config." + key, Signature: "config." + key, Text: "A configuration entry, or null."},
		Const: true,
		Run:   func(*interp.Call) (value.Value, error) { return value.Null, nil },
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
