package value

import "unsafe"

// The bytes of a str or path are either near, right behind a byte that is the
// text's kind, or far, where the object points to. Near text needs no object of
// its own, nor pointers; far text shares bytes that exist already. Value.n is
// the length of near text, and that of far text inverted.

// farText is the object behind far text.
type farText struct {
	kind Kind
	data *byte
}

const (
	headSize = int(unsafe.Sizeof(Kind(0)))
	// nearMost is up to how many bytes a text costs no more when it is copied
	// than when it is pointed to.
	nearMost = int(unsafe.Sizeof(farText{})) - headSize
	// nearSlab is up to how many bytes a text is copied where many are made.
	nearSlab = 2 * nearMost
)

// Str makes a str.
func Str(s string) Value { return newText(KindStr, s) }

// Path makes a path from native bytes.
func Path(s string) Value { return newText(KindPath, s) }

// StrOf makes a str of a copy of buf.
func StrOf(buf []byte) Value {
	if len(buf) >= pieceBytes {
		return Str(TextOf(Extend(nil, buf)))
	}
	return nearText(KindStr, make([]byte, nearSize(len(buf))), unsafe.String(unsafe.SliceData(buf), len(buf)))
}

func newText(k Kind, s string) Value {
	if len(s) <= nearMost {
		return nearText(k, make([]byte, nearSize(len(s))), s)
	}
	return farValue(&farText{k, unsafe.StringData(s)}, len(s))
}

// nearSize is the size of a near text of n bytes. An empty one has room for a
// byte: the address of its text must not be that of the next object.
func nearSize(n int) int { return headSize + max(n, 1) }

// nearText makes a text with a copy of s in block, whose size is right.
func nearText(k Kind, block []byte, s string) Value {
	block[0] = byte(k)
	copy(block[headSize:], s)
	return nearValue(block, len(s))
}

// nearValue is the text of n bytes behind the kind at the start of block.
func nearValue(block []byte, n int) Value {
	return Value{unsafe.Pointer(unsafe.SliceData(block)), int64(n)}
}

func farValue(t *farText, n int) Value { return Value{unsafe.Pointer(t), ^int64(n)} }

// AsStr is the text of a str or the bytes of a path.
func (v Value) AsStr() string {
	if v.n >= 0 {
		return unsafe.String((*byte)(unsafe.Add(v.p, headSize)), int(v.n))
	}
	return unsafe.String((*farText)(v.p).data, int(^v.n))
}

// BytesOf are the bytes of s, which must not be changed.
func BytesOf(s string) []byte { return textBytes(s) }
