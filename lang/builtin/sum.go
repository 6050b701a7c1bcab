package builtin

import (
	"math/big"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// seqSum adds from the first item on. Ints, floats, strings and lists are
// added without going through the operator; whatever else comes up is left to
// it.
func seqSum(c *interp.Call, _ []value.Value) (value.Value, error) {
	if c.Recv.Kind() == value.KindRange {
		return rangeSum(c, c.Recv.AsRange())
	}
	all, err := items(c, c.Recv)
	if err != nil || len(all) == 0 {
		return value.Int(0), err
	}
	if len(all) > 1 {
		switch kindOfAll(all) {
		case value.KindStr:
			return concatStrs(c, all)
		case value.KindList:
			return concatLists(c, all)
		}
	}
	acc := all[0]
	for _, x := range all[1:] {
		if acc.Kind() == value.KindInt && x.Kind() == value.KindInt {
			if n, ok := addInts(acc.AsInt(), x.AsInt()); ok {
				acc = value.Int(n)
				continue
			}
		}
		if acc.Kind() == value.KindFloat && x.Kind() == value.KindFloat {
			acc = value.Float(acc.AsFloat() + x.AsFloat())
			continue
		}
		if acc, err = interp.Add(acc, x); err != nil {
			return value.Null, hostErr(c, err)
		}
	}
	return acc, nil
}

func addInts(a, b int64) (int64, bool) {
	n := a + b
	return n, (a^n)&(b^n) >= 0
}

// kindOfAll is the kind that all items have, or null's.
func kindOfAll(all []value.Value) value.Kind {
	k := all[0].Kind()
	for _, x := range all[1:] {
		if x.Kind() != k {
			return value.KindNull
		}
	}
	return k
}

func concatStrs(c *interp.Call, all []value.Value) (value.Value, error) {
	size := 0
	for _, x := range all {
		if size += len(x.AsStr()); size > maxText {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "sum: more than %d bytes", maxText)
		}
	}
	if err := c.M.Reserve(int64(size)); err != nil {
		return value.Null, err
	}
	out := make([]byte, 0, size)
	for _, x := range all {
		out = value.ExtendText(out, x.AsStr())
	}
	return value.Str(value.TextOf(out)), nil
}

func concatLists(c *interp.Call, all []value.Value) (value.Value, error) {
	n := 0
	for _, x := range all {
		if n += len(x.AsList().Items); n > maxItems {
			return value.Null, tooLong(c)
		}
	}
	if err := reserve(c, int64(n)); err != nil {
		return value.Null, err
	}
	out := make([]value.Value, 0, n)
	for _, x := range all {
		out = value.Extend(out, x.AsList().Items)
	}
	return value.NewList(out), nil
}

// rangeSum is n(first+last)/2.
func rangeSum(c *interp.Call, r *value.Range) (value.Value, error) {
	n := r.Len()
	if n == 0 {
		return value.Int(0), nil
	}
	sum := new(big.Int).Add(big.NewInt(r.Start), big.NewInt(r.Start+(n-1)))
	sum.Mul(sum, big.NewInt(n))
	sum.Rsh(sum, 1)
	if !sum.IsInt64() {
		return value.Null, codeErr(c.Span, value.CodeOverflow, "sum: integer overflow")
	}
	return value.Int(sum.Int64()), nil
}
