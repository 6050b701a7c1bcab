package kit

import (
	"testing"
	"time"
)

// Long is the bound of waits that should never be met: it says "hung", not
// "slow".
const Long = 60 * time.Second

// Eventually waits until ok holds, looking often, and fails the test when it
// does not within the bound.
func Eventually(t testing.TB, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	if !Within(bound, ok) {
		t.Fatalf("not within %s: %s", bound, what)
	}
}

// Within reports whether ok came to hold before the bound passed.
func Within(bound time.Duration, ok func() bool) bool {
	if ok() {
		return true
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(bound); ; {
		select {
		case <-tick.C:
			if ok() {
				return true
			}
		case <-over:
			return ok()
		}
	}
}
