package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// client is the smallest MCP client: it talks to one shoal-mcp over its stdio
// and prints what it says and hears.
type client struct {
	ctx context.Context
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Writer

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	notices chan notice
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

type notice struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// toolResult is the part of a tool's result that the demo looks at.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured map[string]any `json:"structuredContent"`
	IsError    bool           `json:"isError"`
}

func startClient(ctx context.Context, bin, state, work string, out io.Writer) (*client, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "shoal-mcp"), "--session", "demo", "--state-dir", state)
	cmd.Dir = work
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start shoal-mcp: %w", err)
	}
	c := &client{ctx: ctx, cmd: cmd, in: in, out: out, waiting: map[int]chan reply{}, notices: make(chan notice, 64)}
	go c.listen(answers)
	_, err = c.call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "demo", "version": "1"},
	})
	if err != nil {
		return nil, err
	}
	return c, c.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (c *client) close() {
	c.in.Close()
	c.cmd.Wait() // its status says nothing that the walk has not seen
}

// listen hands answers and notices to who waits for them.
func (c *client) listen(r io.Reader) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			close(c.notices)
			return
		}
		var head struct {
			ID     *int   `json:"id"`
			Method string `json:"method"`
		}
		if json.Unmarshal(line, &head) != nil {
			continue
		}
		if head.ID == nil {
			var n notice
			if json.Unmarshal(line, &n) == nil {
				select {
				case c.notices <- n:
				default:
				}
			}
			continue
		}
		var r reply
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		c.mu.Lock()
		ch := c.waiting[*head.ID]
		delete(c.waiting, *head.ID)
		c.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
}

func (c *client) write(frame any) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(b, '\n'))
	return err
}

// call makes one request and waits for its answer.
func (c *client) call(method string, params any) (reply, error) {
	c.mu.Lock()
	c.next++
	id := c.next
	ch := make(chan reply, 1)
	c.waiting[id] = ch
	c.mu.Unlock()
	err := c.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return reply{}, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-ch:
		return r, nil
	case <-c.ctx.Done():
		return reply{}, fmt.Errorf("%s: no answer: %w", method, c.ctx.Err())
	}
}

// tool calls a tool, printing the call and the text of its answer.
func (c *client) tool(name string, args map[string]any) (toolResult, error) {
	shown, err := json.Marshal(args)
	if err != nil {
		return toolResult{}, err
	}
	fmt.Fprintf(c.out, "→ %s %s\n", name, shown)
	r, err := c.call("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return toolResult{}, err
	}
	if r.Error != nil {
		fmt.Fprintf(c.out, "← error %d: %s\n", r.Error.Code, r.Error.Message)
		return toolResult{IsError: true, Structured: map[string]any{"code": float64(r.Error.Code)}}, nil
	}
	var t toolResult
	if err := json.Unmarshal(r.Result, &t); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	for _, block := range t.Content {
		if block.Type == "text" {
			c.show(block.Text)
		}
	}
	return t, nil
}

// shownLines is how many lines of an answer the demo prints.
const shownLines = 14

func (c *client) show(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == shownLines {
			fmt.Fprintf(c.out, "  (%d more lines)\n", len(lines)-i)
			return
		}
		mark := "  "
		if i == 0 {
			mark = "← "
		}
		if r := []rune(line); len(r) > 160 {
			line = string(r[:160]) + "…"
		}
		fmt.Fprintln(c.out, mark+line)
	}
}

// read reads a resource, printing its text.
func (c *client) read(uri string) (map[string]any, error) {
	fmt.Fprintf(c.out, "→ resources/read %s\n", uri)
	r, err := c.call("resources/read", map[string]any{"uri": uri})
	if err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, fmt.Errorf("read %s: %s", uri, r.Error.Message)
	}
	var got struct {
		Contents []struct {
			Text string `json:"text"`
		} `json:"contents"`
		Structured map[string]any `json:"structuredContent"`
	}
	if err := json.Unmarshal(r.Result, &got); err != nil {
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	for _, content := range got.Contents {
		c.show(content.Text)
	}
	return got.Structured, nil
}
