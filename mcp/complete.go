package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"shoal.dev/shoal/messages"
)

// completer completes the variables of resource templates.
type completer struct{}

// completionMax is how many candidates the protocol allows.
const completionMax = 100

// CompleteResourceArgument lists what a variable may be.
func (completer) CompleteResourceArgument(ctx context.Context, uri string, argument mcp.CompleteArgument, given mcp.CompleteContext) (*mcp.Completion, error) {
	session, ok := server.ClientSessionFromContext(ctx).(*session)
	if !ok {
		return &mcp.Completion{Values: []string{}}, nil
	}
	all := session.peer.candidates(ctx, uri, argument, given.Arguments)
	values := slices.DeleteFunc(all, func(c string) bool { return !strings.HasPrefix(c, argument.Value) })
	total := len(values)
	values = values[:min(total, completionMax)]
	return &mcp.Completion{Values: values, Total: total, HasMore: total > len(values)}, nil
}

// candidates are the values of a template's variable, given some of the others.
func (p *peer) candidates(ctx context.Context, uri string, argument mcp.CompleteArgument, given map[string]string) []string {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(uri, scheme), "/")
	switch argument.Name {
	case "format":
		return []string{"json", "raw", "render"}
	case "ok":
		return []string{"false", "true"}
	case "view":
		return slices.Clone(views)
	case "effects":
		return effectLists(argument.Value)
	case "head", "principal":
		return distinct(p.known(ctx, "journal.query", recent, "entries", argument.Name))
	case "channel":
		return p.channels(ctx)
	case "n":
		return p.values(ctx)
	case "path":
		ref := "out:" + given["n"]
		if strings.HasPrefix(rest, "{id}/out") {
			ref = "task:" + given["id"]
		}
		return p.steps(ctx, ref)
	case "ref":
		return trimmed(p.known(ctx, "plan.list", nil, "plans", "plan_ref"), "plan:")
	case "id":
		if kind == "pty" {
			return trimmed(p.known(ctx, "pty.list", nil, "ptys", "pty_id"), "pty:")
		}
		return trimmed(p.known(ctx, "task.list", nil, "tasks", "task"), "task:")
	}
	return []string{}
}

// recent asks for as much of the journal as is looked through for candidates.
var recent = json.RawMessage(`{"limit":200}`)

// channels are those of the kernel and of the session's tasks and terminals.
func (p *peer) channels(ctx context.Context) []string {
	all := slices.Clone(p.backend.Attached().Channels)
	for _, id := range p.known(ctx, "task.list", nil, "tasks", "task") {
		all = append(all, "task."+strings.TrimPrefix(id, "task:"))
	}
	for _, id := range p.known(ctx, "pty.list", nil, "ptys", "pty_id") {
		all = append(all, "pty."+strings.TrimPrefix(id, "pty:"))
	}
	return all
}

// values are the numbers of the session's newest transcript values.
func (p *peer) values(ctx context.Context) []string {
	query := messages.JSON(map[string]any{"limit": 200, "session": p.backend.Attached().Session})
	refs := p.known(ctx, "journal.query", query, "entries", "ref")
	refs = slices.DeleteFunc(refs, func(ref string) bool { return !strings.HasPrefix(ref, "out:") })
	return distinct(trimmed(refs, "out:"))
}

// steps are the first steps that a path into a value may take.
func (p *peer) steps(ctx context.Context, ref string) []string {
	answer, refusal := p.ask(ctx, "value.get", messages.JSON(map[string]any{"ref": ref, "elide": map[string]int{"max_rows": 1, "max_items": 50}}))
	steps := []string{}
	if refusal != nil {
		return steps
	}
	value := member(answer, "value")
	fields := member(value, "v")
	switch unquote(member(value, "$")) {
	case "table":
		fields = member(value, "cols")
		steps = append(steps, ".rows")
	case "ref":
		fields = member(value, "cols")
	case "list":
		eachItem(member(value, "v"), func(first []byte) bool {
			fields = member(first, "v")
			return false
		})
	case "record":
	default: // an outcome, an error: their own members
		fields = value
	}
	eachMember(fields, func(key, _ []byte) bool {
		if name := string(key); name != "$" {
			steps = append(steps, step(name))
		}
		return true
	})
	return steps
}

// step is the path step to a field.
func step(name string) string {
	if name == "" || strings.ContainsAny(name, ".[]") {
		return "[" + string(messages.AppendString(nil, name)) + "]"
	}
	return "." + name
}

// effectLists completes the last of the effect kinds in a list.
func effectLists(value string) []string {
	before := value[:strings.LastIndexByte(value, ',')+1]
	lists := []string{}
	for _, kind := range effectKinds {
		lists = append(lists, before+kind)
	}
	return lists
}

// effectKinds are the kinds as policies and agents spell them.
var effectKinds = strings.Fields("fs.read fs.write fs.delete proc.spawn net.connect net.listen env.read env.write secret.use session.write journal.read time opaque")

// distinct is the list without what comes again.
func distinct(list []string) []string {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

func trimmed(list []string, prefix string) []string {
	for i, s := range list {
		list[i] = strings.TrimPrefix(s, prefix)
	}
	return list
}

// known lists the names in an answer of the kernel.
func (p *peer) known(ctx context.Context, method string, params json.RawMessage, list, name string) []string {
	answer, refusal := p.ask(ctx, method, params)
	names := []string{}
	if refusal != nil {
		return names
	}
	eachItem(member(answer, list), func(item []byte) bool {
		names = append(names, unquote(member(item, name)))
		return true
	})
	return names
}
