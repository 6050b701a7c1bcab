package value

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
	"unsafe"
)

// Blob is byte content that may be large: resident, chunked or spilled to the
// content store. Implementations are immutable and safe for concurrent use.
type Blob interface {
	// Len is the number of bytes that can be read.
	Len() int64
	// ReadAt has the contract of io.ReaderAt.
	ReadAt(p []byte, off int64) (int, error)
	// Ref is "val:blake3:HEX" when the content store holds the bytes, else "".
	Ref() string
	// Total is the number of bytes that were seen; it exceeds Len when some
	// were dropped.
	Total() int64
}

// MaxText is the size in bytes above which a str or resident bytes value is
// refused with overflow.
const MaxText = 1 << 30

// memBlob is a Blob over one slice.
type memBlob []byte

// BytesBlob is a resident blob that owns b.
func BytesBlob(b []byte) Blob { return memBlob(b) }

func (m memBlob) Len() int64   { return int64(len(m)) }
func (m memBlob) Total() int64 { return int64(len(m)) }
func (m memBlob) Ref() string  { return "" }

func (m memBlob) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read bytes: negative offset %d", off)
	}
	if off >= int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Bytes is the object behind a bytes value.
type Bytes struct {
	kind Kind
	blob Blob
}

// NewBytes makes a resident bytes value that owns b.
func NewBytes(b []byte) Value { return NewBlob(memBlob(b)) }

// NewBlob makes a bytes value over b; nil is no bytes at all.
func NewBlob(b Blob) Value {
	if b == nil {
		b = memBlob(nil)
	}
	return Value{unsafe.Pointer(&Bytes{KindBytes, b}), 0}
}

// AsBytes is the object behind a bytes value.
func (v Value) AsBytes() *Bytes { return (*Bytes)(v.p) }

// Blob is the content.
func (b *Bytes) Blob() Blob { return b.blob }

// Len is the number of bytes that can be read.
func (b *Bytes) Len() int64 { return b.blob.Len() }

// Total is the number of bytes that were seen, dropped ones included.
func (b *Bytes) Total() int64 { return b.blob.Total() }

// Ref is "val:blake3:HEX" for content-addressed bytes, else "".
func (b *Bytes) Ref() string { return b.blob.Ref() }

// Resident is the content when it lies in memory in one piece; it must not be
// changed.
func (b *Bytes) Resident() ([]byte, bool) {
	m, ok := b.blob.(memBlob)
	return m, ok
}

// ReadAt has the contract of io.ReaderAt.
func (b *Bytes) ReadAt(p []byte, off int64) (int, error) { return b.blob.ReadAt(p, off) }

// Reader reads the content from its start.
func (b *Bytes) Reader() io.Reader {
	if m, ok := b.Resident(); ok {
		return bytes.NewReader(m)
	}
	return io.NewSectionReader(b.blob, 0, b.blob.Len())
}

// All is the whole content in one piece; more than limit bytes (MaxText when
// limit is 0) is an overflow. The result must not be changed.
func (b *Bytes) All(limit int64) ([]byte, error) {
	if limit <= 0 || limit > MaxText {
		limit = MaxText
	}
	n := b.blob.Len()
	if n > limit {
		return nil, Errorf(CodeOverflow, "%d bytes are more than the limit of %d", n, limit)
	}
	if m, ok := b.Resident(); ok {
		return m, nil
	}
	buf := make([]byte, n)
	got, err := io.ReadFull(io.NewSectionReader(b.blob, 0, n), buf)
	if err != nil {
		return nil, fmt.Errorf("read bytes at %d of %d: %w", got, n, err)
	}
	return buf, nil
}

// validUTF8 reports whether r holds UTF-8 only, in bounded memory, whether a
// NUL occurs in it, and of how many characters it consists.
func validUTF8(r io.Reader) (valid, nul bool, chars int64, err error) {
	buf := make([]byte, 64<<10)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		chunk := buf[:kept+n]
		if !nul {
			nul = bytes.IndexByte(chunk[kept:], 0) >= 0
		}
		cut := wholeRunes(chunk)
		if !utf8.Valid(chunk[:cut]) {
			return false, nul, 0, nil
		}
		for _, c := range chunk[:cut] { // valid, so every character has one first byte
			if c&0xC0 != 0x80 {
				chars++
			}
		}
		kept = copy(buf, chunk[cut:])
		if err == io.EOF {
			return kept == 0, nul, chars, nil
		}
		if err != nil {
			return false, nul, 0, err
		}
	}
}

// wholeRunes is the length of b without an incomplete character at its end.
func wholeRunes(b []byte) int {
	for i := 1; i <= utf8.UTFMax-1 && i <= len(b); i++ {
		c := b[len(b)-i]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			return len(b)
		}
	}
	return len(b)
}

// IsText reports whether the content is UTF-8, and whether a NUL occurs in it.
func (b *Bytes) IsText() (valid, nul bool, err error) {
	if m, ok := b.Resident(); ok {
		return utf8.Valid(m), bytes.IndexByte(m, 0) >= 0, nil
	}
	valid, nul, _, err = validUTF8(b.Reader())
	return valid, nul, err
}

// Chars counts the characters of text in bounded memory; ok is false when the
// content is no UTF-8 or cannot be read.
func (b *Bytes) Chars() (n int64, ok bool) {
	ok, _, n, err := validUTF8(b.Reader())
	return n, ok && err == nil
}
