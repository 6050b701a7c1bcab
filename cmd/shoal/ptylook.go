package main

import (
	"fmt"
	"strconv"
	"strings"
)

// colour is what a picture is drawn in.
type colour struct{ r, g, b uint8 }

func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// toward mixes in another colour, to so many tenths.
func (c colour) toward(o colour, tenths int) colour {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(10-tenths) + int(b)*tenths) / 10) }
	return colour{mix(c.r, o.r), mix(c.g, o.g), mix(c.b, o.b)}
}

// look is how a cell is drawn.
type look struct {
	ink, paper                                colour
	bold, italic, under, over, struck, hidden bool
}

var (
	inkColour   = colour{0xd0, 0xd0, 0xd0}
	paperColour = colour{0x10, 0x10, 0x10}
	plainLook   = look{ink: inkColour, paper: paperColour}
)

// faintTenths is how much of its background faint text takes on.
const faintTenths = 4

// parseLook reads a rendition such as "1;38;5;208".
func parseLook(sgr string) look {
	l, faint, reverse := plainLook, false, false
	parts := strings.Split(sgr, ";")
	for i := 0; i < len(parts); i++ {
		whole, _, _ := strings.Cut(parts[i], ":") // 4:3 is an underline of some kind
		n, _ := strconv.Atoi(whole)
		switch {
		case n == 1:
			l.bold = true
		case n == 2:
			faint = true
		case n == 3:
			l.italic = true
		case n == 4, n == 21:
			l.under = true
		case n == 7:
			reverse = true
		case n == 8:
			l.hidden = true
		case n == 9:
			l.struck = true
		case n == 53:
			l.over = true
		case n >= 30 && n <= 37:
			l.ink = indexed(n - 30)
		case n >= 90 && n <= 97:
			l.ink = indexed(n - 90 + 8)
		case n >= 40 && n <= 47:
			l.paper = indexed(n - 40)
		case n >= 100 && n <= 107:
			l.paper = indexed(n - 100 + 8)
		case n == 38:
			l.ink, i = extended(parts, i, l.ink)
		case n == 48:
			l.paper, i = extended(parts, i, l.paper)
		}
	}
	if reverse {
		l.ink, l.paper = l.paper, l.ink
	}
	if faint {
		l.ink = l.ink.toward(l.paper, faintTenths)
	}
	return l
}

// extended reads 38;5;N or 38;2;R;G;B at i, and gives the index of its last part.
func extended(parts []string, i int, otherwise colour) (colour, int) {
	at := func(j int) int {
		if j >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[j])
		return min(max(n, 0), 255)
	}
	switch at(i + 1) {
	case 5:
		return indexed(at(i + 2)), i + 2
	case 2:
		return colour{uint8(at(i + 2)), uint8(at(i + 3)), uint8(at(i + 4))}, i + 4
	}
	return otherwise, i + 1
}

// basicColours are the first sixteen of the palette.
var basicColours = [16]colour{
	{0x00, 0x00, 0x00}, {0xcd, 0x00, 0x00}, {0x00, 0xcd, 0x00}, {0xcd, 0xcd, 0x00},
	{0x34, 0x65, 0xd9}, {0xcd, 0x00, 0xcd}, {0x00, 0xcd, 0xcd}, {0xe5, 0xe5, 0xe5},
	{0x7f, 0x7f, 0x7f}, {0xff, 0x44, 0x44}, {0x44, 0xff, 0x44}, {0xff, 0xff, 0x44},
	{0x6c, 0x8c, 0xff}, {0xff, 0x44, 0xff}, {0x44, 0xff, 0xff}, {0xff, 0xff, 0xff},
}

// indexed is a colour of the palette of 256: sixteen, a cube of 6³, 24 greys.
func indexed(n int) colour {
	switch {
	case n < 16:
		return basicColours[n]
	case n < 232:
		level := func(v int) uint8 {
			if v == 0 {
				return 0
			}
			return uint8(55 + 40*v)
		}
		n -= 16
		return colour{level(n / 36), level(n / 6 % 6), level(n % 6)}
	}
	grey := uint8(8 + 10*(n-232))
	return colour{grey, grey, grey}
}
