package host

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What is masked of a secret: its text, and the spellings that programs give it
// on the way to somebody: within JSON, once and twice over, in base64 wherever
// in what is encoded it stands, in hex, and in URLs; base64 and hex also where
// they are broken into lines. Of a secret of several lines each longer line is
// looked for too. Where text was cut, which an ellipsis tells, so is what the cut
// has left of a secret. All forms are found in one pass, so that many secrets
// cost no more than one.

const (
	// minMasked is how many bytes a form must have to be masked wherever it is
	// found.
	minMasked = 6
	// minToken is how many a secret must have to be masked where it stands between
	// other characters than letters and digits.
	minToken = 3
	// minLine is how many a line of a secret must have to be masked by itself.
	minLine = 16
	// minWrap is how many characters the lines have at least into which encoded
	// text is broken.
	minWrap = 32
	// maxBreak is how many bytes there may be between two such lines.
	maxBreak = 26
)

// ellipsis stands where text was cut.
const ellipsis = "…"

// mask is a text to be found, and whose it is.
type mask struct {
	text  []byte
	name  string
	token bool // only where it stands by itself
	wraps bool // it may be broken into lines
}

// masks are all that is looked for. It is not changed any more.
type masks struct {
	all     []mask
	longest int  // in bytes, line breaks among them
	dotted  bool // one has an ellipsis itself
	begin   index
	end     index
}

// index finds the masks that begin, or end, with minToken bytes: the longest
// first.
type index struct {
	likely [1 << 16 / 64]uint64 // has a bit for the hash of each key
	byKey  map[[minToken]byte][]mask
}

func newMasks(all []mask) *masks {
	m := &masks{all: all, begin: newIndex(), end: newIndex()}
	for _, one := range all {
		n := len(one.text)
		m.begin.add([minToken]byte(one.text), one)
		m.end.add([minToken]byte(one.text[n-minToken:]), one)
		if one.wraps {
			n += (n/minWrap + 1) * maxBreak
		}
		m.longest = max(m.longest, n)
		m.dotted = m.dotted || bytes.Contains(one.text, []byte(ellipsis))
	}
	m.begin.sort()
	m.end.sort()
	return m
}

func newIndex() index { return index{byKey: map[[minToken]byte][]mask{}} }

func (x *index) add(key [minToken]byte, one mask) {
	h := keyHash(key[:])
	x.likely[h/64] |= 1 << (h % 64)
	x.byKey[key] = append(x.byKey[key], one)
}

