package syntax

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// numForm is the form of a numeric token.
type numForm uint8

const (
	numInt numForm = iota
	numRadix
	numFloat
	numExp // float with an exponent: takes no unit
	numTime
)

// number is the extent of a numeric token: digits up to digits, a unit or stray
// letters up to end.
type number struct {
	form        numForm
	digits, end int
}

// scanNumber finds the extent of the number that starts with the digit at pos.
func scanNumber(src string, pos int) number {
	if base := radix(src, pos); base != 0 {
		i := pos + 2
		for i < len(src) && (src[i] == '_' || digitIn(src[i], base)) {
			i++
		}
		return number{numRadix, i, identEnd(src, i)}
	}
	i := digitsEnd(src, pos)
	if end := clockEnd(src, pos, i); end > 0 {
		return number{numTime, end, identEnd(src, end)}
	}
	form := numInt
	if i+1 < len(src) && src[i] == '.' && isDigit(src[i+1]) {
		i = digitsEnd(src, i+1)
		form = numFloat
	}
	if end := exponentEnd(src, i); end > 0 {
		return number{numExp, end, identEnd(src, end)}
	}
	return number{form, i, identEnd(src, i)}
}

// radix is the base of a prefix such as 0x when a digit of it follows, else 0.
func radix(src string, pos int) byte {
	if src[pos] != '0' || pos+2 >= len(src) {
		return 0
	}
	var base byte
	switch src[pos+1] | 0x20 {
	case 'x':
		base = 16
	case 'o':
		base = 8
	case 'b':
		base = 2
	}
	if base == 0 || !digitIn(src[pos+2], base) {
		return 0
	}
	return base
}

func digitIn(c, base byte) bool {
	if isDigit(c) {
		return c-'0' < base
	}
	c |= 0x20
	return base == 16 && 'a' <= c && c <= 'f'
}

func digitsEnd(src string, pos int) int {
	for pos < len(src) && (isDigit(src[pos]) || src[pos] == '_') {
		pos++
	}
	return pos
}

// exponentEnd is the end of an exponent at pos, or 0 when there is none.
func exponentEnd(src string, pos int) int {
	if pos >= len(src) || src[pos] != 'e' {
		return 0
	}
	i := pos + 1
	if i < len(src) && (src[i] == '+' || src[i] == '-') {
		i++
	}
	if i >= len(src) || !isDigit(src[i]) {
		return 0
	}
	for i < len(src) && isDigit(src[i]) {
		i++
	}
	return i
}

// clockEnd is the end of a time of day whose hour ends at colon, or 0. Text
// that only resembles one, such as 13:00pm or 9:5, is no time.
func clockEnd(src string, pos, colon int) int {
	if colon-pos > 2 || strings.IndexByte(src[pos:colon], '_') >= 0 || !twoDigits(src, colon) {
		return 0
	}
	end := colon + 3
	if twoDigits(src, end) {
		end += 3
	}
	if end < len(src) && isDigit(src[end]) {
		return 0
	}
	if _, ok := meridiem(src, end); ok {
		hour, err := strconv.Atoi(src[pos:colon])
		if err != nil || hour < 1 || hour > 12 {
			return 0
		}
		end += 2
	}
	return end
}

// twoDigits reports whether `:NN` stands at pos.
func twoDigits(src string, pos int) bool {
	return pos+2 < len(src) && src[pos] == ':' && isDigit(src[pos+1]) && isDigit(src[pos+2])
}

// meridiem reports whether am or pm ends the word at pos, and which.
func meridiem(src string, pos int) (pm, ok bool) {
	if identEnd(src, pos) != pos+2 || src[pos+1]|0x20 != 'm' {
		return false, false
	}
	switch src[pos] | 0x20 {
	case 'a':
		return false, true
	case 'p':
		return true, true
	}
	return false, false
}

// numberLiteral is the value of the numeric token at pos.
func numberLiteral(src string, pos int) (*Literal, *Error) {
	n := scanNumber(src, pos)
	lit := &Literal{Span: Span{pos, n.end}}
	text := strings.ReplaceAll(src[pos:n.digits], "_", "")
	unit := src[n.digits:n.end]
	fail := func(msg, hint string) (*Literal, *Error) {
		return nil, &Error{Span: lit.Span, Msg: msg, Hint: hint}
	}
	switch {
	case n.form == numTime:
		secs, ok := clockSeconds(text)
		if !ok || unit != "" {
			return fail("invalid time literal `"+src[pos:n.end]+"`", "times are H:MM, H:MM:SS, and 12-hour times with am or pm")
		}
		lit.Kind, lit.Int = LitTime, secs
		return lit, nil
	case n.form == numRadix:
		if unit != "" {
			return fail("invalid digit in `"+src[pos:n.end]+"`", "")
		}
	case n.form == numExp && unit != "":
		return fail("a number with an exponent takes no unit", "write the number without exponent")
	case unit != "":
		return quantity(lit, n.form, text, unit)
	}
	if n.form == numFloat || n.form == numExp {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fail("float literal out of range", "")
		}
		lit.Kind, lit.Float = LitFloat, f
		return lit, nil
	}
	i, ok := intText(text, n.form == numRadix)
	if !ok {
		return fail("integer literal out of range", "ints are signed 64 bit; 9223372036854775807 is the largest")
	}
	lit.Kind, lit.Int = LitInt, i
	return lit, nil
}

