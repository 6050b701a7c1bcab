package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// Approval by elicitation. When policy wants a plan approved first, lets the
// caller approve its own plans, and the client can show its user a form, the
// user is asked before the call is answered: by a request of ours after a
// handshake, by a result that wants input in the stateless era. The answer is
// good for exactly that plan, once, until its deadline. In every other case the
// call is answered with APPROVAL_REQUIRED, as if nobody could be asked.

const (
	// ApprovalWait is how long the user of a client may take to answer.
	ApprovalWait = 5 * time.Minute
	// questionsMax bounds the questions of the stateless era that are kept; the
	// oldest go first.
	questionsMax = 1024
	// inputName names the question among the inputs that a result wants.
	inputName = "approval"
)

// question is a question of the stateless era whose answer comes with another
// request, perhaps on another connection. The client holds only its token.
type question struct {
	session   messages.SessionName
	principal messages.Principal
	tool      string
	args      [sha256.Size]byte
	plan      messages.PlanRef
	deadline  time.Time
}

// questions are those that may still be answered.
type questions struct {
	mu    sync.Mutex
	byKey map[string]question
	order []string // oldest first
}

func (q *questions) put(key string, asked question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) >= questionsMax {
		delete(q.byKey, q.order[0])
		q.order = q.order[1:]
	}
	q.byKey[key] = asked
	q.order = append(q.order, key)
}

// take gives a question out, once, to the very call that it was put to.
func (q *questions) take(key string, by question) (question, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, known := q.byKey[key]
	by.plan, by.deadline = asked.plan, asked.deadline
	if !known || asked != by {
		return question{}, false
	}
	delete(q.byKey, key)
	return asked, true
}

// question is the question that the call would be put.
func (w *work) question() question {
	at := w.p.backend.Attached()
	return question{session: at.Session, principal: at.Principal, tool: w.t.name, args: sha256.Sum256(w.args)}
}

// answer is what the user of a client said.
type answer struct {
	action string // accept, decline or cancel
	reason string
}

// readAnswer reads the result of an elicitation; nil is none.
func readAnswer(raw []byte) *answer {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	a := &answer{action: unquote(member(raw, "action"))}
	if content := member(raw, "content"); content != nil && content[0] == '{' {
		a.reason = clip(unquote(member(content, "reason")), 1000)
	}
	return a
}

// approve asks the user for what the call lacks, if that is any use, and goes on
// with the answer.
func (w *work) approve(ctx context.Context, refusal *messages.Error) (json.RawMessage, *messages.Error) {
	plan, refused := w.askable(ctx, messages.PlanRef(unquote(member(refusal.Data, "plan_ref"))))
	if plan == nil || refused {
		return failedResult(refusal), nil
	}
	deadline := time.Now().Add(w.p.s.o.ApprovalWait)
	form := approvalForm(plan)
	w.log(mcp.LoggingLevelNotice, "asked the user to approve "+string(planOf(plan)))
	if w.about.meta.stateless {
		key := w.p.s.o.token()
		asked := w.question()
		asked.plan, asked.deadline = planOf(plan), deadline
		w.p.s.questions.put(key, asked)
		return w.p.s.inputRequired(key, form), nil
	}
	said, lost := w.p.elicit(ctx, w.about.id, form, deadline)
	if lost != nil {
		return nil, lost
	}
	return w.settle(ctx, refusal, plan, said)
}

func planOf(plan []byte) messages.PlanRef {
	return messages.PlanRef(unquote(member(plan, "plan_ref")))
}

// askable gives the plan if its approval can be had from the caller's user. It
// also announces that the approval is wanted, to whoever else may give it.
func (w *work) askable(ctx context.Context, ref messages.PlanRef) (plan json.RawMessage, refused bool) {
	if ref == "" || !w.canElicit() {
		return nil, true
	}
	standing, err := w.p.ask(ctx, "cap.request", messages.JSON(map[string]any{"plan_ref": ref, "effects": []string{}}))
	if err != nil || string(member(standing, "may_approve")) != "true" || unquote(member(standing, "status")) != "approval_pending" {
		return nil, true
	}
	plan, err = w.p.ask(ctx, "plan.get", messages.JSON(map[string]any{"plan_ref": ref}))
	return plan, err != nil
}

// canElicit reports whether the client says that it can ask its user.
func (w *work) canElicit() bool {
	if w.about.meta.stateless {
		return w.about.meta.elicits
	}
	return w.p.session.elicits.Load() && w.p.session.ProtocolVersion() >= mcp.ProtocolVersion20250618
}