func (x *index) sort() {
	for _, list := range x.byKey {
		slices.SortStableFunc(list, func(a, b mask) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
}

// get are the masks for the key that b begins with.
func (x *index) get(b []byte) []mask {
	if h := keyHash(b); x.likely[h/64]&(1<<(h%64)) == 0 {
		return nil
	}
	return x.byKey[[minToken]byte(b)]
}

// keyHash is a hash of the first minToken bytes.
func keyHash(b []byte) uint32 {
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16) * 0x9e3779b1 >> 16
}

// hide replaces in place what is looked for. What overlaps is hidden as one.
func (m *masks) hide(b []byte) {
	start, end, name := 0, 0, ""
	rest, restLen, restName := -1, 0, "" // of a secret, behind a cut
	near := minToken - 1                 // up to here a special byte lies ahead
	for i := 0; i+minToken <= len(b); i++ {
		if special[b[i+minToken-1]] {
			near = i + minToken - 1
		}
		h := keyHash(b[i:])
		if m.begin.likely[h/64]&(1<<(h%64)) == 0 && i > near && i != rest {
			continue
		}
		n, whose := m.at(b, i)
		if i == rest && restLen > n {
			n, whose = restLen, restName
		}
		if b[i] == ellipsis[0] && string(b[i:i+len(ellipsis)]) == ellipsis {
			rest = i + len(ellipsis)
			rest += lineBreak(b[rest:])
			restLen, restName = m.restAt(b, rest)
		}
		if n == 0 {
			continue
		}
		if i >= end {
			copy(b[start:end], maskFor(name, end-start))
			start, name = i, whose
		}
		end = max(end, i+n)
	}
	copy(b[start:end], maskFor(name, end-start))
}

// at is how many bytes from i on are to be hidden, and whose they are: the longest
// text that stands there, else the longest beginning of one before a cut.
func (m *masks) at(b []byte, i int) (n int, name string) {
	n, name = longest(m.begin.get(b[i:]), b, i)
	if n == 0 && (special[b[i+1]] || special[b[i+2]]) {
		if key, ok := unbroken(b[i:]); ok {
			return longest(m.begin.get(key[:]), b, i)
		}
	}
	return n, name
}

// longest is what at looks for among masks.
func longest(list []mask, b []byte, i int) (n int, name string) {
	for j := range list {
		one := &list[j]
		chars, size := one.match(b[i:])
		switch {
		case chars == len(one.text) && (!one.token || standsAlone(b, i, i+size)):
			return size, one.name
		case chars < len(one.text) && !one.token:
			if size = beforeCut(b[i:], size); size >= minToken && size > n {
				n, name = size, one.name
			}
		}
	}
	return n, name
}

// restAt is how many bytes from i on are the end of a text whose beginning was
// cut off.
func (m *masks) restAt(b []byte, i int) (n int, name string) {
	for j := i; j+minToken <= len(b) && j-i < m.longest; j++ {
		if !m.dotted && string(b[j:j+len(ellipsis)]) == ellipsis {
			break // so that a text of many cuts is gone through once
		}
		for _, one := range m.end.get(b[j:]) {
			if got := j + minToken - i; !one.token && got < len(one.text) && bytes.HasSuffix(one.text, b[i:i+got]) {
				n, name = got, one.name
			}
		}
	}
	return n, name
}

// match is how many characters of the text b begins with, and in how many bytes.
func (m *mask) match(b []byte) (chars, size int) {
	line := minWrap // the first line may be of any length
	for chars < len(m.text) && size < len(b) {
		if b[size] == m.text[chars] {
			chars, size, line = chars+1, size+1, line+1
			continue
		}
		n := lineBreak(b[size:])
		if n == 0 || !m.wraps || line < minWrap || size+n == len(b) || b[size+n] != m.text[chars] {
			break
		}
		size, line = size+n, 0
	}
	return chars, size
}

// special tells the bytes that a line break or a cut begins with.
var special = [256]bool{'\n': true, '\r': true, '\\': true, '\xe2': true}

// lineBreak is how many bytes of the break, which may be spelled with a backslash
// as in JSON, and of the next line's indentation b begins with.
func lineBreak(b []byte) int {
	n := breakChar(b, '\r', 'r')
	end := breakChar(b[n:], '\n', 'n')
	if end == 0 {
		return 0
	}
	n += end
	for n < min(len(b), maxBreak) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return n
}

// breakChar is in how many bytes b begins with c, or with up to four backslashes
// and its letter.
func breakChar(b []byte, c, letter byte) int {
	if len(b) > 0 && b[0] == c {
		return 1
	}
	n := 0
	for n < min(len(b), 4) && b[n] == '\\' {
		n++
	}
	if n == 0 || n == len(b) || b[n] != letter {
		return 0
	}
	return n + 1
}

// unbroken are the first bytes of b but for a line break among them.
func unbroken(b []byte) (key [minToken]byte, ok bool) {
	n := 0
	for i := 0; i < len(b); i++ {
		if n > 0 {
			i += lineBreak(b[i:])
		}
		if i == len(b) {
			break
		}
		key[n] = b[i]
		if n++; n == minToken {
			return key, true
		}
	}
	return key, false
}

// beforeCut is how many of the first n bytes of b stand before a cut: all, or all
// but the backslashes that begin the spelling of a line break; 0 when none do.
func beforeCut(b []byte, n int) int {
	for ; n > 0; n-- {
		if bytes.HasPrefix(b[n+lineBreak(b[n:]):], []byte(ellipsis)) {
			return n
		}
		if b[n-1] != '\\' {
			return 0
		}
	}
	return 0
}

// standsAlone reports whether no letter or digit touches b[start:end].
func standsAlone(b []byte, start, end int) bool {
	return (start == 0 || !isAlphanumeric(b[start-1])) && (end == len(b) || !isAlphanumeric(b[end]))
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// masksOf are the masks of a secret.
func masksOf(name, text string) []mask {
	if len(text) < minMasked {
		if len(text) < minToken {
			return nil
		}
		return []mask{{text: []byte(text), name: name, token: true}}
	}
	texts := []string{text}
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				texts = append(texts, line)
			}
		}
	}
	var out []mask
	add := func(forms []string, wraps bool) {
		slices.Sort(forms)
		for _, form := range slices.Compact(forms) {
			if len(form) >= minMasked {
				out = append(out, mask{text: []byte(form), name: name, wraps: wraps})
			}
		}
	}
	var plain, encoded []string
	for _, text := range texts {
		plain, encoded = append(plain, spellings(text)...), append(encoded, encodings(text)...)
	}
	add(plain, false)
	add(encoded, true)
	return out
}

// spellings are the forms of a text that escape some of it, itself among them.
func spellings(text string) []string {
	forms := []string{text}
	for _, once := range []string{quoted(text, false), quoted(text, true), asciiOnly(text)} {
		forms = append(forms, once, quoted(once, false))
	}
	for _, escaped := range []string{url.QueryEscape(text), url.PathEscape(text)} {
		forms = append(forms, escaped, lowerEscapes(escaped))
	}
	return forms
}

// encodings are the forms of a text that encode all of it.
func encodings(text string) []string {
	forms := []string{hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text)))}
	for shift := range 3 {
		forms = append(forms, inBase64(base64.RawStdEncoding, text, shift), inBase64(base64.RawURLEncoding, text, shift))
	}
	return forms
}

// quoted is a text as it stands in a JSON string.
func quoted(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimSpace(b.String())[1:], `"`)
}

// asciiOnly is a text as it stands in a JSON string of an encoder that spells
// everything else with \u.
func asciiOnly(text string) string {
	var b strings.Builder
	for _, r := range quoted(text, false) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// lowerEscapes spells the escapes of a URL with small letters.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// inBase64 is what a text certainly leaves in the encoding of something that it
// is part of, shift bytes behind a full group of three.
func inBase64(e *base64.Encoding, text string, shift int) string {
	whole := e.EncodeToString(append(make([]byte, shift), text...))
	first := (shift*8 + 5) / 6
	last := (shift + len(text)) * 8 / 6
	return whole[first:max(first, last)]
}

// maskFor is n bytes that stand for a secret: its name between stars, where there
// is room.
func maskFor(name string, n int) []byte {
	text := "***" + name + "***"
	if len(text) > n {
		return bytes.Repeat([]byte("*"), n)
	}
	return []byte(text + strings.Repeat("*", n-len(text)))
}
