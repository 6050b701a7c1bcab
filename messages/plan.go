package messages

import (
	"strings"

	"shoal.dev/shoal/lang/effect"
)

// Verdict is what policy says of a plan.
type Verdict string

// The verdicts.
const (
	VerdictAllow    Verdict = "allow"
	VerdictDeny     Verdict = "deny"
	VerdictApproval Verdict = "approval_required"
)

// Plan is a stored plan as its owner sees it.
type Plan struct {
	PlanRef   PlanRef         `json:"plan_ref"`
	Source    string          `json:"source"`
	Position  Position        `json:"position"`
	Session   SessionName     `json:"session"`
	Principal Principal       `json:"principal"`
	Cwd       string          `json:"cwd"`
	Root      string          `json:"root"` // the session's first cwd, $CWD of policies
	CwdDev    uint64          `json:"cwd_dev"`
	CwdIno    uint64          `json:"cwd_ino"`
	Effects   []effect.Effect `json:"effects"`
	// EffectsTotal is how many effects there are where Shown lists fewer.
	EffectsTotal    int                  `json:"effects_total,omitempty"`
	Reversibility   effect.Reversibility `json:"reversibility"`
	Verdict         Verdict              `json:"verdict"`
	Rule            string               `json:"rule,omitempty"`
	ApprovalPending bool                 `json:"approval_pending"`
	Approvals       []Approval           `json:"approvals"`
	State           string               `json:"state"` // stored, applied, expired
	CreatedAt       int64                `json:"created_at"`
	ExpiresAt       int64                `json:"expires_at"`
	SourceHash      string               `json:"source_hash"`
	PolicyHash      string               `json:"policy_hash"`
	// Terminal makes it the plan of a terminal, which pty.open takes.
	Terminal *TerminalPlan `json:"terminal,omitempty"`
}

// SourceShown is how many bytes of its source a plan is shown with.
const SourceShown = 64 << 10

// Shown is the plan as answers give it: with as much of its source and effects
// as somebody may read.
func (p Plan) Shown() Plan {
	if brief := effect.Brief(p.Effects); len(brief) < len(p.Effects) {
		p.EffectsTotal, p.Effects = len(p.Effects), brief
	} else {
		p.Effects = brief
	}
	if len(p.Source) > SourceShown {
		p.Source = strings.ToValidUTF8(p.Source[:SourceShown-len("…")], "") + "…"
	}
	return p
}

// Approval is one recorded decision about a plan.
type Approval struct {
	Approver Principal     `json:"approver"`
	Status   string        `json:"status"` // granted or denied
	Effects  []effect.Kind `json:"effects"`
	Reason   string        `json:"reason,omitempty"`
	TS       int64         `json:"ts"`
}

// StorePlan keeps a plan under the ref that it carries; keeping it twice is
// keeping it once.
type StorePlan struct{ Plan Plan }

// Reply pairs StorePlan with its answer.
func (StorePlan) Reply(PlanAnswer) {}

// PlanAnswer is a plan, or why there is none.
type PlanAnswer struct {
	Plan Plan
	Err  *Error
}

// GetPlan reads a plan that the principal may see.
type GetPlan struct {
	PlanRef   PlanRef
	Session   SessionName
	Principal Principal
}

// Reply pairs GetPlan with its answer.
func (GetPlan) Reply(PlanAnswer) {}

// ClaimPlan takes a plan for applying: it is given out once. Key makes a
// repeated claim of the same call harmless.
type ClaimPlan struct {
	Key       string
	PlanRef   PlanRef
	Session   SessionName
	Principal Principal
	Terminal  bool   // to open a terminal, rather than to run a source
	Source    string // that it must be of; "": any
}

// Reply pairs ClaimPlan with its answer.
func (ClaimPlan) Reply(PlanAnswer) {}

// ListPlans asks for the plans that a principal may see in a session.
type ListPlans struct {
	Session   SessionName
	Principal Principal
}

// Reply pairs ListPlans with its answer.
func (ListPlans) Reply(Plans) {}

// Plans lists plans, newest first.
type Plans struct {
	Plans []Plan `json:"plans"`
}

// CapRequest asks for the approval of a plan's effects; where policy lets the
// caller approve its own plans, it grants. The same Key again is the same call.
type CapRequest struct {
	Key       string
	PlanRef   PlanRef
	Session   SessionName
	Principal Principal
	Effects   []effect.Kind // empty asks for all and covers none
	Reason    string
}

// Reply pairs CapRequest with its answer.
func (CapRequest) Reply(CapAnswer) {}

// CapAnswer is the answer of cap.request, cap.grant and cap.deny.
type CapAnswer struct {
	Status       string        `json:"status"` // granted, denied, approval_pending
	Uncovered    []effect.Kind `json:"uncovered"`
	Approver     Principal     `json:"approver,omitempty"`
	MayApprove   bool          `json:"may_approve"` // policy lets the caller approve plans of that principal
	CapsEnforced bool          `json:"caps_enforced"`
	Err          *Error        `json:"-"`
}

// DecideCap grants or denies a plan on behalf of an approver. The same Key again
// is the same call.
type DecideCap struct {
	Key       string
	PlanRef   PlanRef
	Principal Principal
	Grant     bool
	Effects   []effect.Kind
	Reason    string
}

// Reply pairs DecideCap with its answer.
func (DecideCap) Reply(CapAnswer) {}

// PlanTTLNS is how long a plan can be applied, in nanoseconds.
const PlanTTLNS = int64(24 * 3600 * 1e9)
