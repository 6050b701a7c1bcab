package ptyactor

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// item is one piece of input before it is encoded for the terminal's mode.
type item struct {
	text  string
	paste bool
	raw   []byte
	key   string // as screen.ParseKey names it
	mods  screen.Mod
	mouse *screen.MouseEvent
	at    string // where the mouse event stands in the input
}

// piece is encoded input; own asks for a write of its own.
type piece struct {
	data []byte
	own  bool
}

// parseInput reads an item or an array of items. One bad item refuses all.
func parseInput(raw json.RawMessage) ([]item, *messages.Error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, badInput("input is missing")
	}
	if raw[0] != '[' {
		it, err := parseItem(raw, "input")
		if err != nil {
			return nil, err
		}
		return []item{it}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, badInput("input: %v", err)
	}
	items := make([]item, 0, len(list))
	for i, one := range list {
		it, err := parseItem(one, fmt.Sprintf("input[%d]", i))
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

func badInput(format string, args ...any) *messages.Error {
	return messages.Errorf(messages.CodeInvalidParams, format, args...)
}

func parseItem(raw json.RawMessage, at string) (item, *messages.Error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		return item{text: text}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return item{}, badInput("%s: want a string or an object with one of text, key, bytes, paste, mouse", at)
	}
	if len(members) != 1 {
		return item{}, badInput("%s: want exactly one member, got %d", at, len(members))
	}
	for name, value := range members {
		at += "." + name
		switch name {
		case "text", "key", "bytes", "paste":
		case "mouse":
			return parseMouse(value, at)
		default:
			return item{}, badInput("%s: unknown member", at)
		}
		if err := json.Unmarshal(value, &text); err != nil || value[0] != '"' {
			return item{}, badInput("%s: want a string", at)
		}
		return member(name, text, at)
	}
	return item{}, nil
}

func member(name, text, at string) (item, *messages.Error) {
	switch name {
	case "key":
		key, mods, err := screen.ParseKey(text)
		if err == nil {
			_, err = screen.EncodeKey(key, mods, screen.Modes{})
		}
		if err != nil {
			return item{}, badInput("%s: %v", at, err)
		}
		return item{key: key, mods: mods}, nil
	case "bytes":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return item{}, badInput("%s: not base64: %v", at, err)
		}
		return item{raw: b}, nil
	case "paste":
		return item{text: text, paste: true}, nil
	}
	return item{text: text}, nil
}

// encode turns items into writes for a terminal in the given modes. A key is a
// write of its own, so that a program does not take text and Enter for a paste.
func encode(items []item, m screen.Modes, cols, rows int) ([]piece, *messages.Error) {
	var out []piece
	for _, it := range items {
		switch {
		case it.mouse != nil:
			b, bad := encodeMouse(it, m, cols, rows)
			if bad != nil {
				return nil, bad
			}
			out = append(out, piece{b, true})
		case it.key != "":
			b, _ := screen.EncodeKey(it.key, it.mods, m) // parseInput has tried it
			out = append(out, piece{b, true})
		case it.raw != nil:
			out = append(out, piece{it.raw, false})
		case it.paste:
			out = append(out, piece{screen.EncodePaste(it.text, m), false})
		default:
			out = append(out, piece{[]byte(it.text), false})
		}
	}
	return out, nil
}

// printable is the characters of the input that a terminal would echo as they
// are.
func printable(items []item) []rune {
	var out []rune
	for _, it := range items {
		text := it.text + string(it.raw)
		if len([]rune(it.key)) == 1 && it.mods&(screen.Alt|screen.Ctrl) == 0 {
			text = it.key
		}
		for _, r := range text {
			if unicode.IsPrint(r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// lineMax is how long a line of a canonical terminal may be, its end included.
const lineMax = 4096

// lost counts the bytes of over-long lines that a canonical terminal will drop,
// given how long the present line is already; it returns the length of the
// line that is left open.
func lost(data []byte, open int) (dropped, rest int) {
	for _, c := range data {
		if c == '\r' || c == '\n' || c == 4 {
			dropped += max(0, open-(lineMax-1))
			open = 0
			continue
		}
		open++
	}
	return dropped, open
}
