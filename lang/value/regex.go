package value

import (
	"errors"
	"regexp"
	"unsafe"
)

// Regex is the object behind a regex. Its methods are the only way to match,
// so that simple patterns can have fast paths.
type Regex struct {
	kind Kind
	Src  string // as written
	re   *regexp.Regexp
	fast fastRegex
}

// regexMost is how many bytes a pattern may have: compiling takes long, cannot be
// interrupted, and makes a program of many times its size.
const regexMost = 64 << 10

// NewRegex compiles src; a bad pattern is an arg_error.
func NewRegex(src string) (Value, *Error) {
	if len(src) > regexMost {
		return Null, Errorf(CodeArg, "a regular expression has at most %d KiB, this one has %d", regexMost>>10, len(src)>>10).
			WithHint("use several, or a list of texts and `.contains`")
	}
	re, err := regexp.Compile(unicodeClasses(src))
	if err != nil {
		return Null, Errorf(CodeArg, "invalid regex: %s", regexReason(src, err))
	}
	return Value{unsafe.Pointer(&Regex{KindRegex, src, re, analyse(re)}), 0}, nil
}

// AsRegex is the object behind a regex.
func (v Value) AsRegex() *Regex { return (*Regex)(v.p) }

// regexReason words what is wrong in terms of the pattern as written, when the
// pattern as written has the same fault.
func regexReason(src string, err error) string {
	if _, own := regexp.Compile(src); own != nil {
		return own.Error()
	}
	return err.Error()
}

// Match reports whether s contains a match.
func (r *Regex) Match(s string) bool { return r.Find(s) != nil }

// Find is the place of the first match, or nil.
func (r *Regex) Find(s string) []int {
	if r.fast.simple() {
		if start, end := r.fast.find(s, 0); start >= 0 {
			return []int{start, end}
		}
		return nil
	}
	if r.fast.cannotMatch(s) {
		return nil
	}
	return r.re.FindStringIndex(s)
}

// FindAll are the whole matches from left to right, at most so many. An error
// of stop, which is asked now and then, ends the search.
func (r *Regex) FindAll(s string, most int, stop func() error) (all []string, err error) {
	asked := turns{stop: stop}
	if !r.fast.simple() {
		if r.fast.cannotMatch(s) {
			return nil, nil
		}
		if !r.Slow(s) {
			return r.re.FindAllString(s, most), nil
		}
		err = r.each(s, func(start, end int) error {
			if len(all) == most {
				return errEnough
			}
			all = Push(all, s[start:end])
			return asked.next()
		})
		if err == errEnough {
			err = nil
		}
		return all, err
	}
	for start, end := r.fast.find(s, 0); start >= 0 && len(all) < most; start, end = r.fast.find(s, end) {
		if err := asked.next(); err != nil {
			return nil, err
		}
		all = Push(all, s[start:end])
	}
	return all, nil
}

var errEnough = errors.New("enough matches")

// Slow reports whether a search in s may take long without a match at which it
// can be stopped.
func (r *Regex) Slow(s string) bool { return len(s) > slowText && !r.fast.simple() }

// slowText is how many bytes the engine searches in some tens of milliseconds.
const slowText = 1 << 20

// Groups are the places of the first match and its groups in pairs, -1 where a
// group took no part; nil without a match.
func (r *Regex) Groups(s string) []int {
	if r.fast.simple() {
		return r.Find(s)
	}
	if r.fast.cannotMatch(s) {
		return nil
	}
	return r.re.FindStringSubmatchIndex(s)
}

// GroupNames are the names by group number; "" for those without, and for 0.
func (r *Regex) GroupNames() []string { return r.re.SubexpNames() }
