package view

import (
	"io"

	"shoal.dev/shoal/lang/value"
)

// Viewer shows values. The zero Viewer shows all there is.
type Viewer struct {
	// Mask replaces in place what nobody is to see and keeps the length; nil:
	// nothing. All that is shown is to pass it once more as a whole: a Viewer
	// masks only what is cut in two, which nobody could find any more.
	Mask func([]byte)
	// Margin is by how many bytes what is masked may reach into a piece from the
	// outside.
	Margin int
}

// part is s[start:end], with what reaches into it from the outside masked.
func (v Viewer) part(s string, start, end int) string {
	if v.Mask == nil || start == 0 && end == len(s) {
		return s[start:end]
	}
	first, last := v.edges(int64(start), int64(end), func(from, to int64) []byte {
		return []byte(s[from:min(to, int64(len(s)))])
	})
	part := s[start:end]
	if part[:len(first)] == string(first) && part[len(part)-len(last):] == string(last) {
		return part
	}
	b := []byte(part)
	copy(b, first)
	copy(b[len(b)-len(last):], last)
	return string(b)
}

// edges are the beginning and the end of what lies between start and end, masked
// with what is round them. Reads go beyond the end of the whole and give what
// there is.
func (v Viewer) edges(start, end int64, read func(from, to int64) []byte) (first, last []byte) {
	margin := int64(v.Margin)
	low := max(0, start-margin)
	if end-start <= 2*margin {
		all := read(low, end+margin)
		v.Mask(all)
		n := int64(len(all))
		return all[min(start-low, n):min(end-low, n)], nil
	}
	first = read(low, start+margin)
	v.Mask(first)
	last = read(end-margin, end+margin)
	v.Mask(last)
	return first[min(start-low, int64(len(first))):], last[:min(margin, int64(len(last)))]
}

// clip is the first n bytes of s at most, cut between characters.
func (v Viewer) clip(s string, n int) string { return v.part(s, 0, len(clip(s, n))) }

// firstChars is the first n characters of s.
func (v Viewer) firstChars(s string, n int) string { return v.part(s, 0, len(firstChars(s, n))) }

// scalars is the part of s from character start up to end, which exist.
func (v Viewer) scalars(s string, start, end int64) string {
	from, to := scalars(s, start, end)
	return v.part(s, from, to)
}

// bytes is the part of b from start up to end, which exist.
func (v Viewer) bytes(b *value.Bytes, start, end int64) value.Value {
	all, resident := b.Resident()
	part := partBlob{of: b.Blob(), off: start, n: end - start}
	if v.Mask != nil && (start > 0 || end < b.Len()) {
		part.first, part.last = v.edges(start, end, func(from, to int64) []byte { return readPart(b, from, to) })
	}
	if !resident {
		return value.NewBlob(part)
	}
	if part.first == nil {
		return value.NewBytes(all[start:end:end])
	}
	buf := make([]byte, part.n)
	part.ReadAt(buf, 0) // memory gives all there is
	return value.NewBytes(buf)
}

// readPart is what can be read of b between two offsets.
func readPart(b *value.Bytes, from, to int64) []byte {
	buf := make([]byte, max(0, min(to, b.Len())-from))
	n, _ := b.ReadAt(buf, from)
	return buf[:n]
}

// partBlob is a part of a blob, with edges of its own.
type partBlob struct {
	of          value.Blob
	off, n      int64
	first, last []byte // what it begins and ends with, where that differs
}

func (p partBlob) Len() int64   { return p.n }
func (p partBlob) Total() int64 { return p.n }
func (p partBlob) Ref() string  { return "" }

func (p partBlob) ReadAt(buf []byte, off int64) (int, error) {
	n, err := io.NewSectionReader(p.of, p.off, p.n).ReadAt(buf, off)
	overlay(buf[:n], off, p.first, 0)
	overlay(buf[:n], off, p.last, p.n-int64(len(p.last)))
	return n, err
}

// overlay copies what lies at another offset over buf where they meet.
func overlay(buf []byte, off int64, over []byte, at int64) {
	if at < off {
		over, at = over[min(off-at, int64(len(over))):], off
	}
	if at-off < int64(len(buf)) {
		copy(buf[at-off:], over)
	}
}
