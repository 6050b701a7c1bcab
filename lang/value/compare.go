package value

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"io"
	"math"
	"strings"

	"github.com/zeebo/blake3"
)

// maxCompareDepth bounds the recursion of comparisons, storing and hashing, so
// that no value a program can build ends the process.
const maxCompareDepth = 10_000

// Equal is the operator ==. It raises only for a stream against something
// else, and for values nested deeper than can be compared.
func Equal(a, b Value) (bool, *Error) {
	ka, kb := a.Kind(), b.Kind()
	if (ka == KindStream) != (kb == KindStream) {
		return false, Errorf(CodeType, "cannot compare %s with %s", ka, kb).
			WithHint("`collect` the stream first")
	}
	c := comparer{}
	same := c.same(a, b, 0)
	if c.deep {
		return false, Errorf(CodeRecursion, "values nest too deep or are too large to be compared")
	}
	return same, nil
}

// Same is == where nothing may raise: what cannot be compared differs. It is
// the equality of in, contains and uniq.
func Same(a, b Value) bool {
	c := comparer{}
	return c.same(a, b, 0)
}

// comparer notes that it met values too deep or too large to compare. Values
// may share parts, so that few objects make exponentially many steps.
type comparer struct {
	deep  bool
	steps int
}

const (
	maxCompareSteps = 1 << 28
	// identityDepth is from where on one object is equal to itself without a
	// look inside; above, a NaN in it makes it differ.
	identityDepth = 4
)

func (c *comparer) same(a, b Value, depth int) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return c.sameMixed(a, b, ka, kb, depth)
	}
	switch ka {
	case KindNull:
		return true
	case KindFloat:
		return a.AsFloat() == b.AsFloat()
	case KindBool, KindInt, KindSize, KindDuration, KindTime:
		return a.n == b.n
	case KindStr, KindPath:
		return a.AsStr() == b.AsStr()
	case KindDatetime:
		return a.AsDatetime().Equal(b.AsDatetime())
	case KindGlob:
		return a.AsGlob().Pattern == b.AsGlob().Pattern
	case KindRegex:
		return a.AsRegex().Src == b.AsRegex().Src
	case KindBytes:
		return sameBytes(a.AsBytes(), b.AsBytes())
	case KindRange:
		x, y := a.AsRange(), b.AsRange()
		return x.Start == y.Start && x.End == y.End && x.Inclusive == y.Inclusive
	case KindCommand:
		return a.AsCommand().Repr == b.AsCommand().Repr
	case KindSecret:
		return a.AsSecret().Name == b.AsSecret().Name
	case KindError:
		return sameError(a.AsError(), b.AsError())
	case KindList, KindTable, KindRecord:
		return depth >= identityDepth && a.p == b.p || c.sameParts(a, b, depth)
	}
	return a.p == b.p // outcome, closure, task, stream: identity
}

func (c *comparer) sameMixed(a, b Value, ka, kb Kind, depth int) bool {
	switch {
	case ka == KindInt && kb == KindFloat:
		r, ok := compareIntFloat(a.AsInt(), b.AsFloat())
		return ok && r == 0
	case ka == KindFloat && kb == KindInt:
		r, ok := compareIntFloat(b.AsInt(), a.AsFloat())
		return ok && r == 0
	case ka == KindStr && kb == KindPath, ka == KindPath && kb == KindStr:
		return a.AsStr() == b.AsStr()
	case ka == KindList && kb == KindTable, ka == KindTable && kb == KindList:
		return c.sameParts(a, b, depth)
	}
	return false
}

// sameParts compares sequences element by element and records key by key.
func (c *comparer) sameParts(a, b Value, depth int) bool {
	c.steps++
	if depth >= maxCompareDepth || c.steps > maxCompareSteps {
		c.deep = true
	}
	if c.deep {
		return false
	}
	if a.Kind() == KindRecord {
		return c.sameRecord(a.AsRecord(), b.AsRecord(), depth)
	}
	n := seqLen(a)
	if n != seqLen(b) {
		return false
	}
	for i := range n {
		if !c.same(seqAt(a, i), seqAt(b, i), depth+1) {
			return false
		}
	}
	return true
}

// seqLen and seqAt see lists and tables alike.
func seqLen(v Value) int {
	if v.Kind() == KindTable {
		return v.AsTable().Len()
	}
	return len(v.AsList().Items)
}

func seqAt(v Value, i int) Value {
	if v.Kind() == KindTable {
		return v.AsTable().Row(i).Value()
	}
	return v.AsList().Items[i]
}

func (c *comparer) sameRecord(x, y *Record, depth int) bool {
	if len(x.Vals) != len(y.Vals) {
		return false
	}
	for i, k := range x.Shape.keys {
		other := y.Vals[i]
		if y.Shape != x.Shape && y.Shape.keys[i] != k {
			slot := y.Shape.Slot(k)
			if slot < 0 {
				return false
			}
			other = y.Vals[slot]
		}
		if !c.same(x.Vals[i], other, depth+1) {
			return false
		}
	}
	return true
}

