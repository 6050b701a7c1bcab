package value

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deeply input may nest, and from where on rendering and
// encoding cut.
const MaxDepth = 500

// ParseJSON reads one JSON document straight into values. Integers of the
// int64 range become int, other numbers float; a non-empty array of objects
// becomes a table; a repeated key keeps its first position and last value.
// Objects of one document share shapes, and small objects share memory. What
// is wrong is an arg_error that tells line and column.
func ParseJSON(src string) (Value, *Error) { return ParseJSONUntil(src, nil) }

// ParseJSONUntil is ParseJSON that an error of stop, which is asked now and
// then, ends.
func ParseJSONUntil(src string, stop func() error) (Value, *Error) {
	p := jsonParser{s: src, turns: turns{stop: stop}}
	v, ok := p.document()
	if p.halted != nil {
		return Null, asError(p.halted, CodeCancelled)
	}
	if !ok {
		line, col := lineCol(src, p.at)
		return Null, Errorf(CodeArg, "invalid JSON at line %d column %d: %s", line, col, p.why)
	}
	return v, nil
}

// sniffJSON reads text that looks like a JSON object or array and is one.
func sniffJSON(text string) (Value, bool) {
	if len(text) > sniffLimit {
		return Null, false
	}
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	if i == len(text) || text[i] != '{' && text[i] != '[' {
		return Null, false
	}
	p := jsonParser{s: text}
	return p.document()
}

// lineCol is the 1-based place of a byte offset, columns in characters.
func lineCol(src string, at int) (line, col int) {
	before := src[:min(at, len(src))]
	line = 1 + strings.Count(before, "\n")
	col = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return line, col
}

// jsonParser holds its place, the values of unfinished containers, and the
// blocks from which finished ones are cut.
type jsonParser struct {
	s     string
	at    int
	why   string
	stack []Value
	guess []*Shape // by depth: the shape of the last object there
	slab  slab

	turns  turns
	halted error // what turns gave
}

func (p *jsonParser) fail(why string) bool {
	if p.why == "" {
		p.why = why
	}
	return false
}

