package screen

import "fmt"

// Engine names a terminal engine; the zero value is our own.
type Engine string

// The engines.
const (
	Own Engine = "own"
	XVT Engine = "xvt"
)

// ParseEngine reads an engine's name; none is our own.
func ParseEngine(name string) (Engine, error) {
	switch e := Engine(name); e {
	case "":
		return Own, nil
	case Own, XVT:
		return e, nil
	}
	return "", fmt.Errorf("unknown terminal engine %q: engines are %s and %s", name, Own, XVT)
}

// New returns a screen of the engine; it keeps the given number of scrollback
// lines.
func (e Engine) New(cols, rows, scrollbackLines int) Screen {
	if e == XVT {
		return NewXVT(cols, rows, scrollbackLines)
	}
	return New(cols, rows, scrollbackLines)
}
