package value

// turnsBetween is after how many values work asks whether to go on.
const turnsBetween = 4096

// turns asks stop now and then whether work is to go on. The zero turns lets
// all work go on.
type turns struct {
	stop func() error
	n    int
}

// next counts a value; an error ends the work.
func (t *turns) next() error {
	if t.n++; t.n%turnsBetween != 0 {
		return nil
	}
	return t.now()
}

// now asks at once.
func (t *turns) now() error {
	if t.stop == nil {
		return nil
	}
	return t.stop()
}
