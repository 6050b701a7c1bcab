package screen

import "bytes"

// flood takes plain lines that will have scrolled off by the end of p without
// drawing them: it returns how many bytes of p it has dealt with. Each line of
// text goes where drawing it would have put it, into the scrollback.
func (x *xvt) flood(p []byte) int {
	if len(p) < 4*x.rows || x.p.state != ground || len(x.p.utf) > 0 || x.top != 0 || x.bot != x.rows ||
		x.mode.insert || x.mode.newline || !x.mode.autowrap || x.sets != (charsets{}) {
		return 0
	}
	ends := plainLines(p)
	skip := len(ends) - x.rows
	if skip <= x.rows {
		return 0
	}
	if !x.alt() {
		x.pushScreen(p[:ends[0]-2])
		if over := skip - 1 - x.back.limit; over > 0 {
			x.back.skip(over)
			ends = ends[over:]
			skip -= over
		}
		for i := 1; i < skip; i++ {
			x.pushText(p[ends[i-1] : ends[i]-2])
		}
	}
	end := ends[skip-1]
	x.emitCSI('H', 1, 1)
	x.emitCSI('J', 0)
	clear(x.wrapped)
	x.moveTo(0, 0)
	return end
}

// pushScreen moves the shown lines, and the line that p completes, into the
// scrollback.
func (x *xvt) pushScreen(p []byte) {
	for _, c := range p {
		x.print(rune(c))
	}
	_, cy := x.cursor()
	for y := 0; y <= cy; y++ {
		x.back.push([]byte(x.line(y)), x.wrapped[y], nil)
	}
}

// pushText adds one line, in pieces of the screen's width.
func (x *xvt) pushText(line []byte) {
	for len(line) > x.cols {
		x.back.push(bytes.TrimRight(line[:x.cols], " "), true, nil)
		line = line[x.cols:]
	}
	x.back.push(bytes.TrimRight(line, " "), false, nil)
}

// plainLines is the ends of the lines in the prefix of p that holds only
// printable ASCII and CR LF pairs.
func plainLines(p []byte) (ends []int) {
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c >= 0x20 && c < 0x7f:
		case c == '\r' && i+1 < len(p) && p[i+1] == '\n':
			i++
			ends = append(ends, i+1)
		default:
			return ends
		}
	}
	return ends
}
