package main

import (
	"errors"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"io"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"

	"shoal.dev/shoal/messages"
)

// The size of a cell in a PNG, in pixels, and of the font that fills it: its
// line drawing joins from cell to cell.
const (
	pixelWidth  = 16
	pixelHeight = 31
	fontSize    = 26.66
	baseline    = 25
	lineWidth   = 2
)

// writePNG draws a screen. A row of cells is drawn when the encoder comes to it,
// so that a picture of the largest screen takes no more memory than one of its
// rows.
func writePNG(w io.Writer, s messages.Screen) error {
	p := &pngPicture{screen: s, drawn: -1, strip: image.NewRGBA(image.Rect(0, 0, s.Cols*pixelWidth, pixelHeight))}
	for i, ttf := range [][]byte{gomono.TTF, gomonobold.TTF, gomonoitalic.TTF, gomonobolditalic.TTF} {
		var err error
		if p.faces[i], err = newTypeface(ttf); err != nil {
			return err
		}
	}
	if err := png.Encode(w, p); err != nil {
		return err
	}
	return p.err
}

// pngPicture is an image of a screen that is read from top to bottom.
type pngPicture struct {
	screen messages.Screen
	faces  [4]*typeface // as look.face counts them
	strip  *image.RGBA  // row drawn of the screen
	drawn  int
	err    error
}

// typeface is a font with what tells which characters it has.
type typeface struct {
	font.Face
	table  *sfnt.Font
	buffer sfnt.Buffer
}

func newTypeface(ttf []byte) (*typeface, error) {
	table, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	face, err := opentype.NewFace(table, &opentype.FaceOptions{Size: fontSize, DPI: 72, Hinting: font.HintingFull})
	return &typeface{Face: face, table: table}, err
}

// has reports whether the font can draw a character.
func (f *typeface) has(r rune) bool {
	i, err := f.table.GlyphIndex(&f.buffer, r)
	return err == nil && i != 0
}

// ColorModel implements image.Image.
func (p *pngPicture) ColorModel() color.Model { return color.RGBAModel }

// Bounds implements image.Image.
func (p *pngPicture) Bounds() image.Rectangle {
	return image.Rect(0, 0, p.screen.Cols*pixelWidth, p.screen.Rows*pixelHeight)
}

// Opaque spares the encoder a look at every pixel.
func (p *pngPicture) Opaque() bool { return true }

// At implements image.Image.
func (p *pngPicture) At(x, y int) color.Color {
	if row := y / pixelHeight; row != p.drawn {
		p.drawn = row
		p.drawRow(row)
	}
	return p.strip.RGBAAt(x, y%pixelHeight)
}

func (p *pngPicture) drawRow(y int) {
	if y >= len(p.screen.Lines) {
		p.err = errors.New("the screen has fewer rows than it says")
		return
	}
	row := drawnRow(p.screen, y)
	for _, d := range row {
		p.fill(d.x*pixelWidth, 0, d.wide*pixelWidth, pixelHeight, d.look.paper)
	}
	for _, d := range row {
		if d.look.hidden {
			continue
		}
		p.drawText(d)
		for _, line := range []struct {
			on bool
			y  int
		}{{d.look.under, baseline + lineWidth}, {d.look.over, 0}, {d.look.struck, baseline - pixelHeight/4}} {
			if line.on {
				p.fill(d.x*pixelWidth, line.y, d.wide*pixelWidth, lineWidth, d.look.ink)
			}
		}
	}
}

// similar are characters that the font lacks, and one that it has instead.
var similar = map[rune]rune{
	'╭': '┌', '╮': '┐', '╰': '└', '╯': '┘', '━': '─', '┃': '│', '┏': '┌', '┓': '┐', '┗': '└', '┛': '┘',
	'┣': '├', '┫': '┤', '┳': '┬', '┻': '┴', '╋': '┼', '╸': '─', '╺': '─', '╹': '│', '╻': '│',
}

// drawText draws a character with the marks that the font has. One that the font
// lacks is a box as wide as its cells.
func (p *pngPicture) drawText(d drawn) {
	f := p.faces[d.look.face()]
	for i, r := range []rune(norm.NFC.String(d.text)) {
		if other, known := similar[r]; known {
			r = other
		}
		switch {
		case r == ' ' || i > 0 && !f.has(r):
		case !f.has(r):
			p.box(d)
		default:
			(&font.Drawer{Dst: p.strip, Src: image.NewUniform(d.look.ink.rgba()), Face: f, Dot: fixed.P(d.x*pixelWidth, baseline)}).DrawString(string(r))
		}
	}
}

// face is the number of the typeface: bold has bit 0, italic bit 1.
func (l look) face() int {
	n := 0
	if l.bold {
		n |= 1
	}
	if l.italic {
		n |= 2
	}
	return n
}

// box is the frame that stands for a character that cannot be drawn.
func (p *pngPicture) box(d drawn) {
	const margin, top, bottom = 2, 5, baseline
	x, width := d.x*pixelWidth+margin, d.wide*pixelWidth-2*margin
	p.fill(x, top, width, lineWidth, d.look.ink)
	p.fill(x, bottom-lineWidth, width, lineWidth, d.look.ink)
	p.fill(x, top, lineWidth, bottom-top, d.look.ink)
	p.fill(x+width-lineWidth, top, lineWidth, bottom-top, d.look.ink)
}

func (p *pngPicture) fill(x, y, width, height int, c colour) {
	imagedraw.Draw(p.strip, image.Rect(x, y, x+width, y+height), image.NewUniform(c.rgba()), image.Point{}, imagedraw.Src)
}

func (c colour) rgba() color.RGBA { return color.RGBA{c.r, c.g, c.b, 0xff} }
