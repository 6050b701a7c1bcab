package value

import "strings"

// stopEvery is after how many matches a replacement asks whether to go on.
const stopEvery = 1024

// Replace replaces every match. In rep $1, $name and ${name} are groups and $$
// is a dollar sign. A result over MaxText bytes is an overflow; an error of
// stop, which is asked now and then, ends the work.
func (r *Regex) Replace(s, rep string, stop func() error) (string, error) {
	if r.fast.cannotMatch(s) {
		return s, nil
	}
	w := replacing{s: s, rep: rep, size: len(s), stop: stop}
	groups := strings.Count(rep, "$")
	switch {
	case r.fast.simple() && groups == 0:
		return w.simple(r.fast)
	case groups == 0:
		return w.engine(r)
	}
	// What groups put in is at most the matched text each time.
	w.size += groups * len(s)
	if _, err := w.engine(r); err != nil {
		return "", err
	}
	return r.re.ReplaceAllString(s, rep), nil
}

// replacing is one replacement under way.
type replacing struct {
	s, rep string
	size   int // of the result so far
	n      int // matches so far
	stop   func() error
}

// next counts a match.
func (w *replacing) next(match string) error {
	if w.size += len(w.rep) - len(match); w.size > MaxText {
		return Errorf(CodeOverflow, "replace: more than %d bytes", MaxText)
	}
	if w.n++; w.n%stopEvery == 0 {
		return w.stop()
	}
	return nil
}

func (w *replacing) simple(f fastRegex) (string, error) {
	var out []byte
	from := 0
	for start, end := f.find(w.s, 0); start >= 0; start, end = f.find(w.s, end) {
		if err := w.next(w.s[start:end]); err != nil {
			return "", err
		}
		if out == nil {
			out = make([]byte, 0, len(w.s))
		}
		out = ExtendText(ExtendText(out, w.s[from:start]), w.rep)
		from = end
	}
	if out == nil {
		return w.s, nil
	}
	return TextOf(ExtendText(out, w.s[from:])), nil
}

// halted leaves the engine, which has no other way to be stopped.
type halted struct{ err error }

// engine replaces by rep as it stands.
func (w *replacing) engine(r *Regex) (string, error) {
	return r.each(w.s, func(match string) (string, error) { return w.rep, w.next(match) })
}

// each replaces every match by what f gives for it, until f gives an error.
func (r *Regex) each(s string, f func(match string) (string, error)) (out string, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case halted:
			out, err = "", cause.err
		default:
			panic(cause)
		}
	}()
	return r.re.ReplaceAllStringFunc(s, func(match string) string {
		with, err := f(match)
		if err != nil {
			panic(halted{err})
		}
		return with
	}), nil
}
