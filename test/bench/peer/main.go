// Command peer is what the bench compares with: a bare mcp-go server on stdin
// and stdout with three tools that do the least that can be done. It keeps no
// session, no journal and no policy.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// workers is how many calls the server runs at a time: as many as the bench
// keeps in flight.
const workers = 16

func main() {
	s := server.NewMCPServer("peer", "1")
	s.AddTool(mcp.NewTool("noop"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), nil
	})
	s.AddTool(mcp.NewTool("run", mcp.WithString("program")), run)
	s.AddTool(mcp.NewTool("capture", mcp.WithNumber("mebibytes")), capture)
	if len(os.Args) > 1 && os.Args[1] == "-http" {
		if err := serveHTTP(s); err != nil {
			fmt.Fprintf(os.Stderr, "error: serve: %v\n", err)
			os.Exit(1)
		}
		return
	}
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(os.Stderr, "", 0))
	server.WithWorkerPoolSize(workers)(stdio)
	if err := stdio.Listen(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: serve: %v\n", err)
		os.Exit(1)
	}
}

// serveHTTP serves on a free port, which it prints, until the input ends.
func serveHTTP(s *server.MCPServer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateful(true)))
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(l, mux) }()
	fmt.Println(l.Addr())
	ended := make(chan struct{})
	go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// run runs a program and gives its output, by os/exec and nothing more.
func run(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	out, err := exec.CommandContext(ctx, req.GetString("program", "true")).Output()
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(string(bytes.TrimSpace(out))), nil
}

// chunk is how much capture reads at a time, in bytes.
const chunk = 1 << 20

// capture reads what a program writes into a list of chunks: the cheapest way
// to have all of it in memory.
func capture(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	cmd := exec.CommandContext(ctx, "dd", "if=/dev/zero", "bs=1048576", "count="+strconv.Itoa(req.GetInt("mebibytes", 0)), "status=none")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if err := cmd.Start(); err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	total := 0
	var chunks [][]byte
	for err == nil {
		buf := make([]byte, chunk)
		var n int
		n, err = io.ReadFull(pipe, buf)
		chunks, total = append(chunks, buf[:n]), total+n
	}
	if err := cmd.Wait(); err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("%d bytes in %d chunks", total, len(chunks))), nil
}
