package ptyactor

import (
	"context"
	"regexp"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// sendSettle is when stability begins to count after a send that has no output.
const sendSettle = 150 * time.Millisecond

// waiter is a call that waits for conditions. It is checked after every piece
// of output, so that nothing shown in between is missed.
type waiter struct {
	cond  messages.PTYWait
	regex *regexp.Regexp
	sent  *sentInput
	began time.Time
	// calm is the earliest time from which stability counts.
	calm  time.Time
	fresh bool // output has come since the send
	timer *time.Timer
	done  chan struct{}

	ended bool
	met   bool
	rule  string
	took  time.Duration
	shot  *screen.Snapshot
}

// newWaiterLocked checks the conditions and makes a waiter that is not yet
// known to the host.
func (h *Host) newWaiterLocked(cond messages.PTYWait, sent *sentInput) (*waiter, *messages.Error) {
	w := &waiter{cond: cond, sent: sent, began: time.Now(), done: make(chan struct{})}
	if cond.TimeoutMS < 0 || cond.TimeoutMS > messages.PTYWaitMax {
		return nil, messages.Errorf(messages.CodeInvalidParams, "wait.timeout_ms: want at most %d, got %d", messages.PTYWaitMax, cond.TimeoutMS)
	}
	if cond.TimeoutMS == 0 {
		w.cond.TimeoutMS = messages.PTYWaitMax
	}
	if cond.StableMS != nil && *cond.StableMS < 0 {
		return nil, messages.Errorf(messages.CodeInvalidParams, "wait.stable_ms: want 0 or more, got %d", *cond.StableMS)
	}
	if cond.Regex != nil {
		re, err := regexp.Compile(*cond.Regex)
		if err != nil {
			return nil, messages.Errorf(messages.CodeInvalidParams, "wait.regex: %v", err)
		}
		w.regex = re
	}
	if sent != nil {
		w.calm = w.began.Add(sendSettle)
	}
	return w, nil
}

// addLocked makes the host check the waiter from now on.
func (h *Host) addLocked(w *waiter) {
	h.snapshotLocked()
	h.waits[w] = struct{}{}
	w.timer = time.AfterFunc(0, func() { h.check(w) })
}

// output notes the first output after a send: stability counts from it.
func (w *waiter) output(at time.Time) {
	if w.sent != nil && !w.fresh {
		w.fresh = true
		w.calm = at
	}
}

func (h *Host) check(w *waiter) {
	h.mu.Lock()
	var searches []search
	if !w.ended {
		searches = h.tryLocked(w, time.Now(), nil)
	}
	h.mu.Unlock()
	h.run(searches)
}

// search is what a text and a pattern are to be looked for in, when all other
// conditions of a waiter hold. That is done without the terminal's lock, as it
// takes long on a great screen, and others read.
type search struct {
	w     *waiter
	shot  *screen.Snapshot
	rules []string
	over  string // how the wait ends if nothing is found; "" when it goes on
}

// checkLocked looks at every waiter. What it gives is to be run before anything
// else is drawn.
func (h *Host) checkLocked() (searches []search) {
	if len(h.waits) == 0 {
		return nil
	}
	now := time.Now()
	for w := range h.waits {
		searches = h.tryLocked(w, now, searches)
	}
	return searches
}

// tryLocked ends the waiter when all conditions hold, when the time is over, or
// when the child is gone; else it sets the next time to look. It adds the search
// that this depends on.
func (h *Host) tryLocked(w *waiter, now time.Time, searches []search) []search {
	s := search{w: w, shot: h.snapshotLocked()}
	stableIn := h.stableInLocked(w, now)
	rules, met := w.hold(s.shot, stableIn <= 0, h.exit != nil)
	s.rules = rules
	left := w.began.Add(time.Duration(w.cond.TimeoutMS) * time.Millisecond).Sub(now)
	switch {
	case h.exit != nil:
		s.over = "exit"
	case left <= 0:
		s.over = "timeout"
	default:
		next := left
		if stableIn > 0 {
			next = min(next, stableIn)
		}
		w.timer.Reset(max(next, time.Millisecond))
	}
	if met && (w.cond.Text != nil || w.regex != nil) {
		return append(searches, s)
	}
	h.settleLocked(s, met)
	return searches
}

// run searches, and ends the waiters that depend on it.
func (h *Host) run(searches []search) {
	for _, s := range searches {
		met := s.found()
		h.mu.Lock()
		h.settleLocked(s, met)
		h.mu.Unlock()
	}
}

// settleLocked ends the waiter if its conditions have been met, or it is over.
func (h *Host) settleLocked(s search, met bool) {
	switch {
	case s.w.ended:
	case met:
		s.w.shot = s.shot
		h.endLocked(s.w, true, strings.Join(s.rules, "+"))
	case s.over != "":
		h.endLocked(s.w, false, s.over)
	}
}

// found looks for the text and the pattern.
func (s *search) found() bool {
	w := s.w
	if w.cond.Text != nil {
		s.rules = append(s.rules, "text")
		if !w.shows(s.shot, w.eachText) {
			return false
		}
	}
	if w.regex != nil {
		s.rules = append(s.rules, "regex")
		return w.shows(s.shot, w.eachRegex)
	}
	return true
}

// stableInLocked is how long the screen must stay as it is for the waiter's
// stability; zero or less when it has been, or when that is no condition.
func (h *Host) stableInLocked(w *waiter, now time.Time) time.Duration {
	if w.cond.StableMS == nil {
		return 0
	}
	from := h.changedAt
	if from.Before(w.calm) {
		from = w.calm
	}
	rest := from.Add(time.Duration(*w.cond.StableMS) * time.Millisecond).Sub(now)
	return max(rest, h.heldLocked(now))
}

// hold names the conditions but those of what is shown, and reports whether all of
// them hold.
func (w *waiter) hold(shot *screen.Snapshot, stable, exited bool) (rules []string, met bool) {
	met = true
	check := func(rule string, ok bool) {
		rules = append(rules, rule)
		met = met && ok
	}
	if c := w.cond; c.ScreenChangedSince != nil {
		check("screen_changed_since", shot.Version > *c.ScreenChangedSince)
	}
	if w.cond.StableMS != nil {
		check("stable_ms", stable)
	}
	if w.cond.Exit {
		check("exit", exited)
	}
	return rules, met
}

// eachText visits where the text stands, also where it overlaps itself.
func (w *waiter) eachText(text string, visit func(start, end int) bool) {
	for from := 0; ; from++ {
		i := strings.Index(text[from:], *w.cond.Text)
		if i < 0 {
			return
		}
		from += i
		if !visit(from, from+len(*w.cond.Text)) || from == len(text) {
			return
		}
	}
}

// eachRegex visits what matches. Anchors and word boundaries must see the whole
// text, so more and more matches are taken from its start.
func (w *waiter) eachRegex(text string, visit func(start, end int) bool) {
	for n, seen := 1, 0; ; n *= 16 {
		all := w.regex.FindAllStringIndex(text, n)
		for _, m := range all[seen:] {
			if !visit(m[0], m[1]) {
				return
			}
		}
		if len(all) < n {
			return
		}
		seen = len(all)
	}
}

// endLocked settles a waiter once.
func (h *Host) endLocked(w *waiter, met bool, rule string) {
	if w.ended {
		return
	}
	w.ended, w.met, w.rule, w.took = true, met, rule, time.Since(w.began)
	if w.timer != nil {
		w.timer.Stop()
	}
	delete(h.waits, w)
	close(w.done)
}

// await blocks until the waiter is settled; giving up settles it as a timeout.
func (h *Host) await(ctx context.Context, w *waiter) *messages.PTYWaited {
	select {
	case <-w.done:
	case <-ctx.Done():
		h.mu.Lock()
		h.endLocked(w, false, "timeout")
		h.mu.Unlock()
	}
	return &messages.PTYWaited{Met: w.met, ElapsedMS: w.took.Milliseconds(), Rule: w.rule}
}
