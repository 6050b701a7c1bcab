package builtin

import (
	"encoding/binary"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// maxText is the largest str, in bytes, that a method makes.
const maxText = value.MaxText

var strs = kindSet(value.KindStr)

// textRows are the methods of str.
func textRows() []methodRow {
	return []methodRow{
		{strs, "len()", "The number of Unicode scalars.", textLen},
		{strs, "count()", "The number of Unicode scalars, as len.", textLen},
		{strs, "is_empty()", "Whether the text has no characters.", textIsEmpty},
		{strs, "lines()", "The lines, without their ends.", textLines},
		{strs, "words()", "The parts between runs of white space.", textWords},
		{strs, "chars()", "The Unicode scalars, each as a str.", textChars},
		{strs, "trim()", "The text without white space at its ends.", textTrim},
		{strs, "upper()", "The text in upper case.", textUpper},
		{strs, "lower()", "The text in lower case.", textLower},
		{strs, "split(separator: str)", "The parts between occurrences of the separator.", textSplit},
		{strs, "starts_with(prefix: str)", "Whether the text begins with the prefix.", textStartsWith},
		{strs, "ends_with(suffix: str)", "Whether the text ends with the suffix.", textEndsWith},
		{strs, "contains(text: str)", "Whether the other text occurs in this one.", textContains},
		{strs, "replace(pattern: str|regex, replacement: str)", "The text with all matches replaced; with a regex, $1, ${name} and $$ are special in the replacement.", textReplace},
		{strs, "matches(pattern: regex)", "All whole matches.", textMatches},
		{strs, "match(pattern: regex)", "The first whole match, or null.", textMatch},
		{strs, "captures(pattern: regex)", "The groups of the first match as a record, or null.", textCaptures},
		{strs, "parse_int()", "The int that the text spells.", textParseInt},
		{strs, "parse_float()", "The float that the text spells.", textParseFloat},
		{strs, "take(n: count)", "The first n characters.", textTake},
		{strs, "skip(n: count)", "The text after its first n characters.", textSkip},
		{strs, "reverse()", "The characters from last to first.", textReverse},
	}
}

func textLen(c *interp.Call, _ []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	if isASCII(s) {
		return value.Int(int64(len(s))), nil
	}
	return value.Int(int64(utf8.RuneCountInString(s))), nil
}

func textIsEmpty(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Bool(c.Recv.AsStr() == ""), nil
}

func textLines(c *interp.Call, _ []value.Value) (value.Value, error) {
	return linesOf(c, c.Recv.AsStr())
}

// linesOf cuts at newlines; a final one ends the last line, and a carriage
// return before one belongs to it.
func linesOf(c *interp.Call, s string) (value.Value, error) {
	return strSeq(c, func(yield func(string) bool) {
		for line := range strings.Lines(s) {
			line, _ = strings.CutSuffix(line, "\n")
			if !yield(strings.TrimSuffix(line, "\r")) {
				return
			}
		}
	})
}

// strSeq is a list of the parts.
func strSeq(c *interp.Call, parts iter.Seq[string]) (value.Value, error) {
	var made value.Maker
	var out []value.Value
	for s := range parts {
		if len(out) == maxItems {
			return value.Null, tooLong(c)
		}
		if len(out)%checkEvery == 0 {
			if err := c.M.Check(); err != nil {
				return value.Null, err
			}
		}
		out = append(value.Room(out, 1), made.Str(s))
	}
	return value.NewList(out), nil
}

// strList is a list of strs.
func strList(c *interp.Call, parts []string) (value.Value, error) {
	if len(parts) > maxItems {
		return value.Null, tooLong(c)
	}
	var made value.Maker
	out := make([]value.Value, len(parts))
	for i, s := range parts {
		out[i] = made.Str(s)
	}
	return value.NewList(out), nil
}

func textWords(c *interp.Call, _ []value.Value) (value.Value, error) {
	return strSeq(c, strings.FieldsSeq(c.Recv.AsStr()))
}

func textChars(c *interp.Call, _ []value.Value) (value.Value, error) {
	return characters(c, c.Recv.AsStr())
}

// characters is the list of the characters of s between the ends.
func characters(c *interp.Call, s string, ends ...value.Value) (value.Value, error) {
	n := utf8.RuneCountInString(s) + 2*len(ends)
	if n > maxItems {
		return value.Null, tooLong(c)
	}
	if err := reserve(c, 3*int64(n)); err != nil {
		return value.Null, err
	}
	var made value.Maker
	out := append(make([]value.Value, 0, n), ends...)
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		out = append(out, made.Str(s[:size]))
		s = s[size:]
	}
	return value.NewList(append(out, ends...)), nil
}

