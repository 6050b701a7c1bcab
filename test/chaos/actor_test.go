package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/test/kit"
)

const (
	clients  = 12 // raw connections, two to a session
	killings = 80 // of random actors in one run
)

// TestActorsFail makes every actor of a kernel panic at random messages, before
// or after their handlers, and kills and stops random actors besides, while
// clients work. Nobody may go without an answer or get a wrong one, and after
// an orderly stop nothing of the kernel is left in the process.
func TestActorsFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		turns int // calls of each client; many failures take time, as restarts back off
		oneIn int
		kill  bool
	}{
		{"OneInTwoHundredPanics", 60, 200, false},
		{"OneInTwentyPanics", 20, 20, false},
		{"ActorsAreKilled", 60, 0, true},
		{"OneInTwoHundredPanicsAndActorsAreKilled", 60, 200, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range *rounds {
				unrest(t, c.turns, c.oneIn, c.kill)
			}
		})
	}
}

// unrest is one run on one kernel.
func unrest(t *testing.T, turns, oneIn int, kill bool) {
	goroutines, descriptors := runtime.NumGoroutine(), kit.Descriptors(os.Getpid())
	w := kit.NewWorld(t, bin)
	var panics atomic.Int64
	k, err := kernel.Start(kernel.Options{
		Paths: w.Paths(), Environ: w.Env, Log: slog.New(slog.DiscardHandler), Chaos: atRandom(oneIn, &panics),
	})
	if err != nil {
		t.Fatal(err)
	}
	u := &upheaval{t: t, w: w, book: newLedger(t), turns: turns}
	defer func() { // also when the test has given up
		for _, c := range u.all {
			c.raw.Close()
		}
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
		checkNothingLeft(t, w, goroutines, descriptors)
	}()
	u.run(k, kill)
	u.check()
	t.Logf("%d calls acknowledged, %d told that they were lost, %d panics", u.book.acked, u.book.lost, panics.Load())
}

// atRandom fails one in so many messages before its handler, and as many after.
// Handlers that tear down are spared: a panic in one is swallowed by design,
// and what it should have released would count as a leak.
func atRandom(oneIn int, panics *atomic.Int64) func(string, any, bool) bool {
	if oneIn == 0 {
		return nil
	}
	return func(_ string, msg any, _ bool) bool {
		switch msg.(type) {
		case *actor.Restarting, *actor.Stopping, *actor.Stopped:
			return false
		}
		hit := rand.N(2*oneIn) == 0
		if hit {
			panics.Add(1)
		}
		return hit
	}
}

// checkNothingLeft demands that a stopped kernel has left no goroutine,
// descriptor, process or temporary file.
func checkNothingLeft(t *testing.T, w *kit.World, goroutines, descriptors int) {
	t.Helper()
	if !kit.Within(kit.Long/6, func() bool { return runtime.NumGoroutine() <= goroutines }) {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), goroutines, buf[:runtime.Stack(buf, true)])
	}
	if n := kit.Descriptors(os.Getpid()); n > descriptors {
		t.Errorf("%d descriptors, %d before", n, descriptors)
	}
	if left := kit.Processes(w.Root); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	for _, dir := range []string{"run", "blobs/tmp"} {
		if names, _ := filepath.Glob(filepath.Join(w.State, dir, "*")); len(names) > 0 {
			t.Errorf("temporary files left: %v", names)
		}
	}
}

// upheaval is clients at work on a kernel whose actors fail.
type upheaval struct {
	t     *testing.T
	w     *kit.World
	book  *ledger
	turns int
	all   []*client
}

// run lets every client make its calls, killing actors meanwhile if asked to.
func (u *upheaval) run(k *kernel.Kernel, kill bool) {
	for i := range clients {
		session := fmt.Sprintf("s%d", i/2)
		c := &client{u: u, id: int64(i), session: session, raw: u.w.Raw(session)}
		c.raw.Must("events.subscribe", kit.Args{"channel": "journal"})
		c.raw.Must("events.subscribe", kit.Args{"channel": "user.marks"})
		u.all = append(u.all, c)
	}
	var work sync.WaitGroup
	for _, c := range u.all {
		work.Go(func() {
			for range u.turns {
				c.n++
				c.turn()
			}
		})
	}
	if kill {
		work.Go(func() { u.kill(k.Actors()) })
	}
	work.Wait()
}

// kill makes random actors panic or stop, spread over the run by the progress
// of the callers.
func (u *upheaval) kill(sys *supervisor.System) {
	for i := range killings {
		due := i * clients * u.turns / (killings * 2)
		kit.Within(kit.Long, func() bool { return u.book.answered() >= due || u.t.Failed() })
		live := sys.Live()
		switch victim := live[rand.N(len(live))]; {
		case victim == "kernel":
		case rand.N(2) == 0:
			sys.Kill(victim)
		default:
			sys.KillStop(victim)
		}
	}
}

// client is one raw connection.
type client struct {
	u       *upheaval
	id      int64
	session string
	raw     *kit.Raw
	n       int64
	last    int64 // newest turn whose binding was acknowledged
}

