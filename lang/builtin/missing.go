package builtin

import (
	"slices"
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// MissingMethod implements interp.Library.
func (l *Lib) MissingMethod(v value.Value, name string, span syntax.Span) *value.Error {
	at, k := spanOf(span), v.Kind()
	if name != "length" && name != "size" && (l.methods[name] != nil || l.fields[name] != nil) {
		e := value.Errorf(value.CodeType, "`.%s` does not apply to %s", name, k).WithSpan(at)
		return withHint(e, l.wrongReceiverHint(k, name))
	}
	e := value.Errorf(value.CodeFieldMissing, "unknown method `.%s` on %s", name, k).WithSpan(at)
	return withHint(e, l.methodHint(k, name))
}

func withHint(e *value.Error, hint string) *value.Error {
	if hint == "" {
		return e
	}
	return e.WithHint("%s", hint)
}

func (l *Lib) wrongReceiverHint(k value.Kind, name string) string {
	switch {
	case name == "str" || name == "display":
		return `use interpolation: "{x}"`
	case k == value.KindBytes:
		return "make text of it first: .str()"
	case k == value.KindRecord && l.Method(value.KindList, name) != nil:
		return ".items() gives [key, value] pairs"
	case k == value.KindNull:
		return "`?.` passes null on"
	}
	var kinds []string
	for k := range value.KindSecret + 1 {
		if l.Method(k, name) != nil || l.Field(k, name) != nil {
			kinds = append(kinds, k.String())
		}
	}
	return "it belongs to " + strings.Join(kinds, ", ")
}

// methodHint proposes what a name that no type has may have meant.
func (l *Lib) methodHint(k value.Kind, name string) string {
	switch name {
	case "length", "size":
		return "did you mean .len()?"
	case "push":
		if k == value.KindList || k == value.KindTable {
			return "list + [item]"
		}
	case "substring", "substr", "slice":
		if k == value.KindStr {
			return ".take(n) / .skip(n)"
		}
	}
	if hint := elsewhere[name]; k == value.KindStr && hint != "" {
		return hint
	}
	if hint := ofLists[name]; (k == value.KindList || k == value.KindTable || k == value.KindRange) && hint != "" {
		return hint
	}
	if hint := ofRecords[name]; k == value.KindRecord && hint != "" {
		return hint
	}
	known := l.methodNames(k)
	if to, ok := strings.CutPrefix(name, "to_"); ok && slices.Contains(known, to) {
		return "did you mean ." + to + "()?"
	}
	if near := Nearest(name, known); near != "" {
		return "did you mean ." + near + l.brackets(k, near) + "?"
	}
	for _, n := range known {
		if strings.HasPrefix(name, n+"_") {
			return "did you mean ." + n + l.brackets(k, n) + "?"
		}
	}
	switch k {
	case value.KindNull:
		return "`?.` passes null on"
	case value.KindList, value.KindTable, value.KindRange:
		return "of each item: `.map(." + name + ")`"
	}
	own := slices.DeleteFunc(known, func(n string) bool { return l.Method(value.KindNull, n) != nil })
	if len(own) == 0 {
		return k.String() + " has no methods of its own"
	}
	return "it has " + some(own)
}

// maxNames is how many names a hint lists.
const maxNames = 12

// some lists names as far as a hint has room for them.
func some(names []string) string {
	more := ""
	if len(names) > maxNames {
		names, more = names[:maxNames], ", …"
	}
	return "." + strings.Join(names, " .") + more
}

// elsewhere are methods that text has in other languages.
var elsewhere = map[string]string{
	"int": ".parse_int()", "to_int": ".parse_int()", "to_i": ".parse_int()",
	"float": ".parse_float()", "to_float": ".parse_float()", "to_f": ".parse_float()",
	"parse": "json.parse(text), csv.parse(text), .parse_int()",
	"csv":   "csv.parse(text)", "yaml": "yaml.parse(text)", "toml": "toml.parse(text)",
	"from_json": "json.parse(text)", "parse_json": "json.parse(text)",
	"format": "\"{x}\" puts a value into text", "repeat": "range(0, n).map(i => text).join()",
	"strip": ".trim()", "includes": ".contains(text)", "splitlines": ".lines()",
	"startswith": ".starts_with(text)", "endswith": ".ends_with(text)",
}

// ofLists are methods that lists have in other languages.
var ofLists = map[string]string{
	"add": "`xs + [x]`", "extend": "`xs + ys`", "concat": "`xs + ys`", "insert": "`xs.take(n) + [x] + xs.skip(n)`", "unshift": "`[x] + xs`",
	"pop": "`xs.last()`, `xs.take(xs.len() - 1)`", "shift": "`xs.first()`, `xs.skip(1)`", "slice": "`.skip(n).take(m)`",
	"remove": "`xs.where(x => x != y)`", "reject": "`xs.where(x => !cond)`", "foreach": "`.each(f)`, or `for x in xs { … }`", "forEach": "`.each(f)`, or `for x in xs { … }`",
	"collect_vec": "`.collect()`", "some": "`.any(f)`", "every": "`.all(f)`", "includes": "`.contains(x)`, or `x in xs`", "has": "`.contains(x)`, or `x in xs`",
	"unique": "`.uniq()`", "distinct": "`.uniq()`", "size": "`.len()`", "flat": "`.flatten()`", "sortBy": "`.sort_by(f)`", "sort_desc": "`.sort().reverse()`", "order_by": "`.sort_by(f)`",
	"groupBy": "`.group_by(f)`", "flatMap": "`.flat_map(f)`", "head": "`.first(n)`", "tail": "`.last(n)`", "limit": "`.take(n)`", "drop": "`.skip(n)`", "mean": "`xs.sum() / xs.len()`", "avg": "`xs.sum() / xs.len()`",
	"to_list": "`.collect()`", "to_json": "`.json()`", "keys": "`xs.first().keys()`", "columns": "`xs.first().keys()`", "pluck": "`.map(.field)`", "nth": "`xs[n]`, `.skip(n).first()`",
}

// ofRecords are methods that records have in other languages.
var ofRecords = map[string]string{
	"has": "`.contains(\"key\")`, or `\"key\" in r`", "has_key": "`.contains(\"key\")`, or `\"key\" in r`", "hasOwnProperty": "`.contains(\"key\")`, or `\"key\" in r`", "includes": "`.contains(\"key\")`",
	"update": "`.merge({key: value})`", "assign": "`.merge({key: value})`", "insert": "`.set(\"key\", value)`", "put": "`.set(\"key\", value)`", "entries": "`.items()`", "pairs": "`.items()`", "map": "`.items().map(p => p[1])`",
	"remove": "there is no removal: build the record with the fields to keep, `{a: r.a}`", "delete": "there is no removal: build the record with the fields to keep, `{a: r.a}`",
	"to_json": "`.json()`", "columns": "`.keys()`",
}

// brackets is "()" for what must be called.
func (l *Lib) brackets(k value.Kind, name string) string {
	if l.Field(k, name) != nil {
		return ""
	}
	return "()"
}

// methodNames are the methods and fields of a kind, in order.
func (l *Lib) methodNames(k value.Kind) []string {
	var names []string
	for name, byKind := range l.methods {
		if byKind[k&63] != nil {
			names = append(names, name)
		}
	}
	for name, byKind := range l.fields {
		if byKind[k&63] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Nearest is the candidate that a misspelt name most likely means, or "": at
// most two edits away, one for names below five characters, and fewer than the
// name has characters. Ties go to the lesser distance, then to the first in
// byte order.
func Nearest(name string, candidates []string) string {
	typed := []rune(name)
	most := 1
	if len(typed) >= 5 {
		most = 2
	}
	best, least := "", most+1
	for _, c := range candidates {
		d := distance(typed, []rune(c), least)
		if d < len(typed) && (d < least || d == least && least <= most && c < best) {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between a and b; anything above limit may be reported as limit+1.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	older := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, last, row = last, row, older
	}
	return last[len(b)]
}
