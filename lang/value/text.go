package value

import "unsafe"

// A str or path keeps its length in the Value; its bytes are either near,
// right behind the object's head, or far, where the head points to. Near text
// costs one object without pointers; far text shares bytes that exist already.

// textHead begins both layouts.
type textHead struct {
	kind Kind
	near bool
}

// farText is the head of far text.
type farText struct {
	textHead
	data *byte
}

const (
	headSize = unsafe.Sizeof(textHead{})
	// nearMost is up to how many bytes a text costs no more when it is copied
	// than when it is pointed to.
	nearMost = int(unsafe.Sizeof(farText{}) - headSize)
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
	return Value{unsafe.Pointer(&farText{textHead{k, false}, unsafe.StringData(s)}), int64(len(s))}
}

// nearSize is the size of a near text of n bytes. An empty one has room for a
// byte: the address of its text must not be that of the next object.
func nearSize(n int) int { return int(headSize) + max(n, 1) }

// nearText makes a text with a copy of s in block, whose size is right.
func nearText(k Kind, block []byte, s string) Value {
	head := (*textHead)(unsafe.Pointer(unsafe.SliceData(block)))
	head.kind, head.near = k, true
	copy(block[headSize:], s)
	return Value{unsafe.Pointer(head), int64(len(s))}
}

// AsStr is the text of a str or the bytes of a path.
func (v Value) AsStr() string {
	if (*textHead)(v.p).near {
		return unsafe.String((*byte)(unsafe.Add(v.p, headSize)), int(v.n))
	}
	return unsafe.String((*farText)(v.p).data, int(v.n))
}

// BytesOf are the bytes of s, which must not be changed.
func BytesOf(s string) []byte { return textBytes(s) }
