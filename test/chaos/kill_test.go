package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

const (
	callers   = 8
	shared    = "shared"
	recovered = 3                // good answers after a kill that end a caller's cycle
	nextBound = 10 * time.Second // from a kill to the next good answer; says "hung"
	sampled   = 25               // older values looked at after each kill
)

// TestKernelKilledUnderLoad kills the kernel with -9 again and again while
// eight callers work, each through facades of its own: one for its session, one
// for a session that all share. After each kill nothing that was acknowledged
// may be lost, wrong or given out again, and whoever subscribed to the shared
// session's channels sees every event once.
func TestKernelKilledUnderLoad(t *testing.T) {
	w := kit.NewWorld(t, bin)
	s := &storm{t: t, w: w, book: newLedger(t), random: rand.New(rand.NewPCG(7, 11))}
	s.watcher = w.Facade(shared)
	for _, channel := range []string{"journal", "user.marks"} {
		if r := s.watcher.Call("resources/subscribe", kit.Args{"uri": eventsURI(channel)}); !r.Error.IsNull() {
			t.Fatalf("subscribe %s: %v", channel, r.Error)
		}
	}
	for i := range callers {
		c := &caller{storm: s, id: int64(i), session: fmt.Sprintf("own-%d", i)}
		c.own, c.shared = w.Facade(c.session), w.Facade(shared)
		s.callers = append(s.callers, c)
	}
	for n := range *cycles {
		s.cycle(n)
		if t.Failed() {
			return
		}
	}
	s.checkValues(s.book.since(0))
	slices.Sort(s.next)
	t.Logf("%d kills: %d calls acknowledged, %d lost and told so; next good answer after p50 %v, max %v",
		*cycles, s.book.acked, s.book.lost, s.next[len(s.next)/2].Round(time.Millisecond), s.next[len(s.next)-1].Round(time.Millisecond))
}

func eventsURI(channel string) string { return "shoal://events/" + channel }

// storm is one such run.
type storm struct {
	t       *testing.T
	w       *kit.World
	book    *ledger
	random  *rand.Rand
	watcher *kit.Facade
	callers []*caller
	killed  atomic.Pointer[time.Time] // when the kernel was killed in this cycle

	mu   sync.Mutex
	next []time.Duration // from a kill to a facade's next good answer
}

// cycle lets the callers work, kills the kernel amid it, lets them work on, and
// checks the ledger.
func (s *storm) cycle(n int) {
	before := len(s.book.since(0))
	sleeper := s.sleeper()
	s.killed.Store(nil)
	var working sync.WaitGroup
	for _, c := range s.callers {
		working.Go(c.work)
	}
	enough := s.book.answered() + callers + s.random.IntN(callers*20)
	kit.Eventually(s.t, kit.Long, "the callers are answered", func() bool { return s.book.answered() >= enough || s.t.Failed() })
	at := s.kill()
	s.killed.Store(&at)
	working.Wait()
	if s.t.Failed() {
		return
	}
	s.checkSleeper(sleeper)
	older := s.book.since(0)[:before]
	for range min(sampled, before) {
		s.checkValues([]string{older[s.random.IntN(len(older))]})
	}
	s.checkValues(s.book.since(before))
	for _, c := range s.callers {
		c.check()
	}
	s.checkEvents()
	s.t.Logf("kill %d: %d acknowledged so far, %d lost", n+1, s.book.acked, s.book.lost)
}

// kill kills the kernel and waits for its end. It is found by its notice: a
// child that it is about to start looks the same in a list of processes.
func (s *storm) kill() time.Time {
	e, err := s.w.Paths().ReadEndpoint()
	if err != nil {
		s.t.Fatal(err)
	}
	at := time.Now()
	if err := kit.Kill(e.PID, syscall.SIGKILL); err != nil {
		s.t.Fatalf("kill kernel %d: %v", e.PID, err)
	}
	kit.Eventually(s.t, kit.Long, "the killed kernel is gone", func() bool { return !kit.Alive(e.PID) })
	return at
}

// sleeper starts a task that only the kernel's death ends.
func (s *storm) sleeper() string {
	id := s.watcher.Exec("^sleep 3600", kit.Args{"background": true}).Structured.At("task").Str()
	s.book.task(id)
	return id
}

// checkSleeper demands that the task's end and that of its process are known.
func (s *storm) checkSleeper(id string) {
	rec := s.watcher.MustRead("shoal://task/" + strings.TrimPrefix(id, "task:"))
	if rec.At("state").Str() != string(messages.TaskFailed) || rec.At("error", "code").Str() != "interrupted" {
		s.t.Errorf("%s after the kill: %v, want failed and interrupted", id, rec)
	}
	for _, p := range kit.Processes(s.w.Root) {
		if strings.Contains(p.Cmd, "sleep 3600") {
			s.t.Errorf("process of a killed kernel is left: %v", p)
		}
	}
}

// checkValues reads acknowledged values back.
func (s *storm) checkValues(keys []string) {
	s.t.Helper()
	for _, key := range keys {
		session, ref, _ := strings.Cut(key, " ")
		want := s.book.valueOf(key)
		a := s.through(session).MustTool("shoal_get", kit.Args{"ref": ref})
		if got := read(a.Structured.At("value")); got != want {
			s.t.Errorf("%s: got %v, want %v: %v", key, got, want, a)
		}
	}
}

// through is a facade of the session.
func (s *storm) through(session string) *kit.Facade {
	for _, c := range s.callers {
		if c.session == session {
			return c.own
		}
	}
	return s.watcher
}

// read finds a mark in a wire value: a record, or the output "caller n".
func read(v kit.Val) mark {
	var m mark
	if v.At("$").Str() == "outcome" {
		fmt.Sscan(v.At("out", "v").Str(), &m.Caller, &m.N)
		return m
	}
	return mark{v.At("v", "caller", "v").Int(), v.At("v", "n", "v").Int()}
}

// checkEvents demands that the subscriptions have seen every event once, in
// order, and that what was published is among them.
func (s *storm) checkEvents() {
	seen := map[mark]int{}
	for _, channel := range []string{"journal", "user.marks"} {
		uri := eventsURI(channel)
		page := s.watcher.MustRead(uri + "?limit=1")
		latest := page.At("latest_seq").Int()
		var got []kit.Val
		kit.Eventually(s.t, kit.Long, fmt.Sprintf("event %d of %s arrives", latest, channel), func() bool {
			got = s.watcher.Updates(uri)
			return len(got) > 0 && got[len(got)-1].At("seq").Int() >= latest
		})
		entries := map[int64]bool{}
		for i, e := range got {
			if i > 0 && e.At("seq").Int() != got[i-1].At("seq").Int()+1 {
				s.t.Errorf("%s: event %v follows event %v", channel, e, got[i-1])
			}
			switch payload := e.At("payload"); channel {
			case "journal":
				id := payload.At("id").Int()
				if entries[id] {
					s.t.Errorf("entry %d was announced twice", id)
				}
				entries[id] = true
			default:
				seen[mark{payload.At("caller").Int(), payload.At("n").Int()}]++
			}
		}
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	for m, acked := range s.book.sent {
		if n := seen[m]; n > 1 || acked && n == 0 {
			s.t.Errorf("mark %v, acknowledged %v, was seen %d times by the subscriber", m, acked, n)
		}
	}
}
