package value

import "testing"

// The names of alike records are written from ready text; that text must be of
// the record's own shape wherever it stands.
func TestJSONOfAlikeRecords(t *testing.T) {
	a := func(v Value) Value { return NewRecord(ShapeOf("a"), []Value{v}) }
	quoted := NewRecord(ShapeOf(`"q"`, "line\n"), []Value{Int(1), Str(`"`)})
	ab := NewRecord(ShapeOf("a", "b"), []Value{a(Int(1)), a(Int(2))})
	empty := NewRecord(EmptyShape, nil)
	table := NewTable([]*Record{ab.AsRecord(), ab.AsRecord(), a(Null).AsRecord(), a(Null).AsRecord(), ab.AsRecord()})
	for _, c := range []struct {
		of   []Value
		want string
	}{
		{[]Value{a(Int(1)), a(Int(2)), a(Int(3))}, `[{"a":1},{"a":2},{"a":3}]`},
		{[]Value{a(a(a(Int(1)))), a(Int(2))}, `[{"a":{"a":{"a":1}}},{"a":2}]`},
		{[]Value{quoted, quoted, quoted}, `[{"\"q\"":1,"line\n":"\""},{"\"q\"":1,"line\n":"\""},{"\"q\"":1,"line\n":"\""}]`},
		{[]Value{empty, empty, empty, a(empty), a(empty)}, `[{},{},{},{"a":{}},{"a":{}}]`},
		{[]Value{ab, ab, empty, ab}, `[{"a":{"a":1},"b":{"a":2}},{"a":{"a":1},"b":{"a":2}},{},{"a":{"a":1},"b":{"a":2}}]`},
		{[]Value{table}, `[[{"a":{"a":1},"b":{"a":2}},{"a":{"a":1},"b":{"a":2}},{"a":null},{"a":null},{"a":{"a":1},"b":{"a":2}}]]`},
	} {
		if got, err := JSON(NewList(c.of), false); err != nil || got != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
}
