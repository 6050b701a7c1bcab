package interp

import (
	"math"
	"math/bits"
	"strings"
	"time"

	"shoal.dev/shoal/lang/value"
)

// op is an arithmetic operator.
type op uint8

const (
	opAdd op = iota
	opSub
	opMul
	opDiv
	opRem
)

var opNames = [...]string{opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opRem: "%"}

func opOf(s string) op {
	for o, name := range opNames {
		if name == s[:1] {
			return op(o)
		}
	}
	panic("interp: no operator " + s)
}

// MaxItems is how many elements a materialised sequence may have.
const MaxItems = 16_777_216

// Add is the operator +, for library functions that add up.
func Add(a, b value.Value) (value.Value, error) {
	v, err := arith(opAdd, a, b)
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

// arith applies an operator to any two values.
func arith(o op, a, b value.Value) (value.Value, *value.Error) {
	switch a.Kind() {
	case value.KindInt:
		switch b.Kind() {
		case value.KindInt:
			return arithInt(o, a.AsInt(), b.AsInt())
		case value.KindFloat:
			return arithFloat(o, float64(a.AsInt()), b.AsFloat()), nil
		case value.KindSize:
			if o == opMul {
				return scaleSize(b.AsSize(), a.AsInt())
			}
		case value.KindDuration:
			if o == opMul {
				return scaleDuration(b.AsDuration(), a.AsInt())
			}
		}
	case value.KindFloat:
		switch b.Kind() {
		case value.KindInt:
			return arithFloat(o, a.AsFloat(), float64(b.AsInt())), nil
		case value.KindFloat:
			return arithFloat(o, a.AsFloat(), b.AsFloat()), nil
		case value.KindSize:
			if o == opMul {
				return scaleSizeFloat(b.AsSize(), a.AsFloat())
			}
		case value.KindDuration:
			if o == opMul {
				return scaleDurationFloat(b.AsDuration(), a.AsFloat())
			}
		}
	case value.KindStr:
		if o == opAdd && b.Kind() == value.KindStr {
			return concat(a.AsStr(), b.AsStr())
		}
	case value.KindList, value.KindTable:
		if k := b.Kind(); o == opAdd && (k == value.KindList || k == value.KindTable) {
			return joinLists(a, b)
		}
	case value.KindSize:
		return arithSize(o, a, b)
	case value.KindDuration:
		return arithDuration(o, a, b)
	case value.KindDatetime:
		return arithDatetime(o, a, b)
	}
	return value.Null, cannotApply(o, a, b)
}

func cannotApply(o op, a, b value.Value) *value.Error {
	return value.Errorf(value.CodeType, "cannot apply `%s` to %s and %s", opNames[o], a.Kind(), b.Kind()).
		WithHint("%s", operandHint(opNames[o], a.Kind(), b.Kind()))
}

func overflow(what string) *value.Error {
	return value.Errorf(value.CodeOverflow, "%s overflow", what)
}

func divZero() *value.Error { return value.Errorf(value.CodeDivZero, "division by zero") }

func arithInt(o op, a, b int64) (value.Value, *value.Error) {
	switch o {
	case opAdd:
		if c, ok := addInt(a, b); ok {
			return value.Int(c), nil
		}
	case opSub:
		if c, ok := subInt(a, b); ok {
			return value.Int(c), nil
		}
	case opMul:
		if c, ok := mulInt(a, b); ok {
			return value.Int(c), nil
		}
	case opDiv:
		if b == 0 {
			return value.Null, divZero()
		}
		if a != math.MinInt64 || b != -1 {
			return value.Int(a / b), nil
		}
	case opRem:
		if b == 0 {
			return value.Null, divZero()
		}
		if b == -1 {
			return value.Int(0), nil
		}
		return value.Int(a % b), nil
	}
	return value.Null, overflow("integer").WithHint("use floats for numbers beyond 64 bits")
}

func addInt(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func subInt(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

func mulInt(a, b int64) (int64, bool) {
	if a == int64(int32(a)) && b == int64(int32(b)) {
		return a * b, true
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if a < 0 {
		hi -= uint64(b)
	}
	if b < 0 {
		hi -= uint64(a)
	}
	return int64(lo), int64(hi) == int64(lo)>>63
}

func arithFloat(o op, a, b float64) value.Value {
	switch o {
	case opAdd:
		return value.Float(a + b)
	case opSub:
		return value.Float(a - b)
	case opMul:
		return value.Float(a * b)
	case opDiv:
		return value.Float(a / b)
	}
	return value.Float(math.Mod(a, b))
}

func concat(a, b string) (value.Value, *value.Error) {
	if len(a)+len(b) > value.MaxText {
		return value.Null, overflow("str").WithHint("a str holds at most 1 GiB")
	}
	return value.Str(value.JoinText(a, b)), nil
}

func joinLists(a, b value.Value) (value.Value, *value.Error) {
	x, y := sequenceItems(a), sequenceItems(b)
	if len(x)+len(y) > MaxItems {
		return value.Null, overflow("list")
	}
	if a.Kind() == value.KindList {
		return a.AsList().Append(y).Value(), nil
	}
	items := make([]value.Value, 0, len(x)+len(y))
	return value.NewList(value.Extend(value.Extend(items, x), y)), nil
}

// sequenceItems are the elements of a list or table; they must not be changed.
func sequenceItems(v value.Value) []value.Value {
	if v.Kind() == value.KindList {
		return v.AsList().Items
	}
	t := v.AsTable()
	items := make([]value.Value, 0, t.Len())
	for r := range t.All() {
		items = append(items, r.Value())
	}
	return items
}

func arithSize(o op, a, b value.Value) (value.Value, *value.Error) {
	x := a.AsSize()
	switch b.Kind() {
	case value.KindSize:
		y := b.AsSize()
		switch o {
		case opAdd:
			if x+y < x {
				return value.Null, overflow("size")
			}
			return value.Size(x + y), nil
		case opSub:
			if y > x {
				return value.Null, value.Errorf(value.CodeType, "size cannot go negative").
					WithHint("subtract the smaller from the larger: `if a > b { a - b } else { b - a }`")
			}
			return value.Size(x - y), nil
		case opDiv:
			if y == 0 {
				return value.Null, divZero()
			}
			return value.Float(float64(x) / float64(y)), nil
		}
	case value.KindInt:
		switch o {
		case opMul:
			return scaleSize(x, b.AsInt())
		case opDiv:
			if b.AsInt() == 0 {
				return value.Null, divZero()
			}
			if b.AsInt() < 0 {
				return value.Null, negativeSize()
			}
			return value.Size(x / uint64(b.AsInt())), nil
		}
	case value.KindFloat:
		if o == opMul {
			return scaleSizeFloat(x, b.AsFloat())
		}
	}
	return value.Null, cannotApply(o, a, b)
}

func negativeSize() *value.Error {
	return value.Errorf(value.CodeType, "size cannot be scaled by a negative number").
		WithHint("a size has no sign: use `n.abs()`")
}

func scaleSize(x uint64, n int64) (value.Value, *value.Error) {
	if n < 0 {
		return value.Null, negativeSize()
	}
	hi, lo := bits.Mul64(x, uint64(n))
	if hi != 0 {
		return value.Null, overflow("size")
	}
	return value.Size(lo), nil
}

func scaleSizeFloat(x uint64, f float64) (value.Value, *value.Error) {
	if f < 0 {
		return value.Null, negativeSize()
	}
	r := math.Round(float64(x) * f)
	if math.IsNaN(r) || r >= 1<<64 {
		return value.Null, overflow("size")
	}
	return value.Size(uint64(r)), nil
}

func arithDuration(o op, a, b value.Value) (value.Value, *value.Error) {
	x := a.AsDuration()
	switch b.Kind() {
	case value.KindDuration:
		y := b.AsDuration()
		switch o {
		case opAdd:
			return checkedDuration(addInt(int64(x), int64(y)))
		case opSub:
			return checkedDuration(subInt(int64(x), int64(y)))
		case opDiv:
			if y == 0 {
				return value.Null, divZero()
			}
			return value.Float(float64(x) / float64(y)), nil
		}
	case value.KindInt:
		switch o {
		case opMul:
			return scaleDuration(x, b.AsInt())
		case opDiv:
			if b.AsInt() == 0 {
				return value.Null, divZero()
			}
			if x == math.MinInt64 && b.AsInt() == -1 {
				return value.Null, overflow("duration")
			}
			return value.Duration(x / time.Duration(b.AsInt())), nil
		}
	case value.KindFloat:
		if o == opMul {
			return scaleDurationFloat(x, b.AsFloat())
		}
	case value.KindDatetime:
		if o == opAdd {
			return shiftDatetime(b, x, true)
		}
	}
	return value.Null, cannotApply(o, a, b)
}

func checkedDuration(n int64, ok bool) (value.Value, *value.Error) {
	if !ok {
		return value.Null, overflow("duration")
	}
	return value.Duration(time.Duration(n)), nil
}

func scaleDuration(x time.Duration, n int64) (value.Value, *value.Error) {
	return checkedDuration(mulInt(int64(x), n))
}

func scaleDurationFloat(x time.Duration, f float64) (value.Value, *value.Error) {
	r := math.Round(float64(x) * f)
	if math.IsNaN(r) || r >= 1<<63 || r < -(1<<63) {
		return value.Null, overflow("duration")
	}
	return value.Duration(time.Duration(r)), nil
}

func arithDatetime(o op, a, b value.Value) (value.Value, *value.Error) {
	switch {
	case b.Kind() == value.KindDuration && o == opAdd:
		return shiftDatetime(a, b.AsDuration(), true)
	case b.Kind() == value.KindDuration && o == opSub:
		return shiftDatetime(a, b.AsDuration(), false)
	case b.Kind() == value.KindDatetime && o == opSub:
		return datetimeDifference(a.AsDatetime(), b.AsDatetime())
	}
	return value.Null, cannotApply(o, a, b)
}

// shiftDatetime moves a datetime forwards or back. Years beyond what RFC 3339
// can write are an overflow.
func shiftDatetime(t value.Value, d time.Duration, forward bool) (value.Value, *value.Error) {
	at := t.AsDatetime()
	var moved time.Time
	if forward {
		moved = at.Add(d)
	} else {
		moved = at.Add(-(d / 2)).Add(-(d - d/2)) // -d itself may not exist
	}
	if y := moved.UTC().Year(); y < 0 || y > 9999 {
		return value.Null, overflow("datetime")
	}
	return value.NewDatetime(moved), nil
}

func datetimeDifference(a, b time.Time) (value.Value, *value.Error) {
	d := a.Sub(b)
	if (d == math.MaxInt64 || d == math.MinInt64) && !b.Add(d).Equal(a) {
		return value.Null, overflow("duration")
	}
	return value.Duration(d), nil
}

// negate is the unary minus.
func negate(v value.Value) (value.Value, *value.Error) {
	switch v.Kind() {
	case value.KindInt:
		if v.AsInt() == math.MinInt64 {
			return value.Null, overflow("integer")
		}
		return value.Int(-v.AsInt()), nil
	case value.KindFloat:
		return value.Float(-v.AsFloat()), nil
	case value.KindDuration:
		if v.AsDuration() == math.MinInt64 {
			return value.Null, overflow("duration")
		}
		return value.Duration(-v.AsDuration()), nil
	}
	return value.Null, value.Errorf(value.CodeType, "cannot apply unary `-` to %s", v.Kind()).
		WithHint("int, float and duration have a sign")
}

// Condition is a value as a condition: a bool, or an outcome's ok.
func Condition(v value.Value) (bool, error) {
	if ok, err := condition(v); err != nil {
		return false, err
	} else {
		return ok, nil
	}
}

func condition(v value.Value) (bool, *value.Error) {
	switch v.Kind() {
	case value.KindBool:
		return v.AsBool(), nil
	case value.KindOutcome:
		return v.AsOutcome().OK, nil
	}
	return false, value.Errorf(value.CodeType, "expected bool, found %s", v.Kind()).
		WithHint("there is no truthiness here; %s", conditionHint(v.Kind()))
}

func conditionHint(k value.Kind) string {
	switch k {
	case value.KindStr, value.KindList, value.KindTable, value.KindRecord:
		return "compare explicitly, such as `!x.is_empty()`"
	case value.KindNull:
		return "compare explicitly, such as `x != null`; `;` goes after a command that gives nothing, as in `echo hi > f; cat f`"
	case value.KindPath:
		return "`;` goes after a command that gives a path, as in `cd sub; ls`; for a test compare explicitly, such as `x.exists`"
	}
	return "compare explicitly, such as `x != 0`"
}

// compareOp is a comparison operator.
type compareOp uint8

const (
	cmpEq compareOp = iota
	cmpNe
	cmpLt
	cmpLe
	cmpGt
	cmpGe
)

var compareOps = map[string]compareOp{
	"==": cmpEq, "!=": cmpNe, "<": cmpLt, "<=": cmpLe, ">": cmpGt, ">=": cmpGe,
}

// compare applies a comparison to any two values.
func compare(o compareOp, a, b value.Value) (bool, *value.Error) {
	if o <= cmpNe {
		same, err := value.Equal(a, b)
		return same == (o == cmpEq), err
	}
	c, err := value.Compare(a, b)
	if err != nil {
		return false, err
	}
	switch o {
	case cmpLt:
		return c < 0, nil
	case cmpLe:
		return c <= 0, nil
	case cmpGt:
		return c > 0, nil
	}
	return c >= 0, nil
}

// contains is the operator in.
func contains(x, in value.Value) (bool, *value.Error) {
	if in.Kind() == value.KindOutcome {
		out, err := in.AsOutcome().OutValue()
		if err != nil {
			return false, err
		}
		in = out
	}
	switch in.Kind() {
	case value.KindList:
		for _, item := range in.AsList().Items {
			if value.Same(x, item) {
				return true, nil
			}
		}
		return false, nil
	case value.KindTable:
		for row := range in.AsTable().Borrowed() {
			if value.Same(x, row.Value()) {
				return true, nil
			}
		}
		return false, nil
	case value.KindStr:
		if x.Kind() == value.KindStr {
			return strings.Contains(in.AsStr(), x.AsStr()), nil
		}
	case value.KindRecord:
		if x.Kind() == value.KindStr {
			_, ok := in.AsRecord().Get(x.AsStr())
			return ok, nil
		}
	case value.KindRange:
		if x.Kind() == value.KindInt {
			return inRange(in.AsRange(), x.AsInt()), nil
		}
	}
	return false, value.Errorf(value.CodeType, "cannot apply `in` to %s and %s", x.Kind(), in.Kind()).
		WithHint("`in` looks for any value in a list, for a str in text and among the keys of a record, for an int in a range")
}

func inRange(r *value.Range, n int64) bool {
	return n >= r.Start && (n < r.End || r.Inclusive && n == r.End)
}
