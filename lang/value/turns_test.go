package value

import (
	"slices"
	"strings"
	"testing"
)

// Work on values that ask now and then whether to go on ends soon after the
// answer was no.
func TestWorkStops(t *testing.T) {
	const n = 100 * turnsBetween
	list := NewList(slices.Repeat([]Value{Int(1)}, n))
	wide := NewRecord(ShapeOf("a", "b"), []Value{list, list})
	text := "[" + strings.Repeat("1,", n) + "1]"
	engine := must(NewRegex(`[a-z]\d`)).AsRegex()
	class := must(NewRegex(`[a-z]`)).AsRegex()
	work := map[string]func(stop func() error) error{
		"store list":   func(stop func() error) error { _, err := AppendStored(nil, list, &Codec{Stop: stop}); return err },
		"store record": func(stop func() error) error { _, err := AppendStored(nil, wide, &Codec{Stop: stop}); return err },
		"JSON":         func(stop func() error) error { return plainError(second(JSONUntil(list, false, stop))) },
		"JSON range":   func(stop func() error) error { return plainError(second(JSONUntil(NewRange(0, n, false), true, stop))) },
		"parse JSON":   func(stop func() error) error { return plainError(second(ParseJSONUntil(text, stop))) },
		"find all":     func(stop func() error) error { return second(engine.FindAll(strings.Repeat("a1 ", n), n+1, stop)) },
		"find class":   func(stop func() error) error { return second(class.FindAll(strings.Repeat("a1 ", n), n+1, stop)) },
	}
	for name, do := range work {
		if err := do(func() error { return nil }); err != nil {
			t.Errorf("%s, never stopped: %v", name, err)
		}
		gone, asked := Errorf(CodeCancelled, "gone"), 0
		err := do(func() error { asked++; return gone })
		if err != error(gone) || asked != 1 {
			t.Errorf("%s: got %v after %d questions, want the error of the first", name, err, asked)
		}
	}
}

func second[T any, E any](_ T, err E) E { return err }

func plainError(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}
