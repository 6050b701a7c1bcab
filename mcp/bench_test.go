package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// duplex is two pipes as one stream.
type duplex struct {
	io.Reader
	io.Writer
}

func (duplex) Close() error { return nil }

const noopResult = `{"ref":"out:1","uri":"shoal://out/1","value":{"$":"int","v":1},"render":"1","printed":[],"printed_total":0,"notes":[],"truncated":false,"elapsed_ms":0}`

func noopKernel() *quietKernel { return &quietKernel{fakeKernel: newFake()} }

// quietKernel answers at once and remembers nothing.
type quietKernel struct{ *fakeKernel }

type readyCall struct{ result json.RawMessage }

func (c readyCall) Wait(context.Context) (json.RawMessage, *messages.Error) { return c.result, nil }
func (readyCall) Abandon()                                                  {}

func (quietKernel) Begin(string, json.RawMessage) (Call, *messages.Error) {
	return readyCall{json.RawMessage(noopResult)}, nil
}

// BenchmarkLoop compares a tool that does nothing behind our loop with one
// behind the library's own server, on pipes alike: one call after the other, and
// sixteen at once.
func BenchmarkLoop(b *testing.B) {
	servers := []struct {
		name  string
		serve func(b *testing.B, in io.Reader, out io.Writer)
	}{
		{"shoal", func(b *testing.B, in io.Reader, out io.Writer) {
			s, err := NewServer(Options{})
			if err != nil {
				b.Error(err)
				return
			}
			s.Serve(context.Background(), wire.NewConn(duplex{in, out}), noopKernel())
		}},
		{"library", func(b *testing.B, in io.Reader, out io.Writer) {
			s := server.NewMCPServer("bare", "1", server.WithToolCapabilities(false))
			s.AddTool(toolTable()[0].published(), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{
					Content:           []mcp.Content{mcp.NewTextContent("1")},
					StructuredContent: json.RawMessage(noopResult),
				}, nil
			})
			stdio := server.NewStdioServer(s)
			stdio.SetErrorLogger(log.New(io.Discard, "", 0))
			stdio.Listen(context.Background(), in, out)
		}},
	}
	for _, srv := range servers {
		for _, inFlight := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/inflight=%d", srv.name, inFlight), func(b *testing.B) {
				theirs, mine := io.Pipe()
				ours, answers := io.Pipe()
				served := make(chan struct{})
				go func() { defer close(served); srv.serve(b, theirs, answers); answers.Close() }()
				in := bufio.NewReaderSize(ours, 1<<16)
				exchange(b, mine, in, 1, 1)
				b.ReportAllocs()
				b.ResetTimer()
				exchange(b, mine, in, b.N, inFlight)
				b.StopTimer()
				mine.Close()
				go io.Copy(io.Discard, ours)
				<-served
			})
		}
	}
}

// exchange makes n calls, so many at once.
func exchange(b *testing.B, to io.Writer, from *bufio.Reader, n, inFlight int) {
	room := make(chan struct{}, inFlight)
	go func() {
		for i := range n {
			room <- struct{}{}
			io.WriteString(to, toolCall(fmt.Sprint(i), "shoal_exec", `{"src":"1"}`)+"\n")
		}
	}()
	for range n {
		line, err := from.ReadString('\n')
		if err != nil || !strings.Contains(line, `"result"`) {
			b.Fatalf("%s %v", line, err)
		}
		<-room
	}
}

// BenchmarkText composes a large result.
func BenchmarkText(b *testing.B) {
	in := transcript{uri: anyURI, captured: true, render: numbered(1, 20000), notes: []messages.Note{{Code: "n", Msg: "m"}}}
	b.SetBytes(int64(len(in.render)))
	for b.Loop() {
		in.text(messages.HardCap)
	}
}
