package builtin

import "strings"

// tomlDeep reports whether a TOML document nests deeper than most, counting the
// parts of its dotted keys: the library's time and memory grow with the square of
// that, and it cannot be stopped. What is no TOML may get either answer.
func tomlDeep(text string, most int) bool {
	d := tomlDepth{most: most}
	for i := 0; i < len(text) && !d.deep; {
		i += d.step(text[i:])
	}
	return d.deep
}

type tomlDepth struct {
	most  int
	deep  bool
	open  []int // what each open bracket adds
	sum   int   // of open
	table int   // parts of the last table header
	dots  int   // in the key that is being read
	key   int   // parts of the key whose value follows
	begun bool  // something stands on the line
}

// step reads a character, a comment or a string, and gives its length.
func (d *tomlDepth) step(rest string) int {
	begun := d.begun
	d.begun = true
	switch c := rest[0]; c {
	case '#':
		return lengthTo(rest, 1, "\n", false)
	case '"', '\'':
		if triple := strings.Repeat(string(c), 3); strings.HasPrefix(rest, triple) {
			return lengthTo(rest, 3, triple, c == '"') + 3
		}
		return lengthTo(rest, 1, string(c), c == '"') + 1
	case '\n':
		d.begun = false
		if len(d.open) == 0 {
			d.dots, d.key = 0, 0
		}
	case ' ', '\t', '\r':
		d.begun = begun
	case '.':
		d.dots++
		d.check()
	case '=':
		d.key, d.dots = d.dots+1, 0
	case ',':
		d.key, d.dots = 0, 0
	case '[', '{':
		if !begun && len(d.open) == 0 { // a table header
			d.table = 0
		}
		d.open = append(d.open, max(d.key, 1))
		d.sum += max(d.key, 1)
		d.key, d.dots = 0, 0
		d.check()
	case ']', '}':
		if n := len(d.open); n > 0 {
			d.sum -= d.open[n-1]
			d.open = d.open[:n-1]
		}
		if len(d.open) == 0 && d.key == 0 {
			d.table = max(d.table, d.dots+1)
		}
		d.dots = 0
	}
	return 1
}

func (d *tomlDepth) check() { d.deep = d.deep || d.sum+d.table+d.dots > d.most }

// lengthTo is the length of rest up to end, which is looked for from from on;
// with escapes, a backslash hides what follows it.
func lengthTo(rest string, from int, end string, escapes bool) int {
	for i := from; i < len(rest); i++ {
		if escapes && rest[i] == '\\' {
			i++
		} else if strings.HasPrefix(rest[i:], end) {
			return i
		} else if len(end) == 1 && end != "\n" && rest[i] == '\n' {
			return i // a string that does not end
		}
	}
	return len(rest)
}
