package kernel

import (
	"testing"
	"time"
)

func TestRestGivesMemoryBack(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	r := rest{work: 1, given: true}
	for _, step := range []struct {
		what   string
		second int
		work   uint64
		busy   bool
		unused uint64
		want   bool
	}{
		{"nothing was done", 5, 1, false, warmMost, false},
		{"at work", 10, 2, false, warmMost + 1, false},
		{"idle after much", 15, 2, false, warmMost + 1, true},
		{"idle with little", 20, 2, false, warmMost, false},
		{"much again", 25, 2, false, warmMost + 1, true},
		{"work again", 30, 3, false, warmMost, false},
		{"idle after little", 35, 3, false, warmMost, false},
		{"idle for long", 90, 3, false, 1, true},
		{"still idle", 200, 3, false, 1, false},
		{"computing", 205, 3, true, warmMost + 1, false},
		{"idle after computing", 210, 3, false, warmMost + 1, true},
	} {
		if got := r.gives(step.work, step.busy, at(step.second), step.unused); got != step.want {
			t.Errorf("%s: got %t, want %t", step.what, got, step.want)
		}
	}
}

// A client that comes is work, though nothing of it is recorded: what it has
// cost is given back once the kernel rests.
func TestClientsAreWork(t *testing.T) {
	o, _ := options(t)
	k := start(t, o)
	attach(t, k)
	before := k.work()
	attach(t, k)
	if after := k.work(); after <= before {
		t.Errorf("work: got %d after %d", after, before)
	}
}