func (p *jsonParser) space() {
	for p.at < len(p.s) {
		switch p.s[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *jsonParser) document() (Value, bool) {
	p.space()
	v, ok := p.value(0)
	if !ok {
		return Null, false
	}
	p.space()
	if p.at < len(p.s) {
		return Null, p.fail("text after the document")
	}
	return v, true
}

func (p *jsonParser) value(depth int) (Value, bool) {
	if p.at >= len(p.s) {
		return Null, p.fail("unexpected end")
	}
	if p.halted = p.turns.next(); p.halted != nil {
		return Null, false
	}
	switch c := p.s[p.at]; c {
	case '{':
		if depth >= MaxDepth {
			return Null, p.fail("nesting too deep")
		}
		return p.object(depth)
	case '[':
		if depth >= MaxDepth {
			return Null, p.fail("nesting too deep")
		}
		return p.array(depth)
	case '"':
		s, ok := p.str()
		if !ok {
			return Null, false
		}
		return p.slab.str(s), true
	case 't':
		return Bool(true), p.word("true")
	case 'f':
		return Bool(false), p.word("false")
	case 'n':
		return Null, p.word("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return p.number()
		}
		return Null, p.fail("unexpected character")
	}
}

func (p *jsonParser) word(w string) bool {
	if strings.HasPrefix(p.s[p.at:], w) {
		p.at += len(w)
		return true
	}
	return p.fail("unexpected character")
}

func (p *jsonParser) array(depth int) (Value, bool) {
	p.at++
	base := len(p.stack)
	records := true
	p.space()
	if p.at < len(p.s) && p.s[p.at] == ']' {
		p.at++
		return NewList(nil), true
	}
	for {
		p.space()
		v, ok := p.value(depth + 1)
		if !ok {
			return Null, false
		}
		records = records && v.Kind() == KindRecord
		p.stack = Push(p.stack, v)
		p.space()
		if p.at >= len(p.s) {
			return Null, p.fail("unexpected end of array")
		}
		c := p.s[p.at]
		p.at++
		if c == ']' {
			break
		}
		if c != ',' {
			p.at--
			return Null, p.fail("expected , or ] in array")
		}
	}
	items := p.stack[base:]
	p.stack = p.stack[:base]
	if records {
		rows := make([]*Record, len(items))
		for i, v := range items {
			rows[i] = v.AsRecord()
		}
		return NewTable(rows), true
	}
	return NewList(p.slab.vals(items)), true
}

// object parses an object, first along the shape of the last object at this
// depth, then, from the first key that differs, by its own keys.
func (p *jsonParser) object(depth int) (Value, bool) {
	p.at++
	for len(p.guess) <= depth {
		p.guess = append(p.guess, EmptyShape)
	}
	o := objectKeys{shape: p.guess[depth], follows: true}
	base := len(p.stack)
	p.space()
	if p.at < len(p.s) && p.s[p.at] == '}' {
		p.at++
		return p.slab.record(EmptyShape, nil), true
	}
	for {
		p.space()
		if p.at >= len(p.s) || p.s[p.at] != '"' {
			return Null, p.fail("expected a key")
		}
		key, ok := p.str()
		if !ok {
			return Null, false
		}
		p.space()
		if p.at >= len(p.s) || p.s[p.at] != ':' {
			return Null, p.fail("expected : after a key")
		}
		p.at++
		p.space()
		v, ok := p.value(depth + 1)
		if !ok {
			return Null, false
		}
		if slot := o.slot(key); slot < len(p.stack)-base {
			p.stack[base+slot] = v
		} else {
			p.stack = Push(p.stack, v)
		}
		p.space()
		if p.at >= len(p.s) {
			return Null, p.fail("unexpected end of object")
		}
		c := p.s[p.at]
		p.at++
		if c == '}' {
			break
		}
		if c != ',' {
			p.at--
			return Null, p.fail("expected , or } in object")
		}
	}
	shape := o.done()
	p.guess[depth] = shape
	vals := p.slab.vals(p.stack[base:])
	p.stack = p.stack[:base]
	return p.slab.record(shape, vals), true
}

// objectKeys finds the shape of an object from its keys in order.
type objectKeys struct {
	shape   *Shape // followed: the shape expected; else: the shape so far
	n       int    // keys so far
	follows bool
	keys    []string // instead of shape when there are many
	at      map[string]int
}

// slot is the position of key's value; the number of keys so far for a new
// key.
func (o *objectKeys) slot(key string) int {
	if o.follows {
		if o.n < len(o.shape.keys) && o.shape.keys[o.n] == key {
			o.n++
			return o.n - 1
		}
		o.leave()
	}
	if o.at != nil {
		if i, ok := o.at[key]; ok {
			return i
		}
		key = strings.Clone(key)
		o.at[key] = len(o.keys)
		o.keys = Push(o.keys, key)
		return len(o.keys) - 1
	}
	if i := o.shape.Slot(key); i >= 0 {
		return i
	}
	if o.n == maxTracked {
		o.overflow(o.shape.keys)
		return o.slot(key)
	}
	o.shape = o.shape.With(strings.Clone(key))
	o.n++
	return o.n - 1
}

// leave stops following the expected shape.
func (o *objectKeys) leave() {
	o.follows = false
	prefix := o.shape.keys[:o.n]
	if o.n > maxTracked {
		o.overflow(prefix)
		return
	}
	o.shape = ShapeOf(prefix...)
}

func (o *objectKeys) overflow(keys []string) {
	o.keys = Extend(nil, keys)
	o.at = make(map[string]int, 2*len(keys))
	for i, k := range keys {
		o.at[k] = i
	}
}

func (o *objectKeys) done() *Shape {
	if o.follows && o.n < len(o.shape.keys) {
		o.leave()
	}
	if o.at != nil {
		return &Shape{keys: o.keys, index: &keyIndex{at: o.at}}
	}
	return o.shape
}

// number parses a number at p.at.
func (p *jsonParser) number() (Value, bool) {
	start, i := p.at, p.at
	s := p.s
	neg := s[i] == '-'
	if neg {
		i++
	}
	digits := i
	var n uint64
	for i < len(s) && s[i]-'0' <= 9 {
		n = n*10 + uint64(s[i]-'0')
		i++
	}
	p.at = i
	if i == digits || s[digits] == '0' && i > digits+1 {
		p.at = digits
		return Null, p.fail("bad number")
	}
	if i == len(s) || s[i] != '.' && s[i] != 'e' && s[i] != 'E' {
		if i-digits <= 18 {
			if neg {
				return Int(-int64(n)), true
			}
			return Int(int64(n)), true
		}
		if n, err := strconv.ParseInt(s[start:i], 10, 64); err == nil {
			return Int(n), true
		}
		return p.float(s[start:i])
	}
	if s[i] == '.' {
		i++
		from := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		if p.at = i; i == from {
			return Null, p.fail("bad number")
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		from := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		if p.at = i; i == from {
			return Null, p.fail("bad number")
		}
	}
	return p.float(s[start:i])
}

func (p *jsonParser) float(text string) (Value, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return Null, p.fail("number out of range")
	}
	return Float(f), true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain is how many bytes from i on need no care in a JSON string: no quote,
// no backslash, no control character. ascii is false when one is above 127.
func plain(s string, i int) (n int, ascii bool) {
	start := i
	var seen uint64
	for i+8 <= len(s) {
		w := binary.LittleEndian.Uint64([]byte(s[i : i+8]))
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		stop := ((quote - ones) & ^quote) | ((slash - ones) & ^slash) | ((w - ones*0x20) & ^w)
		if stop&highs != 0 {
			break
		}
		seen |= w
		i += 8
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20 {
		seen |= uint64(s[i])
		i++
	}
	return i - start, seen&highs == 0
}

// str parses a string at p.at. Without escapes the result is a part of the
// input.
func (p *jsonParser) str() (string, bool) {
	start := p.at + 1
	n, ascii := plain(p.s, start)
	end := start + n
	if end < len(p.s) && p.s[end] == '"' {
		p.at = end + 1
		text := p.s[start:end]
		if !ascii && !utf8.ValidString(text) {
			text = validText(text)
		}
		return text, true
	}
	return p.escaped(start, end)
}

// escaped goes on after the plain part start..i of a string.
func (p *jsonParser) escaped(start, i int) (string, bool) {
	buf := ExtendText(make([]byte, 0, i-start+32), p.s[start:i])
	for {
		if p.halted = p.turns.next(); p.halted != nil {
			return "", false
		}
		if p.at = i; i >= len(p.s) {
			return "", p.fail("unterminated string")
		}
		switch c := p.s[i]; {
		case c == '"':
			p.at = i + 1
			text := TextOf(buf)
			if !utf8.ValidString(text) {
				text = validText(text)
			}
			return text, true
		case c == '\\':
			var ok bool
			if buf, i, ok = p.escape(Room(buf, utf8.UTFMax), i+1); !ok {
				return "", false
			}
		case c < 0x20:
			return "", p.fail("control character in string")
		}
		n, _ := plain(p.s, i)
		buf = ExtendText(buf, p.s[i:i+n])
		i += n
	}
}

// validText replaces each wrong byte by U+FFFD.
func validText(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = utf8.AppendRune(Room(b, utf8.UTFMax), r)
	}
	return TextOf(b)
}

// escape decodes the escape whose letter is at i.
func (p *jsonParser) escape(buf []byte, i int) ([]byte, int, bool) {
	if i >= len(p.s) {
		p.at = i
		return buf, i, p.fail("unterminated string")
	}
	switch c := p.s[i]; c {
	case '"', '\\', '/':
		return append(buf, c), i + 1, true
	case 'b':
		return append(buf, '\b'), i + 1, true
	case 'f':
		return append(buf, '\f'), i + 1, true
	case 'n':
		return append(buf, '\n'), i + 1, true
	case 'r':
		return append(buf, '\r'), i + 1, true
	case 't':
		return append(buf, '\t'), i + 1, true
	case 'u':
		r, ok := hex4(p.s, i+1)
		if !ok {
			p.at = i
			return buf, i, p.fail("bad \\u escape")
		}
		i += 5
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if strings.HasPrefix(p.s[i:], `\u`) {
				low, ok = hex4(p.s, i+2)
			}
			if whole := utf16.DecodeRune(r, low); ok && whole != utf8.RuneError {
				return utf8.AppendRune(buf, whole), i + 6, true
			}
			r = utf8.RuneError
		}
		return utf8.AppendRune(buf, r), i, true
	}
	p.at = i
	return buf, i, p.fail("unknown escape")
}

// hex4 reads four hex digits.
func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[i : i+4]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
