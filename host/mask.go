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
// in what is encoded it stands, in hex, and in URLs. Of a secret of several
// lines each longer line is looked for too. All forms are found in one pass, so
// that many secrets cost no more than one.

const (
	// minMasked is how many bytes a form must have to be masked wherever it is
	// found.
	minMasked = 6
	// minToken is how many a secret must have to be masked where it stands between
	// other characters than letters and digits.
	minToken = 3
	// minLine is how many a line of a secret must have to be masked by itself.
	minLine = 16
)

// mask is a text to be found, and whose it is.
type mask struct {
	text  []byte
	name  string
	token bool // only where it stands by itself
}

// masks are all that is looked for. It is not changed any more.
type masks struct {
	all     []mask
	longest int
	// likely has a bit for a hash of the first minToken bytes of each text.
	likely [1 << 16 / 64]uint64
	begin  map[[minToken]byte][]mask // the longest first
}

func newMasks(all []mask) *masks {
	m := &masks{all: all, begin: map[[minToken]byte][]mask{}}
	for _, one := range all {
		m.longest = max(m.longest, len(one.text))
		key := [minToken]byte(one.text)
		h := beginning(one.text)
		m.likely[h/64] |= 1 << (h % 64)
		m.begin[key] = append(m.begin[key], one)
	}
	for _, list := range m.begin {
		slices.SortStableFunc(list, func(a, b mask) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return m
}

// beginning is a hash of the first minToken bytes.
func beginning(b []byte) uint32 {
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16) * 0x9e3779b1 >> 16
}

// hide replaces in place what is looked for. What overlaps is hidden as one.
func (m *masks) hide(b []byte) {
	start, end, name := 0, 0, ""
	for i := 0; i+minToken <= len(b); i++ {
		h := beginning(b[i:])
		if m.likely[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		found := m.at(b, i)
		if found == nil {
			continue
		}
		if i >= end {
			copy(b[start:end], maskFor(name, end-start))
			start, name = i, found.name
		}
		end = max(end, i+len(found.text))
	}
	copy(b[start:end], maskFor(name, end-start))
}

// at is the longest text that stands at i, or nil.
func (m *masks) at(b []byte, i int) *mask {
	list := m.begin[[minToken]byte(b[i:])]
	for j := range list {
		one := &list[j]
		if bytes.HasPrefix(b[i:], one.text) && (!one.token || standsAlone(b, i, i+len(one.text))) {
			return one
		}
	}
	return nil
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
		return []mask{{[]byte(text), name, true}}
	}
	forms := spellings(text)
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				forms = append(forms, spellings(line)...)
			}
		}
	}
	slices.Sort(forms)
	var out []mask
	for _, form := range slices.Compact(forms) {
		if len(form) >= minMasked {
			out = append(out, mask{[]byte(form), name, false})
		}
	}
	return out
}

// spellings are the forms of a text, itself among them.
func spellings(text string) []string {
	forms := []string{text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text)))}
	for _, once := range []string{quoted(text, false), quoted(text, true), asciiOnly(text)} {
		forms = append(forms, once, quoted(once, false))
	}
	for _, escaped := range []string{url.QueryEscape(text), url.PathEscape(text)} {
		forms = append(forms, escaped, lowerEscapes(escaped))
	}
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
