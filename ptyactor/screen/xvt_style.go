package screen

import "strings"

// Run is cells of one row that are drawn alike and not plainly.
type Run struct {
	Row, Col, Len int
	// SGR is the rendition as parameters of the control sequence: "1;31".
	SGR string
}

// Runs implements Screen.
func (x *xvt) Runs() []Run {
	var runs []Run
	for y := range x.rows {
		last := -1 // index of the run that ends at the cell before
		for cx := 0; cx < x.cols; {
			width, sgr := 1, ""
			if c := x.e.CellAt(cx, y); c != nil {
				width = min(max(c.Width, 1), x.cols-cx)
				sgr = strings.TrimSuffix(strings.TrimPrefix(c.Style.String(), "\x1b["), "m")
			}
			switch {
			case sgr == "":
				last = -1
			case last >= 0 && runs[last].SGR == sgr:
				runs[last].Len += width
			default:
				last = len(runs)
				runs = append(runs, Run{Row: y, Col: cx, Len: width, SGR: sgr})
			}
			cx += width
		}
	}
	return runs
}
