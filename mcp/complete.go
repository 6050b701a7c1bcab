package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// completer completes the variables of resource templates.
type completer struct{}

// completionMax is how many candidates the protocol allows.
const completionMax = 100

// CompleteResourceArgument lists what a variable may be.
func (completer) CompleteResourceArgument(ctx context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	session, ok := server.ClientSessionFromContext(ctx).(*session)
	if !ok {
		return &mcp.Completion{Values: []string{}}, nil
	}
	all := session.peer.candidates(ctx, uri, argument.Name)
	values := slices.DeleteFunc(all, func(c string) bool { return !strings.HasPrefix(c, argument.Value) })
	total := len(values)
	values = values[:min(total, completionMax)]
	return &mcp.Completion{Values: values, Total: total, HasMore: total > len(values)}, nil
}

// candidates are the values of a template's variable.
func (p *peer) candidates(ctx context.Context, uri, variable string) []string {
	address := strings.TrimPrefix(uri, scheme)
	kind, _, _ := strings.Cut(address, "/")
	switch variable {
	case "format":
		return []string{"json", "raw", "render"}
	case "ok":
		return []string{"false", "true"}
	case "view":
		return slices.Clone(views)
	case "channel":
		all := slices.Clone(p.backend.Attached().Channels)
		for _, id := range p.known(ctx, "task.list", "tasks", "task") {
			all = append(all, "task."+strings.TrimPrefix(id, "task:"))
		}
		return all
	case "ref":
		return trimmed(p.known(ctx, "plan.list", "plans", "plan_ref"), "plan:")
	case "id":
		if kind == "pty" {
			return trimmed(p.known(ctx, "pty.list", "ptys", "pty_id"), "pty:")
		}
		return trimmed(p.known(ctx, "task.list", "tasks", "task"), "task:")
	}
	return []string{}
}

func trimmed(list []string, prefix string) []string {
	for i, s := range list {
		list[i] = strings.TrimPrefix(s, prefix)
	}
	return list
}

// known lists the names in an answer of the kernel.
func (p *peer) known(ctx context.Context, method, list, name string) []string {
	answer, refusal := p.ask(ctx, method, nil)
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
