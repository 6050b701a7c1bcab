package builtin

import (
	"iter"
	"math"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// maxItems is how long a materialised sequence may be.
const maxItems = interp.MaxItems

// checkEvery is after how many items a loop looks whether it was cancelled.
const checkEvery = 4096

var sequences = kindSet(value.KindList, value.KindTable, value.KindRange, value.KindGlob)

// sequenceRows are the methods of lists, tables, ranges and globs.
func sequenceRows() []methodRow {
	return []methodRow{
		{sequences, "len()", "The number of items; a range is not expanded.", seqLen},
		{sequences, "count()", "The number of items, as len.", seqLen},
		{sequences, "is_empty()", "Whether there are no items.", seqIsEmpty},
		{sequences, "first(n?: count)", "The first item or null; with n the list of the first n.", seqFirst},
		{sequences, "last(n?: count)", "The last item or null; with n the list of the last n.", seqLast},
		{sequences, "take(n: count = 0)", "The list of at most n items from the start.", seqTake},
		{sequences, "skip(n: count = 0)", "The list without its first n items.", seqSkip},
		{sequences, "chunks(n: count)", "Lists of at most n items each.", seqChunks},
		{sequences, "map(f: fn)", "The list of f(item).", seqMap},
		{sequences, "flat_map(f: fn)", "As map, with the collections that f gives joined into one list.", seqFlatMap},
		{sequences, "each(f: fn)", "Calls f with each item; null.", seqEach},
		{sequences, "where(f: fn)", "The list of items for which f holds.", seqWhere},
		{sequences, "filter(f: fn)", "The list of items for which f holds.", seqWhere},
		{sequences, "find(f: fn)", "The first item for which f holds, or null.", seqFind},
		{sequences, "any(f: fn)", "Whether f holds for some item.", seqAny},
		{sequences, "all(f: fn)", "Whether f holds for every item.", seqAll},
		{sequences, "reduce(init: any, f: fn)", "Folds from the left: f(accumulator, item).", seqReduce},
		{sequences, "fold(init: any, f: fn)", "Folds from the left: f(accumulator, item).", seqReduce},
		{sequences, "reverse()", "The items from last to first.", seqReverse},
		{sequences, "uniq()", "The items without later equals of earlier ones.", seqUniq},
		{sequences, "sum()", "All items added up; 0 when there are none.", seqSum},
		{sequences, "min()", "The least item, or null.", seqMin},
		{sequences, "max()", "The greatest item, or null.", seqMax},
		{sequences, "flatten()", "Joins a sequence of collections into one list.", seqFlatten},
		{sequences, "enumerate()", "Pairs [index, item].", seqEnumerate},
		{sequences, "zip(other: collection)", "Pairs [item, other item], up to the shorter.", seqZip},
		{sequences, "group(f: fn)", "Records {key, values} in the order in which keys appear.", seqGroup},
		{sequences, "group_by(f: fn)", "Records {key, values} in the order in which keys appear.", seqGroup},
		{sequences, "sort(f?: fn)", "The items in ascending order, of f(item) if given; stable.", seqSort},
		{sequences, "sort_by(f: fn)", "The items in ascending order of f(item); stable.", seqSort},
		{sequences, "join(sep: str = \"\")", "The str items as one str with sep between them.", seqJoin},
		{sequences, "contains(x: any)", "Whether some item equals x.", seqContains},
		{sequences, "collect()", "The items as a list; a table stays a table.", seqCollect},
		{sequences, "select(...names: str)", "The records cut to these fields; missing ones are null.", seqSelect},
		{kindSet(value.KindList), "get(i: int, default: any = null)", "The item at i, negative from the end, or default.", listGet},
	}
}

// items is the receiver's content as a slice that must not be changed.
func items(c *interp.Call, v value.Value) ([]value.Value, error) {
	switch v.Kind() {
	case value.KindList:
		return v.AsList().Items, nil
	case value.KindTable:
		return rowItems(c, v.AsTable())
	case value.KindRange:
		return rangeItems(c, v.AsRange(), 0, v.AsRange().Len())
	case value.KindGlob:
		return globItems(c, v.AsGlob())
	}
	return nil, typeErr(c.Span, "%s is not a collection", v.Kind())
}

// rowItems are the rows of a table.
func rowItems(c *interp.Call, t *value.Table) ([]value.Value, error) {
	if err := c.M.Reserve(int64(t.Len())*itemBytes + t.MakingRows()); err != nil {
		return nil, err
	}
	out := make([]value.Value, 0, t.Len())
	for r := range t.All() {
		out = append(out, r.Value())
	}
	return out, nil
}

// globItems are the paths that a glob matches.
func globItems(c *interp.Call, g *value.Glob) ([]value.Value, error) {
	found, err := c.M.Expand(g)
	if err != nil {
		return nil, err
	}
	var made value.Maker
	out := make([]value.Value, len(found))
	for i, p := range found {
		out[i] = made.Path(p)
	}
	return out, nil
}

// rangeItems is the part [from, to) of a range's ints.
func rangeItems(c *interp.Call, r *value.Range, from, to int64) ([]value.Value, error) {
	if to-from > maxItems {
		return nil, tooLong(c)
	}
	if err := reserve(c, to-from); err != nil {
		return nil, err
	}
	out := make([]value.Value, to-from)
	for i := range out {
		out[i] = value.Int(r.Start + from + int64(i))
	}
	return out, nil
}

// reserve asks for the memory of n items.
func reserve(c *interp.Call, n int64) error { return c.M.Reserve(n * itemBytes) }

// itemBytes is what an item takes at least.
const itemBytes = 16

func tooLong(c *interp.Call) error {
	return codeErr(c.Span, "overflow", "%s: more than %d items", c.Name, maxItems)
}

// walk calls f with each item until f says stop. A range is not materialised.
func walk(c *interp.Call, v value.Value, f func(value.Value) (bool, error)) error {
	if v.Kind() == value.KindRange {
		r := v.AsRange()
		for i := range r.Len() {
			if i%checkEvery == checkEvery-1 {
				if err := c.M.Check(); err != nil {
					return err
				}
			}
			if more, err := f(value.Int(r.Start + i)); err != nil || !more {
				return err
			}
		}
		return nil
	}
	if v.Kind() == value.KindTable {
		return walkRows(c, v.AsTable().All(), f)
	}
	all, err := items(c, v)
	if err != nil {
		return err
	}
	for i, x := range all {
		if i%checkEvery == checkEvery-1 {
			if err := c.M.Check(); err != nil {
				return err
			}
		}
		if more, err := f(x); err != nil || !more {
			return err
		}
	}
	return nil
}

// lender walks items for a callback. Where all that the callback does with a row
// is to read its fields, packed rows are lent to it and no records are made.
type lender struct {
	c    *interp.Call
	f    *interp.Callback
	rows *value.Lender // nil where the items are as they are
}

// lend prepares fn for the items of the receiver.
func lend(c *interp.Call, fn value.Value) (*lender, error) {
	f, err := c.M.Callback(fn, 1)
	if err != nil {
		return nil, err
	}
	l := &lender{c: c, f: f}
	if c.Recv.Kind() == value.KindTable && c.Recv.AsTable().Lends() {
		if names, only := f.FieldsRead(); only {
			l.rows = c.Recv.AsTable().Lend(names)
		}
	}
	return l, nil
}

// walk is walk of the receiver. Items are to be given to f only, or kept by
// keep.
func (l *lender) walk(visit func(value.Value) (bool, error)) error {
	if l.rows == nil {
		return walk(l.c, l.c.Recv, visit)
	}
	for i := 1; ; i++ {
		if i%checkEvery == 0 {
			if err := l.c.M.Check(); err != nil {
				return err
			}
		}
		r := l.rows.Next()
		if r == nil {
			return nil
		}
		if more, err := visit(r.Value()); err != nil || !more {
			return err
		}
	}
}

// keep is the item that is visited as a value that lasts.
func (l *lender) keep(x value.Value) value.Value {
	if l.rows == nil {
		return x
	}
	return l.rows.Keep().Value()
}

func walkRows(c *interp.Call, rows iter.Seq[*value.Record], f func(value.Value) (bool, error)) error {
	i := 0
	for r := range rows {
		if i++; i%checkEvery == 0 {
			if err := c.M.Check(); err != nil {
				return err
			}
		}
		if more, err := f(r.Value()); err != nil || !more {
			return err
		}
	}
	return nil
}

// length is the number of items without expanding a range.
func length(c *interp.Call, v value.Value) (int64, error) {
	switch v.Kind() {
	case value.KindList:
		return int64(len(v.AsList().Items)), nil
	case value.KindTable:
		return int64(v.AsTable().Len()), nil
	case value.KindRange:
		return v.AsRange().Len(), nil
	}
	all, err := items(c, v)
	return int64(len(all)), err
}

func seqLen(c *interp.Call, _ []value.Value) (value.Value, error) {
	n, err := length(c, c.Recv)
	return value.Int(n), err
}

func seqIsEmpty(c *interp.Call, _ []value.Value) (value.Value, error) {
	n, err := length(c, c.Recv)
	return value.Bool(n == 0), err
}

// slice is the list of the items [from, to); bounds beyond the end are cut.
func slice(c *interp.Call, from, to int64) (value.Value, error) {
	if c.Recv.Kind() == value.KindRange {
		n := c.Recv.AsRange().Len()
		part, err := rangeItems(c, c.Recv.AsRange(), min(from, n), max(min(from, n), min(to, n)))
		return value.NewList(part), err
	}
	if c.Recv.Kind() == value.KindTable {
		n := int64(c.Recv.AsTable().Len())
		part, err := rowItems(c, c.Recv.AsTable().Slice(int(min(from, n)), int(max(min(from, n), min(to, n)))).AsTable())
		return value.NewList(part), err
	}
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	n := int64(len(all))
	from, to = min(from, n), min(to, n)
	return value.NewList(all[from:max(from, to):max(from, to)]), nil
}

const toEnd = int64(math.MaxInt64)

func seqFirst(c *interp.Call, a []value.Value) (value.Value, error) {
	if len(c.Args)+len(c.Named) > 0 {
		return slice(c, 0, a[0].AsInt())
	}
	got := value.Null
	err := walk(c, c.Recv, func(x value.Value) (bool, error) { got = x; return false, nil })
	return got, err
}

func seqLast(c *interp.Call, a []value.Value) (value.Value, error) {
	n, err := length(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	if len(c.Args)+len(c.Named) > 0 {
		return slice(c, max(0, n-a[0].AsInt()), toEnd)
	}
	if n == 0 {
		return value.Null, nil
	}
	last, err := slice(c, n-1, n)
	if err != nil {
		return value.Null, err
	}
	return last.AsList().Items[0], nil
}

func seqTake(c *interp.Call, a []value.Value) (value.Value, error) { return slice(c, 0, a[0].AsInt()) }

func seqSkip(c *interp.Call, a []value.Value) (value.Value, error) {
	return slice(c, a[0].AsInt(), toEnd)
}

func seqChunks(c *interp.Call, a []value.Value) (value.Value, error) {
	size := a[0].AsInt()
	if size == 0 {
		return value.Null, argErr(c.Span, "chunks: n must be at least 1")
	}
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	n := int(min(size, int64(max(len(all), 1))))
	out := make([]value.Value, 0, (len(all)+n-1)/n)
	for ; len(all) > n; all = all[n:] {
		if err := checkAt(c, len(out)); err != nil {
			return value.Null, err
		}
		out = append(out, value.NewList(all[:n:n]))
	}
	if len(all) > 0 {
		out = append(out, value.NewList(all))
	}
	return value.NewList(out), nil
}

// roomMost is for how many items space is reserved before there are any.
const roomMost = 1 << 20

// room is a list to collect into with space for what v is sure to hold.
func room(c *interp.Call, v value.Value) ([]value.Value, error) {
	if v.Kind() == value.KindGlob {
		return nil, nil
	}
	n, err := length(c, v)
	if err != nil {
		return nil, err
	}
	if n > maxItems {
		return nil, tooLong(c)
	}
	return make([]value.Value, 0, min(n, roomMost)), nil
}

func seqMap(c *interp.Call, a []value.Value) (value.Value, error) {
	out, err := room(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	l, err := lend(c, a[0])
	if err != nil {
		return value.Null, err
	}
	err = l.walk(func(x value.Value) (bool, error) {
		y, err := l.f.Call1(x)
		out = append(value.Room(out, 1), y)
		return true, err
	})
	return value.NewList(out), err
}

func seqFlatMap(c *interp.Call, a []value.Value) (value.Value, error) {
	var out []value.Value
	f, err := c.M.Callback(a[0], 1)
	if err != nil {
		return value.Null, err
	}
	err = walk(c, c.Recv, func(x value.Value) (bool, error) {
		y, err := f.Call1(x)
		if err != nil {
			return false, err
		}
		if sequences&kindSet(y.Kind()) == 0 {
			return false, typeErr(c.Span, "flat_map: the function must give a collection, got %s", y.Kind())
		}
		part, err := items(c, y)
		if err != nil {
			return false, err
		}
		if len(out)+len(part) > maxItems {
			return false, tooLong(c)
		}
		out = value.Extend(out, part)
		return true, nil
	})
	return value.NewList(out), err
}

func seqEach(c *interp.Call, a []value.Value) (value.Value, error) {
	f, err := c.M.Callback(a[0], 1)
	if err != nil {
		return value.Null, err
	}
	return value.Null, walk(c, c.Recv, func(x value.Value) (bool, error) {
		_, err := f.Call1(x)
		return true, err
	})
}

func seqWhere(c *interp.Call, a []value.Value) (value.Value, error) {
	var out []value.Value
	l, err := lend(c, a[0])
	if err != nil {
		return value.Null, err
	}
	seen := 0
	err = l.walk(func(x value.Value) (bool, error) {
		ok, err := l.f.Test(x)
		if ok {
			if len(out) == maxItems {
				return false, tooLong(c)
			}
			if len(out) == cap(out) {
				out = value.Room(out, likely(c.Recv, len(out), seen))
			}
			out = append(out, l.keep(x))
		}
		seen++
		return true, err
	})
	return value.NewList(out), err
}

// likely is how many more items are kept if so many of those seen so far were,
// at least one and at most twice as many as there are. A list that need not grow
// again is not copied again.
func likely(of value.Value, kept, seen int) int {
	n := 0
	switch of.Kind() {
	case value.KindList:
		n = len(of.AsList().Items)
	case value.KindTable:
		n = of.AsTable().Len()
	}
	if kept < likelySampled || seen >= n {
		return 1
	}
	return min(int(float64(n-seen)*float64(kept)/float64(seen))+kept/8+1, 2*kept)
}

// likelySampled is from how many items on one can tell of the others.
const likelySampled = 64

// search walks until f gives want and tells whether it did, and for what.
func search(c *interp.Call, fn value.Value, want bool) (value.Value, bool, error) {
	hit, found := value.Null, false
	l, err := lend(c, fn)
	if err != nil {
		return hit, false, err
	}
	err = l.walk(func(x value.Value) (bool, error) {
		ok, err := l.f.Test(x)
		if err == nil && ok == want {
			hit, found = l.keep(x), true
		}
		return !found, err
	})
	return hit, found, err
}

func seqFind(c *interp.Call, a []value.Value) (value.Value, error) {
	hit, _, err := search(c, a[0], true)
	return hit, err
}

func seqAny(c *interp.Call, a []value.Value) (value.Value, error) {
	_, found, err := search(c, a[0], true)
	return value.Bool(found), err
}

func seqAll(c *interp.Call, a []value.Value) (value.Value, error) {
	_, found, err := search(c, a[0], false)
	return value.Bool(!found), err
}

func seqReduce(c *interp.Call, a []value.Value) (value.Value, error) {
	acc := a[0]
	f, err := c.M.Callback(a[1], 2)
	if err != nil {
		return value.Null, err
	}
	err = walk(c, c.Recv, func(x value.Value) (more bool, err error) {
		acc, err = f.Call2(acc, x)
		return true, err
	})
	return acc, err
}

func seqReverse(c *interp.Call, _ []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	out := make([]value.Value, len(all))
	for i, x := range all {
		out[len(all)-1-i] = x
	}
	return value.NewList(out), nil
}

// checkAt is the machine's check, for item i of a loop.
func checkAt(c *interp.Call, i int) error {
	if i%checkEvery != 0 {
		return nil
	}
	return c.M.Check()
}

func seqUniq(c *interp.Call, _ []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	var out []value.Value
	seen := newIndex()
	for i, x := range all {
		if err := checkAt(c, i); err != nil {
			return value.Null, err
		}
		if _, known := seen.add(x); !known {
			out = value.Push(out, x)
		}
	}
	return value.NewList(out), nil
}

func seqFlatten(c *interp.Call, _ []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	total, err := flatLen(c, all)
	if err != nil {
		return value.Null, err
	}
	out := make([]value.Value, 0, total)
	added := 0 // since the last check
	for _, x := range all {
		if added >= checkEvery {
			added = 0
			if err := c.M.Check(); err != nil {
				return value.Null, err
			}
		}
		if sequences&kindSet(x.Kind()) == 0 {
			return value.Null, typeErr(c.Span, "flatten: every item must be a collection, got %s", x.Kind())
		}
		part, err := items(c, x)
		if err != nil {
			return value.Null, err
		}
		if len(out)+len(part) > maxItems {
			return value.Null, tooLong(c)
		}
		out = value.Extend(out, part)
		added += 1 + len(part)
	}
	return value.NewList(out), nil
}

// flatLen is how many items the lists among all have together, for which memory
// is asked, or 0 when there are too many.
func flatLen(c *interp.Call, all []value.Value) (int, error) {
	total := 0
	for i, x := range all {
		if err := checkAt(c, i); err != nil {
			return 0, err
		}
		if x.Kind() == value.KindList {
			total += len(x.AsList().Items)
		}
	}
	if total > maxItems {
		return 0, nil
	}
	return total, reserve(c, int64(total))
}

func seqEnumerate(c *interp.Call, _ []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	if err := reserve(c, 4*int64(len(all))); err != nil {
		return value.Null, err
	}
	return pairs(c, len(all), func(i int) (value.Value, value.Value) { return value.Int(int64(i)), all[i] })
}

func seqZip(c *interp.Call, a []value.Value) (value.Value, error) {
	n, err := length(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	m, err := length(c, a[0])
	if err != nil {
		return value.Null, err
	}
	n = min(n, m)
	left, err := prefix(c, c.Recv, n)
	if err != nil {
		return value.Null, err
	}
	right, err := prefix(c, a[0], n)
	if err != nil {
		return value.Null, err
	}
	if err := reserve(c, 4*n); err != nil {
		return value.Null, err
	}
	return pairs(c, int(n), func(i int) (value.Value, value.Value) { return left[i], right[i] })
}

func prefix(c *interp.Call, v value.Value, n int64) ([]value.Value, error) {
	if v.Kind() == value.KindRange {
		return rangeItems(c, v.AsRange(), 0, n)
	}
	return items(c, v)
}

// pairs is a list of n two-item lists, in two allocations of backing store.
func pairs(c *interp.Call, n int, pair func(i int) (value.Value, value.Value)) (value.Value, error) {
	cells := make([]value.Value, 2*n)
	out := make([]value.Value, n)
	for i := range out {
		if err := checkAt(c, i); err != nil {
			return value.Null, err
		}
		cell := cells[2*i : 2*i+2 : 2*i+2]
		cell[0], cell[1] = pair(i)
		out[i] = value.NewList(cell)
	}
	return value.NewList(out), nil
}

func seqJoin(c *interp.Call, a []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	sep := a[0].AsStr()
	size := len(sep) * max(0, len(all)-1)
	for i, x := range all {
		if x.Kind() != value.KindStr {
			return value.Null, hintErr(c.Span, "type_error", `.map(x => "{x}").join(…)`, "join: item %d is %s, not str", i, x.Kind())
		}
		size += len(x.AsStr())
	}
	if size > maxText {
		return value.Null, codeErr(c.Span, "overflow", "join: more than %d bytes", maxText)
	}
	if err := c.M.Reserve(int64(size)); err != nil {
		return value.Null, err
	}
	out := make([]byte, 0, size)
	for i, x := range all {
		if i > 0 {
			out = value.ExtendText(out, sep)
		}
		out = value.ExtendText(out, x.AsStr())
	}
	return value.Str(value.TextOf(out)), nil
}

func seqContains(c *interp.Call, a []value.Value) (value.Value, error) {
	if c.Recv.Kind() == value.KindRange {
		return value.Bool(rangeContains(c.Recv.AsRange(), a[0])), nil
	}
	found := false
	err := walk(c, c.Recv, func(x value.Value) (more bool, err error) {
		found, err = equal(x, a[0])
		return !found, err
	})
	return value.Bool(found), err
}

// rangeContains finds the int, or the float that equals one.
func rangeContains(r *value.Range, v value.Value) bool {
	n := int64(0)
	switch v.Kind() {
	case value.KindInt:
		n = v.AsInt()
	case value.KindFloat:
		f := v.AsFloat()
		if !(f >= math.MinInt64 && f < math.MaxInt64) || f != math.Trunc(f) {
			return false
		}
		n = int64(f)
	default:
		return false
	}
	return n >= r.Start && (n < r.End || r.Inclusive && n == r.End)
}

func seqCollect(c *interp.Call, _ []value.Value) (value.Value, error) {
	if k := c.Recv.Kind(); k == value.KindTable || k == value.KindList {
		return c.Recv, nil
	}
	all, err := items(c, c.Recv)
	return value.NewList(all), err
}

func seqSelect(c *interp.Call, names []value.Value) (value.Value, error) {
	if len(names) == 0 {
		return value.Null, argErr(c.Span, "select requires a name")
	}
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	shape, at := value.EmptyShape, make([]string, 0, len(names))
	for _, n := range names {
		if shape.Slot(n.AsStr()) < 0 {
			shape = shape.With(n.AsStr())
			at = append(at, n.AsStr())
		}
	}
	var made value.Maker
	rows := make([]*value.Record, len(all))
	vals := make([]value.Value, len(at))
	for i, x := range all {
		if x.Kind() != value.KindRecord {
			return value.Null, typeErr(c.Span, "select: item %d is %s, not record", i, x.Kind())
		}
		for j, key := range at {
			vals[j], _ = x.AsRecord().Get(key)
		}
		rows[i] = made.Record(shape, vals)
	}
	if c.Recv.Kind() == value.KindTable {
		return value.NewTable(rows), nil
	}
	out := make([]value.Value, len(rows))
	for i, r := range rows {
		out[i] = r.Value()
	}
	return value.NewList(out), nil
}

func listGet(c *interp.Call, a []value.Value) (value.Value, error) {
	all := c.Recv.AsList().Items
	i := a[0].AsInt()
	if i < 0 {
		i += int64(len(all))
	}
	if i < 0 || i >= int64(len(all)) {
		return a[1], nil
	}
	return all[i], nil
}
