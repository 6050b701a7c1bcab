package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mod is a set of modifier keys, as xterm counts them.
type Mod uint8

// The modifiers.
const (
	Shift Mod = 1 << iota
	Alt
	Ctrl
)

// cursorKeys end CSI or SS3 sequences.
var cursorKeys = map[string]byte{
	"up": 'A', "down": 'B', "right": 'C', "left": 'D', "home": 'H', "end": 'F',
}

// editKeys are numbered CSI sequences that end in a tilde.
var editKeys = map[string]int{
	"insert": 2, "delete": 3, "pageup": 5, "pagedown": 6,
	"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
}

// pfKeys are SS3 sequences when no modifier is held.
var pfKeys = map[string]byte{"f1": 'P', "f2": 'Q', "f3": 'R', "f4": 'S'}

// keypadKeys are a character, and what SS3 ends in while the keypad is in
// application mode.
var keypadKeys = map[string][2]byte{
	"kp0": {'0', 'p'}, "kp1": {'1', 'q'}, "kp2": {'2', 'r'}, "kp3": {'3', 's'}, "kp4": {'4', 't'},
	"kp5": {'5', 'u'}, "kp6": {'6', 'v'}, "kp7": {'7', 'w'}, "kp8": {'8', 'x'}, "kp9": {'9', 'y'},
	"kpadd": {'+', 'k'}, "kpsubtract": {'-', 'm'}, "kpmultiply": {'*', 'j'}, "kpdivide": {'/', 'o'},
	"kpdecimal": {'.', 'n'}, "kpenter": {'\r', 'M'}, "kpequal": {'=', 'X'},
}

// ParseKey splits a name such as "Ctrl-Alt-Left" into modifiers and key. Names
// are case-insensitive; a single character keeps its case after Alt.
func ParseKey(name string) (key string, mods Mod, err error) {
	rest := name
	for {
		head, tail, ok := strings.Cut(rest, "-")
		if !ok || tail == "" {
			break
		}
		mod, known := map[string]Mod{"shift": Shift, "alt": Alt, "ctrl": Ctrl}[strings.ToLower(head)]
		if !known || mods&mod != 0 {
			break
		}
		mods |= mod
		rest = tail
	}
	if utf8.RuneCountInString(rest) == 1 && utf8.ValidString(rest) {
		return rest, mods, nil
	}
	key = strings.ToLower(rest)
	switch key {
	case "enter", "tab", "escape", "backspace", "space":
		return key, mods, nil
	}
	_, isCursor := cursorKeys[key]
	_, isEdit := editKeys[key]
	_, isPF := pfKeys[key]
	_, isPad := keypadKeys[key]
	if !isCursor && !isEdit && !isPF && !isPad {
		return "", 0, fmt.Errorf("unknown key %q: keys are one character or Enter, Tab, Escape, Backspace, Up, PageUp, Home, Delete, F1 and the like, with Ctrl-, Alt- or Shift- before them, as Ctrl-C", name)
	}
	return key, mods, nil
}

// EncodeKey is the bytes of a key, named as ParseKey returns it, for a terminal
// in the given modes.
func EncodeKey(key string, mods Mod, m Modes) ([]byte, error) {
	if final, ok := cursorKeys[key]; ok {
		return functional(final, mods, m.AppCursor), nil
	}
	if final, ok := pfKeys[key]; ok {
		return functional(final, mods, true), nil
	}
	if n, ok := editKeys[key]; ok {
		if mods == 0 {
			return fmt.Appendf(nil, "\x1b[%d~", n), nil
		}
		return fmt.Appendf(nil, "\x1b[%d;%d~", n, 1+mods), nil
	}
	if pad, ok := keypadKeys[key]; ok {
		if m.AppKeypad && mods == 0 {
			return []byte{0x1b, 'O', pad[1]}, nil
		}
		return withAlt([]byte{pad[0]}, mods), nil
	}
	switch key {
	case "enter":
		if m.NewLine {
			return withAlt([]byte("\r\n"), mods), nil
		}
		return withAlt([]byte{'\r'}, mods), nil
	case "tab":
		if mods&Shift != 0 {
			return []byte("\x1b[Z"), nil
		}
		return withAlt([]byte{'\t'}, mods), nil
	case "escape":
		return withAlt([]byte{0x1b}, mods), nil
	case "backspace":
		if m.BackarrowIsBS != (mods&Ctrl != 0) {
			return withAlt([]byte{'\b'}, mods), nil
		}
		return withAlt([]byte{0x7f}, mods), nil
	case "space":
		key = " "
	}
	return character(key, mods)
}

func functional(final byte, mods Mod, ss3 bool) []byte {
	switch {
	case mods != 0:
		return fmt.Appendf(nil, "\x1b[1;%d%c", 1+mods, final)
	case ss3:
		return []byte{0x1b, 'O', final}
	}
	return []byte{0x1b, '[', final}
}

func withAlt(b []byte, mods Mod) []byte {
	if mods&Alt != 0 {
		return append([]byte{0x1b}, b...)
	}
	return b
}

// character is a character with modifiers; Ctrl exists for some only.
func character(key string, mods Mod) ([]byte, error) {
	r, size := utf8.DecodeRuneInString(key)
	if size != len(key) || size == 0 {
		return nil, fmt.Errorf("unknown key %q", key)
	}
	if mods&Shift != 0 {
		r = unicode.ToUpper(r)
	}
	if mods&Ctrl == 0 {
		return withAlt(utf8.AppendRune(nil, r), mods), nil
	}
	c, ok := controlOf(r)
	if !ok {
		return nil, fmt.Errorf("key %q has no Ctrl form", key)
	}
	return withAlt([]byte{c}, mods), nil
}

func controlOf(r rune) (byte, bool) {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '[' && r <= '_':
		return byte(r) & 0x1f, true
	case r == ' ' || r == '@' || r == '2':
		return 0, true
	case r >= '3' && r <= '7':
		return byte(r-'3') + 0x1b, true
	case r == '/':
		return 0x1f, true
	case r == '?' || r == '8':
		return 0x7f, true
	}
	return 0, false
}

// EncodePaste is pasted text: between markers when the program asked for them
// and then without any end marker inside.
func EncodePaste(text string, m Modes) []byte {
	if !m.BracketedPaste {
		return []byte(text)
	}
	const begin, end = "\x1b[200~", "\x1b[201~"
	for strings.Contains(text, end) {
		text = strings.ReplaceAll(text, end, "")
	}
	return []byte(begin + text + end)
}
