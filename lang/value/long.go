package value

import (
	"slices"
	"unicode/utf8"
	"unsafe"
)

// A single copy of many megabytes cannot be interrupted: a collection that
// wants to begin, and with it everything else in the process, waits for its
// end. Whatever may become that long is grown and joined by the functions here,
// which copy in pieces.

// pieceBytes is how much is copied at once.
const pieceBytes = 256 << 10

// Extend appends more to dst, as append does.
func Extend[T any](dst, more []T) []T {
	if len(more)*sizeOf[T]() < pieceBytes && len(more) <= cap(dst)-len(dst) {
		return append(dst, more...)
	}
	n := len(dst)
	dst = Room(dst, len(more))[:n+len(more)]
	copyPieces(dst[n:], more)
	return dst
}

// Push appends one item to dst, as append does.
func Push[T any](dst []T, item T) []T {
	if len(dst) == cap(dst) {
		dst = Room(dst, 1)
	}
	return append(dst, item)
}

// ExtendText appends the bytes of s to dst.
func ExtendText(dst []byte, s string) []byte { return Extend(dst, textBytes(s)) }

// Room is dst with room for n more items. A long one grows by a quarter.
func Room[T any](dst []T, n int) []T {
	if n <= cap(dst)-len(dst) {
		return dst
	}
	if cap(dst)*sizeOf[T]() < pieceBytes {
		return slices.Grow(dst, n)
	}
	grown := make([]T, len(dst), max(len(dst)+n, len(dst)+len(dst)/4))
	copyPieces(grown, dst)
	return grown
}

// TextPiece is how many bytes the first piece of a text has. A long text is cut
// between characters.
func TextPiece(s string) int {
	if len(s) <= pieceBytes {
		return len(s)
	}
	for n := pieceBytes; n > pieceBytes-utf8.UTFMax; n-- {
		if utf8.RuneStart(s[n]) {
			return n
		}
	}
	return pieceBytes // within bytes that are no character
}

// JoinText is a and b in one.
func JoinText(a, b string) string {
	if len(a)+len(b) < pieceBytes {
		return a + b
	}
	buf := make([]byte, 0, len(a)+len(b))
	return TextOf(ExtendText(ExtendText(buf, a), b))
}

// TextOf is buf as a text. A long one is not copied: buf must not be changed
// any more.
func TextOf(buf []byte) string {
	if len(buf) < pieceBytes {
		return string(buf)
	}
	return unsafe.String(&buf[0], len(buf))
}

// textBytes are the bytes of s, which must not be changed.
func textBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// copyPieces is copy for as many items as src has.
func copyPieces[T any](dst, src []T) {
	for piece := max(pieceBytes/max(sizeOf[T](), 1), 1); len(src) > 0; {
		n := copyPiece(dst, src[:min(len(src), piece)])
		dst, src = dst[n:], src[n:]
	}
}

// copyPiece is copy. A loop round copy itself is all but never stopped: a signal
// finds it in the copying, where it cannot be. At the entry of a function that is
// not inlined it can.
//
//go:noinline
func copyPiece[T any](dst, src []T) int { return copy(dst, src) }

func sizeOf[T any]() int { return int(unsafe.Sizeof(*new(T))) }
