package main

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// shownAs is the screen that a program's output makes.
func shownAs(cols, rows int, output string) messages.Screen {
	e := screen.New(cols, rows, 0)
	e.Write([]byte(output))
	shot := e.Snapshot()
	s := messages.Screen{Lines: shot.Lines, Cols: cols, Rows: rows, Cursor: messages.PTYCursor{Row: shot.Row, Col: shot.Col, Hidden: shot.Hidden},
		PTYAttrs: &messages.PTYAttrs{}}
	for _, r := range e.Runs() {
		s.PTYAttrs.Runs = append(s.PTYAttrs.Runs, messages.PTYRun(r))
	}
	return s
}

// pictured is the PNG of a screen, decoded.
type pictured struct {
	t *testing.T
	image.Image
}

func picturedAs(t *testing.T, cols, rows int, output string) pictured {
	t.Helper()
	var b bytes.Buffer
	if err := writePNG(&b, shownAs(cols, rows, output)); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size != image.Pt(cols*pixelWidth, rows*pixelHeight) {
		t.Fatalf("the picture is %v", size)
	}
	return pictured{t, img}
}

// count is how many pixels of a cell have a colour.
func (p pictured) count(row, col int, c colour) int {
	n := 0
	for y := row * pixelHeight; y < (row+1)*pixelHeight; y++ {
		for x := col * pixelWidth; x < (col+1)*pixelWidth; x++ {
			if color.RGBAModel.Convert(p.At(x, y)) == c.rgba() {
				n++
			}
		}
	}
	return n
}

const cellPixels = pixelWidth * pixelHeight

func TestPNGColours(t *testing.T) {
	p := picturedAs(t, 12, 2, "\x1b[?25l\x1b[31ma\x1b[42mb\x1b[0;7mc\x1b[0;8;45md\x1b[0;38;5;208;48;2;1;2;3me\x1b[m f")
	red, green, magenta := indexed(1), indexed(2), indexed(5)
	for _, c := range []struct {
		col        int
		ink, paper colour
	}{
		{0, red, paperColour}, {1, red, green}, {2, paperColour, inkColour}, {4, indexed(208), colour{1, 2, 3}}, {6, inkColour, paperColour},
	} {
		ink, paper := p.count(0, c.col, c.ink), p.count(0, c.col, c.paper)
		if ink < 10 || paper < cellPixels/2 {
			t.Errorf("column %d: %d pixels of %v on %d of %v", c.col, ink, c.ink, paper, c.paper)
		}
	}
	if n := p.count(0, 3, magenta); n != cellPixels {
		t.Errorf("concealed text: %d of %d pixels are background", n, cellPixels)
	}
	if n := p.count(1, 0, paperColour); n != cellPixels {
		t.Errorf("a blank cell: %d of %d pixels are background", n, cellPixels)
	}
}

func TestPNGStyles(t *testing.T) {
	p := picturedAs(t, 12, 1, "\x1b[?25lm\x1b[1mm\x1b[0;3mm\x1b[0;4m \x1b[0;9m \x1b[0;53m \x1b[0;4:3m \x1b[0;2mm\x1b[m")
	light := cellPixels - p.count(0, 0, paperColour)
	if heavy := cellPixels - p.count(0, 1, paperColour); heavy <= light {
		t.Errorf("bold draws on %d pixels, plain on %d", heavy, light)
	}
	if slanted := cellPixels - p.count(0, 2, paperColour); slanted == light {
		t.Error("italic is drawn as plain")
	}
	for col, style := range map[int]string{3: "underline", 4: "strike", 5: "overline", 6: "curly underline"} {
		if n := p.count(0, col, inkColour); n != pixelWidth*lineWidth {
			t.Errorf("%s: %d pixels, want %d", style, n, pixelWidth*lineWidth)
		}
	}
	if n := p.count(0, 7, inkColour); n != 0 {
		t.Errorf("faint text has %d pixels of full ink", n)
	}
}

// Characters that the font lacks are boxes, and what follows them stands in its
// columns.
func TestPNGWidths(t *testing.T) {
	p := picturedAs(t, 12, 1, "\x1b[?25l世👍e\u0301x│")
	for col := range 4 {
		if n := p.count(0, col, inkColour); n < 2*pixelWidth {
			t.Errorf("column %d has %d pixels of a box", col, n)
		}
	}
	if n := p.count(0, 1, inkColour) - p.count(0, 0, inkColour); n != 0 {
		t.Errorf("the halves of a box differ by %d pixels", n)
	}
	accented := picturedAs(t, 2, 1, "\x1b[?25lee\u0301")
	if plain, marked := accented.count(0, 0, paperColour), accented.count(0, 1, paperColour); marked >= plain {
		t.Error("the mark is missing")
	}
	for y := range pixelHeight { // line drawing joins from row to row
		if got := color.RGBAModel.Convert(p.At(6*pixelWidth+pixelWidth/2-1, y)); got == paperColour.rgba() {
			t.Errorf("the line has a gap at %d", y)
		}
	}
	if n := p.count(0, 5, inkColour); n == 0 {
		t.Error("x is not in its column")
	}
	if n := p.count(0, 7, paperColour); n != cellPixels {
		t.Error("something is drawn behind the text")
	}
}

func TestPNGCursor(t *testing.T) {
	p := picturedAs(t, 4, 2, "a世\x1b[1;2H")
	if n := p.count(0, 1, inkColour) + p.count(0, 2, inkColour); n < cellPixels {
		t.Errorf("the cursor covers %d pixels of a wide character", n)
	}
	p = picturedAs(t, 4, 2, "a")
	if n := p.count(0, 1, inkColour); n != cellPixels {
		t.Errorf("the cursor is on %d pixels of a blank cell", n)
	}
	p = picturedAs(t, 4, 2, "a\x1b[?25l")
	if n := p.count(0, 1, paperColour); n != cellPixels {
		t.Error("a hidden cursor is drawn")
	}
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	writeSVG(&b, shownAs(6, 2, "\x1b[4:3;31m<e\u0301\x1b[m世\x1b[9m \x1b[1;1H"))
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("no XML: %v\n%s", err, &b)
		}
	}
	for _, want := range []string{
		`width="48" height="34"`,
		`<rect x="0" y="0" width="8" height="17" fill="#cd0000"/>`, // the cursor
		`fill="#101010" xml:space="preserve" text-decoration="underline">&lt;<`,
		">e\u0301<", `<text x="16" y="13" fill="#d0d0d0">世<`, `text-decoration="line-through"> <`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %s:\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "italic") {
		t.Error("a curly underline is drawn as italic")
	}
}
