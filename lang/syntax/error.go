package syntax

import "strings"

// Error is a parse error: where, what, and what to write instead.
type Error struct {
	Span
	Msg  string
	Hint string
	// Incomplete is set when more input could make the source whole.
	Incomplete bool
}

// Error is the message alone; hosts add position and hint.
func (e *Error) Error() string { return e.Msg }

// LineCol converts a byte offset of src to a 1-based line and a 1-based column
// counted in Unicode scalars.
func LineCol(src string, offset int) (line, col int) {
	offset = max(0, min(offset, len(src)))
	before := src[:offset]
	line = 1 + strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	col = 1 + len([]rune(before[start:]))
	return line, col
}
