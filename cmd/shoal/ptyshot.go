package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

func (a *app) screenshotPTY(f *ptyFlags) error {
	if strings.HasSuffix(f.output, ".png") {
		return fmt.Errorf("pictures are SVG only: name the file %s.svg", strings.TrimSuffix(f.output, ".png"))
	}
	ctx := context.Background()
	if err := f.connect(ctx, a); err != nil {
		return err
	}
	defer f.close()
	s, err := f.readPTY(ctx)
	if err != nil {
		return err
	}
	return a.output(f.output, []byte(svg(s)))
}

// The size of a cell in a picture, in pixels.
const (
	cellWidth  = 8
	cellHeight = 17
)

// svg is a picture of a screen.
func svg(s messages.Screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="13">`+"\n",
		s.Cols*cellWidth, s.Rows*cellHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="%s"/>`+"\n", paperColour)
	for y, line := range s.Lines {
		svgRow(&b, y, line, stylesOf(s, y))
	}
	if !s.Cursor.Hidden {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="0.5"/>`+"\n",
			s.Cursor.Col*cellWidth, s.Cursor.Row*cellHeight, cellWidth, cellHeight, inkColour)
	}
	return b.String() + "</svg>\n"
}

// stylesOf is the rendition of a row's cells, by column; plain ones are missing.
func stylesOf(s messages.Screen, row int) map[int]string {
	styles := map[int]string{}
	if s.PTYAttrs == nil {
		return styles
	}
	for _, r := range s.PTYAttrs.Runs {
		if r.Row == row {
			for x := range r.Len {
				styles[r.Col+x] = r.SGR
			}
		}
	}
	return styles
}

// svgRow draws each character in its cell, on its background.
func svgRow(b *strings.Builder, y int, line string, styles map[int]string) {
	looks := map[int]look{}
	for x, sgr := range styles {
		l := parseLook(sgr)
		looks[x] = l
		if l.paper != paperColour {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, x*cellWidth, y*cellHeight, cellWidth, cellHeight, l.paper)
		}
	}
	x := 0
	for _, r := range line {
		l, styled := looks[x]
		if !styled {
			l = plainLook
		}
		if r != ' ' && !l.hidden {
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s"%s>`, x*cellWidth, y*cellHeight+cellHeight-4, l.ink, l.extra)
			xml.EscapeText(b, []byte(string(r)))
			b.WriteString("</text>")
		}
		x += screen.Width(string(r))
	}
	b.WriteByte('\n')
}

// look is how a cell is drawn.
type look struct {
	ink, paper string
	hidden     bool
	extra      string // attributes of its text
}

const inkColour, paperColour = "#d0d0d0", "#101010"

var plainLook = look{ink: inkColour, paper: paperColour}

// parseLook reads a rendition such as "1;38;5;208".
func parseLook(sgr string) look {
	l, reverse := plainLook, false
	parts := strings.FieldsFunc(sgr, func(r rune) bool { return r == ';' || r == ':' })
	for i := 0; i < len(parts); i++ {
		n, _ := strconv.Atoi(parts[i])
		switch {
		case n == 1:
			l.extra += ` font-weight="bold"`
		case n == 2:
			l.extra += ` opacity="0.6"`
		case n == 3:
			l.extra += ` font-style="italic"`
		case n == 4:
			l.extra += ` text-decoration="underline"`
		case n == 9:
			l.extra += ` text-decoration="line-through"`
		case n == 7:
			reverse = true
		case n == 8:
			l.hidden = true
		case n >= 30 && n <= 37:
			l.ink = colour(n - 30)
		case n >= 90 && n <= 97:
			l.ink = colour(n - 90 + 8)
		case n >= 40 && n <= 47:
			l.paper = colour(n - 40)
		case n >= 100 && n <= 107:
			l.paper = colour(n - 100 + 8)
		case n == 38:
			l.ink, i = extended(parts, i, l.ink)
		case n == 48:
			l.paper, i = extended(parts, i, l.paper)
		}
	}
	if reverse {
		l.ink, l.paper = l.paper, l.ink
	}
	return l
}

// extended reads 38;5;N or 38;2;R;G;B at i, and gives the index of its last part.
func extended(parts []string, i int, otherwise string) (string, int) {
	at := func(j int) int {
		if j >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[j])
		return min(max(n, 0), 255)
	}
	switch at(i + 1) {
	case 5:
		return colour(at(i + 2)), i + 2
	case 2:
		return fmt.Sprintf("#%02x%02x%02x", at(i+2), at(i+3), at(i+4)), i + 4
	}
	return otherwise, i + 1
}

// basicColours are the first sixteen of the palette.
var basicColours = [16]string{
	"#000000", "#cd0000", "#00cd00", "#cdcd00", "#3465d9", "#cd00cd", "#00cdcd", "#e5e5e5",
	"#7f7f7f", "#ff4444", "#44ff44", "#ffff44", "#6c8cff", "#ff44ff", "#44ffff", "#ffffff",
}

// colour is a colour of the palette of 256: sixteen, a cube of 6³, 24 greys.
func colour(n int) string {
	switch {
	case n < 16:
		return basicColours[n]
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}
