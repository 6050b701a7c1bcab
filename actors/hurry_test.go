package actors

import (
	"errors"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
)

// What a cancelled run has made is stored for a moment, not for ever, also
// when the cancel comes after it has evaluated.
func TestStoringEndsAfterACancel(t *testing.T) {
	now := time.Unix(1000, 0)
	d := &Deps{Now: func() time.Time { return now }}
	for _, ending := range []bool{false, true} {
		r := &Run{state: messages.TaskRunning, ending: ending}
		stop := newWorker(d, r).hurry()
		now = now.Add(time.Hour)
		if err := stop(); err != nil {
			t.Fatalf("ending %v, before the cancel: %v", ending, err)
		}
		if news := r.setCancelled(errors.New("enough")); news == ending {
			t.Errorf("ending %v: the cancel is news: %v", ending, news)
		}
		if err := stop(); err != nil {
			t.Errorf("ending %v, at the cancel: %v", ending, err)
		}
		now = now.Add(storeGrace)
		if stop() == nil {
			t.Errorf("ending %v: storing goes on %s after the cancel", ending, storeGrace)
		}
	}
}
