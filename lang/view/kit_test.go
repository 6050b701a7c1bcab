package view

import (
	"io"
	"sync/atomic"

	"shoal.dev/shoal/lang/value"
)

func list(items ...value.Value) value.Value { return value.NewList(items) }

// rec makes a record of alternating keys and values.
func rec(kv ...any) value.Value {
	var b value.RecordBuilder
	for i := 0; i < len(kv); i += 2 {
		b.Add(kv[i].(string), kv[i+1].(value.Value))
	}
	return b.Done()
}

func table(rows ...value.Value) value.Value {
	rs := make([]*value.Record, len(rows))
	for i, r := range rows {
		rs[i] = r.AsRecord()
	}
	return value.NewTable(rs)
}

func intPtr(n int) *int { return &n }

func text(s string) value.Value { return value.NewBytes([]byte(s)) }

func okOutcome(stdout string) value.Value {
	return value.NewOutcome(&value.Outcome{OK: true, Status: intPtr(0), Cmd: "run", Dur: 5, PID: 7, Stdout: text(stdout)})
}

func failed(stdout, stderr string) value.Value {
	return value.NewOutcome(&value.Outcome{Status: intPtr(2), Cmd: "make all", PID: 7, Stdout: text(stdout), Stderr: text(stderr)})
}

// genBlob is size bytes that a function makes up, and counts what is read.
type genBlob struct {
	size int64
	at   func(i int64) byte
	read atomic.Int64
}

func (g *genBlob) Len() int64   { return g.size }
func (g *genBlob) Total() int64 { return g.size }
func (g *genBlob) Ref() string  { return "" }

func (g *genBlob) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), g.size-off))
	for i := range n {
		p[i] = g.at(off + int64(i))
	}
	g.read.Add(int64(n))
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// plain masks nothing.
var plain Viewer

// blobOf are bytes that do not lie in memory.
func blobOf(s string) value.Value {
	return value.NewBlob(&genBlob{size: int64(len(s)), at: func(i int64) byte { return s[i] }})
}