// turn makes one call, of one of seven kinds.
func (c *client) turn() {
	m := mark{c.id, c.n}
	switch c.n % 7 {
	case 0:
		c.exec(fmt.Sprintf("let last%d = %s\nlast%d", c.id, m.source(), c.id), m)
		c.last = c.n
	case 1, 2:
		c.exec(m.source(), m)
	case 3:
		c.exec(fmt.Sprintf("^/bin/echo %d %d", m.Caller, m.N), m)
	case 4:
		c.publish(m)
	case 5:
		c.background(m)
	default:
		c.terminal()
	}
}

// exec must be answered with its value: an execution is asked for again, by the
// gateway and under one key, until it is.
func (c *client) exec(src string, m mark) {
	v, err := c.raw.Call("exec", kit.Args{"src": src})
	if err != nil {
		c.u.t.Errorf("%s: %v", src, err)
		return
	}
	if got := read(v.At("value")); got != m {
		c.u.t.Errorf("%s: got %v, want %v: %v", src, got, m, v)
	}
	c.u.book.value(c.session, v.At("ref").Str(), m)
}

func (c *client) publish(m mark) {
	c.u.book.publishing(m)
	if _, err := c.raw.Call("events.publish", kit.Args{"channel": "user.marks", "payload": kit.Args{"caller": m.Caller, "n": m.N}}); err != nil {
		c.u.t.Errorf("publish %v: %v", m, err)
		return
	}
	c.u.book.published(m)
}

// background starts a task, waits for it, and reads its result through it.
func (c *client) background(m mark) {
	v, err := c.raw.Call("exec", kit.Args{"src": m.source(), "background": true})
	if err != nil {
		c.u.t.Errorf("background %v: %v", m, err)
		return
	}
	id := v.At("task").Str()
	c.u.book.task(id)
	rec, err := c.raw.Call("task.await", kit.Args{"task": id})
	if err != nil || rec.At("state").Str() != string(messages.TaskCompleted) {
		c.u.t.Errorf("await %s: %v, %v", id, rec, err)
		return
	}
	c.u.book.value(c.session, rec.At("result_ref").Str(), m)
}

// terminal opens a terminal, types, and closes it. What is typed may be lost
// with an actor, and then the caller is told.
func (c *client) terminal() {
	v, err := c.raw.Call("pty.open", kit.Args{"cmd": "/bin/cat"})
	if err != nil {
		c.lost("open a terminal", err)
		return
	}
	id := v.At("pty_id").Str()
	c.u.book.task(id)
	for _, call := range []struct {
		method string
		params kit.Args
	}{
		{"pty.send", kit.Args{"pty_id": id, "input": []string{"hello", "<enter>"}}},
		{"pty.read", kit.Args{"pty_id": id}},
		{"pty.close", kit.Args{"pty_id": id}},
	} {
		_, err := c.raw.Call(call.method, call.params)
		if err != nil {
			c.lost(call.method, err)
			return
		}
		c.u.book.call(true)
	}
}

// lost takes only the refusals that say that an actor was lost.
func (c *client) lost(what string, err *messages.Error) {
	if err.Code != messages.CodeInterrupted {
		c.u.t.Errorf("%s: %v %s", what, err, err.Data)
	}
	c.u.book.call(false)
}

// check holds the kernel to the ledger once it is quiet.
func (u *upheaval) check() {
	for _, key := range u.book.since(0) {
		session, ref, _ := strings.Cut(key, " ")
		for _, c := range u.all {
			if c.session != session {
				continue
			}
			v, err := c.raw.Call("value.get", kit.Args{"ref": ref})
			if got := read(v.At("value")); err != nil || got != u.book.valueOf(key) {
				u.t.Errorf("%s: got %v, %v, want %v", key, v, err, u.book.valueOf(key))
			}
			break
		}
	}
	seen := map[mark]int{}
	for i, c := range u.all {
		if c.last > 0 {
			v, err := c.raw.Call("exec", kit.Args{"src": fmt.Sprintf("last%d", c.id)})
			if got := read(v.At("value")); err != nil || got != (mark{c.id, c.last}) {
				u.t.Errorf("last%d: got %v, %v, want turn %d", c.id, v, err, c.last)
			}
		}
		c.checkEvents("journal", nil)
		if i%2 == 0 { // both of a session hear the same
			c.checkEvents("user.marks", seen)
		}
	}
	for m := range u.book.sent {
		if seen[m] != 1 {
			u.t.Errorf("mark %v was seen %d times", m, seen[m])
		}
	}
}

// checkEvents demands every event of a channel once, in order.
func (c *client) checkEvents(channel string, seen map[mark]int) {
	page := c.raw.Must("events.read", kit.Args{"channel": channel, "limit": 1, "tail": true})
	latest := page.At("latest_seq").Int()
	var got []kit.Val
	kit.Eventually(c.u.t, kit.Long, fmt.Sprintf("event %d of %s of %s arrives", latest, channel, c.session), func() bool {
		got = got[:0]
		for _, e := range c.raw.Events() {
			if e.At("channel").Str() == channel {
				got = append(got, e)
			}
		}
		return len(got) > 0 && got[len(got)-1].At("seq").Int() >= latest
	})
	for i, e := range got {
		if i > 0 && e.At("seq").Int() != got[i-1].At("seq").Int()+1 {
			c.u.t.Errorf("%s of %s: event %v follows event %v", channel, c.session, e, got[i-1])
		}
		if payload := e.At("payload"); seen != nil {
			seen[mark{payload.At("caller").Int(), payload.At("n").Int()}]++
		}
	}
}
