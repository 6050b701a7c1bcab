package screen

import (
	"fmt"
	"strconv"
	"strings"
)

// deviceAttributes says VT220 with 132 columns, selective erase and colour.
const deviceAttributes = "\x1b[?62;1;6;22c"

// replyMax bounds the answers that wait to be fetched; the oldest go first.
const replyMax = 64 << 10

// Replies implements Screen.
func (x *xvt) Replies() []byte {
	r := x.replies
	x.replies = nil
	return r
}

func (x *xvt) reply(s string) {
	if over := len(x.replies) + len(s) - replyMax; over > 0 {
		over = min(max(over, replyMax/4), len(x.replies))
		x.dropped += over
		x.replies = append(x.replies[:0], x.replies[over:]...)
	}
	x.replies = append(x.replies, s...)
}

// query answers the sequences that ask something; others are ignored.
func (x *xvt) query(s *sequence) {
	switch string(append(strip(s.prefix, s.inter), s.final)) {
	case "c":
		if s.param(0, 0) == 0 {
			x.reply(deviceAttributes)
		}
	case ">c":
		if s.param(0, 0) == 0 {
			x.reply("\x1b[>1;10;0c")
		}
	case "=c":
		if s.param(0, 0) == 0 {
			x.reply("\x1bP!|00000000\x1b\\")
		}
	case "n":
		x.status(s.param(0, 0), "")
	case "?n":
		x.status(s.param(0, 0), "?")
	case "$p":
		m := s.param(0, 0)
		x.reply(fmt.Sprintf("\x1b[%d;%d$y", m, x.setting(m, false)))
	case "?$p":
		m := s.param(0, 0)
		x.reply(fmt.Sprintf("\x1b[?%d;%d$y", m, x.setting(m, true)))
	case ">q":
		if s.param(0, 0) == 0 {
			x.reply("\x1bP>|shoal\x1b\\")
		}
	case "t":
		x.windowReport(s.param(0, 0))
	}
}

func strip(bytes ...byte) []byte {
	out := make([]byte, 0, 3)
	for _, b := range bytes {
		if b != 0 {
			out = append(out, b)
		}
	}
	return out
}

func (x *xvt) status(what int, private string) {
	switch {
	case what == 5 && private == "":
		x.reply("\x1b[0n")
	case what == 6:
		cx, cy := x.cursor()
		if x.mode.origin {
			cy -= x.top
		}
		tail := ""
		if private != "" {
			tail = ";1"
		}
		x.reply(fmt.Sprintf("\x1b[%s%d;%d%sR", private, cy+1, cx+1, tail))
	}
}

func (x *xvt) windowReport(what int) {
	switch what {
	case 14:
		x.reply(fmt.Sprintf("\x1b[4;%d;%dt", x.rows*16, x.cols*8))
	case 18:
		x.reply(fmt.Sprintf("\x1b[8;%d;%dt", x.rows, x.cols))
	}
}

// str executes an OSC or DCS string.
func (x *xvt) str(kind byte, data []byte, bell bool) {
	if kind == 'P' {
		if ask, ok := strings.CutPrefix(string(data), "$q"); ok {
			x.requestSetting(ask)
		}
		return
	}
	num, rest, _ := strings.Cut(string(data), ";")
	n, err := strconv.Atoi(num)
	if err != nil {
		return
	}
	end := "\x1b\\"
	if bell {
		end = "\x07"
	}
	switch n {
	case 0, 2:
		x.title = strings.ToValidUTF8(rest, "\uFFFD")
	case 4:
		for idx, spec, ok := cut2(rest); ok; idx, spec, ok = cut2(rest) {
			_, rest, _ = strings.Cut(rest, ";")
			_, rest, _ = strings.Cut(rest, ";")
			if i, err := strconv.Atoi(idx); err == nil && i >= 0 && i < 256 && spec == "?" {
				x.reply(fmt.Sprintf("\x1b]4;%d;%s%s", i, paletteColour(i), end))
			}
		}
	case 10, 11, 12:
		for ; n <= 12 && rest != ""; n++ {
			var spec string
			spec, rest, _ = strings.Cut(rest, ";")
			x.colour(n, spec, end)
		}
	case 110, 111, 112:
		delete(x.colours, n-100)
	}
}

// cut2 is the first two fields of a list.
func cut2(s string) (a, b string, ok bool) {
	a, rest, ok := strings.Cut(s, ";")
	b, _, _ = strings.Cut(rest, ";")
	return a, b, ok
}

// colour sets a default colour, or reports it the way the question was put.
func (x *xvt) colour(which int, spec, end string) {
	if spec != "?" {
		if c, ok := parseColour(spec); ok {
			if x.colours == nil {
				x.colours = map[int]string{}
			}
			x.colours[which] = c
		}
		return
	}
	c := x.colours[which]
	if c == "" {
		c = map[int]string{10: "rgb:ffff/ffff/ffff", 11: "rgb:0000/0000/0000", 12: "rgb:ffff/ffff/ffff"}[which]
	}
	x.reply(fmt.Sprintf("\x1b]%d;%s%s", which, c, end))
}

// parseColour reads rgb:R/G/B and #RGB forms and spells them with 16 bits.
func parseColour(spec string) (string, bool) {
	var parts []string
	if rest, ok := strings.CutPrefix(spec, "rgb:"); ok {
		parts = strings.Split(rest, "/")
	} else if rest, ok := strings.CutPrefix(spec, "#"); ok && len(rest)%3 == 0 {
		n := len(rest) / 3
		parts = []string{rest[:n], rest[n : 2*n], rest[2*n:]}
	}
	if len(parts) != 3 {
		return "", false
	}
	out := make([]string, 3)
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 16, 16)
		if err != nil || len(p) == 0 || len(p) > 4 {
			return "", false
		}
		full := uint64(1)<<(4*len(p)) - 1
		out[i] = fmt.Sprintf("%04x", v*0xffff/full)
	}
	return "rgb:" + strings.Join(out, "/"), true
}

// paletteColour is xterm's colour i.
func paletteColour(i int) string {
	basic := [16][3]int{{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
		{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255}}
	var c [3]int
	switch {
	case i < 16:
		c = basic[i]
	case i < 232:
		level := func(n int) int { return map[bool]int{true: 0, false: 55 + 40*n}[n == 0] }
		c = [3]int{level((i - 16) / 36), level((i - 16) / 6 % 6), level((i - 16) % 6)}
	default:
		g := 8 + 10*(i-232)
		c = [3]int{g, g, g}
	}
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", c[0], c[0], c[1], c[1], c[2], c[2])
}

// requestSetting answers DECRQSS for rendition, margins and cursor style.
func (x *xvt) requestSetting(ask string) {
	switch ask {
	case "m":
		attr := "0"
		if x.sgr != "" && x.sgr != "0" {
			attr = "0;" + strings.TrimPrefix(x.sgr, "0;")
		}
		x.reply("\x1bP1$r" + attr + "m\x1b\\")
	case "r":
		x.reply(fmt.Sprintf("\x1bP1$r%d;%dr\x1b\\", x.top+1, x.bot))
	case " q":
		x.reply("\x1bP1$r2 q\x1b\\")
	default:
		x.reply("\x1bP0$r\x1b\\")
	}
}
