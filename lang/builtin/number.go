package builtin

import (
	"math"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

var numbers = kindSet(value.KindInt, value.KindFloat)

// numberRows are the methods of int and float.
func numberRows() []methodRow {
	return []methodRow{
		{numbers, "abs()", "The number without its sign.", numberAbs},
		{numbers, "round(n: count = 0)", "Rounded half away from zero to n decimals; ints are unchanged.", rounded(math.Round)},
		{numbers, "floor(n: count = 0)", "Rounded down to n decimals; ints are unchanged.", rounded(math.Floor)},
		{numbers, "ceil(n: count = 0)", "Rounded up to n decimals; ints are unchanged.", rounded(math.Ceil)},
	}
}

func numberAbs(c *interp.Call, _ []value.Value) (value.Value, error) {
	if c.Recv.Kind() == value.KindFloat {
		return value.Float(math.Abs(c.Recv.AsFloat())), nil
	}
	n := c.Recv.AsInt()
	if n == math.MinInt64 {
		return value.Null, codeErr(c.Span, value.CodeOverflow, "abs: integer overflow")
	}
	return value.Int(max(n, -n)), nil
}

// rounded applies f at n decimals. A float that does not survive the scaling
// has no digits there, so it stays as it is.
func rounded(f func(float64) float64) run {
	return func(c *interp.Call, a []value.Value) (value.Value, error) {
		if c.Recv.Kind() == value.KindInt {
			return c.Recv, nil
		}
		x := c.Recv.AsFloat()
		scale := math.Pow(10, float64(a[0].AsInt()))
		y := f(x*scale) / scale
		if math.IsInf(scale, 0) || math.IsInf(x*scale, 0) || math.IsNaN(y) {
			return c.Recv, nil
		}
		return value.Float(y), nil
	}
}