// settle goes on with what the user said; said is nil when that was nothing, or
// too late.
func (w *work) settle(ctx context.Context, refusal *messages.Error, plan []byte, said *answer) (json.RawMessage, *messages.Error) {
	ref := planOf(plan)
	switch {
	case said == nil:
		w.log(mcp.LoggingLevelNotice, "nobody answered about "+string(ref)+" in time")
		return failedResult(withReason(refusal, "unanswered")), nil
	case said.action == "accept":
		return w.accepted(ctx, refusal, plan, said.reason)
	case said.action == "decline":
		w.log(mcp.LoggingLevelNotice, "the user declined "+string(ref))
		return failedResult(w.declined(ctx, plan, said.reason)), nil
	default:
		return failedResult(withReason(refusal, "dismissed")), nil
	}
}

// accepted grants every effect of the plan and does the work.
func (w *work) accepted(ctx context.Context, refusal *messages.Error, plan []byte, reason string) (json.RawMessage, *messages.Error) {
	ref := planOf(plan)
	granted, err := w.p.ask(ctx, "cap.request", messages.JSON(map[string]any{
		"plan_ref": ref, "effects": kindsOf(plan), "reason": orDefault(reason, "accepted by the user of the MCP client"),
	}))
	switch {
	case err != nil && isBridge(err):
		return nil, err
	case err != nil:
		return failedResult(err), nil
	case unquote(member(granted, "status")) != "granted":
		return failedResult(withReason(refusal, "not_granted")), nil
	}
	w.log(mcp.LoggingLevelNotice, "the user approved "+string(ref))
	next := w.t.approved(w.args, ref)
	call, err := w.p.backend.Begin(next.method, next.params)
	if err != nil {
		return w.dress(ctx, nil, err)
	}
	w.call.to(call)
	result, err := call.Wait(ctx)
	return w.dress(ctx, result, err)
}

// declined records the refusal with the plan, where policy lets the caller
// decide, and is what the call is answered.
func (w *work) declined(ctx context.Context, plan []byte, reason string) *messages.Error {
	ref := planOf(plan)
	w.p.ask(ctx, "cap.deny", messages.JSON(map[string]any{
		"plan_ref": ref, "reason": orDefault(reason, "declined by the user of the MCP client"),
	}))
	message := "the user declined " + string(ref)
	if reason != "" {
		message += ": " + reason
	}
	var first []byte
	eachItem(member(plan, "effects"), func(e []byte) bool { first = e; return false })
	return messages.Errorf(messages.CodeLeashDenied, "%s", message).With(map[string]any{
		"dimension": "approval", "effect": unquote(member(first, "kind")), "target": effectTarget(first),
		"rule": "declined by the user of the MCP client", "plan_ref": ref, "reason": "declined",
	})
}

// withReason adds to a refusal why asking did not help.
func withReason(refusal *messages.Error, reason string) *messages.Error {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(refusal.Data, &fields) != nil || fields == nil {
		return refusal
	}
	fields["reason"] = messages.JSON(reason)
	return (&messages.Error{Code: refusal.Code, Message: refusal.Message}).With(fields)
}

func orDefault(text, byDefault string) string {
	if text == "" {
		return byDefault
	}
	return text
}

// resume goes on with a call whose question has been answered, or not.
func (w *work) resume(ctx context.Context, asked question, said *answer) (json.RawMessage, *messages.Error) {
	late := time.Now().After(asked.deadline)
	plan, err := w.p.ask(ctx, "plan.get", messages.JSON(map[string]any{"plan_ref": asked.plan}))
	if err != nil {
		return w.dress(ctx, nil, err)
	}
	refusal := messages.Errorf(messages.CodeApprovalRequired, "approval required for plan %s", asked.plan).With(map[string]any{
		"plan_ref": asked.plan, "uri": asked.plan.URI(), "effects": json.RawMessage(member(plan, "effects")),
	})
	if late {
		said = nil
	}
	return w.settle(ctx, refusal, plan, said)
}

// inputRequired is the result that wants the user's answer.
func (s *Server) inputRequired(key string, form json.RawMessage) json.RawMessage {
	dst := messages.AppendString([]byte(`{"resultType":"input_required","inputRequests":{`), inputName)
	dst = append(append(dst, `:{"method":"elicitation/create","params":`...), form...)
	dst = messages.AppendString(append(dst, `}},"requestState":`...), key)
	return append(s.appendInfo(append(dst, `,"_meta":{`...)), `}}`...)
}

// elicit asks the user of a client that has made a handshake; nil when nobody
// answered by the deadline. A client that fails to ask counts as a user who
// dismissed the question.
func (p *peer) elicit(ctx context.Context, about, form json.RawMessage, deadline time.Time) (*answer, *messages.Error) {
	result, answered, lost := p.askClient(ctx, about, "elicitation/create", form, deadline)
	switch {
	case lost != nil || !answered:
		return nil, lost
	case len(result) == 0 || result[0] != '{':
		return &answer{action: "cancel"}, nil
	}
	return readAnswer(result), nil
}

