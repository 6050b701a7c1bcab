package screen

// Frame is a picture that a program has drawn to its end.
type Frame struct {
	*Snapshot
	Runs []Run
}

// frames holds the last whole picture while a program draws the next one between
// the marks of synchronized output (mode 2026).
type frames struct {
	held *Frame
	made *Frame // in this write: however many marks it has, it costs one picture
}

// wrote is called before each write.
func (f *frames) wrote() { f.made = nil }

// mark is called for each mark, with what makes a picture of the screen as it is.
func (f *frames) mark(begin bool, picture func() *Frame) {
	switch {
	case !begin:
		f.held = nil
	case f.held == nil:
		if f.made == nil {
			f.made = picture()
		}
		f.held = f.made
	}
}

// drop forgets the picture: it is of another screen.
func (f *frames) drop() { f.held = nil }
