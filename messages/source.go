package messages

import (
	"encoding/json"

	"shoal.dev/shoal/lang/effect"
)

// ParseParams are the params of parse.
type ParseParams struct {
	Src string `json:"src" wire:"required"`
}

// Parsed is the answer of parse.
type Parsed struct {
	ASTVersion int             `json:"ast_version"`
	AST        json.RawMessage `json:"ast"`
}

// CompleteParams are the params of complete. Cursor is a byte offset of Src that
// is clamped to it; its absence means the end.
type CompleteParams struct {
	Src    string `json:"src" wire:"required"`
	Cursor *int64 `json:"cursor,omitempty"`
}

// Completed is the answer of complete, in the order of the labels.
type Completed struct {
	Candidates []Candidate `json:"candidates"`
}

// Candidate is one way to go on at a cursor.
type Candidate struct {
	Label   string      `json:"label"`
	Kind    string      `json:"kind"`
	Detail  string      `json:"detail"`
	Replace effect.Span `json:"replace"`
}

// ExplainParams are the params of explain: a source, or a tree that parse gave.
type ExplainParams struct {
	Src *string         `json:"src,omitempty"`
	AST json.RawMessage `json:"ast,omitempty"`
}

// Explained is the answer of explain.
type Explained struct {
	Source        string               `json:"source"`
	Effects       []effect.Effect      `json:"effects"`
	EffectsTotal  int                  `json:"effects_total,omitempty"` // where fewer are listed
	Reversibility effect.Reversibility `json:"reversibility"`
	Reversible    bool                 `json:"reversible"`
	Spawns        bool                 `json:"spawns"`
}

// SourceMax is how long a source parse and complete take, in bytes.
const SourceMax = 1 << 20

// ReadSource asks what a source is, without running it. Op is parse, complete
// or explain; Cursor is for complete; AST, when set, stands for Src.
type ReadSource struct {
	Op        string
	Principal Principal
	Src       string
	AST       json.RawMessage
	Cursor    int
}

// Reply pairs ReadSource with its answer.
func (ReadSource) Reply(Raw) {}
