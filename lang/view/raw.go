package view

import (
	"fmt"
	"io"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

// RawPiece is the size in bytes of the largest piece that Raw gives.
const RawPiece = 64 << 10

// Piece is a part of a value's own bytes.
type Piece struct {
	Data []byte
	Text bool  // Data is UTF-8 without NUL
	Len  int64 // length of the whole, in characters for str, else in bytes
	Next int64 // where the next piece starts, in the same unit; 0 at the end
}

// TooLong says that a value is too long for one piece; read it by slices.
type TooLong struct{ Len, Next int64 }

// Error names both numbers.
func (e *TooLong) Error() string {
	return fmt.Sprintf("raw text of length %d does not fit one reply; read it with a slice, from 0 to %d first", e.Len, e.Next)
}

// Raw is the bytes of a str, path or bytes value, or of an outcome's stdout.
// Without a slice everything must fit into one piece, else the error is a
// *TooLong; with one the piece ends where RawPiece or the slice does.
func (w Viewer) Raw(v value.Value, slice *[2]int64) (Piece, error) {
	switch v.Kind() {
	case value.KindOutcome:
		v = v.AsOutcome().Stdout
	case value.KindPath:
		v = value.NewBytes([]byte(v.AsStr()))
	case value.KindStr, value.KindBytes:
	default:
		return Piece{}, &PathError{"", fmt.Sprintf("%s has no raw form", v.Kind())}
	}
	n, _ := length(v)
	start, end := int64(0), n
	if slice != nil {
		start, end = slice[0], slice[1]
	}
	if start < 0 || start > n || end < start {
		return Piece{}, badSlice(start, end, n)
	}
	end = min(end, n)
	p := Piece{Len: n}
	taken := int64(0)
	if v.Kind() == value.KindStr {
		s := v.AsStr()
		from, to := scalars(s, start, end)
		to = from + len(clip(s[from:to], RawPiece))
		p.Data, p.Text, taken = []byte(w.part(s, from, to)), true, int64(utf8.RuneCountInString(s[from:to]))
	} else {
		var err error
		if p.Data, p.Text, err = w.rawBytes(v.AsBytes(), start, end); err != nil {
			return Piece{}, err
		}
		taken = int64(len(p.Data))
	}
	if next := start + taken; next < n {
		p.Next = next
	}
	if slice == nil && p.Next > 0 {
		return Piece{}, &TooLong{Len: n, Next: p.Next}
	}
	return p, nil
}

// rawBytes reads the first piece of b between start and end, and tells whether it
// is text. When it is text but for a character cut at its end, it ends before
// that character.
func (w Viewer) rawBytes(b *value.Bytes, start, end int64) (data []byte, text bool, err error) {
	buf := make([]byte, min(end-start, RawPiece))
	if got, err := b.ReadAt(buf, start); err != nil && (err != io.EOF || got < len(buf)) {
		return nil, false, fmt.Errorf("read bytes: %w", err)
	}
	if text := wholeText(buf); text != nil && int64(len(buf)) < end-start {
		buf = text
	}
	part, err := w.bytes(b, start, start+int64(len(buf))).AsBytes().All(RawPiece)
	if err != nil {
		return nil, false, fmt.Errorf("read bytes: %w", err)
	}
	return part, isText(part), nil
}

// wholeText is b without a character cut at its end if that is text, else nil.
func wholeText(b []byte) []byte {
	for i := range min(utf8.UTFMax, len(b)+1) {
		if part := b[:len(b)-i]; isText(part) {
			return part
		}
	}
	return nil
}

func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c == 0 {
			return false
		}
	}
	return true
}
