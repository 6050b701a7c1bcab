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
		unused uint64
		want   bool
	}{
		{"nothing was done", 5, 1, warmMost + 1, false},
		{"at work", 10, 2, warmMost + 1, false},
		{"idle after much", 15, 2, warmMost + 1, true},
		{"once only", 20, 2, warmMost + 1, false},
		{"work again", 25, 3, warmMost, false},
		{"idle after little", 30, 3, warmMost, false},
		{"idle for long", 85, 3, 1, true},
		{"still idle", 200, 3, 1, false},
	} {
		if got := r.gives(step.work, at(step.second), step.unused); got != step.want {
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
