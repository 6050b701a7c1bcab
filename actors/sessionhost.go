package actors

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// sessionHost is everything a session is. It outlives the session's actor, and
// comes back from the journal after the kernel's death.
//
// Fields above mu are set before the host is shared; load sets those that say
// so before anybody else looks at them.
type sessionHost struct {
	d       *Deps
	tasks   *TaskStore
	name    messages.SessionName
	base    []string // environment of the client that created it or brought it back
	creator string   // connection of that client
	values  *transcript
	away    atomic.Bool // the actor was given up, or is about to end
	cwd0    string      // where it was created: $CWD of policies; set by load

	undoing sync.Mutex // held by the run that undoes something

	mu          sync.Mutex
	loaded      bool
	loading     bool
	loadErr     *messages.Error
	owner       messages.Principal
	created     int64
	env         map[string]*string // what the session set; nil unsets
	state       *interp.State
	nextOut     uint64
	restartedAt int64
	conns       map[string]bool
	members     map[messages.Principal]bool // invited by the owner
	closing     bool                        // no new work is taken
	closed      bool                        // it has left memory, or is about to
	closers     []*actor.PID                // who asked for its end
	gaveUp      time.Time                   // when its actor was given up; zero: it was not
	gaveUpWhy   string                      // the last failure
	opening     map[string]*open            // terminals being opened, by call

	line     []*Run          // executions waiting for their turn
	current  *Run            // the one whose turn it is
	runs     map[uint64]*Run // every run that has not been forgotten, by task number
	byKey    map[string]*Run // the same by call
	aliases  map[uint64][]string
	answers  []*Run // runs that were answered, oldest first
	bytes    int    // of their answers
	spawned  int    // tasks of the language that have not ended
	requests requests
	parked   []parked // requests that came before the session was loaded
	idle     time.Time

	memory     map[string]int64 // bytes that each binding takes, about
	spawnsFrom time.Time        // when tasks of the language may spawn others again
}

// newSessionHost is a session that has not been loaded yet.
func newSessionHost(d *Deps, tasks *TaskStore, m messages.Attach) *sessionHost {
	return &sessionHost{
		d: d, tasks: tasks, name: m.Session, base: m.Env, creator: m.Conn, owner: m.Principal,
		cwd0: m.Cwd, conns: map[string]bool{}, members: map[messages.Principal]bool{}, env: map[string]*string{},
		runs: map[uint64]*Run{}, byKey: map[string]*Run{}, aliases: map[uint64][]string{},
		requests: newRequests(m.Session), opening: map[string]*open{}, memory: map[string]int64{},
		values: newTranscript(d.ResidentLimit), idle: d.Now(),
	}
}

// memberLocked reports whether a principal is a member: the owner and whom it
// invited, and the local human everywhere.
func (h *sessionHost) memberLocked(p messages.Principal) bool {
	return p == h.owner || p == h.d.Owner || h.members[p]
}

// runsLocked are the runs in the order in which they came.
func (h *sessionHost) runsLocked() []*Run {
	runs := make([]*Run, 0, len(h.runs))
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *Run) int { return cmp.Compare(a.num, b.num) })
	return runs
}

// load reads the session from the journal, or creates it. It blocks.
func (h *sessionHost) load() *messages.Error {
	raw, found, err := h.d.Journal.Get(tableSession, string(h.name))
	if err != nil {
		return messages.Errorf(messages.CodeInternal, "read session %s: %v", h.name, err)
	}
	if !found {
		return h.create()
	}
	var saved sessionRow
	if err := json.Unmarshal(raw, &saved); err != nil {
		return messages.Errorf(messages.CodeInternal, "read session %s: %v", h.name, err)
	}
	state := interp.NewState(saved.Cwd, mergeEnv(h.base, saved.Env))
	if err := h.loadBindings(state); err != nil {
		return messages.Errorf(messages.CodeInternal, "read bindings of session %s: %v", h.name, err)
	}
	next, err := h.loadNext()
	if err != nil {
		return messages.Errorf(messages.CodeInternal, "read transcript of session %s: %v", h.name, err)
	}
	requests, err := h.loadRequests()
	if err != nil {
		return messages.Errorf(messages.CodeInternal, "read request ids of session %s: %v", h.name, err)
	}
	members, err := h.loadMembers()
	if err != nil {
		return messages.Errorf(messages.CodeInternal, "read members of session %s: %v", h.name, err)
	}
	state.TakeChanges()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owner, h.created, h.cwd0, h.members = saved.Owner, saved.Created, saved.Cwd0, members
	if saved.Env != nil {
		h.env = saved.Env
	}
	h.state, h.nextOut, h.requests = state, next, requests
	h.restartedAt = h.d.Now().UnixNano()
	return nil
}

