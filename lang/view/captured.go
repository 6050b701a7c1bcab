package view

import (
	"bytes"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/value"
)

// capturedText shows output by its first and last lines, and the lines of end
// after them.
func capturedText(b *value.Bytes, end []string, limit int, uri string) Shown {
	kept, endSize := fitEnd(end, limit/2)
	c := captured{limit: limit - endSize}
	r := resolver{sink: &c, limit: limit + 1}
	in := b.Reader()
	buf := make([]byte, min(max(b.Len(), 1), pieceBytes))
	for {
		n, err := in.Read(buf)
		r.Write(buf[:n])
		if err != nil {
			break
		}
	}
	r.Close()
	return c.shown(kept, int64(len(end)-len(kept)), uri)
}

// fitEnd is the end lines that fit into room bytes: the first, which says what
// failed, and as many of the last as there is room for.
func fitEnd(end []string, room int) (lines []string, size int) {
	if len(end) == 0 {
		return nil, 0
	}
	first := clip(cleanLine(end[0]), room)
	size = len(first) + 1
	from := len(end)
	for from > 1 {
		n := len(cleanLine(end[from-1])) + 1
		if size+n > room {
			break
		}
		size += n
		from--
	}
	lines = append(lines, first)
	for _, line := range end[from:] {
		lines = append(lines, cleanLine(line))
	}
	return lines, size
}

// gap stands where lines were left out, followed by the last ones.
const gap = "…"

// captured is the lineSink that keeps the first and the last lines. A line
// counts with its newline.
type captured struct {
	limit int
	total int64
	head  []string // the first lines; all of them as long as they fit
	size  int      // bytes of head
	over  bool     // not everything fits: last collects the end
	last  []byte   // whole lines, each with its newline, as they came
}

func (c *captured) line(b []byte) {
	c.total++
	if c.over {
		c.keep(b)
		return
	}
	line := dropControls(string(b))
	if c.size+len(line)+1 <= c.limit+1 {
		c.head = append(c.head, line)
		c.size += len(line) + 1
		return
	}
	c.overflow(line)
}

func (c *captured) block(b []byte) {
	for len(b) > 0 && !c.over {
		end := bytes.IndexByte(b, '\n')
		c.line(b[:end])
		b = b[end+1:]
	}
	c.total += int64(bytes.Count(b, newline))
	c.last = append(c.last, lastLines(b, c.limit)...)
	c.trim()
}

// overflow leaves two thirds of the room to the lines from the beginning and
// the rest to the end. A line that could never fit is cut there and then.
func (c *captured) overflow(line string) {
	c.over = true
	room := c.limit * 2 / 3
	n, size := 0, 0
	for n < len(c.head) && size+len(c.head[n])+1 <= room {
		size += len(c.head[n]) + 1
		n++
	}
	rest := c.head[n:]
	c.head, c.size = c.head[:n:n], size
	if len(rest) == 0 && len(line) >= c.limit {
		if n == 0 {
			room = c.limit
		}
		if short := clip(line, room-size-1); short != "" {
			c.head = append(c.head, short)
			c.size += len(short) + 1
			return
		}
	}
	for _, l := range rest {
		c.keep([]byte(l))
	}
	c.keep([]byte(line))
}

// keep adds one of the last lines.
func (c *captured) keep(b []byte) {
	if len(b) >= c.limit {
		c.last = c.last[:0] // nothing before it can be among the last shown
		return
	}
	c.last = append(append(c.last, b...), '\n')
	c.trim()
}

// trim forgets lines that cannot be among the last shown.
func (c *captured) trim() {
	if len(c.last) > 4*c.limit+pieceBytes {
		c.last = append(c.last[:0], lastLines(c.last, c.limit)...)
	}
}

// lastLines are the last whole lines of b that are n bytes at most.
func lastLines(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	cut := len(b) - n
	if b[cut-1] == '\n' {
		return b[cut:]
	}
	return b[cut+bytes.IndexByte(b[cut:], '\n')+1:]
}

// tail is the last lines that fit into room bytes.
func (c *captured) tail(room int) []string {
	var lines []string
	for rest := c.last; len(rest) > 0; {
		rest = rest[:len(rest)-1]
		start := bytes.LastIndexByte(rest, '\n') + 1
		line := dropControls(string(rest[start:]))
		if room -= len(line) + 1; room < 0 {
			break
		}
		lines = append(lines, line)
		rest = rest[:start]
	}
	slices.Reverse(lines)
	return lines
}

// shown is the result, given the lines that end it and how many of those found
// no room.
func (c *captured) shown(end []string, dropped int64, uri string) Shown {
	lines := c.head
	shown := int64(len(c.head) + len(end))
	if c.over {
		room := c.limit - c.size - len(gap) - 1
		tail := c.tail(room)
		shown += int64(len(tail))
		if len(tail)+len(end) > 0 && room >= 0 {
			lines = append(lines, gap)
		}
		lines = append(lines, tail...)
	}
	lines = append(lines, end...)
	s := Shown{Lines: shown, Total: c.total + int64(len(end)) + dropped}
	if s.Truncated = c.over || dropped > 0; s.Truncated {
		lines = append(lines, Marker(s.Total-s.Lines, uri))
	}
	s.Text = strings.Join(lines, "\n")
	return s
}
