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
func Raw(v value.Value, slice *[2]int64) (Piece, error) {
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
	end := n
	start := int64(0)
	if slice != nil {
		start, end = slice[0], slice[1]
	}
	part, err := Slice(v, start, end)
	if err != nil {
		return Piece{}, err
	}
	p := Piece{Len: n}
	taken := int64(0)
	if v.Kind() == value.KindStr {
		head := clip(part.AsStr(), RawPiece)
		p.Data, p.Text, taken = []byte(head), true, int64(utf8.RuneCountInString(head))
	} else if p, err = rawBytes(part.AsBytes(), n); err != nil {
		return Piece{}, err
	} else {
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

// rawBytes reads the first piece of b. When it is text but for a character cut
// at its end, it ends before that character.
func rawBytes(b *value.Bytes, n int64) (Piece, error) {
	buf := make([]byte, min(b.Len(), RawPiece))
	if got, err := b.ReadAt(buf, 0); err != nil && (err != io.EOF || got < len(buf)) {
		return Piece{}, fmt.Errorf("read bytes: %w", err)
	}
	if int64(len(buf)) < b.Len() {
		if text := wholeText(buf); text != nil {
			return Piece{Data: text, Text: true, Len: n}, nil
		}
	}
	return Piece{Data: buf, Text: isText(buf), Len: n}, nil
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
