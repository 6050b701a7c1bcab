package kit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Val is a piece of decoded JSON, walked without checks: what is not there is
// the zero Val. Numbers stay exact.
type Val struct{ v any }

// Parse decodes JSON; what does not decode is the zero Val.
func Parse(raw []byte) Val {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return Val{}
	}
	return Val{v}
}

// Of is v as JSON would carry it.
func Of(v any) Val {
	raw, err := json.Marshal(v)
	if err != nil {
		return Val{}
	}
	return Parse(raw)
}

// At descends by member names and indexes; a negative index counts from the
// end.
func (v Val) At(steps ...any) Val {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			m, _ := v.v.(map[string]any)
			v = Val{m[step]}
		case int:
			list, _ := v.v.([]any)
			if step < 0 {
				step += len(list)
			}
			if step < 0 || step >= len(list) {
				return Val{}
			}
			v = Val{list[step]}
		}
	}
	return v
}

// Has reports whether the object has the member, null or not.
func (v Val) Has(name string) bool {
	m, _ := v.v.(map[string]any)
	_, ok := m[name]
	return ok
}

// Str is the string, or "".
func (v Val) Str() string { s, _ := v.v.(string); return s }

// Bool is the boolean, or false.
func (v Val) Bool() bool { b, _ := v.v.(bool); return b }

// IsNull reports whether there is nothing, or null.
func (v Val) IsNull() bool { return v.v == nil }

// Int is the integer, or -1<<63.
func (v Val) Int() int64 {
	n, _ := v.v.(json.Number)
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		return -1 << 63
	}
	return i
}

// List is the items of an array.
func (v Val) List() []Val {
	list, _ := v.v.([]any)
	out := make([]Val, len(list))
	for i, item := range list {
		out[i] = Val{item}
	}
	return out
}

// Keys is how many members the object has.
func (v Val) Keys() int { m, _ := v.v.(map[string]any); return len(m) }

// Strs is the strings of an array.
func (v Val) Strs() []string {
	out := []string{}
	for _, item := range v.List() {
		out = append(out, item.Str())
	}
	return out
}

// String is the JSON.
func (v Val) String() string {
	raw, err := json.Marshal(v.v)
	if err != nil {
		return fmt.Sprint(v.v)
	}
	return string(raw)
}
