package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/journal"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
	"shoal.dev/shoal/supervisor"
)

// patience bounds every wait of a test that is to succeed.
const patience = time.Minute

// owner is the local human of the tests' kernels.
const owner messages.Principal = "uid:1"

// rig is a kernel without its face: journal, actors and programs are real.
type rig struct {
	t        testing.TB
	dir      string
	sys      *supervisor.System
	store    *journal.Store
	journal  *faulty
	d        *Deps
	tasks    *TaskStore
	sessions *SessionStore
	plans    *PlanHost
	calls    atomic.Uint64
	policy   atomic.Pointer[leash.Policy]
	chaos    atomic.Pointer[supervisor.Chaos]
	clock    atomic.Int64 // how far the clock is ahead
	ptys     atomic.Uint64
}

// faulty is the journal with a hand on it.
type faulty struct {
	*journal.Store
	// refuse, when set, says of each record whether it cannot be written.
	refuse atomic.Pointer[func(messages.Record) bool]
	// hold, when set, may wait before a record is written.
	hold atomic.Pointer[func(messages.Record)]
}

func (f *faulty) Append(rec messages.Record, done func(messages.Appended)) {
	f.pass(f.Store.Append, rec, done)
}

func (f *faulty) Queue(rec messages.Record, done func(messages.Appended)) {
	f.pass(f.Store.Queue, rec, done)
}

func (f *faulty) pass(on func(messages.Record, func(messages.Appended)), rec messages.Record, done func(messages.Appended)) {
	if hold := f.hold.Load(); hold != nil {
		(*hold)(rec)
	}
	if refuse := f.refuse.Load(); refuse != nil && (*refuse)(rec) {
		done(messages.Appended{Key: rec.Key, Err: messages.Errorf(messages.CodeInternal, "the disk is full")})
		return
	}
	on(rec, done)
}

type content struct {
	*journal.BlobReader
	n int64
}

func (c content) Len() int64 { return c.n }

func (f *faulty) OpenBlob(hash string) (Content, error) {
	r, n, err := f.Store.OpenBlob(hash)
	if err != nil {
		return nil, err
	}
	return content{r, n}, nil
}

// newRig starts a kernel on a new directory.
func newRig(t testing.TB) *rig { return openRig(t, t.TempDir(), Interrupted{}) }

// openRig starts a kernel on a directory that may hold an earlier one's state.
func openRig(t testing.TB, dir string, left Interrupted) *rig {
	t.Helper()
	g := &rig{t: t, dir: dir}
	g.policy.Store(leash.Default())
	store, err := journal.Open(journal.Options{Dir: filepath.Join(dir, "journal"), BlobDir: filepath.Join(dir, "blobs")})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := proc.New(proc.Options{KernelID: fmt.Sprintf("%016x", time.Now().UnixNano()), SpillDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	g.sys = supervisor.New(supervisor.Options{
		Log: slog.New(slog.DiscardHandler),
		Chaos: func(name string, msg any, after bool) bool {
			chaos := g.chaos.Load()
			return chaos != nil && (*chaos)(name, msg, after)
		},
	})
	g.store, g.journal = store, &faulty{Store: store}
	g.d = &Deps{
		Sys: g.sys, Log: slog.New(slog.DiscardHandler), Journal: g.journal, Runner: runner, Compiler: lang.NewCompiler(),
		NextTask: store.Numbers("task").Next, NextEntry: store.Numbers("entry").Next,
		NextStep: store.Numbers("step").Next, Files: host.Files{TrashDir: filepath.Join(dir, "trash")},
		Owner: owner, Policy: g.policy.Load,
		NewHost: func(s HostSpec) *interp.Host {
			return host.Guard(&interp.Host{
				Files: host.Record(g.d.Files, s.Steps),
				Programs: host.Programs{Runner: runner, Task: s.Task, Output: s.Output, Ended: func(res *proc.Result) {
					s.Ended(Ended{Status: res.Status, Signal: res.Signal, Leftovers: res.Holders})
				}},
				Clock: host.Clock{},
			}, s.Check)
		},
		Publish:   func(messages.ChannelKey, []byte) {},
		ClosePTYs: func(context.Context, messages.SessionName) {},
		Cut:       func(messages.SessionName, messages.Principal, string) {},
		HasPTYs:   func(messages.SessionName) bool { return false },
		Now:       func() time.Time { return time.Now().Add(time.Duration(g.clock.Load())) },
		Mask:      func([]byte) {},
		Home:      dir, LookPath: func(name string) string { return "/usr/bin/" + name }, ResidentLimit: 1 << 20,
	}
	if err := RestoreTasks(g.d, left); err != nil {
		t.Fatal(err)
	}
	if g.plans, err = LoadPlans(g.d); err != nil {
		t.Fatal(err)
	}
	g.tasks = NewTaskStore(g.d)
	g.sessions = NewSessionStore(g.d, g.tasks)
	g.start()
	t.Cleanup(func() { g.stop(); runner.Close() })
	return g
}

// tree is the top of the actors.
type tree struct {
	sys      *supervisor.System
	children []supervisor.Spec
	up       chan error
}

func (a *tree) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started, *actor.Terminated:
		var err error
		for _, spec := range a.children {
			_, e := a.sys.SpawnChild(ctx, spec)
			err = errors.Join(err, e)
		}
		select {
		case a.up <- err:
		default:
		}
	}
}

