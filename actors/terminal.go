package actors

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// openTimeout bounds the start of a terminal's program.
const openTimeout = 20 * time.Second

// open is a call that opens a terminal: the same call again waits for, or is
// given, the same answer.
type open struct {
	waiters []*actor.PID
	answer  *messages.Raw // nil until there is one
}

// openTerminal has a terminal opened, once per call.
func (s *session) openTerminal(m messages.OpenTerminal, to *actor.PID) {
	h := s.h
	h.mu.Lock()
	o := h.opening[m.Key]
	first := o == nil && !h.closing
	if first {
		o = &open{}
		h.opening[m.Key] = o
	}
	if o != nil && o.answer == nil {
		o.waiters = append(o.waiters, to)
	}
	h.mu.Unlock()
	switch {
	case o == nil:
		h.d.Sys.Reply(to, messages.Raw{Err: closing(h.name)})
	case first:
		done := func(answer messages.Raw) { h.opened(m.Key, answer) }
		h.d.work("open a terminal", func() { done(h.openTerminal(m)) },
			func(err *messages.Error) { done(messages.Raw{Err: err}) })
	default:
		h.mu.Lock()
		answer := o.answer
		h.mu.Unlock()
		if answer != nil {
			h.d.Sys.Reply(to, *answer)
		}
	}
}

// opened answers who waits for a terminal, and remembers the answer a while for
// callers that ask twice after a crash.
func (h *sessionHost) opened(key string, answer messages.Raw) {
	h.mu.Lock()
	o := h.opening[key]
	to := o.waiters
	o.waiters, o.answer = nil, &answer
	h.mu.Unlock()
	for _, pid := range to {
		h.d.Sys.Reply(pid, answer)
	}
	time.AfterFunc(answerTime, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.opening, key)
	})
}

// openTerminal starts a program in a terminal in the session's directory and
// environment, as far as policy allows, and records it. It blocks and runs in a
// goroutine of its own.
func (h *sessionHost) openTerminal(m messages.OpenTerminal) messages.Raw {
	h.mu.Lock()
	cwd, env := h.state.Cwd(), h.state.Environ()
	h.mu.Unlock()
	if m.PlanRef != "" {
		return h.openPlanned(m, env)
	}
	if m.Cwd != "" {
		if cwd = m.Cwd; !filepath.IsAbs(cwd) {
			cwd = filepath.Join(h.state.Cwd(), m.Cwd)
		}
	}
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return spawnRefused(fmt.Sprintf("the directory %s does not exist", cwd))
	}
	path, err := h.d.Runner.LookPath(m.Cmd, pathOf(append(env[:len(env):len(env)], m.Set...)), cwd)
	if err != nil {
		return spawnRefused(err.Error())
	}
	req := messages.OpenPTY{
		Session: h.name, Principal: m.Principal, Cmd: m.Cmd, Args: m.Args, Path: path,
		Dir: cwd, Env: env, Set: m.Set, Cols: m.Cols, Rows: m.Rows, Scrollback: m.Scrollback,
		Record: m.Record, RecordInput: m.RecordInput,
	}
	effects := terminalEffects(m.Cmd, path)
	rules := h.rulesOf(m.Principal)
	switch v := rules.Decide(effects, effect.Unknown, h.scene()); v.Outcome {
	case leash.Deny:
		return messages.Raw{Err: deniedError(v)}
	case leash.Ask:
		return messages.Raw{Err: h.planTerminal(req, effects, rules, v)}
	}
	return h.startTerminal(m, effects, req, nil)
}

// terminalEffects is what policy judges of a program in a terminal.
func terminalEffects(cmd, path string) []effect.Effect {
	return []effect.Effect{{Kind: effect.ProcSpawn, Argv0: cmd, Path: path}, {Kind: effect.Opaque, Why: cmd}}
}

func spawnRefused(why string) messages.Raw {
	return messages.Raw{Err: messages.Errorf(messages.CodePTYSpawn, "the program did not start: %s", why)}
}

func pathOf(env []string) string {
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	return path
}

// startTerminal records the intent, starts the program, and records how that
// went; plan is the approved plan that it opens, if it is one.
func (h *sessionHost) startTerminal(m messages.OpenTerminal, effects []effect.Effect, req messages.OpenPTY, plan *messages.Plan) messages.Raw {
	num, err := h.d.NextEntry()
	if err != nil {
		return messages.Raw{Err: messages.Errorf(messages.CodeInternal, "number an entry: %v", err)}
	}
	entry := messages.Entry{
		ID: messages.EntryID(num), TS: h.d.Now().UnixNano(), Session: h.name, Principal: m.Principal,
		Kind: messages.EntryPTY, Src: commandLine(req), Head: req.Cmd,
		Status: messages.EntryRunning, Effects: effects, Cwd: req.Dir, Opaque: true,
	}
	if plan != nil {
		entry.PlanRef = plan.PlanRef
		if n := len(plan.Approvals); n > 0 {
			entry.Approver = plan.Approvals[n-1].Approver
		}
	}
	if a := h.d.write(messages.Record{Key: "pty-intent-" + m.Key + numKey(num), Sync: true, Entry: &entry}); a.Err != nil {
		return messages.Raw{Err: a.Err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	req.Key = m.Key + numKey(num)
	opened, err := askAgain(ctx, h.d.Sys, h.d.pid("ptys"), messages.Request[messages.PTYOpened](req))
	refusal := asRefusal(err, "the terminal's start was lost; pty.list shows what is there")
	ok := refusal == nil
	entry.OK, entry.Status = &ok, messages.EntryDone
	if !ok {
		entry.Status = messages.EntryFailed
	}
	if a := h.d.write(messages.Record{Key: "pty-end-" + m.Key + numKey(num), Entry: &entry}); a.Err != nil {
		return messages.Raw{Err: a.Err}
	}
	if !ok {
		return messages.Raw{Err: refusal}
	}
	return messages.Raw{JSON: messages.JSON(opened)}
}

// commandLine is a terminal's program as the journal shows it.
func commandLine(req messages.OpenPTY) string {
	return strings.Join(append([]string{req.Cmd}, req.Args...), " ")
}

// asRefusal is an error as it goes to the caller; lost says what a lost answer
// means.
func asRefusal(err error, lost string) *messages.Error {
	if err == nil {
		return nil
	}
	if refusal, ok := err.(*messages.Error); ok {
		return refusal
	}
	return messages.Errorf(messages.CodeInterrupted, "%s: %v", lost, err)
}
