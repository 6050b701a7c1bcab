package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

func (a *app) screenshotPTY(f *ptyFlags) error {
	format := cmp.Or(f.format, "svg")
	if f.format == "" && strings.HasSuffix(f.output, ".png") {
		format = "png"
	}
	if out, isFile := a.stdout.(*os.File); format == "png" && (f.output == "" || f.output == "-") && isFile && isTerminal(out) {
		return errors.New("a PNG is not for reading: name a file with -o FILE.png")
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
	var b bytes.Buffer
	if format == "png" {
		if err := writePNG(&b, s); err != nil {
			return err
		}
	} else {
		writeSVG(&b, s)
	}
	return a.output(f.output, b.Bytes())
}

// drawn is what stands in one column of a picture, or in two.
type drawn struct {
	x, wide int
	text    string // a character and its marks
	look    look
}

// drawnRow is a row of the screen to its last column: characters, and coloured
// blanks. The cursor's cell has its colours swapped.
func drawnRow(s messages.Screen, y int) []drawn {
	styles := stylesOf(s, y)
	var row []drawn
	add := func(x, wide int, text string) {
		d := drawn{x, wide, text, plainLook}
		if sgr, styled := styles[x]; styled {
			d.look = parseLook(sgr)
		}
		row = append(row, d)
	}
	x := 0
	for _, r := range s.Lines[y] {
		wide := screen.Width(string(r))
		if wide == 0 && len(row) > 0 {
			row[len(row)-1].text += string(r)
			continue
		}
		add(x, max(wide, 1), string(r))
		x += max(wide, 1)
	}
	for ; x < s.Cols; x++ {
		add(x, 1, " ")
	}
	for i := range row {
		d := &row[i]
		if c := s.Cursor; !c.Hidden && c.Row == y && c.Col >= d.x && c.Col < d.x+d.wide {
			d.look.ink, d.look.paper = d.look.paper, d.look.ink
		}
	}
	return row
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
