package actors

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// The states of a plan.
const (
	planStored  = "stored"
	planApplied = "applied"
	planExpired = "expired"
)

// planLimit is how many plans are kept per session; the oldest go first.
const planLimit = 1000

// PlanHost holds the stored plans; it outlives the actor that serves it.
type PlanHost struct {
	d *Deps

	mu     sync.Mutex
	plans  map[messages.PlanRef]*messages.Plan
	order  []messages.PlanRef                          // oldest first; gone ones are skipped
	mine   map[messages.SessionName][]messages.PlanRef // the same by session
	claims map[messages.PlanRef]string                 // key of the call that took the plan
	edits  map[messages.PlanRef]string                 // key of the call that decided last
}

// LoadPlans reads the stored plans of earlier kernels.
func LoadPlans(d *Deps) (*PlanHost, error) {
	h := &PlanHost{
		d: d, plans: map[messages.PlanRef]*messages.Plan{}, mine: map[messages.SessionName][]messages.PlanRef{},
		claims: map[messages.PlanRef]string{}, edits: map[messages.PlanRef]string{},
	}
	var all []*messages.Plan
	err := d.Journal.Scan(tablePlan, "", func(_ string, b []byte) bool {
		var p messages.Plan
		if json.Unmarshal(b, &p) == nil {
			all = append(all, &p)
		}
		return true
	})
	slices.SortFunc(all, func(a, b *messages.Plan) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	for _, p := range all {
		h.addLocked(p)
	}
	return h, err
}

func (h *PlanHost) addLocked(p *messages.Plan) {
	h.plans[p.PlanRef] = p
	if len(h.order) > 2*len(h.plans)+64 {
		h.order = slices.DeleteFunc(h.order, func(ref messages.PlanRef) bool { return h.plans[ref] == nil })
	}
	h.order = append(h.order, p.PlanRef)
	h.mine[p.Session] = append(h.mine[p.Session], p.PlanRef)
}

// planStore is the actor in front of a PlanHost. Every answer that promises
// something waits for the journal.
type planStore struct{ h *PlanHost }

// NewPlanStore makes producers of the plan store's actor.
func NewPlanStore(h *PlanHost) func() actor.Actor {
	return func() actor.Actor { return &planStore{h} }
}

// Receive dispatches one message.
func (s *planStore) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case messages.StorePlan:
		s.h.store(m, s.reply(ctx))
	case messages.GetPlan:
		ctx.Respond(s.h.get(m))
	case messages.ListPlans:
		ctx.Respond(s.h.list(m))
	case messages.ClaimPlan:
		s.h.claim(m, s.reply(ctx))
	case messages.CapRequest:
		s.h.request(m, s.reply(ctx))
	case messages.DecideCap:
		s.h.decide(m, s.reply(ctx))
	}
}

// reply answers the present sender later, from any goroutine.
func (s *planStore) reply(ctx actor.Context) func(any) {
	to := ctx.Sender()
	return func(msg any) {
		if to != nil {
			s.h.d.Sys.Reply(to, msg)
		}
	}
}

// askPlan sends a request to the plan store and hands the answer on; a plan
// store that is restarting is asked again.
func (d *Deps) askPlan(req messages.Request[messages.PlanAnswer], then func(messages.PlanAnswer)) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, err := askAgain(ctx, d.Sys, d.plansPID(), req)
	if err != nil {
		a.Err = messages.Errorf(messages.CodeInterrupted, "the plan store did not answer: %v", err)
	}
	then(a)
}

// askAgain asks, and asks again while the actor is being restarted.
func askAgain[R any](ctx context.Context, sys *supervisor.System, to *actor.PID, req messages.Request[R]) (R, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		r, err := supervisor.Ask(ctx, sys, to, req)
		if _, failed := err.(*supervisor.Failed); !failed || ctx.Err() != nil {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, err
		case <-time.After(min(wait, 200*time.Millisecond)):
		}
	}
}

