package mcp

import (
	"context"
	_ "embed"
	"encoding/json"

	"shoal.dev/shoal/messages"
)

// guide is the longer text for agents that want more than the instructions. It
// is read by its address, which the instructions name, and not listed: the list
// is of what a session holds.
//
//go:embed guide.md
var guide string

// readGuide answers a read of the guide.
func readGuide(uri string) job {
	keep := int64(keepTables)
	return job{keep: &keep, run: func(context.Context) (json.RawMessage, *messages.Error) {
		dst := messages.AppendString([]byte(`{"contents":[{"uri":`), uri)
		dst = messages.AppendString(append(dst, `,"mimeType":"text/markdown","text":`...), guide)
		return append(dst, `}],"structuredContent":{"mimeType":"text/markdown"}}`...), nil
	}}
}