// create makes a new session durable.
func (h *sessionHost) create() *messages.Error {
	if info, err := os.Stat(h.cwd0); err != nil || !info.IsDir() {
		why := "it is not a directory"
		if err != nil {
			why = "it does not exist"
		}
		return messages.Errorf(messages.CodeInvalidParams, "cwd %q: %s; give a directory that exists", h.cwd0, why)
	}
	now := h.d.Now().UnixNano()
	created := sessionRow{Owner: h.owner, Created: now, Cwd0: h.cwd0, Cwd: h.cwd0}
	a := h.d.write(messages.Record{
		Rows: []messages.Row{row(tableSession, string(h.name), created)},
		Events: []messages.Draft{{
			Key:     messages.ChannelKey{Session: h.name, Name: "session"},
			Payload: messages.JSON(map[string]any{"kind": "created", "principal": h.owner}),
		}},
	})
	if a.Err != nil {
		return a.Err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.created = now
	h.state = interp.NewState(h.cwd0, h.base)
	h.nextOut = 1
	return nil
}

func (h *sessionHost) loadBindings(state *interp.State) error {
	prefix := string(h.name) + "\x00"
	return h.d.Journal.Scan(tableBinding, prefix, func(key string, b []byte) bool {
		name := strings.TrimPrefix(key, prefix)
		stored, err := h.d.decodeBinding(b)
		if err != nil {
			stored = interp.Stored{Kind: "let", Lost: fmt.Sprintf("`%s` could not be loaded: %v", name, err)}
		}
		h.memory[name] = stored.Memory
		if err := state.Import(name, stored, h.d.Compiler.Library(), h.codec()); err != nil {
			h.d.Log.Warn("binding not loaded", "session", h.name, "name", name, "err", err)
		}
		return true
	})
}

func (h *sessionHost) loadNext() (uint64, error) {
	raw, found, err := h.d.Journal.Get(tableNext, string(h.name))
	if err != nil || !found {
		return 1, err
	}
	return strconv.ParseUint(string(raw), 10, 64)
}

// loadRequests finds the request ids of the last day.
func (h *sessionHost) loadRequests() (requests, error) {
	out := newRequests(h.name)
	err := h.d.Journal.Scan(tableRequest, string(h.name)+"\x00", func(key string, b []byte) bool {
		var past struct { // without the answer, which may be large
			SourceHash string `json:"source"`
			TS         int64  `json:"ts"`
		}
		if json.Unmarshal(b, &past) == nil {
			out.put(&request{key: key, source: past.SourceHash, ts: past.TS})
		}
		return true
	})
	slices.SortFunc(out.order, func(a, b *request) int { return cmp.Compare(a.ts, b.ts) })
	return out, err
}

// mergeEnv applies what a session set to a base environment.
func mergeEnv(base []string, set map[string]*string) []string {
	out := make([]string, 0, len(base)+len(set))
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if _, changed := set[name]; !changed {
			out = append(out, kv)
		}
	}
	for name, v := range set {
		if v != nil {
			out = append(out, name+"="+*v)
		}
	}
	return out
}