// newPlanRef is a ref of 128 random bits.
func newPlanRef() messages.PlanRef {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return messages.PlanRef("plan:" + hex.EncodeToString(b[:]))
}

func (h *PlanHost) store(m messages.StorePlan, reply func(any)) {
	p := m.Plan
	h.mu.Lock()
	var rows []messages.Row
	if old := h.plans[p.PlanRef]; old != nil {
		p = *old
	} else {
		h.addLocked(&p)
		rows = h.evictLocked(p.Session)
	}
	rows = append(rows, planRow(p))
	h.mu.Unlock()
	h.d.Journal.Append(messages.Record{Rows: rows}, func(a messages.Appended) {
		h.d.ThingsChanged(p.Session)
		reply(messages.PlanAnswer{Plan: p, Err: a.Err})
	})
}

func planRow(p messages.Plan) messages.Row {
	return row(tablePlan, planKey(p.PlanRef), p)
}

func planKey(ref messages.PlanRef) string { return strings.TrimPrefix(string(ref), "plan:") }

// evictLocked drops expired plans, and the oldest of a session that has too
// many. Plans expire in the order in which they were made.
func (h *PlanHost) evictLocked(session messages.SessionName) []messages.Row {
	var rows []messages.Row
	now := h.d.Now().UnixNano()
	for len(h.order) > 0 {
		p := h.plans[h.order[0]]
		if p != nil && p.ExpiresAt >= now {
			break
		}
		if p != nil {
			rows = append(rows, h.dropLocked(p))
		}
		h.order = h.order[1:]
	}
	for len(h.mine[session]) > planLimit {
		rows = append(rows, h.dropLocked(h.plans[h.mine[session][0]]))
	}
	return rows
}

// dropLocked forgets a plan, which is the oldest of its session.
func (h *PlanHost) dropLocked(p *messages.Plan) messages.Row {
	delete(h.plans, p.PlanRef)
	delete(h.claims, p.PlanRef)
	delete(h.edits, p.PlanRef)
	h.mine[p.Session] = slices.DeleteFunc(h.mine[p.Session], func(ref messages.PlanRef) bool { return ref == p.PlanRef })
	if len(h.mine[p.Session]) == 0 {
		delete(h.mine, p.Session)
	}
	return messages.Row{Table: tablePlan, Key: planKey(p.PlanRef)}
}

// findLocked finds a plan of the session; of any if session is empty.
func (h *PlanHost) findLocked(ref messages.PlanRef, session messages.SessionName) (*messages.Plan, *messages.Error) {
	p, ok := h.plans[ref]
	if !ok || session != "" && p.Session != session {
		return nil, unknownPlan(ref, "unknown")
	}
	if p.ExpiresAt < h.d.Now().UnixNano() {
		return nil, unknownPlan(ref, planExpired)
	}
	return p, nil
}

func unknownPlan(ref messages.PlanRef, reason string) *messages.Error {
	text := map[string]string{
		"unknown":   "there is no plan %s in this session; derive it with shoal_plan",
		planExpired: "plan %s has expired; derive it again",
		planApplied: "plan %s has been applied already; derive it again",
	}[reason]
	return messages.Errorf(messages.CodeUnknownPlan, text, ref).With(map[string]string{"reason": reason})
}

func (h *PlanHost) get(m messages.GetPlan) messages.PlanAnswer {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.findLocked(m.PlanRef, m.Session)
	if err != nil {
		return messages.PlanAnswer{Err: err}
	}
	return messages.PlanAnswer{Plan: *p}
}

func (h *PlanHost) list(m messages.ListPlans) messages.Plans {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.d.Now().UnixNano()
	out := messages.Plans{Plans: []messages.Plan{}}
	for _, p := range h.plans {
		if p.Session == m.Session && p.ExpiresAt >= now {
			out.Plans = append(out.Plans, *p)
		}
	}
	sort.Slice(out.Plans, func(i, j int) bool { return out.Plans[i].CreatedAt > out.Plans[j].CreatedAt })
	return out
}

