package value

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxItems is the number of elements above which a sequence is refused with
// overflow instead of being materialised.
const MaxItems = 1 << 24

// bytesPreview is how many bytes of content-addressed bytes JSON shows.
const bytesPreview = 256

// JSON encodes v, compact or indented by two spaces. A sequence or text over
// the limits raises overflow; reading large bytes may raise io_error.
func JSON(v Value, pretty bool) (string, *Error) {
	b, err := EncodeJSON(nil, v, pretty)
	if err != nil {
		return "", err
	}
	return TextOf(b), nil
}

// JSONUntil is JSON that an error of stop, which is asked now and then, ends.
func JSONUntil(v Value, pretty bool, stop func() error) (string, *Error) {
	b, err := encodeJSON(nil, v, pretty, stop)
	if err != nil {
		return "", err
	}
	return TextOf(b), nil
}

// EncodeJSON is JSON appended to dst.
func EncodeJSON(dst []byte, v Value, pretty bool) ([]byte, *Error) {
	return encodeJSON(dst, v, pretty, nil)
}

func encodeJSON(dst []byte, v Value, pretty bool, stop func() error) ([]byte, *Error) {
	e := jsonEncoder{dst: dst, pretty: pretty, start: len(dst), turns: turns{stop: stop}}
	if v.Kind() == KindBytes {
		e.wholeBytes(v.AsBytes())
	} else {
		e.value(v, 0)
	}
	if e.err != nil {
		return dst, e.err
	}
	return e.dst, nil
}

// AppendJSONString appends s as a JSON string, escaping only what must be.
func AppendJSONString(dst []byte, s string) []byte {
	dst = Push(dst, '"')
	dst = appendJSONText(dst, s)
	return Push(dst, '"')
}

func appendJSONText(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		n, ascii := plain(s, i)
		if n > 0 {
			part := s[i : i+n]
			if !ascii && !utf8.ValidString(part) {
				part = validText(part)
			}
			dst = ExtendText(dst, part)
			i += n
			continue
		}
		dst = appendJSONEscape(Room(dst, escapeMost), s[i])
		i++
	}
	return dst
}

// escapeMost is how many bytes an escape has.
const escapeMost = 6

func appendJSONEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendJSONFloat appends f with its shortest digits, keeping ".0", with an
// exponent only below 1e-6 and from 1e21 on; null when f is not finite.
func AppendJSONFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// jsonEncoder appends values to dst; after the first error it does nothing.
type jsonEncoder struct {
	dst    []byte
	start  int
	pretty bool
	turns  turns
	err    *Error

	last  *Shape   // of the record that was encoded last
	shape *Shape   // of one that names are ready for
	names []string // what stands before each of its values
}

func (e *jsonEncoder) str(s string) {
	if len(s) < pieceBytes {
		e.dst = AppendJSONString(e.dst, s)
		return
	}
	e.dst = Push(e.dst, '"')
	for len(s) > 0 && e.goesOn() {
		n := TextPiece(s)
		e.dst = appendJSONText(e.dst, s[:n])
		s = s[n:]
	}
	e.dst = Push(e.dst, '"')
}

// goesOn reports whether to go on, which it asks however little was counted.
func (e *jsonEncoder) goesOn() bool {
	if len(e.dst)-e.start > MaxText {
		e.err = Errorf(CodeOverflow, "JSON text over %d bytes", MaxText)
		return false
	}
	if err := e.turns.now(); err != nil {
		e.err = asError(err, CodeCancelled)
		return false
	}
	return true
}

// valueRoom is how many bytes there is room for before a value that is no
// text, and what stands round it.
const valueRoom = 64

// newline starts a line at a depth when pretty.
func (e *jsonEncoder) newline(depth int) {
	if !e.pretty {
		return
	}
	e.dst = append(Room(e.dst, 2*depth+2), '\n')
	for range depth {
		e.dst = append(e.dst, ' ', ' ')
	}
}

func (e *jsonEncoder) key(k string) {
	e.str(k)
	e.dst = append(Room(e.dst, 2), ':')
	if e.pretty {
		e.dst = append(e.dst, ' ')
	}
}

func (e *jsonEncoder) value(v Value, depth int) {
	if e.err != nil {
		return
	}
	if len(e.dst)-e.start > MaxText {
		e.err = Errorf(CodeOverflow, "JSON text over %d bytes", MaxText)
		return
	}
	if err := e.turns.next(); err != nil {
		e.err = asError(err, CodeCancelled)
		return
	}
	e.dst = Room(e.dst, valueRoom)
	switch v.Kind() {
	case KindNull:
		e.dst = append(e.dst, "null"...)
	case KindBool:
		e.dst = strconv.AppendBool(e.dst, v.AsBool())
	case KindInt, KindDuration:
		e.dst = strconv.AppendInt(e.dst, v.n, 10)
	case KindSize:
		e.dst = strconv.AppendUint(e.dst, v.AsSize(), 10)
	case KindFloat:
		e.dst = AppendJSONFloat(e.dst, v.AsFloat())
	case KindStr, KindPath:
		e.str(v.AsStr())
	case KindGlob:
		e.str(v.AsGlob().Pattern)
	case KindRegex:
		e.str(v.AsRegex().Src)
	case KindDatetime:
		e.str(ZonedDatetime(v.AsDatetime()))
	case KindTime:
		e.str(FormatTime(v.AsTimeOfDay()))
	case KindBytes:
		e.nestedBytes(v.AsBytes(), depth)
	case KindList, KindRange, KindTable, KindRecord, KindOutcome, KindError:
		if depth >= MaxDepth {
			e.str("…")
			return
		}
		e.container(v, depth)
	default:
		e.str(Inline(v))
	}
}