// changeRows are the rows for what an execution changed in the session, and what
// it could not keep. What is not stored when stop, which may be nil, gives an
// error, is a binding that says so once it is loaded.
func (h *sessionHost) changeRows(c interp.Changes, stop func() error) ([]messages.Row, *value.Error) {
	var rows []messages.Row
	bindings, over := h.exported(c.Set, stop)
	for i, name := range c.Set {
		stored := bindings[i]
		stored.Mask(h.d.Mask)
		kept, err := h.d.encodeBinding(stored, stop)
		if err != nil {
			kept = messages.JSON(notKept(name, err))
		}
		rows = append(rows, messages.Row{Table: tableBinding, Key: bindingKey(h.name, name), Value: kept})
	}
	h.forgetMemory(c.Deleted)
	for _, name := range c.Deleted {
		rows = append(rows, messages.Row{Table: tableBinding, Key: bindingKey(h.name, name)})
	}
	if !c.Moved && len(c.Env) == 0 {
		return rows, over
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range c.Env {
		if !e.Secret {
			h.env[e.Name] = e.Value
		}
	}
	return append(rows, row(tableSession, string(h.name), sessionRow{
		Owner: h.owner, Created: h.created, Cwd0: h.cwd0, Cwd: h.state.Cwd(), Env: h.env,
	})), over
}

// exported are the bindings that an execution has changed. The greatest of them
// are let go of while all bindings of the session take more than they may; the
// error names them.
func (h *sessionHost) exported(names []string, stop func() error) ([]interp.Stored, *value.Error) {
	codec := h.codec()
	codec.Stop = stop
	bindings := make([]interp.Stored, len(names))
	for i, name := range names {
		stored, err := h.state.Export(name, codec)
		if err != nil {
			stored = notKept(name, err)
		}
		bindings[i] = stored
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, name := range names {
		h.memory[name] = bindings[i].Memory
	}
	sum := int64(0)
	for _, n := range h.memory {
		sum += n
	}
	before, lost := sum, []string(nil)
	for limit := h.d.BindingLimit; limit > 0 && sum > limit && len(lost) < len(names); {
		most := 0
		for i := range bindings {
			if bindings[i].Memory > bindings[most].Memory {
				most = i
			}
		}
		name := names[most]
		if bindings[most].Memory == 0 {
			break // older ones take it all
		}
		why := fmt.Sprintf("`%s` was not kept: the bindings of a session may take %d MiB together", name, limit>>20)
		h.state.Lose(name, why)
		bindings[most] = interp.Stored{Kind: bindings[most].Kind, Lost: why}
		sum -= h.memory[name]
		h.memory[name] = 0
		lost = append(lost, "`"+value.Clip(name, headMost)+"`")
	}
	if len(lost) == 0 {
		return bindings, nil
	}
	return bindings, value.Errorf(value.CodeOverflow, "the bindings of this session would take %d MiB, they may take %d: %s not kept",
		before>>20, h.d.BindingLimit>>20, strings.Join(lost[:min(len(lost), lostShown)], ", ")+" "+wasOrWere(len(lost))).
		WithHint("keep large data in files and read it in parts, or rebind names that are not needed: `let big = null`")
}

// forgetMemory notes that bindings are gone.
func (h *sessionHost) forgetMemory(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		delete(h.memory, name)
	}
}

// lostShown is how many bindings that were not kept an error names.
const lostShown = 10

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// notKept is a binding that could not be stored.
func notKept(name string, err error) interp.Stored {
	return interp.Stored{Kind: "let", Lost: fmt.Sprintf("`%s` could not be kept: %v", name, err)}
}

// moveEvents tell that an execution left the session in another directory.
func (h *sessionHost) moveEvents(c interp.Changes) []messages.Draft {
	if !c.Moved {
		return nil
	}
	return []messages.Draft{{
		Key:     messages.ChannelKey{Session: h.name, Name: "session"},
		Payload: messages.JSON(map[string]any{"kind": "cwd", "cwd": pathView(c.Cwd)}),
	}}
}

// rulesOf are the effective rules of a principal.
func (h *sessionHost) rulesOf(p messages.Principal) *leash.Rules {
	return h.d.Policy().For(h.d.PolicyPrincipal(p))
}

// scene is what the session's policy patterns are relative to.
func (h *sessionHost) scene() leash.Scene { return h.d.sceneAt(h.cwd0) }

func (d *Deps) sceneAt(cwd0 string) leash.Scene {
	return leash.Scene{Cwd: cwd0, Home: d.Home, LookPath: d.LookPath}
}

// pathView is a path for display.
func pathView(path string) messages.PathView {
	if utf8.ValidString(path) {
		return messages.PathView{Display: path}
	}
	return messages.PathView{
		Display: strings.ToValidUTF8(path, "\uFFFD"),
		Raw:     base64.StdEncoding.EncodeToString([]byte(path)),
	}
}

// info is the session's part of an attachment.
func (h *sessionHost) info() messages.SessionInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loadErr != nil {
		return messages.SessionInfo{Err: h.loadErr}
	}
	return messages.SessionInfo{
		Cwd: pathView(h.state.Cwd()), EnvHash: envHash(h.state.Environ()), RestartedAt: h.restartedAt,
	}
}

