// Package leash decides what a principal may do.
//
// A Policy is immutable: it is loaded whole, judged with Decide, and replaced
// by another. One decision function judges plans before they run and single
// effects while they run. The package owns no state, touches no file except the
// policy it is asked to load, and enforces nothing itself.
package leash

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"shoal.dev/shoal/lang/effect"
)

// LocalHuman is the policy table of whoever attaches with the kernel's own uid
// and no token.
const LocalHuman = "local-human"

// Outcome is what a decision comes to. Greater is stricter.
type Outcome uint8

// The outcomes.
const (
	Allow Outcome = iota
	Ask
	Deny
)

// String names the outcome as policy files do.
func (o Outcome) String() string { return [...]string{"allow", "ask", "deny"}[o] }

// Verdict is a decision with its reason: the first effect that was judged
// strictest, and the rule that judged it.
type Verdict struct {
	Outcome   Outcome
	Effect    effect.Effect
	Dimension string
	Rule      string
	Grant     string // the policy line that would allow it
}

// AutoApply says which asks run without asking.
type AutoApply string

// The values of auto_apply.
const (
	Never      AutoApply = "never"
	InGrant    AutoApply = "in-grant"
	Reversible AutoApply = "reversible"
)

// Lists are the patterns for one kind of effect. A marker effect that is
// granted has the single allow pattern "true".
type Lists struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Rules are one principal's table.
type Rules struct {
	Principal    string           `json:"principal"`
	Sessions     []string         `json:"sessions"`
	Roots        []string         `json:"roots"`
	AutoApply    AutoApply        `json:"auto_apply"`
	Opaque       Outcome          `json:"opaque"`
	Approve      []string         `json:"approve"`
	JournalScope string           `json:"journal_scope"`
	Require      []string         `json:"require"`
	Channels     []string         `json:"channels"`
	Effects      map[string]Lists `json:"effects"` // by wire name of the kind
	Limits       map[string]int64 `json:"limits,omitempty"`
	// Open means that what no list names is allowed: the local human's table.
	Open bool `json:"open"`
}

// Policy is every principal's rules.
type Policy struct {
	rules map[string]*Rules
}

// Default is the policy without a file: the local human may do everything,
// nobody else anything.
func Default() *Policy {
	return &Policy{rules: map[string]*Rules{LocalHuman: openRules(LocalHuman)}}
}

// openRules allows everything.
func openRules(name string) *Rules {
	return &Rules{
		Principal: name, Sessions: []string{"*"}, AutoApply: InGrant, Opaque: Allow,
		JournalScope: "all", Open: true, Effects: map[string]Lists{},
	}
}

// For finds a principal's rules; nobody is an unknown principal, who may do
// nothing.
func (p *Policy) For(principal string) *Rules {
	if r, ok := p.rules[principal]; ok {
		return r
	}
	return &Rules{
		Principal: principal, AutoApply: InGrant, Opaque: Deny, JournalScope: "own",
		Effects: map[string]Lists{},
	}
}

// Unrestricted reports whether the rules allow everything, so that judging can
// be skipped.
func (r *Rules) Unrestricted() bool {
	return r.Open && r.Opaque == Allow && r.AutoApply != Never && len(r.Effects) == 0
}

// MayApprove reports whether the rules let their principal decide about plans
// of another; "self" stands for its own.
func (r *Rules) MayApprove(self, other string) bool {
	for _, who := range r.Approve {
		if who == "self" && self == other || who == other || who == "*" && self != other {
			return true
		}
	}
	return false
}

// MayUseSession reports whether a session name is permitted.
func (r *Rules) MayUseSession(name string) bool {
	for _, pattern := range r.Sessions {
		if matchSegment(pattern, name) {
			return true
		}
	}
	return false
}

// Hash identifies the effective rules: a plan is bound to it.
func (r *Rules) Hash() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("encode rules: %v", err)) // plain strings and numbers always encode
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