// claim gives a plan out for applying, once.
func (h *PlanHost) claim(m messages.ClaimPlan, reply func(any)) {
	h.mu.Lock()
	p, err := h.findLocked(m.PlanRef, m.Session)
	switch {
	case err != nil:
	case p.Principal != m.Principal:
		err = unknownPlan(m.PlanRef, "unknown")
	case m.Terminal != (p.Terminal != nil):
		err = wrongUse(p)
	case m.Source != "" && m.Source != p.Source:
		err = messages.Errorf(messages.CodeInvalidParams, "plan_ref: %s is of another source; leave src as it was planned", p.PlanRef)
	case p.State == planApplied && h.claims[m.PlanRef] != m.Key:
		err = unknownPlan(m.PlanRef, planApplied)
	case p.Verdict == messages.VerdictDeny:
		err = messages.Errorf(messages.CodeLeashDenied, "policy denies plan %s: %s", p.PlanRef, p.Rule).
			With(map[string]string{"rule": p.Rule})
	case p.ApprovalPending:
		err = approvalError(*p)
	}
	if err != nil {
		h.mu.Unlock()
		reply(messages.PlanAnswer{Err: err})
		return
	}
	next := *p
	next.State = planApplied
	h.plans[m.PlanRef], h.claims[m.PlanRef] = &next, m.Key
	h.mu.Unlock()
	h.d.Journal.Append(messages.Record{Rows: []messages.Row{planRow(next)}}, func(a messages.Appended) {
		reply(messages.PlanAnswer{Plan: next, Err: a.Err})
	})
}

// wrongUse tells which call takes the plan.
func wrongUse(p *messages.Plan) *messages.Error {
	if p.Terminal != nil {
		return messages.Errorf(messages.CodeInvalidParams, "plan %s opens a terminal: give it to pty.open (shoal_pty_open) as plan_ref", p.PlanRef)
	}
	return messages.Errorf(messages.CodeInvalidParams, "plan %s runs a source: give it to plan.apply (shoal_apply)", p.PlanRef)
}

// request asks for approval; whoever may approve its own plans grants.
func (h *PlanHost) request(m messages.CapRequest, reply func(any)) {
	rules := h.d.Policy().For(h.d.PolicyPrincipal(m.Principal))
	h.change(m.Key, m.PlanRef, m.Session, m.Principal, reply, func(p *messages.Plan) string {
		status, settled := standing(p)
		switch {
		case settled:
			return status
		case !rules.MayApprove(string(m.Principal), string(p.Principal)) || len(m.Effects) == 0:
			return "approval_pending"
		}
		h.grantLocked(p, m.Principal, m.Effects, m.Reason)
		return "granted"
	})
}

// decide grants or denies for an approver.
func (h *PlanHost) decide(m messages.DecideCap, reply func(any)) {
	rules := h.d.Policy().For(h.d.PolicyPrincipal(m.Principal))
	h.change(m.Key, m.PlanRef, "", m.Principal, reply, func(p *messages.Plan) string {
		switch {
		case !rules.MayApprove(string(m.Principal), string(p.Principal)):
			return "not_permitted"
		case p.Verdict == messages.VerdictDeny:
			return "denied"
		case !m.Grant:
			p.Approvals = append(p.Approvals, messages.Approval{
				Approver: m.Principal, Status: "denied", Effects: m.Effects, Reason: m.Reason, TS: h.d.Now().UnixNano(),
			})
			p.Verdict, p.ApprovalPending = messages.VerdictDeny, false
			return "denied"
		}
		kinds := m.Effects
		if len(kinds) == 0 {
			kinds = kindsOf(p.Effects)
		}
		h.grantLocked(p, m.Principal, kinds, m.Reason)
		return "granted"
	})
}