// terminals stands for the registry of terminals: it counts what it opens.
type terminals struct{ g *rig }

func (a terminals) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(messages.OpenPTY); ok {
		ctx.Respond(messages.PTYOpened{PTY: messages.NewPTYID(a.g.ptys.Add(1))})
	}
}

func (g *rig) start() {
	up := make(chan error, 1)
	_, err := g.sys.Spawn(supervisor.Spec{Name: "kernel", New: func() actor.Actor {
		return &tree{g.sys, []supervisor.Spec{
			{Name: PlansName, New: NewPlanStore(g.plans)},
			{Name: TasksName, New: NewTasks(g.tasks)},
			{Name: SessionsName, New: NewSessions(g.sessions)},
			{Name: "ptys", New: func() actor.Actor { return terminals{g} }},
		}, up}
	}})
	if err == nil {
		err = <-up
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// stop ends everything and checks that nothing goes on.
func (g *rig) stop() {
	g.chaos.Store(nil)
	g.journal.hold.Store(nil)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	g.tasks.EndAll(ctx)
	if err := errors.Join(g.sys.Shutdown(ctx), g.d.Wait(ctx), g.store.Close()); err != nil {
		g.t.Errorf("stop: %v", err)
	}
}

// ask asks as a connection does: again and again while the actor is restarted,
// and after the session was brought back.
func ask[R any](g *rig, session messages.SessionName, to *actor.PID, req messages.Request[R]) R {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := askOnce(ctx, g, session, to, req)
	if err != nil {
		g.t.Fatalf("ask %T: %v", req, err)
	}
	return r
}

func askOnce[R any](ctx context.Context, g *rig, session messages.SessionName, to *actor.PID, req messages.Request[R]) (R, error) {
	for {
		r, err := supervisor.Ask(ctx, g.sys, to, req)
		var failed *supervisor.Failed
		if !errors.As(err, &failed) || ctx.Err() != nil {
			return r, err
		}
		if session == "" {
			continue
		}
		if info, err := askOnce(ctx, g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](g.join(session, "conn-1"))); err != nil {
			return r, err
		} else if info.Err != nil {
			return r, info.Err
		}
	}
}

func (g *rig) join(session messages.SessionName, conn string) messages.Attach {
	return messages.Attach{Session: session, Principal: owner, Conn: conn, Cwd: g.dir, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + g.dir}}
}

func (g *rig) attach(session messages.SessionName) messages.SessionInfo {
	g.t.Helper()
	return ask(g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](g.join(session, "conn-1")))
}

// call is one execution that was submitted.
type call struct {
	g       *rig
	session messages.SessionName
	req     messages.Exec
	pending *supervisor.Pending[messages.ExecResult]
}

type option func(*messages.ExecParams)

