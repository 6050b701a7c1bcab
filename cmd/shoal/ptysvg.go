package main

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"shoal.dev/shoal/messages"
)

// The size of a cell in an SVG, in pixels.
const (
	cellWidth  = 8
	cellHeight = 17
)

// writeSVG draws a screen, each character in its cell, on its background.
func writeSVG(b *bytes.Buffer, s messages.Screen) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="13">`+"\n",
		s.Cols*cellWidth, s.Rows*cellHeight)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="%s"/>`+"\n", paperColour)
	for y := range s.Lines {
		row := drawnRow(s, y)
		for _, d := range row {
			if d.look.paper != paperColour {
				fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`,
					d.x*cellWidth, y*cellHeight, d.wide*cellWidth, cellHeight, d.look.paper)
			}
		}
		for _, d := range row {
			if d.look.hidden || d.text == " " && d.look.decoration() == "" {
				continue
			}
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s"%s>`, d.x*cellWidth, y*cellHeight+cellHeight-4, d.look.ink, d.look.attributes())
			xml.EscapeText(b, []byte(d.text))
			b.WriteString("</text>")
		}
		b.WriteByte('\n')
	}
	b.WriteString("</svg>\n")
}

// attributes are those of a text that is not plain.
func (l look) attributes() string {
	out := ""
	if l.bold {
		out += ` font-weight="bold"`
	}
	if l.italic {
		out += ` font-style="italic"`
	}
	if lines := l.decoration(); lines != "" {
		out += ` xml:space="preserve" text-decoration="` + lines + `"`
	}
	return out
}

// decoration names the lines along a text.
func (l look) decoration() string {
	out := ""
	for _, line := range []struct {
		on   bool
		name string
	}{{l.under, " underline"}, {l.over, " overline"}, {l.struck, " line-through"}} {
		if line.on {
			out += line.name
		}
	}
	if out == "" {
		return ""
	}
	return out[1:]
}
