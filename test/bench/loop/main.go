// Command loop is Shoal's MCP connection loop alone, on stdin and stdout before
// a kernel that answers everything at once: what is left is what the loop costs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

func main() {
	s, err := mcp.NewServer(mcp.Options{Version: "1"})
	if err == nil {
		err = s.Serve(context.Background(), wire.NewConn(stdio{os.Stdin, os.Stdout}), nothing{})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: serve: %v\n", err)
		os.Exit(1)
	}
}

// stdio is standard input and output as one stream.
type stdio struct {
	io.Reader
	io.Writer
}

// Close does nothing: the process ends with its input.
func (stdio) Close() error { return nil }

// nothing is a kernel in which nothing happens.
type nothing struct{}

// done is a call that is answered already.
type done struct{}

var answer = json.RawMessage(`{"ptys":[]}`)

func (done) Wait(context.Context) (json.RawMessage, *messages.Error) { return answer, nil }
func (done) Abandon()                                                {}

func (nothing) Begin(string, json.RawMessage) (mcp.Call, *messages.Error) { return done{}, nil }
func (nothing) Attached() messages.Attached                               { return messages.Attached{Session: "bench"} }
func (nothing) Subscribe(string, *uint64) (mcp.Cursor, *messages.Error)   { return silent{}, nil }
func (nothing) Watch(mcp.Watched) (mcp.Cursor, *messages.Error)           { return silent{}, nil }

// silent is a channel without events.
type silent struct{}

func (silent) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	<-ctx.Done()
	return messages.Event{}, nil, errors.New("no events here")
}
func (silent) Close() {}
