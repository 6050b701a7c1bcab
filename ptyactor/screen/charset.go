package screen

// graphics is the DEC special character set, from '`' to '~'.
var graphics = [...]rune{
	'◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺',
	'⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// charsets are the four designated sets and which of them is in use.
type charsets struct {
	g      [4]byte // 'B', 'A' or '0'; 0 is 'B'
	gl     int
	single int // a set for the next character only, or 0
}

func (c *charsets) translate(r rune) rune {
	set := c.g[c.gl]
	if c.single != 0 {
		set, c.single = c.g[c.single], 0
	}
	switch {
	case set == '0' && r >= '`' && r <= '~':
		return graphics[r-'`']
	case set == '0' && r == '_':
		return ' '
	case set == 'A' && r == '#':
		return '£'
	}
	return r
}
