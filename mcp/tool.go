package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// tool is one row of the tool table: a kernel call in an agent's dress.
type tool struct {
	name   string
	title  string
	doc    string
	method string // of the kernel
	input  *shape
	output []result
	hints  hints
	// prepare changes checked arguments into the params of the method; nil
	// leaves them as they are.
	prepare func(args []byte) ([]byte, *messages.Error)
	// show is the text of a result and the URI of what it can be read from again.
	show func(result json.RawMessage, limit int) (text, link string)
	// quote is show for a result whose text is long and made of JSON strings: it
	// appends the text as one.
	quote func(dst []byte, result json.RawMessage, limit int) (out []byte, link string)
	// again asks for a rendering to show instead, given the params; nil: none.
	again func(params []byte) (method string, more json.RawMessage)
	// approved is the call that does the work of a call with these arguments once
	// its plan is approved; nil: policy never asks about it.
	approved func(args []byte, ref messages.PlanRef) source
}

// hints are what a tool does to the world, as its annotations tell clients.
type hints struct {
	readOnly, destructive, idempotent, openWorld bool
}

// result is one form that a tool's structured content may have.
type result struct {
	needs  []string // that tell this form
	fields []field
}

// field is a member of a result.
type field struct{ name, kind, doc string }

// failure is the form that kernel errors have.
var failure = result{
	needs: []string{"code", "message"},
	fields: []field{
		{"code", "integer", "Error code."},
		{"message", "string", "What went wrong."},
		{"data", "object", "Particulars; name is the code's symbolic name."},
	},
}

// outputSchema allows every form of the result and the error form. Its root is
// an object without required members, because clients hold error results to it
// as well; it is open, because results may grow.
func outputSchema(forms []result) json.RawMessage {
	forms = append(append([]result(nil), forms...), failure)
	dst := []byte(`{"type":"object","properties":{`)
	seen := map[string]bool{}
	for _, form := range forms {
		for _, f := range form.fields {
			if seen[f.name] {
				continue
			}
			if len(seen) > 0 {
				dst = append(dst, ',')
			}
			seen[f.name] = true
			dst = append(messages.AppendString(dst, f.name), ':', '{')
			if f.kind != "" {
				dst = append(messages.AppendString(append(dst, `"type":`...), f.kind), ',')
			}
			dst = append(messages.AppendString(append(dst, `"description":`...), f.doc), '}')
		}
	}
	dst = append(dst, `},"anyOf":[`...)
	for i, form := range forms {
		if i > 0 {
			dst = append(dst, ',')
		}
		needs, _ := json.Marshal(form.needs)
		dst = append(append(append(dst, `{"required":`...), needs...), '}')
	}
	return append(dst, `]}`...)
}

// published is the tool as the protocol library lists it.
func (t *tool) published() mcp.Tool {
	p := mcp.NewToolWithRawSchema(t.name, t.doc, t.input.schema(nil))
	p.RawOutputSchema = outputSchema(t.output)
	p.Title = t.title
	p.Annotations = mcp.ToolAnnotation{
		Title: t.title, ReadOnlyHint: &t.hints.readOnly, DestructiveHint: &t.hints.destructive,
		IdempotentHint: &t.hints.idempotent, OpenWorldHint: &t.hints.openWorld,
	}
	return p
}

// params checks a call's arguments and makes the params of the kernel's method.
func (t *tool) params(arguments []byte) (json.RawMessage, *messages.Error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	args, err := t.input.check(make([]byte, 0, len(arguments)+32), arguments, "")
	if err != nil {
		return nil, messages.Errorf(messages.CodeInvalidParams, "%v", err)
	}
	if t.prepare == nil {
		return args, nil
	}
	return t.prepare(args)
}

// withMember appends a member to an encoded object.
func withMember(object []byte, name, value string) []byte {
	object = object[:len(object)-1]
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(fmt.Appendf(object, "%q:%s", name, value), '}')
}
