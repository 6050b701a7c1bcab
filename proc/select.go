package proc

import (
	"cmp"
	"maps"
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
	sole   bool         // no tree outside the selection could have left an orphan
	own    map[int]bool // children that are or were just waited for, no orphans
}

// newSelection is for a look at the process table that was taken since before,
// which is what soleOwners said then: a child that starts or is reaped in
// between is no orphan either.
func newSelection(r *Runner, trees []*Tree, before owners) *selection {
	sel := &selection{kernel: r.opts.KernelID, trees: trees, roots: map[int]bool{}, known: map[int]uint64{}}
	now := r.soleOwners(trees)
	sel.sole, sel.own = before.sole && now.sole, now.own
	maps.Copy(sel.own, before.own)
	for _, t := range trees {
		t.mu.Lock()
		if t.root != 0 {
			sel.roots[t.root] = true
		}
		for pid, start := range t.known {
			sel.known[pid] = start
		}
		t.mu.Unlock()
		_, sel.task, _ = unmark(sel.kernel+"/"+t.who, sel.kernel)
	}
	return sel
}

// owners is whose children there are at one moment.
type owners struct {
	sole bool         // every tree belongs to an owner in the selection, and none is being started
	own  map[int]bool // children that are waited for
}

// soleOwners looks whether orphans can only be the selection's.
func (r *Runner) soleOwners(trees []*Tree) owners {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := owners{sole: r.starting == 0, own: maps.Clone(r.own)}
	for t := range r.trees {
		o.sole = o.sole && slices.ContainsFunc(trees, func(s *Tree) bool { return s == t || s.seq == "" && s.who == t.who })
	}
	return o
}

// match decides by the marks first, as they cannot be anybody else's, then by
// the root's session and group. An orphan that shed its mark, its session and
// its parents is attributed when nobody else can have left it.
func (sel *selection) match(s status, mark, seq string, child bool) verdict {
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
		case child && !sel.own[s.pid] && (t.who == anyOwner || sel.sole && t.root != 0 && s.start >= t.began):
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
