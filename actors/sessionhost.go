package actors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// sessionHost is everything a session is. It outlives the session's actor, and
// comes back from the journal after the kernel's death.
type sessionHost struct {
	d    *Deps
	name messages.SessionName
	base []string // environment of the client that created it or brought it back

	mu          sync.Mutex
	loaded      bool
	loading     bool
	loadErr     *messages.Error
	owner       messages.Principal
	created     int64
	cwd0        string
	env         map[string]*string // what the session set; nil unsets
	state       *interp.State
	nextOut     uint64
	values      *transcript
	restartedAt int64
	conns       map[string]bool
	closed      bool

	line     []*Run          // executions waiting for their turn
	current  *Run            // the one whose turn it is
	runs     map[uint64]*Run // every run that has not been forgotten, by task number
	byKey    map[string]*Run // the same by call
	requests map[string]*request
	parked   []parked // requests that came before the session was loaded
	idle     time.Time
}

// request is a request id in use: its run, or the remembered answer.
type request struct {
	run  *Run
	past *requestRow
}

// newSessionHost is a session that has not been loaded yet.
func newSessionHost(d *Deps, m messages.Attach) *sessionHost {
	return &sessionHost{
		d: d, name: m.Session, base: m.Env, owner: m.Principal,
		cwd0: m.Cwd, conns: map[string]bool{}, runs: map[uint64]*Run{}, byKey: map[string]*Run{},
		requests: map[string]*request{}, env: map[string]*string{},
		values: newTranscript(d.ResidentLimit), idle: d.Now(),
	}
}

// bring loads the session and tells its actor; it is a goroutine of its own.
func (h *sessionHost) bring() {
	settle := func(err *messages.Error) {
		h.mu.Lock()
		h.loaded, h.loading, h.loadErr = err == nil, false, err
		h.mu.Unlock()
		h.d.Sys.Tell(h.d.sessionPID(h.name), sessionLoaded{})
	}
	defer h.d.recovered("loading the session", settle)
	settle(h.load())
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
	requests := h.loadRequests()
	state.TakeChanges()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owner, h.created, h.cwd0 = saved.Owner, saved.Created, saved.Cwd0
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
	done := make(chan messages.Appended, 1)
	created := sessionRow{Owner: h.owner, Created: now, Cwd0: h.cwd0, Cwd: h.cwd0}
	h.d.Journal.Append(messages.Record{
		Rows: []messages.Row{row(tableSession, string(h.name), created)},
		Events: []messages.Draft{{
			Key:     messages.ChannelKey{Session: h.name, Name: "session"},
			Payload: messages.JSON(map[string]any{"kind": "created", "principal": h.owner}),
		}},
	}, func(a messages.Appended) { done <- a })
	if a := <-done; a.Err != nil {
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
		var stored interp.Stored
		name := strings.TrimPrefix(key, prefix)
		if err := json.Unmarshal(b, &stored); err != nil {
			stored = interp.Stored{Kind: "let", Lost: fmt.Sprintf("`%s` could not be loaded: %v", name, err)}
		}
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

// loadRequests remembers the answers to request ids of the last day.
func (h *sessionHost) loadRequests() map[string]*request {
	out := map[string]*request{}
	oldest := h.d.Now().UnixNano() - requestTTLNS
	prefix := string(h.name) + "\x00"
	err := h.d.Journal.Scan(tableRequest, prefix, func(key string, b []byte) bool {
		var past requestRow
		if json.Unmarshal(b, &past) == nil && past.TS >= oldest {
			out[strings.TrimPrefix(key, prefix)] = &request{past: &past}
		}
		return true
	})
	if err != nil {
		h.d.Log.Error("read request ids", "session", h.name, "err", err)
	}
	return out
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

// changeRows are the rows for what an execution changed in the session.
func (h *sessionHost) changeRows(c interp.Changes) []messages.Row {
	var rows []messages.Row
	for _, name := range c.Set {
		stored, err := h.state.Export(name, h.codec())
		if err != nil {
			stored = interp.Stored{Kind: "let", Lost: fmt.Sprintf("`%s` could not be kept: %v", name, err)}
		}
		rows = append(rows, row(tableBinding, bindingKey(h.name, name), stored))
	}
	for _, name := range c.Deleted {
		rows = append(rows, messages.Row{Table: tableBinding, Key: bindingKey(h.name, name)})
	}
	if !c.Moved && len(c.Env) == 0 {
		return rows
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
	}))
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
func (h *sessionHost) view(name string) messages.Raw {
	h.mu.Lock()
	state := h.state
	h.mu.Unlock()
	switch name {
	case "cwd":
		return messages.Raw{JSON: messages.JSON(pathView(state.Cwd()))}
	case "env":
		return messages.Raw{JSON: messages.JSON(envView(state.Environ()))}
	case "reef":
		return messages.Raw{JSON: messages.JSON(emptyReef)}
	default:
		return messages.Raw{Err: messages.Errorf(messages.CodeUnknownRef, "there is no session view %q; use cwd, env or reef", name)}
	}
}

// envView is the environment as shown to its principal, who may read all of
// it: names in order, and the values.
func envView(environ []string) any {
	names := make([]string, 0, len(environ))
	vars := make(map[string]string, len(environ))
	for _, kv := range environ {
		name, v, _ := strings.Cut(kv, "=")
		names = append(names, name)
		vars[name] = strings.ToValidUTF8(v, "\uFFFD")
	}
	return struct {
		Granted bool              `json:"granted"`
		Names   []string          `json:"names"`
		Env     map[string]string `json:"env"`
	}{true, names, vars}
}

// emptyReef is the tool resolution view of a session without manifest.
var emptyReef = struct {
	ActiveScope *string           `json:"active_scope"`
	Hermetic    bool              `json:"hermetic"`
	Lock        *string           `json:"lock"`
	Policy      string            `json:"policy"`
	Revision    int               `json:"revision"`
	Bindings    []struct{}        `json:"bindings"`
	Runners     map[string]string `json:"runners"`
	Problems    []struct{}        `json:"problems"`
}{Policy: "auto", Bindings: []struct{}{}, Runners: map[string]string{}, Problems: []struct{}{}}

// forgetLocked drops ended runs beyond a bound, oldest first.
func (h *sessionHost) forgetLocked() {
	if len(h.runs) <= rememberedRuns {
		return
	}
	oldest := uint64(0)
	for num, r := range h.runs {
		r.mu.Lock()
		gone := r.ready && len(r.waiters) == 0
		r.mu.Unlock()
		if gone && (oldest == 0 || num < oldest) {
			oldest = num
		}
	}
	if r := h.runs[oldest]; r != nil {
		delete(h.runs, oldest)
		delete(h.byKey, r.key)
	}
}

// rememberedRuns is how many answered runs a session can answer again, for
// callers that ask twice after a crash.
const rememberedRuns = 64

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