func value1(p *messages.ExecParams)     { p.Position = messages.PositionValue }
func background(p *messages.ExecParams) { p.Background = true }
func planned(p *messages.ExecParams)    { p.Mode = messages.ModePlan }
func budget(d time.Duration) option {
	return func(p *messages.ExecParams) { ms := d.Milliseconds(); p.TimeoutMS = &ms }
}
func deadline(d time.Duration) option {
	return func(p *messages.ExecParams) { ms := d.Milliseconds(); p.DeadlineMS = &ms }
}
func requestID(id string) option { return func(p *messages.ExecParams) { p.RequestID = id } }

// submit hands a source over and does not wait.
func (g *rig) submit(session messages.SessionName, src string, options ...option) *call {
	c := &call{g: g, session: session, req: messages.Exec{
		Key: fmt.Sprintf("call-%d", g.calls.Add(1)), Conn: "conn-1", Principal: owner,
		Params: messages.ExecParams{Src: src, Position: messages.PositionValue},
	}}
	for _, o := range options {
		o(&c.req.Params)
	}
	c.pending = supervisor.Start(g.sys, g.d.sessionPID(session), messages.Request[messages.ExecResult](c.req))
	return c
}

// wait gives the answer.
func (c *call) wait() messages.ExecResult {
	c.g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.waitIn(ctx)
	if err != nil {
		c.g.t.Fatalf("exec %q: %v", c.req.Params.Src, err)
	}
	return r
}

func (c *call) waitIn(ctx context.Context) (messages.ExecResult, error) {
	r, err := c.pending.Await(ctx)
	var failed *supervisor.Failed
	if errors.As(err, &failed) {
		r, err = askOnce(ctx, c.g, c.session, c.g.d.sessionPID(c.session), messages.Request[messages.ExecResult](c.req))
	}
	return r, err
}

// abandon says that the caller is gone.
func (c *call) abandon() {
	c.g.t.Helper()
	ask(c.g, c.session, c.g.d.sessionPID(c.session), messages.Request[messages.Done](messages.AbandonExec{Key: c.req.Key}))
}

// run submits and waits for the result.
func (g *rig) run(session messages.SessionName, src string, options ...option) messages.ExecResult {
	g.t.Helper()
	return g.submit(session, src, options...).wait()
}

// finished decodes a result that must be one.
func finished(t testing.TB, r messages.ExecResult) messages.Finished {
	t.Helper()
	var f messages.Finished
	if r.Err != nil || json.Unmarshal(r.JSON, &f) != nil || f.Ref == "" {
		t.Fatalf("got %s %v, want a finished result", r.JSON, r.Err)
	}
	return f
}

// handed decodes a hand-over.
func handed(t testing.TB, r messages.ExecResult) messages.Handed {
	t.Helper()
	var h messages.Handed
	if r.Err != nil || json.Unmarshal(r.JSON, &h) != nil || h.Task == "" || h.Events == "" {
		t.Fatalf("got %s %v, want a hand-over", r.JSON, r.Err)
	}
	return h
}

// render is the text of a finished run.
func (g *rig) render(session messages.SessionName, src string) string {
	g.t.Helper()
	return finished(g.t, g.run(session, src)).Render
}

// refused checks that a call was refused with a code.
func refused(t testing.TB, r messages.ExecResult, code messages.Code) *messages.Error {
	t.Helper()
	if r.Err == nil || r.Err.Code != code {
		t.Fatalf("got %s %v, want code %d", r.JSON, r.Err, code)
	}
	return r.Err
}

// task asks about a task.
func (g *rig) task(session messages.SessionName, op string, id messages.TaskID) messages.Raw {
	g.t.Helper()
	return ask(g, session, g.d.tasksPID(), messages.Request[messages.Raw](messages.RunTask{Op: op, Session: session, Principal: owner, Task: id}))
}

// record is a task's record; op may be get or await.
func (g *rig) record(session messages.SessionName, op string, id messages.TaskID) messages.TaskRecord {
	g.t.Helper()
	raw := g.task(session, op, id)
	var rec messages.TaskRecord
	if raw.Err != nil || json.Unmarshal(raw.JSON, &rec) != nil {
		g.t.Fatalf("%s %s: got %s %v", op, id, raw.JSON, raw.Err)
	}
	return rec
}

// within looks until cond holds.
func within(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func mustPolicy(t testing.TB, src string) *leash.Policy {
	t.Helper()
	p, err := leash.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
