package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// rival is one of several that a row is compared with; the best of a run is
// what counts.
type rival struct {
	name  string
	cost  probe // its work, in the row's unit
	start probe // the same with nothing to do, which is counted out
}

// hopeless is how many times worse than the best of a row a rival must be to
// be measured only once.
const hopeless = 4

// rivalResult is what a rival's turns have measured.
type rivalResult struct {
	cost, start []float64
	absent      error
}

// net is the median work without the median start. What is too short to be
// told from the start counts as a hundredth of it.
func (r *rivalResult) net() float64 {
	start := middle(r.start)
	return max(middle(r.cost)-start, start/100)
}

// compared reports whether a row's numbers are ratios.
func (r row) compared() bool { return r.peer != nil || len(r.rivals) > 0 }

// takeRivals measures each rival once, but not those that are absent or
// hopelessly behind.
func (r *result) takeRivals(rivals []rival) error {
	if r.rivals == nil {
		r.rivals = make([]rivalResult, len(rivals))
	}
	first := r.winner()
	for i, of := range rivals {
		turn := &r.rivals[i]
		if turn.absent != nil || first >= 0 && turn.net() > hopeless*r.rivals[first].net() {
			continue
		}
		err := measureInto(&turn.start, of.start)
		if err == nil {
			err = measureInto(&turn.cost, of.cost)
		}
		if errors.Is(err, errAbsent) {
			turn.absent, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	if r.winner() < 0 && len(rivals) > 0 {
		return r.rivals[0].absent
	}
	return nil
}

// winner is the rival that is best so far, -1 if there is none.
func (r *result) winner() int {
	best := -1
	for i := range r.rivals {
		if len(r.rivals[i].cost) > 0 && r.rivals[i].absent == nil && (best < 0 || r.rivals[i].net() < r.rivals[best].net()) {
			best = i
		}
	}
	return best
}

// best is the other side's number.
func (r *result) best() float64 {
	if i := r.winner(); i >= 0 {
		return r.rivals[i].net()
	}
	return middle(r.peer)
}

// ref names the other side.
func (r *result) ref() string {
	if i := r.winner(); i >= 0 {
		return r.row.rivals[i].name
	}
	return r.row.ref
}

// others tells of the rivals that are not the best, the better ones first.
func (r *result) others() string {
	var known []int
	var absent []string
	winner := r.winner()
	for i := range r.rivals {
		switch {
		case i == winner:
		case r.rivals[i].absent != nil:
			absent = append(absent, fmt.Sprint(r.rivals[i].absent))
		default:
			known = append(known, i)
		}
	}
	slices.SortFunc(known, func(a, b int) int { return cmp.Compare(r.rivals[a].net(), r.rivals[b].net()) })
	var parts []string
	for _, i := range known {
		parts = append(parts, r.row.rivals[i].name+" "+r.row.unit.format(r.rivals[i].net()))
	}
	if parts = append(parts, absent...); len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}
