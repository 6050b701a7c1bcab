package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

const (
	// listTime is how long one completion reads directories.
	listTime = 500 * time.Millisecond
	// completeTime is how long it waits for a file system that does not answer.
	completeTime = time.Second
	// explainTime is how long the files that a source would load are read.
	explainTime = 5 * time.Second
	// refsShown is how many refs of one kind are offered.
	refsShown = 50
)

// ReadFresh answers parse and complete for somebody who is not attached: for an
// empty session without a world. It never panics.
func (d *Deps) ReadFresh(m messages.ReadSource) (out messages.Raw) {
	defer func() {
		if p := recover(); p != nil {
			d.Log.Error("reading a source panicked", "op", m.Op, "panic", p, "stack", string(debug.Stack()))
			out = messages.Raw{Err: messages.Errorf(messages.CodeInternal, "%s: the kernel failed inside: %v", m.Op, p)}
		}
	}()
	if m.Op == "complete" {
		return completed(lang.Complete(context.Background(), m.Src, m.Cursor, lang.Surroundings{}))
	}
	return parsed(m.Src, nil)
}

// readSource answers for a session. It may take a while and runs in a goroutine
// of its own.
func (h *sessionHost) readSource(m messages.ReadSource, tasks *TaskStore) messages.Raw {
	h.mu.Lock()
	state := h.state.Fork() // what runs meanwhile does not show halfway
	h.mu.Unlock()
	switch m.Op {
	case "complete":
		return h.complete(m, state, tasks)
	case "explain":
		return h.explain(m, state)
	default:
		return parsed(m.Src, state)
	}
}

func parsed(src string, state *interp.State) messages.Raw {
	ast, err := lang.AST(src, state)
	var bad *syntax.Error
	switch {
	case errors.As(err, &bad):
		return messages.Raw{Err: parseError(src, bad)}
	case err != nil:
		return messages.Raw{Err: messages.Errorf(messages.CodeQuota, "parse: %v", err).
			With(map[string]int{"limit": lang.ASTBytes})}
	}
	return messages.Raw{JSON: messages.JSON(messages.Parsed{ASTVersion: messages.ASTVersion, AST: ast})}
}

func completed(list []lang.Candidate) messages.Raw {
	out := messages.Completed{Candidates: make([]messages.Candidate, len(list))}
	for i, c := range list {
		out.Candidates[i] = messages.Candidate{
			Label: c.Label, Kind: c.Kind, Detail: c.Detail,
			Replace: effect.Span{Start: c.Replace.Start, End: c.Replace.End},
		}
	}
	return messages.Raw{JSON: messages.JSON(out)}
}

// complete looks at files as long as they answer in time, and as far as policy
// lets the principal read.
func (h *sessionHost) complete(m messages.ReadSource, state *interp.State, tasks *TaskStore) messages.Raw {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	in := lang.Surroundings{
		State: state, Files: h.readerOf(m.Principal), Visible: h.mayRead(m.Principal),
		Refs: func(prefix string) []lang.Ref { return h.refs(prefix, m.Principal, tasks) },
	}
	found := make(chan []lang.Candidate, 1)
	h.d.work("complete", func() { found <- lang.Complete(ctx, m.Src, m.Cursor, in) }, nil)
	late := time.NewTimer(completeTime)
	defer late.Stop()
	select {
	case list := <-found:
		return completed(list)
	case <-late.C:
		in.Files = nil
		return completed(lang.Complete(context.Background(), m.Src, m.Cursor, in))
	}
}

// explain derives effects as a plan does; nothing is stored.
func (h *sessionHost) explain(m messages.ReadSource, state *interp.State) messages.Raw {
	if m.AST != nil {
		src, err := lang.ASTSource(m.AST)
		if err != nil {
			return messages.Raw{Err: messages.Errorf(messages.CodeInvalidParams, "ast: %v; give what parse gave", err)}
		}
		m.Src = src
	}
	ctx, cancel := context.WithTimeout(context.Background(), explainTime)
	defer cancel()
	e, bad := h.d.Compiler.Explain(ctx, m.Src, state, h.readerOf(m.Principal), planFinder{h, m.Principal})
	if bad != nil {
		return messages.Raw{Err: parseError(m.Src, bad)}
	}
	return messages.Raw{JSON: messages.JSON(explained(e))}
}

func explained(e lang.Explanation) messages.Explained {
	p := messages.Plan{Source: e.Source, Effects: e.Effects}.Shown()
	return messages.Explained{
		Source: p.Source, Effects: p.Effects, EffectsTotal: p.EffectsTotal,
		Reversibility: e.Reversibility, Reversible: e.Reversible, Spawns: e.Spawns,
	}
}

// readerOf are the files as a principal may read them.
func (h *sessionHost) readerOf(p messages.Principal) interp.Files {
	spec := HostSpec{Session: h.name, Ended: func(Ended) {}}
	if rules := h.rulesOf(p); !rules.Unrestricted() {
		scene := h.scene()
		spec.Check = func(e effect.Effect) *value.Error {
			if v := rules.Judge(e, scene); v.Outcome != leash.Allow {
				return refusalError(v)
			}
			return nil
		}
	}
	return h.d.NewHost(spec).Files
}

// refs are the session's refs that begin with a prefix, newest first.
func (h *sessionHost) refs(prefix string, p messages.Principal, tasks *TaskStore) []lang.Ref {
	kind, _, _ := strings.Cut(prefix, ":")
	var out []lang.Ref
	add := func(name, detail string) {
		if strings.HasPrefix(name, prefix) && len(out) < refsShown {
			out = append(out, lang.Ref{Name: name, Detail: detail})
		}
	}
	switch kind {
	case "out":
		h.mu.Lock()
		next := h.nextOut
		h.mu.Unlock()
		for n := next; n > 1; n-- {
			detail := "a value of the session"
			if v, ok := h.values.get(n - 1); ok {
				detail = v.Kind().String()
			}
			add(string(messages.OutRef(n-1)), detail)
			if len(out) == refsShown || next-n > 10*refsShown {
				break
			}
		}
	case "task":
		runs := tasks.of(h.name)
		for i := len(runs) - 1; i >= 0; i-- {
			runs[i].seen()
			rec := runs[i].record()
			add(string(rec.Task), fmt.Sprintf("%s: %s", rec.State, head(rec.Src)))
		}
	case "plan":
		for _, plan := range h.plans(p) {
			add(string(plan.PlanRef), head(plan.Source))
		}
	}
	return out
}

// plans are the plans that a principal may see here.
func (h *sessionHost) plans(p messages.Principal) []messages.Plan {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	all, err := supervisor.Ask(ctx, h.d.Sys, h.d.plansPID(), messages.ListPlans{Session: h.name, Principal: p})
	if err != nil {
		return nil
	}
	return all.Plans
}

// headRunes is how much of a source is shown beside a ref.
const headRunes = 60

// head is the beginning of a source on one line.
func head(src string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(src), "\n")
	if runes := []rune(line); len(runes) > headRunes {
		return string(runes[:headRunes-1]) + "…"
	}
	return line
}
