package builtin

import (
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

var records = kindSet(value.KindRecord)

// recordRows are the methods of records.
func recordRows() []methodRow {
	return []methodRow{
		{records, "keys()", "The keys in order.", recordKeys},
		{records, "values()", "The values in order.", recordValues},
		{records, "items()", "Pairs [key, value] in order.", recordItems},
		{records, "len()", "The number of fields.", recordLen},
		{records, "count()", "The number of fields, as len.", recordLen},
		{records, "is_empty()", "Whether there are no fields.", recordIsEmpty},
		{records, "get(key: str, default: any = null)", "The field of that key, or default.", recordGet},
		{records, "set(key: str, value: any)", "A copy with the field set; a known key keeps its place.", recordSet},
		{records, "merge(other: record)", "A copy with the other's fields, which win.", recordMerge},
		{records, "contains(key: str)", "Whether there is a field of that key.", recordContains},
	}
}

func recordKeys(c *interp.Call, _ []value.Value) (value.Value, error) {
	return strList(c, c.Recv.AsRecord().Shape.Keys())
}

func recordValues(c *interp.Call, _ []value.Value) (value.Value, error) {
	vals := c.Recv.AsRecord().Vals
	return value.NewList(vals[:len(vals):len(vals)]), nil
}

func recordItems(c *interp.Call, _ []value.Value) (value.Value, error) {
	r := c.Recv.AsRecord()
	keys := r.Shape.Keys()
	return pairs(c, len(keys), func(i int) (value.Value, value.Value) { return value.Str(keys[i]), r.Vals[i] })
}

func recordLen(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Int(int64(c.Recv.AsRecord().Len())), nil
}

func recordIsEmpty(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Bool(c.Recv.AsRecord().Len() == 0), nil
}

func recordGet(c *interp.Call, a []value.Value) (value.Value, error) {
	if v, ok := c.Recv.AsRecord().Get(a[0].AsStr()); ok {
		return v, nil
	}
	return a[1], nil
}

func recordSet(c *interp.Call, a []value.Value) (value.Value, error) {
	return c.Recv.AsRecord().Set(a[0].AsStr(), a[1]).Value(), nil
}

func recordMerge(c *interp.Call, a []value.Value) (value.Value, error) {
	left, right := c.Recv.AsRecord(), a[0].AsRecord()
	shape := left.Shape
	vals := make([]value.Value, len(left.Vals), len(left.Vals)+len(right.Vals))
	copy(vals, left.Vals)
	for i, key := range right.Shape.Keys() {
		if at := shape.Slot(key); at >= 0 {
			vals[at] = right.Vals[i]
			continue
		}
		shape = shape.With(key)
		vals = append(vals, right.Vals[i])
	}
	return value.NewRecord(shape, vals), nil
}

func recordContains(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.Bool(c.Recv.AsRecord().Shape.Slot(a[0].AsStr()) >= 0), nil
}