// askClient makes a request to the client, which belongs to a request of the
// client's, and waits for the answer until the deadline; its result is empty
// when it was an error. A question that nobody waits for any more is withdrawn.
func (p *peer) askClient(ctx context.Context, about json.RawMessage, method string, params json.RawMessage, deadline time.Time) (result json.RawMessage, answered bool, lost *messages.Error) {
	id := "shoal-" + p.s.o.token()
	reply := make(chan json.RawMessage, 1)
	p.mu.Lock()
	p.asked[id] = reply
	p.mu.Unlock()
	frame := messages.AppendString([]byte(`{"jsonrpc":"2.0","id":`), id)
	frame = messages.AppendString(append(frame, `,"method":`...), method)
	frame = appendRaw(append(frame, `,"params":`...), params)
	if p.sendFor(about, append(frame, "}\n"...)) != nil {
		lost = messages.Errorf(messages.CodeInterrupted, "the connection has ended")
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	if lost == nil {
		select {
		case result = <-reply:
			return result, true, nil
		case <-timer.C:
		case <-p.ending: // no answer can come any more
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	_, open := p.asked[id]
	delete(p.asked, id)
	p.mu.Unlock()
	switch {
	case !open: // it came at the same moment
		return <-reply, true, nil
	case lost == nil:
		withdrawal := messages.AppendString([]byte(`{"requestId":`), id)
		p.sendFor(about, notificationFrame("notifications/cancelled", append(withdrawal, `,"reason":"nobody waits for the answer any more"}`...)))
	}
	return nil, false, lost
}

// answered takes an answer of the client to a question of ours.
func (p *peer) answered(req request) {
	id := unquote(req.id)
	p.mu.Lock()
	reply := p.asked[id]
	delete(p.asked, id)
	p.mu.Unlock()
	if reply != nil {
		reply <- bytes.Clone(req.result)
	}
}

const (
	// shownSource and shownEffects bound what a question shows.
	shownSource  = 2000 // bytes
	shownEffects = 40
)

// approvalForm is the params of the question: plan, effects and risk.
func approvalForm(plan []byte) json.RawMessage {
	return messages.JSON(map[string]any{
		"message": approvalText(plan),
		"requestedSchema": map[string]any{
			"type": "object",
			"properties": map[string]any{
				"reason": map[string]any{"type": "string", "title": "Reason", "description": "Kept with the decision; may be empty.", "maxLength": 1000},
			},
		},
	})
}

func approvalText(plan []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Approve %s?\n\nIn session %s, as %s, in %s:\n", planOf(plan), visible(unquote(member(plan, "session"))),
		visible(unquote(member(plan, "principal"))), visible(unquote(member(plan, "cwd"))))
	source := unquote(member(plan, "source"))
	shown := clip(source, shownSource)
	for line := range strings.Lines(shown) {
		b.WriteString("  | " + visible(strings.TrimRight(line, "\n")) + "\n")
	}
	if shown != source {
		fmt.Fprintf(&b, "  (%d more bytes, in %s)\n", len(source)-shownSource, planOf(plan).URI())
	}
	b.WriteString("\nIt would:\n")
	n, hidden := 0, false
	eachItem(member(plan, "effects"), func(e []byte) bool {
		if n++; n <= shownEffects {
			b.WriteString("  " + visible(effectLine(e)) + "\n")
		}
		hidden = hidden || unquote(member(e, "kind")) == "opaque"
		return true
	})
	if n > shownEffects {
		fmt.Fprintf(&b, "  … and %d more, in %s\n", n-shownEffects, planOf(plan).URI())
	}
	b.WriteString("\nRisk: " + risk(unquote(member(plan, "reversibility"))))
	if hidden {
		b.WriteString("; part of it cannot be seen beforehand")
	}
	return b.String() + "."
}

// risk is what a plan's reversibility means to whoever approves it.
func risk(reversibility string) string {
	switch reversibility {
	case "reversible":
		return "undo takes it back"
	case "conditional":
		return "undo takes it back while nothing else has changed the same things"
	case "irreversible":
		return "it cannot be taken back"
	default:
		return "nobody knows whether it can be taken back"
	}
}

// visible spells out characters that could make a text look like another one.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// kindsOf are the kinds of a plan's effects.
func kindsOf(plan []byte) []string {
	kinds := []string{}
	seen := map[string]bool{}
	eachItem(member(plan, "effects"), func(e []byte) bool {
		if kind := unquote(member(e, "kind")); !seen[kind] {
			seen[kind] = true
			kinds = append(kinds, kind)
		}
		return true
	})
	return kinds
}
