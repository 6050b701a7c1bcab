package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// attached is a client of a kernel in this process, of the raw protocol or mcp, so that a profile of
// the benchmark is a profile of the kernel.
func attached(b *testing.B, kind string) *wire.Client {
	b.Helper()
	dir, err := os.MkdirTemp("", "shoal-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	paths := link.Paths{StateDir: filepath.Join(dir, "state"), Socket: filepath.Join(dir, "run", "s"), Given: true}
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		b.Fatal(err)
	}
	kernel.SetMemory()
	k, err := kernel.Start(kernel.Options{Paths: paths, Environ: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := k.Stop(context.Background()); err != nil {
			b.Errorf("stop kernel: %v", err)
		}
	})
	c, err := wire.Dial(b.Context(), k.Socket(), wire.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	env := map[string]string{"PATH": os.Getenv("PATH")}
	if err := c.Call(b.Context(), "session.attach", messages.AttachParams{Cwd: dir, Env: env, Client: &messages.Client{Kind: kind}}, nil); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkCall measures calls on the raw protocol, one after another and
// sixteen at a time on one connection.
func BenchmarkCall(b *testing.B) {
	for _, call := range []struct {
		name, method string
		params       any
	}{
		{"NoOp", "pty.list", nil},
		{"Exec", "exec", messages.ExecParams{Src: "1 + 1"}},
		{"Command", "exec", messages.ExecParams{Src: "^true"}},
	} {
		b.Run(call.name, func(b *testing.B) {
			c := attached(b, "raw")
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Call(b.Context(), call.method, call.params, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(call.name+"16", func(b *testing.B) {
			c := attached(b, "raw")
			b.ReportAllocs()
			var workers sync.WaitGroup
			turns := make(chan struct{}, 16)
			for range 16 {
				workers.Go(func() {
					for range turns {
						if err := c.Call(b.Context(), call.method, call.params, nil); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				turns <- struct{}{}
			}
			close(turns)
			workers.Wait()
		})
	}
}

// BenchmarkRead measures reads of a full screen of 200x50 that has changed, on
// the raw protocol and as a tool.
func BenchmarkRead(b *testing.B) {
	for _, kind := range []string{"raw", "mcp"} {
		b.Run(kind, func(b *testing.B) {
			c := attached(b, kind)
			use := func(method string, arguments map[string]any, result any) {
				var params any = arguments
				if kind == "mcp" {
					params = map[string]any{"name": "shoal_" + strings.ReplaceAll(method, ".", "_"), "arguments": arguments}
					method = "tools/call"
					result = &struct{ StructuredContent any }{result}
				}
				if err := c.Call(b.Context(), method, params, result); err != nil {
					b.Fatal(err)
				}
			}
			var opened struct {
				PTY string `json:"pty_id"`
			}
			use("pty.open", map[string]any{"cmd": "sh", "args": []string{"-c", "yes 'some words and more some words and more' | tr '\\n' ' ' | head -c 9900; printf end; exec cat"}, "cols": 200, "rows": 50}, &opened)
			read := map[string]any{"pty_id": opened.PTY}
			use("pty.read", map[string]any{"pty_id": opened.PTY, "wait": map[string]any{"text": "end", "timeout_ms": 5000}}, nil)
			method, params := "pty.read", any(read)
			if kind == "mcp" {
				method, params = "tools/call", map[string]any{"name": "shoal_pty_read", "arguments": read}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Call(b.Context(), method, params, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
