package kit

import (
	"strings"

	"shoal.dev/shoal/messages"
)

// Answer is a tool's result, or the JSON-RPC error in its place.
type Answer struct {
	Text       string
	Link       string // URI of the resource link
	Structured Val
	IsError    bool
	RPC        Val // the JSON-RPC error, null otherwise
	whole      string
}

// Code is the error's code wherever it stands; 0 when there is none.
func (a Answer) Code() messages.Code {
	switch {
	case !a.RPC.IsNull():
		return messages.Code(a.RPC.At("code").Int())
	case a.IsError:
		return messages.Code(a.Structured.At("code").Int())
	}
	return 0
}

// String is the whole answer.
func (a Answer) String() string { return strings.TrimSpace(a.whole) }

func answerOf(r Reply) Answer {
	a := Answer{RPC: r.Error, whole: r.Line}
	for _, c := range r.Result.At("content").List() {
		switch c.At("type").Str() {
		case "text":
			a.Text += c.At("text").Str()
		case "resource_link":
			a.Link = c.At("uri").Str()
		}
	}
	a.Structured, a.IsError = r.Result.At("structuredContent"), r.Result.At("isError").Bool()
	return a
}

// StartTool sends a tool call.
func (f *Facade) StartTool(name string, args any) *Open {
	f.T.Helper()
	return f.Start("tools/call", Args{"name": name, "arguments": args})
}

// WaitTool gives the answer of a tool call.
func (o *Open) WaitTool() Answer {
	o.f.T.Helper()
	return answerOf(o.Wait())
}

// Tool calls a tool.
func (f *Facade) Tool(name string, args any) Answer {
	f.T.Helper()
	return f.StartTool(name, args).WaitTool()
}

// MustTool is Tool that fails the test on any error.
func (f *Facade) MustTool(name string, args any) Answer {
	f.T.Helper()
	a := f.Tool(name, args)
	if a.Code() != 0 || a.IsError {
		f.T.Fatalf("%s %v: %v", name, Of(args), a)
	}
	return a
}

// Exec runs source with shoal_exec and fails the test on an error.
func (f *Facade) Exec(src string, more ...Args) Answer {
	f.T.Helper()
	args := Args{"src": src}
	for _, m := range more {
		for k, v := range m {
			args[k] = v
		}
	}
	return f.MustTool("shoal_exec", args)
}

// Read reads a resource; its view is the structured content, or the error.
func (f *Facade) Read(uri string) (view Val, refused Val) {
	f.T.Helper()
	r := f.Call("resources/read", Args{"uri": uri})
	return r.Result.At("structuredContent"), r.Error
}

// MustRead is Read that fails the test on an error.
func (f *Facade) MustRead(uri string) Val {
	f.T.Helper()
	view, refused := f.Read(uri)
	if !refused.IsNull() {
		f.T.Fatalf("read %s: %v", uri, refused)
	}
	return view
}

// ReadText is the text of the first content of a resource.
func (f *Facade) ReadText(uri string) string {
	f.T.Helper()
	r := f.Call("resources/read", Args{"uri": uri})
	if !r.Error.IsNull() {
		f.T.Fatalf("read %s: %v", uri, r.Error)
	}
	return r.Result.At("contents", 0, "text").Str()
}

// AwaitEnd waits until the record of a task, named task:N, shows an end.
func (f *Facade) AwaitEnd(task string) Val {
	f.T.Helper()
	uri := "shoal://task/" + strings.TrimPrefix(task, "task:")
	var rec Val
	Eventually(f.T, Long, task+" ends", func() bool {
		rec = f.MustRead(uri)
		return messages.TaskState(rec.At("state").Str()).Ended()
	})
	return rec
}
