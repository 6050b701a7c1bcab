package ptyactor

import "strings"

// hidden are lines of a screen in which secrets are hidden, also those that go
// on in the next line. The lines that were given stay as they are.
func (h *Host) hidden(lines []string) []string {
	if h.hide == nil {
		return lines
	}
	hide := h.hide()
	if hide == nil {
		return lines
	}
	joined := strings.Join(lines, "")
	b := []byte(joined)
	hide(b)
	masked := string(b)
	if masked == joined {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i], masked = strings.ToValidUTF8(masked[:len(line)], "*"), masked[len(line):]
	}
	return out
}
