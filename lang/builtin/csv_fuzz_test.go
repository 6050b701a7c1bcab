package builtin

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// FuzzCSV compares the parser with encoding/csv, where that takes the text, and
// wants tables back as they were written.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"", "a,b\n1,2", "a\n\"x\"\"\n\"", "\r\n\r", "a,\n,\"", "\"a\"\r\n\"\"\r\n", "\ufeffa,a\n1,2\n\n3,4", "a\n\"\"\n\n\"b\rc\"", "\"\ufeffa\"\n1", "a,b\n\"x\"y",
		"\n\na\n1", ",\n,", "a\r\n1\r2\r\n",
	} {
		f.Add(s)
	}
	parse, write := Library().Member("csv", "parse"), Library().Member("csv", "stringify")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parse.Run(&interp.Call{M: new(interp.Machine), Args: []value.Value{value.Str(s)}})
		want, plainErr := plainCSV(s)
		if err != nil {
			if plainErr == nil {
				t.Fatalf("%q: %v, but encoding/csv takes it", s, err)
			}
			return
		}
		table := v.AsTable()
		if plainErr == nil {
			if diff := cmp.Diff(want, rowsOfTexts(table)); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", s, diff)
			}
		}
		if table.Len() == 0 {
			return
		}
		text, err := write.Run(&interp.Call{M: new(interp.Machine), Args: []value.Value{v}})
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		back, err := parse.Run(&interp.Call{M: new(interp.Machine), Args: []value.Value{text}})
		if err != nil || !value.Same(back, v) {
			t.Fatalf("%q is written as %q, which reads as %s, %v", s, text.AsStr(), value.Inline(back), err)
		}
	})
}

// plainCSV is the rows that encoding/csv reads, as records of texts. Line ends
// with \r, which it changes, are an error.
func plainCSV(s string) (rows []map[string]string, err error) {
	if strings.Contains(s, "\r") {
		return nil, csv.ErrFieldCount
	}
	all, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(s, "\ufeff"))).ReadAll()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for _, record := range all[1:] {
		row := map[string]string{}
		for i, cell := range record {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func rowsOfTexts(table *value.Table) (rows []map[string]string) {
	for r := range table.All() {
		row := map[string]string{}
		for _, key := range r.Shape.Keys() {
			v, _ := r.Get(key)
			row[key] = v.AsStr()
		}
		rows = append(rows, row)
	}
	return rows
}
