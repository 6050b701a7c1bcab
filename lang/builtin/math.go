package builtin

import (
	"math"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// mathRows is the namespace math: floats out, whatever number comes in.
func mathRows() []memberRow {
	rows := []memberRow{
		{"math", "pi", "The ratio of a circle's circumference to its diameter.", constant(math.Pi)},
		{"math", "e", "The base of natural logarithms.", constant(math.E)},
		{"math", "tau", "Two pi.", constant(2 * math.Pi)},
		{"math", "inf", "Positive infinity.", constant(math.Inf(1))},
		{"math", "nan", "Not a number.", constant(math.NaN())},
		{"math", "sqrt2", "The square root of two.", constant(math.Sqrt2)},
	}
	for _, f := range []struct {
		name, doc string
		fn        func(float64) float64
	}{
		{"sqrt", "The square root.", math.Sqrt},
		{"cbrt", "The cube root.", math.Cbrt},
		{"sin", "The sine of an angle in radians.", math.Sin},
		{"cos", "The cosine of an angle in radians.", math.Cos},
		{"tan", "The tangent of an angle in radians.", math.Tan},
		{"asin", "The angle of a sine.", math.Asin},
		{"acos", "The angle of a cosine.", math.Acos},
		{"atan", "The angle of a tangent.", math.Atan},
		{"ln", "The natural logarithm.", math.Log},
		{"log10", "The logarithm to base 10.", math.Log10},
		{"log2", "The logarithm to base 2.", math.Log2},
		{"exp", "e to the power of x.", math.Exp},
		{"floor", "The greatest whole number not above x.", math.Floor},
		{"ceil", "The least whole number not below x.", math.Ceil},
		{"round", "The nearest whole number, half away from zero.", math.Round},
		{"trunc", "The whole part.", math.Trunc},
		{"abs", "The number without its sign.", math.Abs},
		{"sign", "1 or -1 by the sign; zero counts by its own sign.", signOf},
	} {
		rows = append(rows, memberRow{"math", f.name + "(x: number)", f.doc, unaryMath(f.fn)})
	}
	return append(rows,
		memberRow{"math", "atan2(y: number, x: number)", "The angle of the point (x, y).", binaryMath(math.Atan2)},
		memberRow{"math", "log(x: number, base: number)", "The logarithm to the given base.", binaryMath(logBase)},
		memberRow{"math", "pow(x: number, y: number)", "x to the power of y.", binaryMath(math.Pow)},
		memberRow{"math", "min(a: number, b: number)", "The smaller number.", binaryMath(math.Min)},
		memberRow{"math", "max(a: number, b: number)", "The greater number.", binaryMath(math.Max)},
		memberRow{"math", "hypot(x: number, y: number)", "The length of the vector (x, y).", binaryMath(math.Hypot)},
		memberRow{"math", "clamp(x: number, lo: number, hi: number)", "x kept between lo and hi.", mathClamp},
	)
}

// constant is the run of a member that is a value.
func constant(f float64) run {
	return func(*interp.Call, []value.Value) (value.Value, error) { return value.Float(f), nil }
}

// asFloat is an int or float as a float.
func asFloat(v value.Value) float64 {
	if v.Kind() == value.KindInt {
		return float64(v.AsInt())
	}
	return v.AsFloat()
}

func unaryMath(f func(float64) float64) run {
	return func(_ *interp.Call, a []value.Value) (value.Value, error) {
		return value.Float(f(asFloat(a[0]))), nil
	}
}

func binaryMath(f func(x, y float64) float64) run {
	return func(_ *interp.Call, a []value.Value) (value.Value, error) {
		return value.Float(f(asFloat(a[0]), asFloat(a[1]))), nil
	}
}

func signOf(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return math.Copysign(1, x)
}

// logBase keeps the exact results of the two common bases.
func logBase(x, base float64) float64 {
	switch base {
	case 2:
		return math.Log2(x)
	case 10:
		return math.Log10(x)
	}
	return math.Log(x) / math.Log(base)
}

func mathClamp(c *interp.Call, a []value.Value) (value.Value, error) {
	x, lo, hi := asFloat(a[0]), asFloat(a[1]), asFloat(a[2])
	if lo > hi {
		return value.Null, argErr(c.Span, "clamp: lo is above hi")
	}
	return value.Float(math.Max(lo, math.Min(hi, x))), nil
}
