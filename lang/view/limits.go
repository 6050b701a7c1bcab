package view

import "strings"

// Defaults and bounds of elision.
const (
	DefaultMaxBytes = 8 << 10 // bytes of encoded JSON
	DefaultMaxRows  = 100
	DefaultMaxItems = 500
	MaxRawBytes     = 4 << 10  // bytes of content that is not text
	HardCap         = 64 << 10 // bytes of encoded JSON or text, whatever is asked for
	hardRows        = 10_000

	// minRef is what a ref may take however small MaxBytes is.
	minRef = 1 << 10
	// maxPartRef is what the ref of a part may take.
	maxPartRef = 4 << 10
)

// Limits say from where on a value is elided. A zero or negative limit is its
// default; larger ones than the bounds are clamped.
type Limits struct {
	MaxBytes int `json:"max_bytes,omitempty"`
	MaxRows  int `json:"max_rows,omitempty"`
	MaxItems int `json:"max_items,omitempty"`
}

// Clamped is l with every limit set and within bounds.
func (l Limits) Clamped() Limits {
	return Limits{
		MaxBytes: clamp(l.MaxBytes, DefaultMaxBytes, HardCap),
		MaxRows:  clamp(l.MaxRows, DefaultMaxRows, hardRows),
		MaxItems: clamp(l.MaxItems, DefaultMaxItems, hardRows),
	}
}

func clamp(n, byDefault, most int) int {
	if n <= 0 {
		return byDefault
	}
	return min(n, most)
}

// Place is where a value can be fetched again.
type Place struct {
	URI  string // of the stored value, such as "shoal://out/17"
	Path string // from there to this value; "" for the whole
}

// String is the URI with the path as its query.
func (p Place) String() string {
	if p.Path == "" {
		return p.URI
	}
	sep := "?path="
	if strings.Contains(p.URI, "?") {
		sep = "&path="
	}
	return p.URI + sep + escapeQuery(p.Path)
}

// escapeQuery percent-encodes what may not stand in a query value.
func escapeQuery(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// spot is the place of a part while values are walked: a step from the spot of
// what holds it, spelled out only when it is needed.
type spot struct {
	up    *spot
	base  Place // where up is nil
	field bool
	key   string
	index int
}

func (s *spot) place() Place {
	if s.up == nil {
		return s.base
	}
	p := s.up.place()
	if s.field {
		p.Path = AppendField(p.Path, s.key)
	} else {
		p.Path = AppendIndex(p.Path, s.index)
	}
	return p
}