func intText(text string, prefixed bool) (int64, bool) {
	if prefixed {
		base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[text[1]|0x20]
		i, err := strconv.ParseInt(text[2:], base, 64)
		return i, err == nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return i, err == nil
}

// clockSeconds turns the text of a time token into seconds since midnight.
func clockSeconds(text string) (int64, bool) {
	hour, rest, _ := strings.Cut(text, ":")
	h, err := strconv.ParseInt(hour, 10, 64)
	if err != nil {
		return 0, false
	}
	if pm, ok := meridiem(rest, len(rest)-2); ok {
		rest = rest[:len(rest)-2]
		h %= 12
		if pm {
			h += 12
		}
	}
	m := int64(rest[0]-'0')*10 + int64(rest[1]-'0')
	var s int64
	if len(rest) == 5 {
		s = int64(rest[3]-'0')*10 + int64(rest[4]-'0')
	}
	return h*3600 + m*60 + s, h < 24 && m < 60 && s < 60
}

// unit is a size unit in bytes or a duration unit in nanoseconds.
type unit struct {
	name string
	kind LitKind
	size uint64
}

var units = [...]unit{
	{"b", LitSize, 1}, {"kb", LitSize, 1e3}, {"mb", LitSize, 1e6}, {"gb", LitSize, 1e9}, {"tb", LitSize, 1e12},
	{"kib", LitSize, 1 << 10}, {"mib", LitSize, 1 << 20}, {"gib", LitSize, 1 << 30}, {"tib", LitSize, 1 << 40},
	{"ns", LitDuration, 1}, {"us", LitDuration, 1e3}, {"ms", LitDuration, 1e6}, {"s", LitDuration, 1e9},
	{"m", LitDuration, 60e9}, {"h", LitDuration, 3600e9}, {"d", LitDuration, 86400e9}, {"w", LitDuration, 604800e9},
}

func findUnit(name string) (unit, bool) {
	for _, u := range units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// unitNames are the units by the names that others give them.
var unitNames = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w", "weeks": "w",
	"k": "kb", "g": "gb", "t": "tb", "bytes": "b", "byte": "b", "msec": "ms", "usec": "us", "nsec": "ns",
}

// compound is a duration of several units as a sum, or "".
func compound(text string) string {
	var parts []string
	for text != "" {
		digits := strings.TrimLeft(text, "0123456789")
		rest := strings.TrimLeft(digits, "abcdefghijklmnopqrstuvwxyz")
		if u, ok := findUnit(digits[:len(digits)-len(rest)]); !ok || u.kind != LitDuration || len(digits) == len(text) {
			return ""
		}
		parts = append(parts, text[:len(text)-len(rest)])
		text = rest
	}
	return strings.Join(parts, " + ")
}

// quantity is number × unit: exact for ints, else computed in float64 and
// rounded half away from zero. A result out of range is for evaluation to
// report, like any other overflow.
func quantity(lit *Literal, form numForm, text, name string) (*Literal, *Error) {
	u, ok := findUnit(name)
	if !ok {
		e := &Error{Span: lit.Span, Msg: "unknown unit `" + name + "`"}
		e.Hint = "sizes: b kb mb gb tb kib mib gib tib; durations: ns us ms s m h d w; one unit per literal"
		switch lower := strings.ToLower(name); {
		case unitNames[name] != "":
			e.Hint = "write `" + text + unitNames[name] + "`; " + e.Hint
		case compound(text+name) != "":
			e.Hint = "one unit per literal: `" + compound(text+name) + "`"
		case lower != name:
			e.Msg, e.Hint = "unit `"+name+"` must be lowercase", "write `"+text+lower+"`"
		}
		return nil, e
	}
	lit.Kind = u.kind
	limit := uint64(math.MaxUint64)
	if u.kind == LitDuration {
		limit = math.MaxInt64
	}
	total, ok := product(form, text, u.size)
	if !ok || total > limit {
		total, lit.Overflow, lit.Str = limit, true, text+name
	}
	lit.Int = int64(total)
	return lit, nil
}

// product is the number in text times scale, unless it exceeds 64 bits.
func product(form numForm, text string, scale uint64) (uint64, bool) {
	if form == numInt {
		n, err := strconv.ParseUint(text, 10, 64)
		hi, lo := bits.Mul64(n, scale)
		return lo, err == nil && hi == 0
	}
	f, err := strconv.ParseFloat(text, 64)
	f = math.Round(f * float64(scale))
	if err != nil || f >= math.MaxUint64 {
		return 0, false
	}
	return uint64(f), true
}