func sameError(x, y *Error) bool {
	return x == y || x.Code == y.Code && x.Msg == y.Msg && x.Hint == y.Hint &&
		x.Stderr == y.Stderr && x.HasStderr == y.HasStderr &&
		samePtr(x.Status, y.Status) && samePtr(x.Span, y.Span)
}

func samePtr[T comparable](x, y *T) bool {
	return x == y || x != nil && y != nil && *x == *y
}

// sameBytes compares content; content-addressed bytes by hash and length.
func sameBytes(x, y *Bytes) bool {
	if x == y {
		return true
	}
	if x.Len() != y.Len() {
		return false
	}
	if x.Ref() != "" || y.Ref() != "" {
		rx, ry := contentRef(x), contentRef(y)
		return rx != "" && rx == ry
	}
	if p, ok := x.Resident(); ok {
		if q, ok := y.Resident(); ok {
			return bytes.Equal(p, q)
		}
	}
	return sameReaders(x.Reader(), y.Reader())
}

// refPrefix starts the ref of content-addressed bytes.
const refPrefix = "val:blake3:"

// contentRef is the ref that the bytes have or would have; "" when they cannot
// be read.
func contentRef(b *Bytes) string {
	if ref := b.Ref(); ref != "" {
		return ref
	}
	h := blake3.New()
	if _, err := io.Copy(h, b.Reader()); err != nil {
		return ""
	}
	return refPrefix + hex.EncodeToString(h.Sum(nil))
}

func sameReaders(x, y io.Reader) bool {
	p, q := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		n, errX := io.ReadFull(x, p)
		m, errY := io.ReadFull(y, q)
		if !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		if errX != nil || errY != nil {
			return isEnd(errX) && isEnd(errY)
		}
	}
}

func isEnd(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// Compare is the order of < <= > >=, sort, min and max. What has no order,
// NaN among it, is a type_error.
func Compare(a, b Value) (int, *Error) {
	ka, kb := a.Kind(), b.Kind()
	if ka == kb {
		switch ka {
		case KindBool, KindInt, KindDuration, KindTime:
			return cmp.Compare(a.n, b.n), nil
		case KindSize:
			return cmp.Compare(a.AsSize(), b.AsSize()), nil
		case KindFloat:
			x, y := a.AsFloat(), b.AsFloat()
			if x == x && y == y {
				return cmp.Compare(x, y), nil
			}
		case KindStr, KindPath:
			return strings.Compare(a.AsStr(), b.AsStr()), nil
		case KindDatetime:
			return a.AsDatetime().Compare(b.AsDatetime()), nil
		}
		return 0, noOrder(ka, kb)
	}
	switch {
	case ka == KindInt && kb == KindFloat:
		if r, ok := compareIntFloat(a.AsInt(), b.AsFloat()); ok {
			return r, nil
		}
	case ka == KindFloat && kb == KindInt:
		if r, ok := compareIntFloat(b.AsInt(), a.AsFloat()); ok {
			return -r, nil
		}
	}
	return 0, noOrder(ka, kb)
}

func noOrder(a, b Kind) *Error {
	return Errorf(CodeType, "cannot compare %s with %s", a, b).WithHint("%s", orderHint(a, b))
}

// orderHint is what to do about two types that have no order.
func orderHint(a, b Kind) string {
	either := func(k Kind) bool { return a == k || b == k }
	number := func(k Kind) bool { return k == KindInt || k == KindFloat }
	switch {
	case either(KindOutcome):
		return "a bare name runs a command: `.size` is the field of each item, `r.out` what a command gave"
	case either(KindNull):
		return "a value is null: `x ?? 0` puts another in its place"
	case number(a) && number(b):
		return "nan has no order"
	case either(KindPath) && either(KindStr):
		return "compare the text: `p.str()`"
	case either(KindStr):
		return "text is no number: `.parse_int()` and `.parse_float()` make one of it"
	case either(KindSize):
		return "give the number a unit: `x > 1kb`"
	case either(KindDuration):
		return "give the number a unit: `x > 1s`"
	case either(KindDatetime):
		return "compare with a datetime: `x > now - 1d`, `x > t\"2026-01-01\"`"
	}
	return "compare a part of it, such as `.len()` or a field; `==` compares anything"
}

// compareIntFloat compares exactly; ok is false for NaN.
func compareIntFloat(n int64, f float64) (r int, ok bool) {
	switch {
	case f != f:
		return 0, false
	case f >= 1<<63:
		return -1, true
	case f < -1<<63:
		return 1, true
	}
	whole := math.Trunc(f)
	if r := cmp.Compare(n, int64(whole)); r != 0 {
		return r, true
	}
	return cmp.Compare(whole, f), true
}