func (e *jsonEncoder) container(v Value, depth int) {
	switch v.Kind() {
	case KindList:
		items := v.AsList().Items
		e.sequence(len(items), depth, func(i int) { e.value(items[i], depth+1) })
	case KindTable:
		rows := v.AsTable().Lend(nil)
		e.sequence(v.AsTable().Len(), depth, func(int) { e.record(rows.Next(), depth+1) })
	case KindRange:
		r := v.AsRange()
		if r.Len() > MaxItems {
			e.err = Errorf(CodeOverflow, "a range of %d elements is too long for JSON", r.Len())
			return
		}
		e.sequence(int(r.Len()), depth, func(i int) {
			e.value(Int(r.Start+int64(i)), depth+1)
		})
	case KindRecord:
		e.record(v.AsRecord(), depth)
	case KindOutcome:
		e.record(outcomeRecord(v.AsOutcome()), depth)
	case KindError:
		err := v.AsError()
		e.record(&Record{kind: KindRecord, Shape: ShapeOf("code", "msg"), Vals: []Value{Str(err.Code), Str(err.Msg)}}, depth)
	}
}

// outcomeRecord is how an outcome looks in JSON. A failed one has no value.
func outcomeRecord(o *Outcome) *Record {
	status, _, _ := o.Field("status")
	out, _ := o.OutValue()
	return &Record{
		kind: KindRecord, Shape: ShapeOf("status", "ok", "out", "err"),
		Vals: []Value{status, Bool(o.OK), out, o.Stderr},
	}
}

// After sampled items a sequence makes room for the others, up to expectMost
// bytes, as if they were alike.
const (
	sampled    = 64
	expectMost = 4 << 20
)

func (e *jsonEncoder) sequence(n, depth int, item func(i int)) {
	e.dst = append(e.dst, '[')
	start := len(e.dst)
	for i := 0; i < n && e.err == nil; i++ {
		if i == sampled {
			like := (len(e.dst) - start) / sampled * (n - i)
			e.dst = Room(e.dst, min(like+like/8, expectMost)) // numbers become longer
		}
		if i > 0 {
			e.dst = Push(e.dst, ',')
		}
		e.newline(depth + 1)
		item(i)
	}
	if n > 0 {
		e.newline(depth)
	}
	e.dst = Push(e.dst, ']')
}

func (e *jsonEncoder) record(r *Record, depth int) {
	if depth >= MaxDepth {
		e.str("…")
		return
	}
	if names := e.namesOf(r.Shape); len(names) > 0 {
		for i, name := range names {
			e.dst = ExtendText(e.dst, name)
			e.value(r.Vals[i], depth+1)
		}
		e.dst = Push(e.dst, '}')
		return
	}
	e.dst = append(e.dst, '{')
	for i, k := range r.Shape.keys {
		if e.err != nil {
			return
		}
		if i > 0 {
			e.dst = Push(e.dst, ',')
		}
		e.newline(depth + 1)
		e.key(k)
		e.value(r.Vals[i], depth+1)
	}
	if len(r.Vals) > 0 {
		e.newline(depth)
	}
	e.dst = Push(e.dst, '}')
}

// namesOf is what stands before each value of a record, for a shape that comes
// at least twice in a row.
func (e *jsonEncoder) namesOf(shape *Shape) []string {
	if e.pretty {
		return nil
	}
	before := e.last
	e.last = shape
	switch shape {
	case e.shape:
		return e.names
	case before:
	default:
		return nil
	}
	e.shape, e.names = shape, make([]string, len(shape.keys))
	lead := byte('{')
	for i, k := range shape.keys {
		e.names[i] = string(append(AppendJSONString([]byte{lead}, k), ':'))
		lead = ','
	}
	return e.names
}

// wholeBytes encodes bytes as their text, wherever they lie.
func (e *jsonEncoder) wholeBytes(b *Bytes) {
	all, err := b.All(0)
	if err != nil {
		e.err = asError(err, CodeIO)
		return
	}
	e.str(Lossy(all))
}

// nestedBytes encodes resident bytes as text and others as a reference.
func (e *jsonEncoder) nestedBytes(b *Bytes, depth int) {
	if b.Ref() == "" {
		e.wholeBytes(b)
		return
	}
	e.record(&Record{
		kind: KindRecord, Shape: ShapeOf("$", "ref", "len", "preview"),
		Vals: []Value{Str("bytes_ref"), Str(b.Ref()), Int(b.Len()), Str(b.Preview(bytesPreview))},
	}, depth)
}

// Preview is the first n bytes as text, cut between characters.
func (b *Bytes) Preview(n int) string {
	buf := make([]byte, min(int64(n), b.Len()))
	got, _ := b.ReadAt(buf, 0)
	buf = buf[:got]
	if int64(got) < b.Len() {
		buf = buf[:wholeRunes(buf)]
	}
	return Lossy(buf)
}