func textTrim(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Str(strings.TrimSpace(c.Recv.AsStr())), nil
}

func isASCII(s string) bool {
	const high = 0x8080808080808080 // the bit that no ASCII character has, eight times
	for ; len(s) >= 8; s = s[8:] {
		if binary.NativeEndian.Uint64([]byte(s[:8]))&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func textUpper(c *interp.Call, _ []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	if isASCII(s) {
		return value.Str(strings.ToUpper(s)), nil
	}
	return value.Str(cases.Upper(language.Und).String(s)), nil
}

func textLower(c *interp.Call, _ []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	if isASCII(s) {
		return value.Str(strings.ToLower(s)), nil
	}
	return value.Str(cases.Lower(language.Und).String(s)), nil
}

func textSplit(c *interp.Call, a []value.Value) (value.Value, error) {
	s, sep := c.Recv.AsStr(), a[0].AsStr()
	if sep != "" {
		return splitAt(c, s, sep)
	}
	// An empty separator matches before, between and after all characters.
	return characters(c, s, value.Str(""))
}

// splitAt cuts s at sep without a list of parts in between.
func splitAt(c *interp.Call, s, sep string) (value.Value, error) {
	n := strings.Count(s, sep) + 1
	if n > maxItems {
		return value.Null, tooLong(c)
	}
	if err := reserve(c, 3*int64(n)); err != nil {
		return value.Null, err
	}
	var made value.Maker
	out := make([]value.Value, 0, n)
	for {
		if len(out)%piecesPerCheck == 0 {
			if err := c.M.Check(); err != nil {
				return value.Null, err
			}
		}
		part, rest, more := strings.Cut(s, sep)
		out = append(out, made.Str(part))
		if !more {
			return value.NewList(out), nil
		}
		s = rest
	}
}

func textStartsWith(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.Bool(strings.HasPrefix(c.Recv.AsStr(), a[0].AsStr())), nil
}

func textEndsWith(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.Bool(strings.HasSuffix(c.Recv.AsStr(), a[0].AsStr())), nil
}

func textContains(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.Bool(strings.Contains(c.Recv.AsStr(), a[0].AsStr())), nil
}

func textReplace(c *interp.Call, a []value.Value) (value.Value, error) {
	s, with := c.Recv.AsStr(), a[1].AsStr()
	if a[0].Kind() == value.KindStr {
		from := a[0].AsStr()
		n := strings.Count(s, from)
		if len(with) > 0 && n > (maxText+n*len(from)-len(s))/len(with) {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "replace: more than %d bytes", maxText)
		}
		if len(s) < longText {
			return value.Str(strings.ReplaceAll(s, from, with)), nil
		}
		return replaceLong(c, s, from, with, n)
	}
	re := a[0].AsRegex()
	out, err := scan(c, re, func(stop func() error) (string, error) { return re.Replace(s, with, stop) })
	return value.Str(out), err
}

// replaceLong replaces n times, as many as there are.
func replaceLong(c *interp.Call, s, from, with string, n int) (value.Value, error) {
	out := make([]byte, 0, len(s)+n*(len(with)-len(from)))
	for i := range n {
		if i%piecesPerCheck == 0 {
			if err := c.M.Check(); err != nil {
				return value.Null, err
			}
		}
		at := strings.Index(s, from)
		if from == "" && i > 0 { // before each character and at the end
			_, at = utf8.DecodeRuneInString(s)
		}
		out = value.ExtendText(value.ExtendText(out, s[:at]), with)
		s = s[at+len(from):]
	}
	return value.Str(value.TextOf(value.ExtendText(out, s))), nil
}

// piecesPerCheck is after how many pieces of a text it is looked whether to go
// on.
const piecesPerCheck = 4096

// scan applies f, which searches the receiver with re.
func scan[T any](c *interp.Call, re *value.Regex, f func(stop func() error) (T, error)) (T, error) {
	return perhapsApart(c, re.Slow(c.Recv.AsStr()), f)
}

// perhapsApart does work of a library; if it is long, the run can end meanwhile.
func perhapsApart[T any](c *interp.Call, long bool, work func(stop func() error) (T, error)) (T, error) {
	if !long {
		return work(c.M.Check)
	}
	return interp.Apart(c.M, work)
}

// longText is from how many bytes on a library's parser may take long.
const longText = 64 << 10

func textMatches(c *interp.Call, a []value.Value) (value.Value, error) {
	re := a[0].AsRegex()
	all, err := scan(c, re, func(stop func() error) ([]string, error) {
		return re.FindAll(c.Recv.AsStr(), maxItems+1, stop)
	})
	if err != nil {
		return value.Null, err
	}
	return strList(c, all)
}

func textMatch(c *interp.Call, a []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	re := a[0].AsRegex()
	at, err := scan(c, re, func(func() error) ([]int, error) { return re.Find(s), nil })
	if err != nil || at == nil {
		return value.Null, err
	}
	return value.Str(s[at[0]:at[1]]), nil
}

// textCaptures gives the named groups first, then all by number; a group that
// took no part is null.
func textCaptures(c *interp.Call, a []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	re := a[0].AsRegex()
	at, err := scan(c, re, func(func() error) ([]int, error) { return re.Groups(s), nil })
	if err != nil || at == nil {
		return value.Null, err
	}
	group := func(i int) value.Value {
		if at[2*i] < 0 {
			return value.Null
		}
		return value.Str(s[at[2*i]:at[2*i+1]])
	}
	var b value.RecordBuilder
	for i, name := range re.GroupNames() {
		if name != "" {
			b.Add(name, group(i))
		}
	}
	for i := range len(at) / 2 {
		b.Add(strconv.Itoa(i), group(i))
	}
	return b.Done(), nil
}

// plainInt is parse_int of a text that spells an int.
func plainInt(recv value.Value) (value.Value, bool) {
	n, ok := value.ParseInt(recv.AsStr())
	return value.Int(n), ok
}

func textParseInt(c *interp.Call, _ []value.Value) (value.Value, error) {
	n, ok := value.ParseInt(c.Recv.AsStr())
	if !ok {
		return value.Null, argErr(c.Span, "parse_int: expected an int, found %s", quoteShort(c.Recv.AsStr()))
	}
	return value.Int(n), nil
}

func textParseFloat(c *interp.Call, _ []value.Value) (value.Value, error) {
	f, ok := value.ParseFloat(c.Recv.AsStr())
	if !ok {
		return value.Null, argErr(c.Span, "parse_float: expected a number, found %s", quoteShort(c.Recv.AsStr()))
	}
	return value.Float(f), nil
}

// quoteShort is s in quotes, cut when it is long.
func quoteShort(s string) string {
	const most = 60
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
}

// offsetOf is the byte offset of the nth character, or the length of s.
func offsetOf(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	if isASCII(s[:n]) {
		return int(n)
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func textTake(c *interp.Call, a []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	return value.Str(s[:offsetOf(s, a[0].AsInt())]), nil
}

func textSkip(c *interp.Call, a []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	return value.Str(s[offsetOf(s, a[0].AsInt()):]), nil
}

func textReverse(c *interp.Call, _ []value.Value) (value.Value, error) {
	s := c.Recv.AsStr()
	out := make([]byte, len(s))
	at := len(s)
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		at -= size
		copy(out[at:], s[:size])
		s = s[size:]
	}
	return value.Str(value.TextOf(out)), nil
}