// change edits a copy of a plan, writes it with an approval event, and answers.
// A call that comes again changes nothing.
func (h *PlanHost) change(key string, ref messages.PlanRef, session messages.SessionName, by messages.Principal, reply func(any), edit func(*messages.Plan) string) {
	h.mu.Lock()
	old, err := h.findLocked(ref, session)
	if err != nil {
		h.mu.Unlock()
		reply(messages.CapAnswer{Err: err, Uncovered: []effect.Kind{}})
		return
	}
	if old.State == planApplied {
		h.mu.Unlock()
		reply(messages.CapAnswer{Err: unknownPlan(ref, planApplied), Uncovered: []effect.Kind{}})
		return
	}
	p := *old
	p.Approvals = append([]messages.Approval(nil), old.Approvals...)
	if h.edits[ref] == key && key != "" {
		status, _ := standing(&p)
		answer := h.answerLocked(&p, status, by)
		h.mu.Unlock()
		h.d.Journal.Append(messages.Record{Rows: []messages.Row{planRow(p)}}, func(a messages.Appended) {
			answer.Err = a.Err
			reply(answer)
		})
		return
	}
	status := edit(&p)
	if status == "not_permitted" {
		h.mu.Unlock()
		reply(messages.CapAnswer{Err: messages.Errorf(messages.CodeLeashDenied,
			"your policy table does not let you approve plans of %s; its approve list would have to name it", p.Principal)})
		return
	}
	answer := h.answerLocked(&p, status, by)
	h.plans[ref], h.edits[ref] = &p, key
	h.mu.Unlock()
	payload := messages.JSON(map[string]any{
		"plan_ref": p.PlanRef, "status": answer.Status, "principal": p.Principal,
		"approver": answer.Approver, "effects": effect.Brief(p.Effects),
	})
	h.d.Journal.Append(messages.Record{Rows: []messages.Row{planRow(p)}, Events: []messages.Draft{
		{Key: messages.ChannelKey{Session: p.Session, Name: "approval"}, Payload: payload},
		{Key: messages.ChannelKey{Name: "kernel.approval"}, Payload: payload},
	}}, func(a messages.Appended) {
		answer.Err = a.Err
		reply(answer)
	})
}

// standing is where a plan stands, and whether that is its last word.
func standing(p *messages.Plan) (status string, settled bool) {
	switch {
	case p.Verdict == messages.VerdictDeny:
		return "denied", true
	case !p.ApprovalPending:
		return "granted", true
	default:
		return "approval_pending", false
	}
}

// answerLocked says what is still uncovered, and whether the caller could cover
// it.
func (h *PlanHost) answerLocked(p *messages.Plan, status string, by messages.Principal) messages.CapAnswer {
	a := messages.CapAnswer{
		Status: status, Uncovered: []effect.Kind{},
		MayApprove: h.d.Policy().For(h.d.PolicyPrincipal(by)).MayApprove(string(by), string(p.Principal)),
	}
	rules := h.d.Policy().For(h.d.PolicyPrincipal(p.Principal))
	if p.ApprovalPending {
		a.Status = "approval_pending"
		a.Uncovered = uncovered(p, rules, p.Effects, h.d.sceneAt(p.Root))
	}
	if n := len(p.Approvals); n > 0 {
		a.Approver = p.Approvals[n-1].Approver
	}
	return a
}

// grantLocked records an approval; the plan stays pending as long as a kind
// that policy asks about is uncovered.
func (h *PlanHost) grantLocked(p *messages.Plan, by messages.Principal, kinds []effect.Kind, reason string) {
	p.Approvals = append(p.Approvals, messages.Approval{
		Approver: by, Status: "granted", Effects: kinds, Reason: reason, TS: h.d.Now().UnixNano(),
	})
	rules := h.d.Policy().For(h.d.PolicyPrincipal(p.Principal))
	if covers(p, rules, p.Effects, h.d.sceneAt(p.Root)) {
		p.ApprovalPending = false
	}
}

func kindsOf(effects []effect.Effect) []effect.Kind {
	seen := map[effect.Kind]bool{}
	kinds := []effect.Kind{}
	for _, e := range effects {
		if !seen[e.Kind] {
			seen[e.Kind] = true
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}
