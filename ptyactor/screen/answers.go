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

// answers is what a terminal tells programs that ask: its replies, and the
// titles and colours that are only kept to be told.
type answers struct {
	queue   []byte
	colours map[int]string
	title   string
	titles  []string // pushed
}

// status is what the answers are about.
type status struct {
	cols, rows, x, y, top, bot int
	origin                     bool
	rendition                  string // parameters of SGR
	cursorStyle                int
	protect                    bool
	setting                    func(mode int, private bool) int
}

// take is the replies so far.
func (a *answers) take() []byte {
	r := a.queue
	a.queue = nil
	return r
}

func (a *answers) reply(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if over := len(a.queue) + len(s) - replyMax; over > 0 {
		over = min(max(over, replyMax/4), len(a.queue))
		a.queue = append(a.queue[:0], a.queue[over:]...)
	}
	a.queue = append(a.queue, s...)
}

// query answers the sequences that ask something; others are ignored.
func (a *answers) query(s *sequence, now status) {
	what := s.param(0, 0)
	switch string(strip(s.prefix, s.inter, s.final)) {
	case "c":
		if what == 0 {
			a.reply(deviceAttributes)
		}
	case ">c":
		if what == 0 {
			a.reply("\x1b[>1;10;0c")
		}
	case "=c":
		if what == 0 {
			a.reply("\x1bP!|00000000\x1b\\")
		}
	case "n":
		a.deviceStatus(what, "", now)
	case "?n":
		a.deviceStatus(what, "?", now)
	case "$p":
		a.reply("\x1b[%d;%d$y", what, now.setting(what, false))
	case "?$p":
		a.reply("\x1b[?%d;%d$y", what, now.setting(what, true))
	case ">q":
		if what == 0 {
			a.reply("\x1bP>|shoal\x1b\\")
		}
	case "t":
		a.window(s, now)
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

func (a *answers) deviceStatus(what int, private string, now status) {
	switch {
	case what == 5 && private == "":
		a.reply("\x1b[0n")
	case what == 6:
		y := now.y
		if now.origin {
			y -= now.top
		}
		tail := ""
		if private != "" {
			tail = ";1"
		}
		a.reply("\x1b[%s%d;%d%sR", private, y+1, now.x+1, tail)
	case private != "" && deviceStates[what] != "":
		a.reply("\x1b[?%sn", deviceStates[what])
	}
}

// deviceStates are answers about what a terminal may have attached.
var deviceStates = map[int]string{
	15: "13",       // no printer
	25: "20",       // user-defined keys are unlocked
	26: "27;1;0;0", // a North American keyboard
	53: "53",       // no locator
	55: "53",
	56: "57;0",
	75: "70", // data are sound
	85: "83", // no sessions
}

// Pixels of a cell, for programs that ask.
const cellWidth, cellHeight = 8, 16

// titlesMax bounds the pushed titles.
const titlesMax = 10

// window answers questions about the window, and keeps titles. The title itself
// is never told: a program that can set it could make the answer a command.
func (a *answers) window(s *sequence, now status) {
	switch s.param(0, 0) {
	case 11:
		a.reply("\x1b[1t")
	case 13:
		a.reply("\x1b[3;0;0t")
	case 14:
		a.reply("\x1b[4;%d;%dt", now.rows*cellHeight, now.cols*cellWidth)
	case 16:
		a.reply("\x1b[6;%d;%dt", cellHeight, cellWidth)
	case 18:
		a.reply("\x1b[8;%d;%dt", now.rows, now.cols)
	case 19:
		a.reply("\x1b[9;%d;%dt", now.rows, now.cols)
	case 22:
		if s.param(1, 0) != 1 {
			a.titles = append(a.titles[max(0, len(a.titles)-titlesMax+1):], a.title)
		}
	case 23:
		if n := len(a.titles); n > 0 && s.param(1, 0) != 1 {
			a.title, a.titles = a.titles[n-1], a.titles[:n-1]
		}
	}
}

// osc executes an operating system command.
func (a *answers) osc(data []byte, bell bool) {
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
		a.title = strings.ToValidUTF8(rest, "\uFFFD")
	case 4:
		a.palette(rest, end)
	case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
		for ; n <= 19 && rest != ""; n++ {
			var spec string
			spec, rest, _ = strings.Cut(rest, ";")
			a.colour(n, spec, end)
		}
	case 104:
		a.resetPalette(rest)
	case 110, 111, 112, 113, 114, 115, 116, 117, 118, 119:
		delete(a.colours, n-110+dynamic)
	}
}

// dynamic is where colours 10 to 19 lie in answers.colours, after the palette.
const dynamic = 256

// palette sets and reports colours of the palette: pairs of index and colour.
func (a *answers) palette(pairs, end string) {
	fields := strings.Split(pairs, ";")
	for i := 0; i+1 < len(fields); i += 2 {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 || n >= dynamic {
			continue
		}
		if fields[i+1] != "?" {
			a.setColour(n, fields[i+1])
			continue
		}
		c, ok := a.colours[n]
		if !ok {
			c = paletteColour(n)
		}
		a.reply("\x1b]4;%d;%s%s", n, c, end)
	}
}

func (a *answers) resetPalette(indexes string) {
	for n := range dynamic {
		if indexes == "" {
			delete(a.colours, n)
		}
	}
	for field := range strings.SplitSeq(indexes, ";") {
		if n, err := strconv.Atoi(field); err == nil && n < dynamic {
			delete(a.colours, n)
		}
	}
}

const white, black = "rgb:ffff/ffff/ffff", "rgb:0000/0000/0000"

// defaultColours are of text, background and cursor, of the pointer, of Tektronix
// graphics, and of what is selected.
var defaultColours = [...]string{white, black, white, white, black, white, black, white, white, black}

// colour sets a default colour, 10 to 19, or reports it the way the question
// was put.
func (a *answers) colour(which int, spec, end string) {
	at := which - 10 + dynamic
	if spec != "?" {
		a.setColour(at, spec)
		return
	}
	c, ok := a.colours[at]
	if !ok {
		c = defaultColours[which-10]
	}
	a.reply("\x1b]%d;%s%s", which, c, end)
}

func (a *answers) setColour(at int, spec string) {
	c, ok := parseColour(spec)
	if !ok {
		return
	}
	if a.colours == nil {
		a.colours = map[int]string{}
	}
	a.colours[at] = c
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

// basicColours are the first sixteen of xterm's palette.
var basicColours = [16][3]int{{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255}}

// paletteColour is xterm's colour i: the basic ones, a cube, and greys.
func paletteColour(i int) string {
	var c [3]int
	switch {
	case i < 16:
		c = basicColours[i]
	case i < 232:
		for j, n := range [3]int{(i - 16) / 36, (i - 16) / 6 % 6, (i - 16) % 6} {
			if n > 0 {
				c[j] = 55 + 40*n
			}
		}
	default:
		g := 8 + 10*(i-232)
		c = [3]int{g, g, g}
	}
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", c[0], c[0], c[1], c[1], c[2], c[2])
}

// dcs answers DECRQSS and says to XTGETTCAP that it tells nothing.
func (a *answers) dcs(s *sequence, data []byte, now status) {
	switch string(strip(s.prefix, s.inter, s.final)) {
	case "$q":
		a.setting(string(data), now)
	case "+q":
		a.reply("\x1bP0+r\x1b\\")
	}
}

// setting answers DECRQSS: how a setting would be made.
func (a *answers) setting(ask string, now status) {
	switch ask {
	case "m":
		attr := "0"
		if now.rendition != "" {
			attr += ";" + now.rendition
		}
		a.reply("\x1bP1$r%sm\x1b\\", attr)
	case "r":
		a.reply("\x1bP1$r%d;%dr\x1b\\", now.top+1, now.bot)
	case "s":
		a.reply("\x1bP1$r1;%ds\x1b\\", now.cols)
	case "*|":
		a.reply("\x1bP1$r%d*|\x1b\\", now.rows)
	case " q":
		a.reply("\x1bP1$r%d q\x1b\\", now.cursorStyle)
	case "\"q":
		a.reply("\x1bP1$r%d\"q\x1b\\", map[bool]int{true: 1}[now.protect])
	case "\"p":
		a.reply("\x1bP1$r62;1\"p\x1b\\")
	default:
		a.reply("\x1bP0$r\x1b\\")
	}
}
