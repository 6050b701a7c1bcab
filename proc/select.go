package proc

import (
	"cmp"
	"slices"
	"time"
)

// verdict is what is known about a process and a selection of trees.
type verdict int

const (
	unknown verdict = iota // decided by descent
	yes
	no
)

// selection is the trees whose members are sought.
type selection struct {
	kernel string
	trees  []*Tree
	roots  map[int]bool
	known  map[int]uint64
	task   uint64
}

func newSelection(kernel string, trees []*Tree) *selection {
	sel := &selection{kernel: kernel, trees: trees, roots: map[int]bool{}, known: map[int]uint64{}}
	for _, t := range trees {
		t.mu.Lock()
		if t.root != 0 {
			sel.roots[t.root] = true
		}
		for pid, start := range t.known {
			sel.known[pid] = start
		}
		t.mu.Unlock()
		_, sel.task, _ = unmark(kernel+"/"+t.who, kernel)
	}
	return sel
}

// match decides by the marks first, as they cannot be anybody else's, then by
// the root's session and group. An unmarked orphan that was adopted counts
// only when everything is sought.
func (sel *selection) match(s status, mark, seq string, adopted bool) verdict {
	if mark != "" {
		who, _, ours := unmark(mark, sel.kernel)
		if !ours {
			return no
		}
		for _, t := range sel.trees {
			if t.who == anyOwner || t.who == who && (t.seq == "" || t.seq == seq) {
				return yes
			}
		}
		return no
	}
	if start, ok := sel.known[s.pid]; ok && start == s.start {
		return yes
	}
	for _, t := range sel.trees {
		switch {
		case t.root != 0 && s.pid == t.root:
			if s.start >= t.began {
				return yes
			}
		case t.root != 0 && (s.session == t.root || s.pgrp == t.root) && s.start >= t.began:
			return yes
		case t.who == anyOwner && adopted:
			return yes
		}
	}
	return unknown
}

// remember keeps a member findable after it has changed session and lost its
// parent and its environment.
func (sel *selection) remember(s status) {
	for _, t := range sel.trees {
		if t.root == 0 {
			continue
		}
		t.mu.Lock()
		if t.known == nil {
			t.known = map[int]uint64{}
		}
		t.known[s.pid] = s.start
		t.mu.Unlock()
	}
}

func sorted(procs []Proc) []Proc {
	slices.SortFunc(procs, func(a, b Proc) int { return cmp.Compare(a.PID, b.PID) })
	return procs
}

// pauseBriefly spaces out looks at the process table.
func pauseBriefly(pass int) { time.Sleep(time.Duration(min(pass+1, 10)) * time.Millisecond) }
