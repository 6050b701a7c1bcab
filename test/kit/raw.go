package kit

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// Args are the arguments of a call.
type Args map[string]any

// Raw is an attached client of the raw protocol.
type Raw struct {
	T          testing.TB
	Attachment link.Attachment
	client     *wire.Client

	mu     sync.Mutex
	events []Val
}

// Raw attaches to a session of the kernel that serves; it starts none.
func (w *World) Raw(session string) *Raw {
	w.T.Helper()
	r, err := w.TryRaw(session)
	if err != nil {
		w.T.Fatalf("attach to %s: %v", session, err)
	}
	w.T.Cleanup(func() { r.Close() })
	return r
}

// TryRaw is Raw for when it may fail; the caller closes.
func (w *World) TryRaw(session string) (*Raw, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Long)
	defer cancel()
	r := &Raw{T: w.T}
	client, attachment, err := link.Open(ctx, link.Options{
		StateDir: w.State, Session: session, Environ: w.Env, Cwd: w.Work, Kind: "test", NoStart: true,
	}, slog.New(slog.DiscardHandler), wire.ClientOptions{Notify: r.notice})
	if err != nil {
		return nil, err
	}
	r.client, r.Attachment = client, attachment
	return r, nil
}

func (r *Raw) notice(_ string, params json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, Parse(params))
}

// Events are the events heard so far, oldest first.
func (r *Raw) Events() []Val {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Val(nil), r.events...)
}

// Close leaves the session.
func (r *Raw) Close() { r.client.Close() }

// Pending is a call that waits for its answer.
type Pending struct {
	t      testing.TB
	method string
	call   *wire.Pending
}

// Start sends a call: those of one goroutine arrive in order.
func (r *Raw) Start(method string, params any) *Pending {
	r.T.Helper()
	p, err := r.client.Start(method, params)
	if err != nil {
		r.T.Fatalf("%s: %v", method, err)
	}
	return &Pending{r.T, method, p}
}

// Wait gives the answer; no answer at all fails the test.
func (p *Pending) Wait() (Val, *messages.Error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Long)
	defer cancel()
	var raw json.RawMessage
	err := p.call.Wait(ctx, &raw)
	var refusal *messages.Error
	if err != nil && !errors.As(err, &refusal) {
		p.t.Fatalf("%s: %v", p.method, err)
	}
	return Parse(raw), refusal
}

// Must gives the answer and fails the test on a refusal.
func (p *Pending) Must() Val {
	p.t.Helper()
	v, err := p.Wait()
	if err != nil {
		p.t.Fatalf("%s: %v %s", p.method, err, err.Data)
	}
	return v
}

// Call makes a call and waits for its answer.
func (r *Raw) Call(method string, params any) (Val, *messages.Error) {
	r.T.Helper()
	return r.Start(method, params).Wait()
}

// Must is Call that fails the test on a refusal.
func (r *Raw) Must(method string, params any) Val {
	r.T.Helper()
	return r.Start(method, params).Must()
}

// Refused is Call that fails the test unless it is refused with the code; it
// gives the refusal's data.
func (r *Raw) Refused(code messages.Code, method string, params any) (Val, string) {
	r.T.Helper()
	v, err := r.Call(method, params)
	if err == nil {
		r.T.Fatalf("%s %v: got %v, want a refusal with %d", method, params, v, code)
	}
	if err.Code != code {
		r.T.Fatalf("%s %v: got %v, want code %d", method, params, err, code)
	}
	return Parse(err.Data), err.Message
}

// Exec runs source in value position and gives the finished result.
func (r *Raw) Exec(src string, more ...Args) Val {
	r.T.Helper()
	return r.Must("exec", execArgs(src, more))
}

func execArgs(src string, more []Args) Args {
	args := Args{"src": src, "position": "value"}
	for _, m := range more {
		for k, v := range m {
			args[k] = v
		}
	}
	return args
}

// Render runs source and gives the text of its value.
func (r *Raw) Render(src string) string {
	r.T.Helper()
	return r.Exec(src).At("render").Str()
}

// Background starts a task and gives its id.
func (r *Raw) Background(src string) string {
	r.T.Helper()
	return r.Exec(src, Args{"background": true}).At("task").Str()
}

// Task reads a task's record.
func (r *Raw) Task(id string) Val {
	r.T.Helper()
	return r.Must("task.get", Args{"task": id})
}

// Await waits for a task's end and gives its record.
func (r *Raw) Await(id string) Val {
	r.T.Helper()
	rec := r.Must("task.await", Args{"task": id, "timeout_ms": Long.Milliseconds() / 2})
	if state := messages.TaskState(rec.At("state").Str()); !state.Ended() {
		r.T.Fatalf("await %s: got state %q, want an end; record %v", id, state, rec)
	}
	return rec
}