// envHash identifies an environment.
func envHash(env []string) string { return sourceHash(strings.Join(env, "\x00")) }

// view is one of the session's live views as JSON.
func (h *sessionHost) view(m messages.ViewSession) messages.Raw {
	h.mu.Lock()
	state := h.state
	h.mu.Unlock()
	switch m.View {
	case "cwd":
		return messages.Raw{JSON: messages.JSON(pathView(state.Cwd()))}
	case "env":
		return h.d.shown(messages.JSON(envView(state.Environ(), h.mayRead(m.Principal))))
	case "reef":
		return messages.Raw{JSON: messages.JSON(emptyReef)}
	default:
		return messages.Raw{Err: messages.Errorf(messages.CodeUnknownRef, "there is no session view %q; use cwd, env or reef", m.View)}
	}
}

// mayRead says which variables a principal may read; nil means all.
func (h *sessionHost) mayRead(p messages.Principal) func(name string) bool {
	rules := h.rulesOf(p)
	if rules.Unrestricted() {
		return nil
	}
	scene := h.scene()
	return func(name string) bool {
		return rules.Judge(effect.Effect{Kind: effect.EnvRead, Name: name}, scene).Outcome == leash.Allow
	}
}

// envView is the environment as shown to a principal, who may read some of it:
// those names in order, and their values.
func envView(environ []string, may func(string) bool) messages.EnvView {
	names := make([]string, 0, len(environ))
	vars := make(map[string]string, len(environ))
	for _, kv := range environ {
		name, v, _ := strings.Cut(kv, "=")
		if may != nil && !may(name) {
			continue
		}
		names = append(names, name)
		vars[name] = strings.ToValidUTF8(v, "\uFFFD")
	}
	return messages.EnvView{Granted: len(names) > 0 || may == nil, Names: names, Env: vars}
}

// emptyReef is the tool resolution view of a session without manifest.
var emptyReef = messages.ReefView{Policy: "auto", Bindings: []struct{}{}, Runners: map[string]string{}, Problems: []struct{}{}}

// A session can answer an answered run again, for callers that ask twice after
// a crash: the newest answersKept for good, others for answerTime unless their
// answers are more than answerBytes.
const (
	answersKept = 64
	answerTime  = 5 * time.Second
	answerBytes = 32 << 20
)

// answeredLocked notes that a run was answered and forgets older ones. It needs
// the run's lock too.
func (h *sessionHost) answeredLocked(r *Run) {
	if r.answered {
		return
	}
	r.answered = true
	h.answers = append(h.answers, r)
	h.bytes += len(r.result.JSON)
	limit := h.d.Now().Add(-answerTime)
	for len(h.answers) > answersKept {
		old := h.answers[0]
		if h.bytes <= answerBytes && old.settled.After(limit) { // settled never changes again
			return
		}
		h.answers[0] = nil
		h.answers = h.answers[1:]
		h.bytes -= len(old.result.JSON)
		delete(h.runs, old.num)
		delete(h.byKey, old.key)
		for _, key := range h.aliases[old.num] {
			delete(h.byKey, key)
		}
		delete(h.aliases, old.num)
	}
}

// unknownTask says in one place that a session has no such task.
func unknownTask(id messages.TaskID) *messages.Error {
	return messages.Errorf(messages.CodeUnknownTask, "there is no task %s in this session; task.list shows them", id)
}

// waitDone waits until a run has its final answer or ctx ends.
func waitDone(ctx context.Context, r *Run) error {
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for task %s: %w", r.id(), ctx.Err())
	}
}
