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
	case r.fast.around == 0:
		return w.groups(r)
	}
	// What groups put in is at most the matched text each time.
	w.size += groups * len(s)
	err := r.each(s, func(start, end int) error { return w.next(end-start, len(rep)) })
	if err != nil {
		return "", err
	}
	return r.re.ReplaceAllString(s, rep), nil
}

// replacing is one replacement under way.
type replacing struct {
	s, rep string
	size   int // of the result so far
	n      int // matches so far
	from   int // where what is not yet in out begins
	out    []byte
	stop   func() error
}

// next counts a match of so many bytes that becomes so many others.
func (w *replacing) next(was, becomes int) error {
	if w.size += becomes - was; w.size > MaxText {
		return Errorf(CodeOverflow, "replace: more than %d bytes", MaxText)
	}
	if w.n++; w.n%stopEvery == 0 {
		return w.stop()
	}
	return nil
}

// put replaces a match.
func (w *replacing) put(start, end int, with string) error {
	if err := w.next(end-start, len(with)); err != nil {
		return err
	}
	if w.out == nil {
		w.out = make([]byte, 0, len(w.s))
	}
	w.out = ExtendText(ExtendText(w.out, w.s[w.from:start]), with)
	w.from = end
	return nil
}

// done is the result.
func (w *replacing) done() string {
	if w.out == nil {
		return w.s
	}
	return TextOf(ExtendText(w.out, w.s[w.from:]))
}

func (w *replacing) simple(f fastRegex) (string, error) {
	for start, end := f.find(w.s, 0); start >= 0; start, end = f.find(w.s, end) {
		if err := w.put(start, end, w.rep); err != nil {
			return "", err
		}
	}
	return w.done(), nil
}

// engine replaces by rep as it stands.
func (w *replacing) engine(r *Regex) (string, error) {
	err := r.each(w.s, func(start, end int) error { return w.put(start, end, w.rep) })
	if err != nil {
		return "", err
	}
	return w.done(), nil
}

// groups replaces where a match depends on nothing before it: its groups are
// found by matching once more from its start.
func (w *replacing) groups(r *Regex) (string, error) {
	var with []byte
	err := r.each(w.s, func(start, end int) error {
		rest := w.s[start:]
		with = r.re.ExpandString(with[:0], w.rep, rest, r.re.FindStringSubmatchIndex(rest))
		return w.put(start, end, string(with))
	})
	if err != nil {
		return "", err
	}
	return w.done(), nil
}
